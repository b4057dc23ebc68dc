"""A run, without pytest: the selection and order of its cases, the device that judges them, controls, and cases judged alone."""
