"""Destinations of the harness: its list of hosts (CSV) and its profiles of paths (YAML).

The harness reads the columns `hostname`, `alias` and `profile`; its own lists also have `rtt` ("5ms") and `NIC_speed`
("100Gbps") for their readers. `#` begins a comment. A profile is what its netem agent is told for one interface:
`latency`, `loss`, `limit` and `rate`, all optional.
"""

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from ccreport.collect.harness_ini.sweeps import parse_rate, tidy
from ccreport.core.errors import InputError
from ccreport.core.units import UnitError, parse_time_ms

COMMENT = re.compile(r"\s*#.*$")
COLUMNS: Final = frozenset({"hostname", "alias", "profile", "rtt", "NIC_speed"})


@dataclass(frozen=True)
class Host:
    """One destination as the harness knows it; `lost` says what of its line cannot be kept."""

    hostname: str
    alias: str | None = None
    profile: str | None = None
    rtt_ms: float | None = None
    nic_bps: float | None = None
    lost: tuple[str, ...] = ()


def read_hosts(path: Path) -> list[Host]:
    """Return the hosts of a list, in its order; raise InputError where it is none."""
    text = read_text(path)
    lines = [line for line in (COMMENT.sub("", line).strip() for line in text.splitlines()) if line]
    try:
        rows = list(csv.DictReader(lines, strict=True))
    except csv.Error as error:
        raise InputError(f"{path.name} is no CSV file: {error}") from error
    hosts = [_make_host(row) for row in rows if (row.get("hostname") or "").strip()]
    if not hosts:
        raise InputError(f"{path.name}: no host; its first line must name the column hostname")
    return hosts


def _make_host(row: dict[Any, Any]) -> Host:
    cells = {key: value.strip() for key, value in row.items() if isinstance(key, str) and isinstance(value, str)}
    values = {key: value for key, value in cells.items() if value}
    lost = [f"column {key}: {value}" for key, value in values.items() if key not in COLUMNS]
    rtt_ms, nic_bps = None, None
    try:
        rtt_ms = tidy(parse_time_ms(values["rtt"])) if "rtt" in values else None
        nic_bps = parse_rate(values["NIC_speed"]) if "NIC_speed" in values else None
    except UnitError as error:
        lost.append(str(error))
    return Host(
        values["hostname"], values.get("alias"), values.get("profile"), rtt_ms or None, nic_bps or None, tuple(lost)
    )


def read_profiles(path: Path) -> dict[str, dict[str, str]]:
    """Return the settings of each profile of a file, all as texts; raise InputError where it is none."""
    try:
        read = yaml.safe_load(read_text(path))
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path.name} is no YAML: {error}") from error
    profiles = read.get("profiles") if isinstance(read, dict) else None
    if not isinstance(profiles, dict) or not all(isinstance(settings, dict) for settings in profiles.values()):
        raise InputError(f"{path.name}: `profiles` must map names to settings")
    return {
        str(name): {str(key): str(value) for key, value in settings.items() if value is not None}
        for name, settings in profiles.items()
    }


def read_text(path: Path) -> str:
    """Return a text file; raise InputError where there is none."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'not a text in UTF-8'}") from error
