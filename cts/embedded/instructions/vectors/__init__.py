"""Instructions on cooperative vectors."""
