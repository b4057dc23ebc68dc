"""The families of Vulkan and of SPIR-V itself."""
