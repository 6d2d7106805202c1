"""What the harness wrote beside its measurements: `jobmeta.json`, `<host>-meta.json`, recorded qdiscs, result rows.

`rtt` of a host is a ping in whole ms, 0 where it failed or was below 1 ms. `pre-netem` is what the script that sets up
the path printed, with the output of `tc -s qdisc`.
"""

import json
from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.ingest.jobmeta import read_jobmeta
from ccreport.ingest.qdiscs import parse_qdiscs
from ccreport.ingest.results import read_results
from ccreport.raw import Manifest, RawFile, RawFileError, display_name, read_manifest, read_whole
from ccreport.rejects import Rejects
from ccreport.tables import load_schema, write_table

NO_METADATA: Final = (
    "the job's folder has no readable jobmeta.json: loss, pacing, buffer and sender are unknown where file names and "
    "tools do not tell them; copy the file from the harness's output"
)
TABLE_OF_KIND: Final = {
    "jobmeta": "experiments",
    "host-meta": "hosts",
    "pre-netem": "qdiscs",
    "results": "harness_results",
}


def ingest_metadata(
    manifest: Path, root: Path, experiments: Path, hosts: Path, qdiscs: Path, harness_results: Path, rejects: Path
) -> None:
    """Write the four tables of what the harness recorded about one experiment, and what could not be used of it."""
    listed = read_manifest(manifest)
    rejected = Rejects()
    rows: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLE_OF_KIND.values()}
    for file in listed.files_for("ingest_metadata"):
        try:
            rows[TABLE_OF_KIND[file.kind]].extend(_read_file(file, root, listed, rejected))
        except RawFileError as error:
            rejected.add_error(file, error)
    if listed.runs and not rows["experiments"]:
        rejected.add(listed.files[0], "no_metadata", NO_METADATA, is_whole_file=False)
    for table, path in zip(rows, (experiments, hosts, qdiscs, harness_results), strict=True):
        write_table(pl.DataFrame(rows[table], schema=load_schema(table).polars), table, path)
    rejected.write(rejects)


def _read_file(file: RawFile, root: Path, manifest: Manifest, rejected: Rejects) -> list[dict[str, Any]]:
    content = read_whole(root / file.path)
    match file.kind:
        case "jobmeta":
            return read_jobmeta(file, read_json_object(content), manifest, rejected)
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
        rejected.add(file, "bad_metadata", "rtt is no time in ms; it is left out", is_whole_file=False)
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
