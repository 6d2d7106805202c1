"""What has been fetched so far, file by file: a journal that survives an interruption at any moment."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ccreport.core.atomic_files import replace_text
from ccreport.storage.places import StorageError

NAME: Final = "fetched.jsonl"


@dataclass(frozen=True)
class Fetched:
    """A file that was fetched: its version as it was listed, its bytes and their SHA-256."""

    path: str
    mark: str
    size_bytes: int
    sha256: str


class Record:
    """The journal of a folder: `files` by path, the `source`, and once all is there the `time` of that."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.files: dict[str, Fetched] = {}
        self.source: str | None = None
        self.time: str | None = None
        if self.path.exists():
            self._read()

    def _read(self) -> None:
        for line in self.path.read_bytes().splitlines():
            try:
                facts = json.loads(line)
            except ValueError:  # the line that an interruption cut
                continue
            if "source" in facts:
                self.source = facts["source"]
            elif "time" in facts:
                self.time = facts["time"]
            else:
                self.files[facts["path"]] = Fetched(**facts)

    @property
    def is_complete(self) -> bool:
        """Tell whether the last fetch came to its end."""
        return self.time is not None

    def begin(self, source: str, kept: dict[str, Fetched]) -> None:
        """Begin a fetch, of which these files are here already."""
        self.source, self.files, self.time = source, kept, None
        lines = [json.dumps({"source": source}), *(json.dumps(vars(fetched)) for fetched in kept.values())]
        replace_text(self.path, "".join(f"{line}\n" for line in lines))

    def add(self, fetched: Fetched) -> None:
        """Write down a file that is in its place now."""
        self.files[fetched.path] = fetched
        self._append(vars(fetched))

    def finish(self, time: str) -> None:
        """Write down that all is there."""
        self.time = time
        self._append({"time": time})

    def _append(self, facts: dict[str, object]) -> None:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(facts) + "\n")


class FolderLock:
    """A folder that one fetch at a time writes into."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._stream = (folder / ".lock").open("w", encoding="utf-8")

    def __enter__(self) -> Self:
        import fcntl  # noqa: PLC0415  # not there on every system that can import this module

        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._stream.close()
            raise StorageError(
                "another fetch writes into this folder; wait for its end, or name another folder"
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
