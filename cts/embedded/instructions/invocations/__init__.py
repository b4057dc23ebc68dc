"""What invocations do together: barriers and subgroup operations; and the built-in variables that number them."""
