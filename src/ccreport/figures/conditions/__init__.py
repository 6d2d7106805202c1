"""Figures that compare conditions: rates, fairness, completion times, topology."""
