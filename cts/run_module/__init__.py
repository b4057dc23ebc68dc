"""Runs a module that the suite did not make, on any device, with the data of a job."""
