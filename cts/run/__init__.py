"""The plugin of pytest: ``pytest cts`` judges cases, which cts.engine does."""
