"""Real drivers, by the Vulkan API. Nothing here is imported where the embedded device is used."""
