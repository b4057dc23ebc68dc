"""From a valid module to one that breaks a rule, or that comes as close to it as a valid one may."""
