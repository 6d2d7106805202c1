"""RPC clients beside the bulk flows of a job: a condition of its runs that no column of `runs` tells, so a parameter.

The metadata of a job have the command of each client, also those of sessions that name no such parameter.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

PARAMETER: Final = "rpc"
# Its value where bulk flows have no RPCs beside them.
NONE: Final = "none"
# Algorithm, bytes of a request, bytes of a response.
Rpc = tuple[str, int, int]
# netperf -H {dst} -p 12866 -j -t TCP_RR -l 3 -- -r 100000,1 -K cubic
COMMAND: Final = re.compile(r"netperf\s.*-t\s*[A-Z]+_C?RR\b", re.DOTALL)
SIZES: Final = re.compile(r"\s-r\s*([0-9]{1,15}),([0-9]{1,15})\b")


def write_rpcs(counts: Mapping[Rpc, int]) -> str:
    """Return RPC clients as the parameter's value: `2 cubic of 100 kB + 1 bbr of 1 kB and 64 kB`."""
    return " + ".join(f"{count} {rpc[0]} of {write_sizes(rpc)}" for rpc, count in sorted(counts.items()))


def write_sizes(rpc: Rpc) -> str:
    """Return the size of requests, and that of responses where they are of more than a byte."""
    _, request_bytes, response_bytes = rpc
    return " and ".join(map(_write_size, (request_bytes, response_bytes) if response_bytes > 1 else (request_bytes,)))


def name_rpcs(clients: Any) -> str | None:
    """Return the parameter's value for the `clients` of a job's metadata, None where no RPCs run beside others."""
    told = clients if isinstance(clients, list) else []
    commands = [client for client in told if isinstance(client, dict) and isinstance(client.get("command"), str)]
    rpcs = [client for client in commands if COMMAND.match(client["command"])]
    counts: Counter[Rpc] = Counter()
    for client in rpcs:
        sizes, flows_count = SIZES.search(client["command"]), client.get("flows_count")
        request, response = sizes.groups() if sizes else (1, 1)
        rpc = (str(client.get("congestion_control") or "unknown"), int(request), int(response))
        counts[rpc] += flows_count if isinstance(flows_count, int) else 1
    return write_rpcs(counts) if 0 < len(rpcs) < len(commands) else None


def _write_size(size_bytes: int) -> str:
    # With all its digits: 100001 bytes are not 100 kB.
    factor, unit = next(((f, u) for f, u in ((10**6, "MB"), (10**3, "kB")) if size_bytes >= f), (1, "B"))
    return f"{size_bytes / factor:.15g} {unit}"
