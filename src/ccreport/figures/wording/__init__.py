"""The words on and below figures."""
