"""From the bytes of a capture file to the fields of its packets."""
