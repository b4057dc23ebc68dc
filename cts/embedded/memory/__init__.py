"""Memory as bytes: which accesses are allowed, in which order, and in which layouts."""
