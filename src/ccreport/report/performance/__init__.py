"""The page of measured speed."""
