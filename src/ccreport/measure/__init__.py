"""What is computed from the ingested tables: flows, runs, and the measures defined over them."""
