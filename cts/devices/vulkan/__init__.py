"""Real drivers, through the Vulkan API."""
