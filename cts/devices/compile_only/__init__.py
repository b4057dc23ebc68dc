"""Vulkan drivers that start and compile without their hardware: a preloaded library stands in for the kernel, and nothing runs."""
