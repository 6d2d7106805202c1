"""A layout of an edge archive's paths that fits none of its files is told."""

import json
from pathlib import Path

import pytest

from ccreport.ingest.edge.unfitting_paths import describe_unfitting_paths

OTHERS = "their machines, labels and times are unknown"


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        (r"(?P<machine>[^/]+)/(?P<label>[^/]+)/[^/]+", ""),
        # One of the two files is enough.
        (r".*access\.log", ""),
        (r"(?P<machine>[^/]+)/[^/]+", f"edge.paths fits none of 2 files, such as m/bbr2/access.log.gz: {OTHERS}"),
    ],
)
def test_a_layout_has_to_fit_a_file(layout: str, said: str, tmp_path: Path) -> None:
    batches, manifests = tmp_path / "batches.txt", tmp_path / "manifests"
    assert describe_unfitting_paths(layout, batches, manifests) == ""
    batches.write_text("first e\n")
    manifests.mkdir()
    files = [
        {"path": "m/bbr2/ss-neit:1795211351", "rule": "ingest_edge"},
        {"path": "m/bbr2/access.log.gz", "rule": "ingest_nginx"},
        # Files of other readers do not need the layout, nor those that no reader takes.
        {"path": "m/notes", "rule": None},
    ]
    (manifests / "first.json").write_text(json.dumps([{"experiment_id": "e", "files": files}]))
    assert describe_unfitting_paths(layout, batches, manifests) == said
