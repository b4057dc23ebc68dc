"""Vulkan's structures of features, for a program that declares the structures that its headers lack."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml


@dataclass(frozen=True)
class FeatureStructure:
    """A structure of features.

    Attributes:
        structure, type, number: its name, and its VkStructureType's name and number; no number for VkPhysicalDeviceFeatures.
        extension: the extension that has it; empty for Vulkan itself.
        depends: further extensions that must be enabled with it.
        members: the features, in order: all features of an extension, or the features of Vulkan itself that cases ask for.
    """

    structure: str
    members: tuple[str, ...]
    type: str = ""
    number: int = 0
    extension: str = ""
    depends: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return a variable's name."""
        if self.extension:
            return self.extension.removeprefix("VK_").lower()
        return self.structure.removeprefix("VkPhysicalDevice").removesuffix("Features").lower()

    def path(self, feature: str) -> str:
        """Return the member of the C program's ``struct features`` that is a feature."""
        return f"{self.name}.{feature}" if self.number else f"core.features.{feature}"


@cache
def feature_structures() -> tuple[FeatureStructure, ...]:
    """Return the structures in the order of their file."""
    entries = yaml.safe_load(Path(__file__).with_name("feature_structures.yaml").read_text(encoding="utf-8"))
    return tuple(
        FeatureStructure(**{**entry, "members": tuple(entry["members"]), "depends": tuple(entry.get("depends", ()))}) for entry in entries
    )


def structure_of(feature: str, extensions: Collection[str]) -> FeatureStructure | None:
    """Return the structure that has a feature; None if it is not a feature but a property.

    Args:
        extensions: Vulkan extensions that are used. If several structures have the feature, it is in the structure of one of these.
    """
    having = [one for one in feature_structures() if feature in one.members]
    return next((one for one in having if one.extension in extensions), having[0] if having else None)
