"""Figures of packet captures: sequences, round-trip times, loss episodes."""
