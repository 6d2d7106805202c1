"""The raw archive: its files, how a harness lays them out, unpacking, and the manifests that list them."""
