"""A run as a submission: what a device owes, a package of its results, and the check of a package on a machine without the device."""
