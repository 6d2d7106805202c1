"""Where the harness's jobs send: hosts and profiles as destinations of a campaign.

A real host's path cannot be imported: its RTT is that of the list of hosts, or a default that is to be corrected. A
profile's rate becomes the testbed's bottleneck, and the packets that its netem holds the bottleneck's buffer. As a job
of a campaign has one bottleneck, hosts whose rates differ become jobs of their own.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ccreport.collect.harness_ini.hosts import Host, read_hosts, read_profiles
from ccreport.collect.harness_ini.jobs import LOCAL, HarnessJob
from ccreport.collect.harness_ini.sweeps import parse_limits, parse_loss, parse_tc_rate, tidy
from ccreport.core.units import UnitError, parse_time_ms

# A packet of Ethernet's usual size, to count a limit in bytes.
PACKET_BYTES: Final = 1500
Profiles = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Lists:
    """What every job shares: the hosts of --hostlist, the profiles of --profiles, and the folder of the INI file."""

    hosts: tuple[Host, ...]
    profiles: Profiles
    folder: Path
    default_rtt_ms: float
    scale_rates_by: float = 1.0


@dataclass
class Paths:
    """Hosts that share a line rate and a bottleneck: `settings` are the job's, `destinations` theirs."""

    settings: dict[str, Any]
    destinations: list[dict[str, Any]] = field(default_factory=list)


def list_paths(job: HarnessJob, lists: Lists) -> list[Paths]:
    """Return the paths of a job, one entry for each line rate and bottleneck, and take what says so from its values."""
    hosts, profiles = _find_hosts(job, lists), _find_profiles(job, lists)
    names = _name_hosts(job, hosts)
    groups: dict[tuple[Any, ...], Paths] = {}
    for host, name in zip(hosts, names, strict=True):
        settings, destination = _describe_host(job, host, profiles, lists)
        group = groups.setdefault(tuple(settings.items()), Paths(settings))
        group.destinations.append({"alias": name, **destination})
    return list(groups.values()) or [Paths({})]


def _find_hosts(job: HarnessJob, lists: Lists) -> list[Host]:
    dst, alias, profile = (job.values.pop(key, None) for key in ("dst", "alias", "profile"))
    listed = job.values.pop("hostlist", None) or (dst if dst and dst.endswith(".csv") else None)
    if lists.hosts:
        if dst:
            job.notes.append(f"dst = {dst}: the harness takes the list of hosts instead")
        return list(lists.hosts)
    if listed and (beside := lists.folder / Path(listed).name).is_file():
        return read_hosts(beside)
    if listed:
        job.lost.append(("dst", f"{listed} is not beside the INI file; give it by --hostlist"))
    elif not dst:
        job.lost.append(("dst", "missing: the harness takes a list of hosts, which --hostlist gives"))
    return [Host(dst or "receiver", alias, profile)]


def _find_profiles(job: HarnessJob, lists: Lists) -> Profiles:
    named = job.values.pop("profile-file", None)
    if lists.profiles or not named:
        return lists.profiles
    beside = lists.folder / Path(named).name
    if beside.is_file():
        return read_profiles(beside)
    job.lost.append(("profile-file", f"{named} is not beside the INI file; give it by --profiles"))
    return {}


def _name_hosts(job: HarnessJob, hosts: list[Host]) -> list[str]:
    """Return a name for each host that no other has and that a file name can hold."""
    names: list[str] = []
    for host in hosts:
        wanted = host.alias or host.hostname
        clean = re.sub(r"[^A-Za-z0-9._-]", "_", wanted).lstrip("._-")[:90] or "receiver"
        number, name = 1, clean
        while name in names:
            number += 1
            name = f"{clean}_{number}"
        if name != wanted:
            job.notes.append(f"destination {wanted} is called {name} here")
        names.append(name)
    return names


def _describe_host(
    job: HarnessJob, host: Host, profiles: Profiles, lists: Lists
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of the job that a host's line and profile ask for, and those of its destination."""
    job.lost += [("hostlist", f"{host.hostname}: {text}") for text in host.lost]
    settings: dict[str, Any] = {}
    destination: dict[str, Any] = {}
    if host.nic_bps:
        settings["sender_mbps"] = to_mbps(host.nic_bps * lists.scale_rates_by)
    if host.profile and host.profile not in profiles:
        job.lost.append(("profile", f"{host.profile} of {host.hostname}: there is no such profile"))
    elif host.profile:
        given, settings_of_profile = _read_profile(job, host.profile, profiles[host.profile], lists.scale_rates_by)
        destination |= given
        settings |= settings_of_profile
    # A destination's own path would hide what the section sweeps.
    for key, own in (
        ("rtt_ms", job.rtts_ms),
        ("limit_packets_count", job.limits),
        ("loss_pct", job.loss),
        ("loss", job.loss),
    ):
        if own and destination.pop(key, None) is not None:
            job.lost.append(("profile", f"{key} of {host.profile}: the section's own is taken"))
    if job.rtts_ms and host.rtt_ms:
        job.notes.append(f"RTT of {host.hostname} in the list of hosts: the section's own is taken")
    if not job.rtts_ms and "rtt_ms" not in destination:
        destination |= _guess_rtt(job, host, lists.default_rtt_ms)
    return settings, destination


def _guess_rtt(job: HarnessJob, host: Host, default_rtt_ms: float) -> dict[str, Any]:
    if host.rtt_ms:
        job.notes.append(f"RTT of {host.hostname} as in the list of hosts")
        return {"rtt_ms": tidy(host.rtt_ms)}
    if host.hostname in LOCAL:
        job.notes.append(f"{host.hostname}: no delay is added")
        return {}
    key = "dst" if host.hostname != "receiver" else "netem-lat"
    job.lost.append((key, f"RTT of {host.hostname} is not known: {tidy(default_rtt_ms)} ms stand for it, correct them"))
    return {"rtt_ms": tidy(default_rtt_ms)}


def _read_profile(
    job: HarnessJob, name: str, given: dict[str, str], scale_rates_by: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    def read(key: str, parse: Callable[[str], Any]) -> Any:
        try:
            return parse(given[key]) if key in given else None
        except UnitError as error:
            job.lost.append(("profile", f"{key} of {name}: {error}"))
            return None

    delay_ms, loss, limits, rate_bps = (
        read(key, parse)
        for key, parse in (
            ("latency", lambda text: tidy(parse_time_ms(text))),
            ("loss", parse_loss),
            ("limit", parse_limits),
            ("rate", parse_tc_rate),
        )
    )
    destination, settings = express_loss(loss), {}
    if delay_ms is not None:
        # ASSUME: the agent delays at one interface, which a packet and its answer pass once.
        destination = {"rtt_ms": delay_ms, **destination}
        job.notes.append(f"latency of profile {name}: added once to a round trip")
    if limits:
        destination["limit_packets_count"] = limits[0]
    if rate_bps:
        packets_count = limits[0] if limits else 1000
        settings = {
            "bottleneck_mbps": to_mbps(rate_bps * scale_rates_by),
            "buffer_bytes": packets_count * PACKET_BYTES,
        }
        job.notes.append(f"buffer of profile {name}: netem's limit of {packets_count} packets of {PACKET_BYTES} bytes")
    for key in sorted(given.keys() - {"latency", "loss", "limit", "rate", "interface"}):
        job.lost.append(("profile", f"{key} = {given[key]} of {name}"))
    return destination, settings


def express_loss(loss: dict[str, Any] | None) -> dict[str, Any]:
    """Return a loss, with the names of `plan.Loss`, as the setting of a campaign."""
    if loss is None:
        return {}
    if loss["model"] == "random":
        return {"loss_pct": loss["loss_pct"]}
    return {"loss": {key: value for key, value in loss.items() if key != "loss_pct"}}


def to_mbps(rate_bps: float) -> float:
    """Return a rate in Mbit/s, whole where it is."""
    return tidy(rate_bps / 1e6)
