"""What a figure shows: declared selections, the queries behind them, and the cache of what was drawn."""
