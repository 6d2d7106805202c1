"""Evaluations: what a report shows, as `evaluations/*.yaml` declares it."""

from pathlib import Path
from typing import Any

import jsonschema
import yaml

from ccreport.errors import InputError
from ccreport.tables import SCHEMAS


class EvaluationError(InputError):
    """An evaluation file breaks its schema."""


def load_evaluation(path: Path) -> dict[str, Any]:
    """Return an evaluation with its defaults filled in; raise EvaluationError where it breaks its schema."""
    schema = yaml.safe_load((SCHEMAS / "evaluation.schema.yaml").read_text(encoding="utf-8"))
    try:
        evaluation: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        jsonschema.validate(evaluation, schema, cls=jsonschema.Draft202012Validator)
    except yaml.YAMLError as error:
        raise EvaluationError(f"{path.name} is no YAML: {error}") from error
    except jsonschema.ValidationError as error:
        place = ".".join(str(part) for part in error.absolute_path) or "the top level"
        raise EvaluationError(f"{path.name}, {place}: {error.message}") from error
    _fill_defaults(evaluation, schema)
    return evaluation


def _fill_defaults(value: Any, schema: dict[str, Any]) -> None:
    if isinstance(value, list):
        for item in value:
            _fill_defaults(item, schema.get("items", {}))
    if not isinstance(value, dict):
        return
    for name, declared in schema.get("properties", {}).items():
        if "default" in declared:
            value.setdefault(name, declared["default"])
    additional = schema.get("additionalProperties")
    for name, item in value.items():
        declared = schema.get("properties", {}).get(name, additional)
        if isinstance(declared, dict):
            _fill_defaults(item, declared)
