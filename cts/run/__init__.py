"""The plugin of pytest: documented hooks, and what its processes send each other."""

PLAN = "cts"
"""Key of a worker's input: the plan."""

FINDINGS = "cts_findings"
"""Key of a worker's output: the records of the findings that it has at its end."""
