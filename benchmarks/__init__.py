"""What the suite costs, measured."""
