"""ccreport's own readers as a command for `score.py`, and an example of one: print a file's values as JSON."""

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from ccreport.inventory.single_files import ingest

OF_MPSTAT = ("usr", "sys", "soft", "idle")


def parse(format: str, file: Path) -> dict[str, Any] | None:
    """Return the quantities of a file, those of flows or processors as `parts`; None without a result."""
    said = io.StringIO()
    with TemporaryDirectory() as folder, contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        ingest(format, [file], output=Path(folder))
        tables = {path.stem: pl.read_parquet(path) for path in Path(folder).glob("*.parquet")}
    return (
        {"iperf3": describe_test, "ss": describe_sockets, "mpstat": describe_loads}[format](tables) if tables else None
    )


def describe_test(tables: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """Return a result of iperf3, its flows by their local ports."""
    test = tables["tests"].row(0, named=True)
    empty = pl.DataFrame({"interval_bytes": [], "local_port": []})
    intervals, streams = (tables.get(name, empty) for name in ("intervals", "streams"))
    return {
        **{name: test[name] for name in ("protocol", "is_interrupted")},
        "connections_count": streams.height,
        "tool_version": test["tool_version"].removeprefix("iperf "),
        "intervals_count": intervals.height,
        "interval_sum_bytes": intervals["interval_bytes"].sum(),
        "parts": {
            str(row["local_port"]): row | {"retransmits_count": row["retransmits_iperf3_count"]}
            for row in streams.to_dicts()
        },
    }


def describe_sockets(tables: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """Return sockets of ss by their local ports."""
    return {"parts": {str(row["local_port"]): row for row in tables["samples"].to_dicts()}}


def describe_loads(tables: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """Return the loads of mpstat, added up over the samples of each processor."""
    samples = tables["cpu_samples"]

    def add_up() -> Iterator[tuple[str, dict[str, float]]]:
        for (cpu,), own in samples.group_by("cpu"):
            yield str(cpu), {f"{name}_sum_pct": own[f"cpu_{name}_pct"].sum() for name in OF_MPSTAT}

    return {"samples_count": samples["sample_number"].n_unique(), "parts": dict(add_up())}


if __name__ == "__main__":
    found = parse(sys.argv[1], Path(sys.argv[2]))
    if found is None:
        sys.exit(f"{sys.argv[2]} has no result")
    print(json.dumps(found, default=str))
