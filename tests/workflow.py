"""Builds of small archives through Snakemake, as a user would run them."""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from support import ROOT


@dataclass(frozen=True)
class Build:
    """One call of Snakemake: where its results are, how it ended and what it said."""

    results: Path
    returncode: int
    output: str

    @property
    def jobs(self) -> dict[str, int]:
        """Return how many jobs of each rule ran, from Snakemake's own table of job counts."""
        table = re.search(r"^Job stats:\n.*?\n(?:total\s|\Z)", self.output, re.MULTILINE | re.DOTALL)
        rows = re.findall(r"^([a-z]\w+)\s+(\d+)$", table[0], re.MULTILINE) if table else []
        return {rule: int(count) for rule, count in rows}


def build(target: str, archive: Path, folder: Path, *options: str, **config: object) -> Build:
    """Build a target of an archive into a folder, with values of the configuration if given."""
    results = folder / "results"
    values = {
        "archive": str(archive),
        "report": {"renderer": "embedded"},
        "pathvars": {"results": str(results), "logs": str(folder / "logs")},
        **config,
    }
    pairs = [f"{name}={json.dumps(value)}" for name, value in values.items()]
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--nolock", *options, target, "--config", *pairs]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    return Build(results, done.returncode, f"$ {shlex.join(command)}\n{done.stdout}{done.stderr}")
