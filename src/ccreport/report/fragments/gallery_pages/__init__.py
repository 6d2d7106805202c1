"""Pages of figures: by topic with thumbnails, and the kinds of figures there are."""
