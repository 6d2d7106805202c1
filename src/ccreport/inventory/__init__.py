"""What is in an archive: kinds of files, experiments, and the index that remembers them."""
