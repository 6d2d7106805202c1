"""What a section of the harness's INI file is as jobs of a campaign, and how that is written down.

A comment above each job says what is in the section and needs no setting. A line `TODO section, key: …` marks
what the testbed cannot have, or what the file does not say; the same lines are the warnings of the command.
"""

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from ccreport.collect.harness_ini.jobs import HarnessJob
from ccreport.collect.harness_ini.paths import Lists, Paths, express_loss, list_paths, to_mbps
from ccreport.core.schema_problems import find_problem

WIDTH: Final = 110
# Algorithms that Linux itself does not have, in Debian's user-mode kernel as little as elsewhere.
FOREIGN: Final = ("bbr2", "bbr3")


@dataclass(frozen=True)
class Job:
    """One job of the campaign. `problems` are lines of `section, key: …`; a job that is off is only a comment."""

    name: str
    settings: dict[str, Any]
    notes: tuple[str, ...]
    problems: tuple[str, ...]
    is_on: bool


def declare_jobs(harness_jobs: Sequence[HarnessJob], lists: Lists, schema: Mapping[str, Any]) -> list[Job]:
    """Return the jobs of a campaign that sections represent; `schema` is that of a job's settings, in their order."""
    jobs: list[Job] = []
    for harness_job in harness_jobs:
        groups = list_paths(harness_job, lists)
        harness_job.lost += [(key, f"{text}: not a key that is known") for key, text in harness_job.values.items()]
        for number, paths in enumerate(groups, start=1):
            name = _choose_name(harness_job.name, number if len(groups) > 1 else None, {job.name for job in jobs})
            jobs.append(_declare_job(name, harness_job, paths, schema))
    return jobs


def _choose_name(section: str, number: int | None, taken: set[str]) -> str:
    clean = re.sub(r"[^A-Za-z0-9._+=-]", "_", section).lstrip("._+=-")[:180] or "job"
    wanted = name = clean if number is None else f"{clean}_paths{number}"
    while name in taken:
        number = (number or 1) + 1
        name = f"{wanted}_{number}"
    return name


def _declare_job(name: str, job: HarnessJob, paths: Paths, schema: Mapping[str, Any]) -> Job:
    notes, lost = list(job.notes), list(job.lost)
    if name != job.name:
        notes.append(f"section [{job.name}]")
    settings = _collect_settings(job, paths, notes, lost)
    ordered = {}
    for key in schema:
        if key not in settings:
            continue
        # Whatever a file says, what is written can be read: the schema has the last word on each value.
        if problem := find_problem(settings[key], schema[key]):
            lost.append((key, f"{str(problem)[:200]}; left out"))
        else:
            ordered[key] = settings[key]
    if job.command and not {"duration_s", "volume_bytes"} & ordered.keys():
        ordered |= {"duration_s": 10}
    if job.command is None and not any(key == "src-cmd" for key, _ in lost):
        lost.append(("src-cmd", "missing: nothing would be sent"))
    problems = tuple(dict.fromkeys(_clean(f"{job.name}, {key}: {text}") for key, text in lost))
    is_on = job.is_enabled and job.command is not None
    if not job.is_enabled:
        notes.append("disabled in the INI file")
    return Job(name, ordered, tuple(dict.fromkeys(map(_clean, notes))), problems, is_on)


def _collect_settings(job: HarnessJob, paths: Paths, notes: list[str], lost: list[tuple[str, str]]) -> dict[str, Any]:
    settings: dict[str, Any] = {"iterations_count": job.iterations_count} | paths.settings | express_loss(job.loss)
    if paths.destinations:
        settings["destinations"] = paths.destinations
    for key, values in (("rtt_ms", job.rtts_ms), ("limit_packets_count", job.limits)):
        if values:
            settings[key] = values[0] if len(values) == 1 else list(dict.fromkeys(values))
    if job.parameters:
        sweep = job.parameters
        element = {} if sweep.element is None else {"vector_element": sweep.element - 1}
        settings["parameter_sweep"] = {
            "name": f"{sweep.module}.{sweep.parameter}",
            "values": list(dict.fromkeys(sweep.values)),
        } | element
    settings |= _read_flows(job)
    if any(job.commands.values()):
        settings["commands"] = {key: job.commands[key] for key in job.commands}
    if instruments := _choose_instruments(job, notes):
        settings["instruments"] = instruments
    named = [settings.get("congestion_control"), job.parameters.module[4:] if job.parameters else None]
    if found := sorted(name for name in named if isinstance(name, str) and name in FOREIGN):
        lost.append(
            ("src-cmd" if job.parameters is None else "param-sweep", f"{found[0]}: only a kernel of your own has it")
        )
    elif "bbr" in named:
        notes.append("bbr is version 1 in Debian's kernels")
    return settings


def _read_flows(job: HarnessJob) -> dict[str, Any]:
    """Return the settings that the source command and the pacing ask for."""
    if job.command is None:
        return {}
    facts, extra = dict(job.command.facts), list(job.command.extra_arguments)
    socket_rate_bps, interval_s = facts.pop("flow_rate_bps", None), facts.pop("interval_s", None)
    settings = {key: value for key, value in facts.items() if key != "is_reverse"}
    if (duration_s := facts.get("duration_s")) is not None and duration_s != math.ceil(duration_s):
        # iperf3 takes whole seconds.
        settings["duration_s"] = math.ceil(duration_s)
    if facts.get("is_reverse"):
        settings["reverse"] = True
    if interval_s is not None:
        settings["report_interval_s"] = interval_s
    if job.flow_maxrate_bps:
        settings["flow_pacing_mbps"] = to_mbps(job.flow_maxrate_bps)
        extra += ["--fq-rate", str(socket_rate_bps)] if socket_rate_bps else []
    elif socket_rate_bps:
        settings |= {"flow_pacing_mbps": to_mbps(socket_rate_bps), "pacing_by": "socket"}
    if extra:
        settings["extra_arguments"] = extra
    return settings


def _choose_instruments(job: HarnessJob, notes: list[str]) -> dict[str, Any]:
    wanted, chosen = job.instruments, dict[str, Any]()
    if wanted["has_ss"] is False:
        chosen["ss_interval_s"] = None
    elif wanted["has_ss"] is None:
        notes.append("ss is not asked for; it runs, as the report needs it (ss_interval_s: null turns it off)")
    if wanted["has_tcpdump"]:
        named = {"snap_bytes": wanted["snap_bytes"], "filter": wanted["filter"]}
        chosen["capture"] = {key: value for key, value in named.items() if value is not None}
    elif wanted["snap_bytes"] or wanted["filter"]:
        notes.append("tcpdump-filt: of no effect without tcpdump")
    return chosen


def _clean(text: str) -> str:
    # YAML allows no control character, in comments neither.
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def write_campaign(title: str, label: str, heading: Sequence[str], jobs: Sequence[Job]) -> str:
    """Return the text of a campaign; what all jobs share is there once, as `defaults`. `heading` are comment lines."""
    shared = _find_shared(jobs)
    lines = [f"# {line}" for line in heading]
    lines += _dump({"title": title})
    if shared:
        lines += ["", "# What all sections share.", *_dump({"defaults": shared})]
    lines += ["", "sessions:", *_indent(_dump({"label": label}), "  ", "- "), "    jobs:"]
    for job in jobs:
        own = {key: value for key, value in job.settings.items() if key not in shared}
        lines += ["", *_comment([*job.notes, *(f"TODO {problem}" for problem in job.problems)])]
        block = _indent(_dump({"name": job.name} | own), "      ", "- ")
        lines += block if job.is_on else [f"      # {line[6:]}" for line in block]
    return "\n".join(lines) + "\n"


def _find_shared(jobs: Sequence[Job]) -> dict[str, Any]:
    if len(jobs) < 2:
        return {}
    first, *others = (job.settings for job in jobs)
    return {key: value for key, value in first.items() if all(key in other and other[key] == value for other in others)}


def _dump(values: dict[str, Any]) -> list[str]:
    text = yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH - 12)
    return text.splitlines()


class _Dumper(yaml.SafeDumper):
    """YAML with lists of plain values in one line and the others indented, as people write it."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)


def _represent_list(dumper: _Dumper, values: list[Any]) -> yaml.Node:
    is_plain = all(not isinstance(value, dict | list) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=is_plain)


_Dumper.add_representer(list, _represent_list)


def _indent(lines: Sequence[str], margin: str, bullet: str) -> list[str]:
    return [margin + (bullet if number == 0 else "  ") + line for number, line in enumerate(lines)]


def _comment(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        yield from textwrap.wrap(
            text,
            WIDTH,
            initial_indent="      # ",
            subsequent_indent="      #   ",
            break_long_words=False,
            break_on_hyphens=False,
        )
