"""Real drivers, through the Vulkan API. The embedded device does not import this package."""
