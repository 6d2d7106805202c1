"""Where the capture reader, tcptrace and tshark differ on known captures: our value, theirs, and who is right.

Keys of TCPTRACE are both ends of a flow, the connection's number among those of these ends, and the column. Those of
TSHARK are kinds of packets: the numbers of the packets that only we, and only tshark, count as such.
"""


def numbers(text: str) -> list[int]:
    """Return the packet numbers of a list of ranges."""
    ranges = [(part.split("-")[0], part.split("-")[-1]) for part in text.split()]
    return [number for first, last in ranges for number in range(int(first), int(last) + 1)]


Differences = dict[str, dict[str, tuple[object, object, str]]]

UNREAD_BY_TCPTRACE = {
    "libtrace__ip-in-mpls.pcap.gz": "it knows no MPLS",
    "zeek__vlan-qinqinq.pcap": "it knows one VLAN tag at most",
    "zeek__linux_dlt_sll2.pcap": "it does not know the link type SLL2",
}
# Segments that were captured whole and fail their TCP checksum, as tshark finds too (tcp.check_checksum).
DAMAGED = {
    "tcpreplay__test.pcap": (19,),
    "zeek__reassembly.pcap": (9, 16, 20, 31, 64, 68, 79, 91, 97, 112),
}
UNREADABLE = (
    "libpcap__linktype-reserved-field-not-zero.pcap",
    "libpcap__pcapng-invalid-vers-1.pcapng",
    "libpcap__pcapng-invalid-vers-2.pcapng",
)

REUSED = (
    "a new SYN after both FINs is a new connection (RFC 9293 3.6), which tcptrace joins to the old one: ours is right"
)
COPIES = "copies of one packet with one IP id are made by a network or the capture, not sent twice: ours is right"
SPLIT = "tcptrace begins a new connection where the times of the packets are impossible: ours is right"

TCPTRACE: Differences = {
    "arkime__tcp-reassembly-synthetic.pcap": {
        "10.180.156.1:40008 10.180.156.2:80 connections": (2, 1, f"packets 87 to 90: {REUSED}"),
        "10.180.156.2:80 10.180.156.1:40008 connections": (2, 1, f"packets 87 to 90: {REUSED}"),
        "10.180.156.1:40009 10.180.156.2:80 connections": (2, 1, f"packet 101: {REUSED}"),
        "10.180.156.2:80 10.180.156.1:40009 connections": (2, 1, f"packet 101: {REUSED}"),
    },
    "tcpdump__bgp_vpn_rt-oobr.pcap": {
        "241.0.128.19:179 239.8.0.1:0 connections": (1, 0, "packet 1: tcptrace drops a packet whose lengths are wrong"),
        "239.8.0.1:0 241.0.128.19:179 connections": (1, 0, "packet 1: tcptrace drops a packet whose lengths are wrong"),
    },
    "tcpdump__timestamp_invalid_nano.pcap": {
        "131.155.215.69:46656 137.116.81.94:80 connections": (1, 2, f"packets 1 to 3: {SPLIT}"),
        "137.116.81.94:80 131.155.215.69:46656 connections": (1, 2, f"packets 1 to 3: {SPLIT}"),
    },
    "tcptrace__zwnd.dmp.gz": {
        "132.235.3.154:58213 132.235.3.151:5001 0 data_packets_count": (
            *(17986, 17992),
            "packets 18432, 18434 … 18442: window probes of a byte that was not taken are not data: ours is right",
        ),
    },
    "zeek__fin_retransmission.pcap": {
        "10.1.30.117:55344 17.167.193.62:443 connections": (1, 2, "packets 1 to 5 are one connection: ours is right"),
        "17.167.193.62:443 10.1.30.117:55344 connections": (1, 2, "packets 1 to 5 are one connection: ours is right"),
    },
    "zeek__ssh-dups.pcap": {
        "192.168.0.112:22 192.168.0.102:53206 0 retransmits_seen_count": (
            *(0, 92),
            f"the 90 packets listed for tshark: {COPIES}; 372 and 373 are a FIN again, no data packet: ours is right",
        ),
    },
}

TSHARK: Differences = {
    "arkime__tcp-reassembly-synthetic.pcap": {
        "retransmit": (
            [],
            [41, 101],
            "41 fills a gap within an RTT; 101 is the SYN of a new connection",
        ),
        "reordered": ([41], [], "it fills a gap within an RTT, with nothing that tells when it was sent: undecided"),
    },
    "rusticata__err-buffertoosmall.pcapng": {
        "retransmit": ([], [26], "a FIN that comes once, overtaken by packet 25 (IP ids 3788 and 3789): ours is right"),
    },
    **{
        name: {"retransmit": ([], [3, 6], f"SYN-ACKs with a TTL of 254 after 255: {COPIES}")}
        for name in ("tcptrace__bad_ack_code.dmp.gz", "tcptrace__pcap_v2.2.dmp.gz")
    },
    "tcptrace__first_seg_ooo.dmp.gz": {
        "dup_ack": ([], [4], "repeats the number of the SYN-ACK, whose window is not a measure of it: undecided"),
    },
    "zeek__fin_retransmission.pcap": {
        "retransmit": ([], [2], "the first FIN, right after the SYN, is sent for the first time: ours is right"),
    },
    "zeek__ssh-dups.pcap": {
        "retransmit": (
            [],
            numbers(
                "13-15 29-31 41-43 65-67 77-79 89-91 101-103 117-119 125-127 141-143 149-151 157-159 161-163 173-175 "
                "185-187 197-199 209-211 221-223 233-235 245-247 257-259 269-271 281-283 293-295 305-307 309-311 "
                "321-323 333-335 341-343 349-351 372-373"
            ),
            COPIES,
        ),
    },
}

# Frames, TCP packets and connections of the corpus's list.
EXPECTED: dict[str, tuple[object, object, str]] = {
    "arkime__gtp-iphone.pcap": ((106, 0, 0), (106, 58, 4), "all TCP is inside GTP tunnels, which are not opened"),
    "arkime__tcp-reassembly-synthetic.pcap": ((106, 106, 12), (106, 106, 11), f"packets 87 to 90: {REUSED}"),
    "tcpreplay__test.pcap": (
        (179, 115, 7),
        (179, 116, 7),
        "packet 19 fails its TCP checksum, and is not a segment then",
    ),
    "zeek__reassembly.pcap": ((117, 107, 1), (117, 117, 1), "packets of DAMAGED fail their TCP checksum"),
    "tcpdump__bgp_vpn_rt-oobr.pcap": ((1, 1, 1), (38, 1, 1), "records of nothing but zeros follow: damaged"),
}
