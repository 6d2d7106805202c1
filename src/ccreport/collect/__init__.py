"""Campaigns: a declared sweep becomes runs on an emulated testbed, which leave a raw archive as the harness does."""
