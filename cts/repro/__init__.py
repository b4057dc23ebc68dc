"""Folders that reproduce a case."""
