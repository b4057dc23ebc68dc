"""How the reference model makes one element: a record of its own steps, followed from the store back to the bytes in memory."""
