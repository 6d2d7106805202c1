"""Where the numbers of a published row come from: columns of runs, queries, and what the evaluation declares."""
