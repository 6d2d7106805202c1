"""What the harness wrote beside its measurements: `jobmeta.json`, `<host>-meta.json`, recorded qdiscs, result rows.

`rtt` of a host is a ping in whole ms, 0 where it failed or was below 1 ms. `pre-netem` is what the script that sets up
the path printed, with the output of `tc -s qdisc`.
"""

import json
from typing import Any, Final

from ccreport.archive.harness_layout import split_name
from ccreport.archive.manifest import Manifest, RawFile
from ccreport.archive.raw_file import RawFileError, read_whole
from ccreport.core.text import display_name
from ccreport.ingest.harness.jobmeta import read_jobmeta
from ccreport.ingest.harness.qdiscs import parse_qdiscs
from ccreport.ingest.harness.result_rows import read_results
from ccreport.ingest.reading import Reading
from ccreport.ingest.rejects import Rejects

NO_METADATA: Final = (
    "the job's folder has no readable jobmeta.json: loss, pacing, buffer and sender are unknown where file names and "
    "tools do not tell them; copy the file from the harness's output, or say it in a layout.yaml"
)
UNDECLARED: Final = (
    "nothing declares what the path was set to: loss, pacing, buffer and sender are unknown where file names and tools "
    "do not tell them; say it in a layout.yaml, which `python -m ccreport adopt` proposes"
)
NO_HOST: Final = "its name does not say which host it is about: call it <host>-meta.json, or give its pattern a `host`"
TABLES: Final = {
    "jobmeta": "experiments",
    "host-meta": "hosts",
    "pre-netem": "qdiscs",
    "results": "harness_results",
}


def read_metadata(reading: Reading) -> None:
    """Write the four tables of what the harness recorded about one experiment."""
    read = reading.read_each(lambda file: _read_file(file, reading))
    rows = {table: [row for file, rows in read if file.kind == kind for row in rows] for kind, table in TABLES.items()}
    # What a declared layout names needs no metadata: it says itself what is not to be found in the files.
    if not rows["experiments"] and any(run.conditions is None for run in reading.manifest.runs):
        is_harness = any(split_name(file.path.rpartition("/")[2]) for file in reading.manifest.files)
        message = NO_METADATA if is_harness else UNDECLARED
        reading.rejected.add(reading.manifest.files[0], "no_metadata", message, is_whole_file=False)
    for table, of_table in rows.items():
        reading.write_rows(table, of_table)


def _read_file(file: RawFile, reading: Reading) -> list[dict[str, Any]]:
    manifest, rejected = reading.manifest, reading.rejected
    content = read_whole(reading.root / file.path)
    match file.kind:
        case "jobmeta":
            return read_jobmeta(file, read_json_object(content), manifest, rejected)
        case "host-meta" if file.host is None:
            raise RawFileError("unclear_name", NO_HOST)
        case "host-meta":
            return _read_host_meta(file, read_json_object(content), manifest, rejected)
        case "pre-netem":
            qdiscs = parse_qdiscs(content.decode("utf-8", "replace"))
            return [qdisc | {"run_id": file.run_id, "raw_file_id": file.raw_file_id} for qdisc in qdiscs]
        case _:
            return read_results(file, content, manifest.experiment_id, rejected)


def read_json_object(content: bytes) -> dict[str, Any]:
    """Return the JSON object that a file holds; raise RawFileError (`empty`, `not_json`, `unexpected_structure`)."""
    if not content.strip():
        raise RawFileError("empty", "the file is empty; copy it again from the harness's output")
    try:
        facts = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RawFileError("not_json", f"this is no JSON ({error})") from error
    if not isinstance(facts, dict):
        raise RawFileError("unexpected_structure", "the file holds no JSON object")
    return facts


def _read_host_meta(
    file: RawFile, facts: dict[str, Any], manifest: Manifest, rejected: Rejects
) -> list[dict[str, Any]]:
    ping = facts.get("rtt")
    if ping is not None and (isinstance(ping, bool) or not isinstance(ping, int | float) or not 0 <= ping < 1e6):
        rejected.add(file, "bad_metadata", "rtt is not a time in ms; it is left out", is_whole_file=False)
        ping = None
    row: dict[str, Any] = {
        "experiment_id": manifest.experiment_id,
        "host": file.host,
        "raw_file_id": file.raw_file_id,
        "rtt_ping_ms": float(ping) if ping else None,
    }
    for column, key in (("host_address", "hostname"), ("profile", "profile")):
        row[column] = display_name(facts[key]) if isinstance(facts.get(key), str) else None
    return [row]
