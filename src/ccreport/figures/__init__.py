"""Figures: functions from frames to Altair charts, and the one step that writes them."""
