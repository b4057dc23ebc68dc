"""From a journal to reports."""
