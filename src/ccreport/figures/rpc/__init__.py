"""Figures of request and response times under load."""
