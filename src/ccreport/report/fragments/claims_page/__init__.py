"""The page of claims: the list of all, each with its checks, and claims beside figures and tables."""
