"""The report as a website, by Quarto or without it."""
