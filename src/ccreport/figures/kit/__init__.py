"""What all figures are drawn with: theme, axes, labels, small multiples; nothing here knows what is measured."""
