"""Who is who: identifiers of flows that every witness (iperf3, ss, a capture) derives alike.

A flow is a TCP connection, known by its full 4-tuple; a local port alone is not unique (a control connection to
another port of the same host may share it).
"""

import hashlib
import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

# Of a million connections of one run two get the same id with a probability of 3e-8.
FLOW_DIGITS: Final = 16


@lru_cache(maxsize=4096)
def normalise_address(address: str) -> str:
    """Return an IP address in canonical text, IPv4-mapped IPv6 as IPv4, scope removed; other names unchanged."""
    bare = address.strip().strip("[]").split("%", 1)[0]
    try:
        parsed = ipaddress.ip_address(bare)
    except ValueError:
        return bare
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(parsed)


def short_hash(text: str, digits: int = 10) -> str:
    """Return 10 hexadecimal digits, or so many, that stand for a text of any content.

    Of n texts two have the same 10 digits with a probability of about n² / 2⁴¹: of 400,000 that is 7 %, so what tells
    apart as many takes more.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:digits]


def flow_id_of_connection(
    run_id: str, local_address: str, local_port: int, remote_address: str, remote_port: int
) -> str:
    """Return the identifier of the connection with this 4-tuple, seen from the host that ran the tool."""
    ends = f"{normalise_address(local_address)} {local_port} {normalise_address(remote_address)} {remote_port}"
    return f"{run_id}/{short_hash(ends, FLOW_DIGITS)}"


def flow_id_of_stream(run_id: str, client_number: int, stream_number: int) -> str:
    """Return the identifier of a stream whose tool reports no ports."""
    return f"{run_id}/client{client_number}-stream{stream_number}"


def match_runs(name: str, runs: Iterable[str]) -> list[str]:
    """Return the run of a name, or else all that have it as a part of theirs, sorted.

    A part does not cut a number: run1 is not a part of run12.
    """
    known = sorted(runs)
    start, end = (r"(?<!\d)" if name[:1].isdecimal() else "", r"(?!\d)" if name[-1:].isdecimal() else "")
    part = re.compile(start + re.escape(name) + end)
    return [run for run in known if run == name] or [run for run in known if part.search(run)]
