"""Results of benchmarks as they are kept in `benchmarks/results`: JSON files, each with a schema of its name."""

import json
from pathlib import Path
from typing import Any

from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.errors import InputError
from ccreport.core.schema_problems import find_problem


def load_measurements(path: Path, kind: str) -> dict[str, Any]:
    """Return the results in a file; raise InputError where they are not as `schemas/<kind>.schema.yaml` says."""
    again = f"measure again with benchmarks/{kind}.py --keep"
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is no JSON ({error}); {again}") from error
    if problem := find_problem(content, load_yaml(SCHEMAS / f"{kind}.schema.yaml")):
        raise InputError(f"{path}, {problem}; {again}")
    return content
