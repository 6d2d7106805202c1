"""Campaigns made from a harness's INI files."""
