"""The verbs of the command ``cts``, one module each: NAME, HELP, ``configure(parser)``, and ``run(options)`` that returns an exit code."""
