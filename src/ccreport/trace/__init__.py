"""What is behind a published number: its runs, and the raw files of each."""
