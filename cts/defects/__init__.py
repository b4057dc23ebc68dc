"""Known defects of implementations, as other readings of a program. They are evaluated only to explain a failure."""
