"""The types of a module, values of all invocations at once, and limits of both."""
