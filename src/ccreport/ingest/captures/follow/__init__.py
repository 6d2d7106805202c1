"""Each connection of a capture, packet by packet: what is new, sent again, acknowledged, lost."""
