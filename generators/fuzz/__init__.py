"""Programs that no YAML enumerates, drawn from a seed."""
