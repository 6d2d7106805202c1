"""Files for one reader, listed and read as a build does it."""

from collections.abc import Sequence
from pathlib import Path

from ccreport.archive.manifest import Manifest, RawFile
from ccreport.ingest.readers import find_reader
from ccreport.ingest.reading import Settings, read_experiment


def list_files(reader: str, kind: str, paths: Sequence[Path], root: Path, *, are_runs: bool = True) -> Manifest:
    """Return the manifest of one experiment that has these files below `root`, each as a run of its own or of none."""
    files = (
        RawFile(
            raw_file_id=f"file-{number:06}",
            path=str(path.relative_to(root)),
            kind=kind,
            format=None,
            size_bytes=path.stat().st_size,
            sha256="",
            action="ingest",
            rule=find_reader(reader).rule,
            run_id=f"benchmark-0123456789.run-{number:06}" if are_runs else None,
            client_number=1,
        )
        for number, path in enumerate(paths)
    )
    return Manifest("benchmark", None, None, (), tuple(files))


def read_files(reader: str, manifest: Manifest, root: Path, out: Path, **settings: str) -> None:
    """Write the tables of the files, as `<table>.parquet`, into a folder."""
    read_experiment(find_reader(reader), manifest, root, out, Settings(**settings))
