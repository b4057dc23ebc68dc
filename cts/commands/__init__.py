"""The verbs of the command ``cts``, one module each: NAME, HELP, ``configure(parser)``, and ``run(options)``, which gives the exit code."""
