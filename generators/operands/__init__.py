"""Sources of a program's operands and constants."""
