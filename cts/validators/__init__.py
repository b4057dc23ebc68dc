"""What judges modules without running them."""
