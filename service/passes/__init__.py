"""Passes that ask a model what to change, and change what stands up to the guards (rows L4, L5)."""
