"""How to write in a campaign what was written in another way."""

import re
from typing import Any, Final

# What names of jobs may have in place of it.
WORD: Final = re.compile(r"[A-Za-z0-9._+=-]+")
# net.ipv4.tcp_sack=0, as sysctl takes it
ASSIGNMENT: Final = re.compile(r"([\w.]+)\s*=\s*(\S.*)")
# What other tools call a setting, the name of which is near that of another.
MEANT: Final = dict.fromkeys(
    ("bandwidth", "bandwidth_mbps", "rate_mbps"), "`bottleneck_mbps` (of the path) or `sender_mbps` (of its interface)"
)
FOR_EACH_EXAMPLE: Final = "write, for example, `for_each: {rtt_ms: [10, 20]}`, and {rtt_ms} in the job's name"
NOT_FILLED_IN: Final = "is filled in only in a job's name"


def hint_at_for_each(key: str, values: Any, group: str = "") -> str:
    """Return how to have a job for each value of a setting, or of one of a group of settings, such as `sysctls`."""
    assigned = [ASSIGNMENT.fullmatch(str(value)) for value in values] if isinstance(values, list) else []
    if assigned and all(assigned):
        return f"write `{key}: {{{', '.join(f'{one[1]}: {one[2]}' for one in assigned if one)}}}`"
    word = key.rpartition(".")[2]
    if group and isinstance(values, list):
        named = [("-".join(WORD.findall(str(value))), value) for value in values]
        cases = [f"{{name: {name}, {group}: {{{key}: {value}}}}}" for name, value in named]
        values = f"[{', '.join(cases)}]"
    return f"for a job each, write `for_each: {{{word}: {values}}}`, and {{{word}}} in the job's name"
