"""Pictures of what a tensor access reaches."""
