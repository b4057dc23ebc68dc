"""Pictures of the elements that a tensor access reaches."""
