"""The verbs of the command ``cts``, a module each: NAME, HELP, ``configure(parser)`` and ``run(options)``, which returns the exit code."""
