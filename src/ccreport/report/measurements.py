"""Results of benchmarks as they are kept in `benchmarks/results`: JSON files, each with a schema of its name."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from ccreport.errors import InputError
from ccreport.schemas import SCHEMAS


def load_measurements(path: Path, kind: str) -> dict[str, Any]:
    """Return the results in a file; raise InputError where they are not as `schemas/<kind>.schema.yaml` says."""
    schema = yaml.safe_load((SCHEMAS / f"{kind}.schema.yaml").read_text(encoding="utf-8"))
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        jsonschema.validate(content, schema, cls=jsonschema.Draft202012Validator)
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is no JSON ({error}); measure again with benchmarks/{kind}.py --keep") from error
    except jsonschema.ValidationError as error:
        place = ".".join(str(part) for part in error.absolute_path) or "the top level"
        message = f"{path}, {place}: {error.message}; measure again with benchmarks/{kind}.py --keep"
        raise InputError(message) from error
    return content
