"""What becomes of undefined values: they spread to results, and are reported where they matter."""
