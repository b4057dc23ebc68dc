"""What instructions do, by group. A handler is registered where it is defined (see ``registry``)."""
