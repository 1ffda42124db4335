"""Compiled kernels: arrays in, arrays out. Each has a plain, slow twin in the tests."""
