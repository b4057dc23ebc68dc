"""AMD GPUs without the hardware: what RADV compiles and submits is executed on the CPU, by a model of the instruction set."""
