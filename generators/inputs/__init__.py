"""Input data: patterns, each with the property that it tests."""
