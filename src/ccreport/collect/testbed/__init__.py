"""One run, inside the testbed: its network, programs and instruments."""
