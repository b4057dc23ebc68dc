"""Parts of kernels as inference engines write them."""
