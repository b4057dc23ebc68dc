"""Instructions that no case of the suite has. Shaders of applications have them, which ``cts run-module`` runs."""
