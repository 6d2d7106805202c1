"""Suspect runs: those whose own data say that something other than the path and the algorithm shaped them.

`sampled` measures per run what the rules need of `ss` samples, `measure` applies the rules to the whole archive.
"""
