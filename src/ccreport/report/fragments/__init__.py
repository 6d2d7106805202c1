"""The parts of pages that are made from data."""
