"""Builds of small archives through Snakemake, as a user would run them."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
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
    def jobs(self) -> Counter[str]:
        """Return how many jobs of each rule ran."""
        return Counter(re.findall(r"^(?:local)?(?:rule|checkpoint) (\w+):$", self.output, re.MULTILINE))


def build(target: str, archive: Path, folder: Path, *options: str, **config: object) -> Build:
    """Build a target of an archive into a folder, with values of the configuration if given."""
    results = folder / "results"
    values = {
        "archive": str(archive),
        "report": {"renderer": "embedded"},
        "sections": [],
        "pathvars": {"results": str(results), "logs": str(folder / "logs")},
        **config,
    }
    # Snakemake reads True and False as Python writes them, the rest as YAML.
    pairs = [f"{name}={value if isinstance(value, bool) else json.dumps(value)}" for name, value in values.items()]
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--nolock", *options, target, "--config", *pairs]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    return Build(results, done.returncode, f"$ {shlex.join(command)}\n{done.stdout}{done.stderr}")
