"""`jobmeta.json`: the attributes of the harness's Job object, one line of JSON per job.

Values are texts or null as they stood in the INI file, with units of netem and tc; `lat` is a one-way delay in ms.
Every key is optional, older commits of the harness have fewer.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from ccreport.archive.manifest import Manifest, RawFile
from ccreport.core.schema_problems import find_near
from ccreport.core.text import display_name
from ccreport.core.units import UnitError, parse_rate_bps, parse_tc_rate_bps, parse_time_ms
from ccreport.ingest.harness.checked_json import Recorded
from ccreport.ingest.json_values import quote
from ccreport.ingest.rejects import Rejects

# iperf3 -c {dst} -P 16 -C bbr · pscheduler task throughput --congestion=bbr2 · sysctl -w …tcp_congestion_control=bbr2
CONGESTION: Final = re.compile(r"(?:\s-C[ =]?|--congestion[ =]|tcp_congestion_control=)\s*([A-Za-z0-9_]+)")
PERCENT: Final = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?"
# 0.001 · 0.001% · 1e-05 · 0.001 gemodel
LOSS: Final = re.compile(rf"\s*({PERCENT})(?![0-9.])\s*%?(?:\s+(\S.*))?\s*", re.DOTALL)
# What the harness takes for the MTU where ifconfig ends the line with another word.
METRIC: Final = re.compile(r"Metric:\d+")
# gemodel · gemodel 20% · state 1% 5% · random · 25%, a correlation
MODEL: Final = re.compile(rf"(?:gemodel|state|random|ecn|{PERCENT}%?)(?:\s+(?:ecn|{PERCENT}%?))*")
NUMBER: Final = re.compile(PERCENT)


def find_congestion(command: str) -> str | None:
    """Return the congestion control that a command line asks for, None where it asks for none."""
    match = CONGESTION.search(command)
    return match[1] if match else None


def parse_loss(text: str) -> tuple[float, str | None]:
    """Return the percentage of netem's loss argument and the model that follows it; raise UnitError for another."""
    match = LOSS.fullmatch(text)
    if match is None or not float(match[1]) <= 100:
        raise UnitError("not a loss in percent such as 0.001")
    model = (match[2] or "").strip()
    if model and not (MODEL.fullmatch(model) and all(float(number) <= 100 for number in NUMBER.findall(model))):
        raise UnitError(f"{model[:40]!r} is not a loss model of netem, such as gemodel")
    return float(match[1]), model or None


def _parse_count(text: str) -> int:
    # int would read 1_000 and digits of other scripts as well.
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) < 2**63):
        raise UnitError("not a whole number from 0 on")
    return int(text)


def _parse_bool(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise UnitError("not true or false")
    return text.lower() == "true"


PLAIN_KEYS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "job_uuid": ("uuid", display_name),
    "job_name": ("name", display_name),
    "job_type": ("type", display_name),
    "sender_host": ("hostname", display_name),
    "iterations_count": ("iters", _parse_count),
    "command": ("src_cmd", display_name),
    "pre_command": ("pre_src_cmd", display_name),
    "limit_packets_count": ("limit", _parse_count),
    "pacing_bps": ("pacing", parse_tc_rate_bps),
    "nic_bps": ("NIC_speed", parse_rate_bps),
    "kernel": ("kernel", display_name),
    "buffer_bytes": ("buffer_bytes", _parse_count),
    "bottleneck_bps": ("bottleneck", parse_tc_rate_bps),
    "background_udp_bps": ("background_udp", parse_tc_rate_bps),
    "parameter_name": ("param_name", display_name),
    "start_text": ("start_time", display_name),
    "queue_discipline": ("queue", display_name),
    "has_queue_ecn": ("ecn", _parse_bool),
    "campaign": ("campaign", display_name),
}
UNSAID: Final = object()
READ_KEYS: Final = frozenset({key for key, _ in PLAIN_KEYS.values()} | {"loss", "lat", "MTU", "clients", "stages"})
# Keys of the harness that nothing is read from here, or only by the inventory.
OTHER_KEYS: Final = frozenset(
    {
        *("user", "enabled", "instrument", "src", "dst", "alias"),
        *("hosts", "parent", "nic", "NIC", "archive", "settings"),
        *("pre", "post", "dst_cmd", "pre_dst_cmd", "post_src_cmd", "post_dst_cmd", "src_cmd_once", "dst_cmd_once"),
        *("ss", "tcptrace", "tcpdump", "tcpdump_filt", "mpstat", "statexec", "profile", "profile_file"),
        *("lat_sweep", "lat_val_list", "limit_sweep", "limit_val_list", "param_sweep", "param_val_list"),
        "vector_element",
    }
)


def read_jobmeta(file: RawFile, facts: dict[str, Any], manifest: Manifest, rejected: Rejects) -> list[dict[str, Any]]:
    """Return the row of the `experiments` table; a value that cannot be read is rejected by its key and left out."""

    def read(key: str, parse: Callable[[str], Any]) -> Any:
        value = facts.get(key)
        if value is None or value == "":
            return None
        try:
            return parse(str(value))
        except ValueError as error:
            message = f"{key} is {str(value)[:80]!r}: {error}; the value is left out"
            rejected.add(file, "bad_metadata", display_name(message), is_whole_file=False)
            return None

    for key in sorted(set(facts) - READ_KEYS - OTHER_KEYS):
        meant = find_near(key, READ_KEYS - set(facts))
        # Versions of the harness have keys of their own, which are not mistakes.
        if meant is not None:
            message = f"nothing is read from the key {key[:80]!r}; did you mean `{meant}`?"
            rejected.add(file, "bad_metadata", display_name(message), is_whole_file=False)
    loss_pct, loss_model = read("loss", parse_loss) or (None, None)
    delay_ms = read("lat", parse_time_ms)
    commands = [str(facts.get(key) or "") for key in ("src_cmd", "pre_src_cmd")]
    row = {column: read(key, parse) for column, (key, parse) in PLAIN_KEYS.items()}
    row |= {
        "experiment_id": manifest.experiment_id,
        "raw_file_id": file.raw_file_id,
        "cc_command": next(filter(None, map(find_congestion, commands)), None),
        "loss_pct": loss_pct,
        "loss_model": loss_model,
        # A loss of null is none, as the harness writes it; without the key, or with another value, it is not known.
        "has_netem": any(facts.get(key) for key in ("lat", "lat_sweep", "lat_val_list"))
        and (loss_pct is not None or facts.get("loss", UNSAID) in (None, "")),
        "rtt_nominal_ms": 2 * delay_ms if delay_ms is not None else None,
        "mtu_bytes": None if METRIC.fullmatch(str(facts.get("MTU"))) else read("MTU", _parse_count),
        "clients_json": _read_clients(Recorded(file, facts, rejected)),
        "stages_json": _read_stages(Recorded(file, facts, rejected)),
    }
    return [row]


def _read_stages(recorded: Recorded) -> str | None:
    """Return the changes of the path during each run, a JSON list as `collect` writes it.

    One is {"at_s": 40, "rtt_ms": 60, "rate": "20mbit", "loss": "0.1"}: what it does not say stays as it was.
    """
    stages = []
    for stage in recorded.read_objects("stages"):
        at_s = stage.read_number("at_s", at_least=0)
        facts = {
            "rtt_ms": stage.read_number("rtt_ms", at_least=0),
            "rate": stage.read_parsed("rate", parse_tc_rate_bps),
            "loss": stage.read_parsed("loss", parse_loss),
        }
        for key in sorted({*stage.keys()} - {"at_s", *facts}):
            stage.reject(
                "bad_metadata", f"nothing is read from the key {quote(key)!r}; a stage has at_s, {', '.join(facts)}"
            )
        if at_s is None:
            stage.reject("bad_metadata", "a stage without at_s, the second in which it begins; it is left out")
            continue
        numbers = {"at_s": at_s, **facts}
        stages.append({key: _shorten(value) for key, value in numbers.items() if value is not None})
    return json.dumps(stages, sort_keys=True) if stages else None


def _shorten(value: float | str) -> float | str:
    """Return a number as people write it: 40 in place of 40.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _read_clients(recorded: Recorded) -> str | None:
    """Return what is known of the client processes of each run, a JSON list; the harness itself writes none of it."""
    clients = []
    for client in recorded.read_objects("clients"):
        number = client.read_count("number")
        if number is None:
            client.reject("bad_metadata", "a client without a number; it is left out")
            continue
        facts = {
            "number": number,
            "congestion_control": client.read_text("congestion_control"),
            "host": client.read_text("host"),
            "port": client.read_count("port"),
            "rtt_ms": client.read_number("rtt_ms", at_least=0),
            "start_s": client.read_number("start_s", at_least=0),
        }
        clients.append({name: fact for name, fact in facts.items() if fact is not None})
    return json.dumps(clients, sort_keys=True) if clients else None
