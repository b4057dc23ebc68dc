"""Where operands and constants of a program come from."""
