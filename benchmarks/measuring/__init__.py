"""What the benchmarks of whole builds share: processes measured from outside, builds in a copy of the tree, results."""
