"""What is wrong with the runs that a layout gives, and what they lack."""
