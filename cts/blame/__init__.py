"""Finds out whose fault a failure is: gathers evidence, and draws the conclusion that follows from it by stated rules."""
