"""The way back from a wrong element through the machine code that the model of a chip executed."""
