"""Causes: the explanations of failures, and the conditions on parameters that decide which cases fail."""

from reports.causes.boxes import Inside
from reports.causes.cause import NAMED_DEFECTS, Cause, causes

__all__ = ["NAMED_DEFECTS", "Cause", "Inside", "causes"]
