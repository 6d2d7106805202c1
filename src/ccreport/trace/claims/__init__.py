"""What the verdict on a claim follows from: its checks, the rows that decide them, and the runs behind them."""
