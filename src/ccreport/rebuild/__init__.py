"""What is made again and what is kept: batches of experiments, fingerprints of code and inputs, reuse."""
