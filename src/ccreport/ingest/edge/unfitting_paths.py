"""The layout of an edge archive's paths, tried on the files that the inventory found."""

import re
from pathlib import Path
from typing import Final

from ccreport.archive.harness_layout import strip_copy_endings
from ccreport.archive.manifest import read_manifest_facts
from ccreport.ingest.edge import READERS
from ccreport.rebuild.batches import read_batches

RULES: Final = frozenset(reader.rule for reader in READERS)


def describe_unfitting_paths(layout: str, batches: Path, manifests: Path) -> str:
    """Return what to say where a layout fits none of the files that are read by it; nothing without an inventory."""
    if not (batches.is_file() and manifests.is_dir()):
        return ""
    listed = [facts for batch in read_batches(batches) for facts in read_manifest_facts(manifests / f"{batch}.json")]
    paths = sorted(file["path"] for facts in listed for file in facts["files"] if file["rule"] in RULES)
    pattern = re.compile(layout)
    if not paths or any(pattern.fullmatch(strip_copy_endings(path)[0]) for path in paths):
        return ""
    files = f"{len(paths):,} files, such as {paths[0]}" if len(paths) > 1 else f"the one file, {paths[0]}"
    return f"edge.paths fits none of {files}: their machines, labels and times are unknown"
