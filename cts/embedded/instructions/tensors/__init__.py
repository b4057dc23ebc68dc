"""Tensor layouts and views, and the loads and stores of matrices through them."""
