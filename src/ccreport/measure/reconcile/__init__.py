"""What iperf3, `ss` and a capture say of the same flow, held against each other."""
