"""Causes: the explanations of failures, and the conditions on parameters that decide which cases fail."""

from reports.causes.boxes import Inside
from reports.causes.cause import Cause, causes

__all__ = ["Cause", "Inside", "causes"]
