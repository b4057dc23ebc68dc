"""Variables, pointers, and accesses to scalars, vectors, arrays and structs."""
