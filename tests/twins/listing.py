"""Listings that drivers of Mesa 26.2 gave."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).with_name("listings")


def listing(name: str) -> str:
    """Return the listing of that name."""
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
