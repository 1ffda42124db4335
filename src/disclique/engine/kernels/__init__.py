"""Compiled kernels: arrays in, arrays out.

Here live the inner loops of the engine and of the attacks, each one idea, with state in arrays allocated once by the
caller. No files, frames or values of ``disclique.model``, no recursion, no chance that is not passed in. Each kernel is
held by tests to a plain, slow twin.
"""
