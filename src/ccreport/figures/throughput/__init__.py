"""Figures of throughput over time, a panel a condition."""
