"""Reproduction: this archive's tables against published ones, or those of another archive, cell by cell."""
