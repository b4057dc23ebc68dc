"""A builder that lacks what a builder needs."""

PREDICATES: dict[str, object] = {}
