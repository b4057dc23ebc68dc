"""Known defects of implementations, as other readings of a program; evaluated only to explain a failure."""
