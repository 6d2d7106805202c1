"""Faults of Snakemake and Slurm that would spoil a build, and what is done about each."""
