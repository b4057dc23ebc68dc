"""Numbers as bits of a component type."""
