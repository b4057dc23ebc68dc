"""What each instruction does."""
