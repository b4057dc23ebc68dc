"""Runs cases on devices and judges them.

PYTEST_DONT_REWRITE: pytest would warn in each worker that the fork server had imported this package before (cts.run.fork_server).
"""
