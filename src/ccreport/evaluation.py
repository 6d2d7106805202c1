"""Evaluations: what a report shows, as `evaluations/*.yaml` declares it."""

from pathlib import Path
from typing import Any, Final

import jsonschema
import yaml
from jsonschema.exceptions import best_match

from ccreport.errors import InputError
from ccreport.schemas import SCHEMAS, load_yaml

# Beside `schemas`, as the files that come with the pipeline are.
EVALUATIONS: Final = SCHEMAS.parent / "evaluations"
SUFFIX: Final = ".yaml"
# Queries and macros that the database of every evaluation has.
SHARED_QUERIES: Final = ("macros", "measured_runs", "fairness", "labelled_rpc", "edge_values")


class EvaluationError(InputError):
    """An evaluation file breaks its schema, or is not there."""


def resolve_evaluation(name: str, folder: Path = EVALUATIONS) -> Path:
    """Return the file of an evaluation: one that comes with the pipeline by its bare name, any other by its path.

    A bare name has neither a slash nor the suffix .yaml, and stands for the file of that name in `folder`. Raise
    EvaluationError, with the names there are, where there is no such file.
    """
    is_path = "/" in name or name.endswith(SUFFIX)
    path = Path(name) if is_path else folder / f"{name}{SUFFIX}"
    if path.is_file():
        return path
    shipped = ", ".join(list_evaluations(folder)) or "none"
    problem = f"{name} does not exist" if is_path else f"no evaluation is called {name!r}"
    raise EvaluationError(f"{problem}; those that come with the pipeline are: {shipped}")


def list_evaluations(folder: Path = EVALUATIONS) -> list[str]:
    """Return the names of the evaluations of a folder, sorted."""
    return sorted(path.stem for path in folder.glob(f"*{SUFFIX}") if path.is_file())


def load_evaluation(path: Path) -> dict[str, Any]:
    """Return an evaluation with its defaults filled in; raise EvaluationError where it breaks its schema.

    So it does where a claim or a reproduction names a figure or table that the evaluation does not declare.
    """
    evaluation = load_declared(path, "evaluation")
    exhibits = {*evaluation["tables"], *evaluation["figures"]}
    for claim, facts in evaluation["claims"].items():
        if unknown := sorted(set(facts["shown_in"]) - exhibits):
            raise EvaluationError(f"{path.name}, claims.{claim}.shown_in: no figure or table {', '.join(unknown)}")
    if unknown := sorted(set(evaluation["reproduction"]) - set(evaluation["tables"])):
        raise EvaluationError(f"{path.name}, reproduction: no table {', '.join(unknown)}")
    if listed := [table for table in evaluation["reproduction"] if "rows" not in evaluation["tables"][table]]:
        raise EvaluationError(f"{path.name}, reproduction: {', '.join(listed)} is no table of cells (it has no `rows`)")
    return evaluation


def load_declared(path: Path, kind: str) -> dict[str, Any]:
    """Return a YAML file with the defaults of `schemas/<kind>.schema.yaml` filled in, as `load_evaluation` does."""
    schema = load_yaml(SCHEMAS / f"{kind}.schema.yaml")
    try:
        declared: dict[str, Any] = load_yaml(path)
    except yaml.YAMLError as error:
        raise EvaluationError(f"{path.name} is no YAML: {error}") from error
    if problem := find_problem(declared, schema):
        raise EvaluationError(f"{path.name}, {problem}")
    fill_defaults(declared, schema)
    return declared


def find_problem(value: Any, schema: dict[str, Any]) -> str | None:
    """Return where a value breaks a schema of ours and how, as one text; None where it does not.

    Not by `jsonschema.validate`, which would check the schema as well: that takes most of its time.
    """
    problem = best_match(jsonschema.Draft202012Validator(schema).iter_errors(value))
    if problem is None:
        return None
    place = ".".join(str(part) for part in problem.absolute_path) or "the top level"
    return f"{place}: {problem.message}"


def fill_defaults(value: Any, schema: dict[str, Any]) -> None:
    """Set what a value does not say to the defaults of its schema, in place and at all depths."""
    if isinstance(value, list):
        for item in value:
            fill_defaults(item, schema.get("items", {}))
    if not isinstance(value, dict):
        return
    for name, declared in schema.get("properties", {}).items():
        if "default" in declared:
            value.setdefault(name, declared["default"])
    additional = schema.get("additionalProperties")
    for name, item in value.items():
        declared = schema.get("properties", {}).get(name, additional)
        if isinstance(declared, dict):
            fill_defaults(item, declared)
