"""INI files of ESnet's testing harness, imported: each section becomes a job of a campaign.

The harness runs a section's source command towards hosts that there really are, and has a netem host delay their
packets. What a testbed of one machine can have of that is declared; the rest is said, in the file and on stderr.
"""

import math
import re
import sys
from pathlib import Path
from typing import Final

import yaml

from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.harness_ini.declaration import declare_jobs, write_campaign
from ccreport.collect.harness_ini.hosts import read_hosts, read_profiles
from ccreport.collect.harness_ini.jobs import read_jobs
from ccreport.collect.harness_ini.paths import Lists
from ccreport.core.declarations import SCHEMAS
from ccreport.core.errors import InputError

DEFAULT_RTT_MS: Final = 20.0


def import_harness_ini(
    ini: Path,
    /,
    *,
    campaign: Path,
    hostlist: str = "",
    profiles: str = "",
    scale_rates_by: float = 1.0,
    default_rtt_ms: float = DEFAULT_RTT_MS,
) -> None:
    """Write the campaign that an INI file of ESnet's testing harness represents; warn of what cannot be kept.

    `ini` is the harness's file. `campaign` is the file to write. `hostlist` is the harness's CSV file of hosts.
    `profiles` is its YAML file of profiles. `scale_rates_by` multiplies all rates, for a slower testbed.
    `default_rtt_ms` is the RTT of hosts that no file gives one. Raise InputError where a file is not what it should be,
    where no section can be run, or where the campaign exists already.
    """
    if not (math.isfinite(scale_rates_by) and scale_rates_by > 0 and math.isfinite(default_rtt_ms)):
        raise InputError("--scale-rates-by must be a number above 0, such as 0.005, and --default-rtt-ms a number")
    if campaign.exists():
        raise InputError(f"{campaign} exists; remove it, or give another name")
    lists = Lists(
        hosts=tuple(read_hosts(Path(hostlist))) if hostlist else (),
        profiles=read_profiles(Path(profiles)) if profiles else {},
        folder=ini.parent,
        default_rtt_ms=default_rtt_ms,
        scale_rates_by=scale_rates_by,
    )
    schema = yaml.safe_load((SCHEMAS / "campaign.schema.yaml").read_text(encoding="utf-8"))
    jobs = declare_jobs(read_jobs(ini, scale_rates_by), lists, schema["properties"]["defaults"]["properties"])
    for problem in dict.fromkeys(problem for job in jobs for problem in job.problems):
        print(f"{ini.name}: {problem}", file=sys.stderr)
    if not any(job.is_on for job in jobs):
        raise InputError(f"{ini.name}: no section is left that is enabled and sends by iperf3 or pscheduler")
    label = re.sub(r"[^A-Za-z0-9._-]", "_", ini.stem).lstrip("._-")[:100] or "harness"
    title = "".join(letter if letter.isprintable() else "?" for letter in ini.name)
    campaign.parent.mkdir(parents=True, exist_ok=True)
    text = write_campaign(f"Sweep of {title}", label, _head(title, scale_rates_by), jobs)
    campaign.write_text(text, encoding="utf-8")
    plan_campaign(load_campaign(campaign), campaign.stem)


def _head(name: str, scale_rates_by: float) -> list[str]:
    lines = [
        f"Imported from {name} by `python -m ccreport import_harness_ini`, one job for each section.",
        "TODO marks what the testbed cannot have, or what the INI file does not say.",
        "Delays of the INI file are one-way, RTTs here are twice those.",
    ]
    if scale_rates_by != 1:
        lines.append(
            f"Rates are {scale_rates_by:g} times those of the INI file; delays, losses and limits are not scaled."
        )
    return lines
