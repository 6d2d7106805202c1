"""What an editor with a YAML language server needs: files that people write name their schema, which fits them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from archives import ROOT
from jsonschema import Draft202012Validator

from ccreport.core.declarations import load_yaml

NAMED = re.compile(r"\A# yaml-language-server: \$schema=(\S+)\n")
# Whoever writes a file of a kind begins with one of these.
KINDS = {
    "config": ["config.yaml"],
    "evaluation": ["evaluations/*.yaml", "benchmarks/declared/side_by_side.yaml"],
    "campaign": ["campaigns/*.yaml"],
    "comparison": ["comparisons/*.yaml"],
    "explanations": ["archive/explanations.yaml", "tests/fixtures/edge.yaml", "tests/fixtures/rpc_load.yaml"],
}
# Elsewhere are schemas, inputs of tests, what conda, Quarto and Snakemake define, and archives with files of their own.
FOLDERS = ("benchmarks", "campaigns", "comparisons", "conformance", "evaluations")
HELD = {"config.yaml", *FOLDERS}
WRITTEN = [(kind, path) for kind, patterns in KINDS.items() for pattern in patterns for path in ROOT.glob(pattern)]
SCHEMAS = [*KINDS, "layout"]


def load_schema(kind: str) -> dict[str, Any]:
    schema: dict[str, Any] = load_yaml(ROOT / f"schemas/{kind}.schema.yaml")
    return schema


@pytest.mark.parametrize(("kind", "path"), WRITTEN, ids=[path.stem for _, path in WRITTEN])
def test_a_file_names_the_schema_that_it_fits(kind: str, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = NAMED.match(text)
    assert named, f"{path.name} does not begin with its schema"
    assert (path.parent / named[1]).resolve() == ROOT / f"schemas/{kind}.schema.yaml"
    Draft202012Validator(load_schema(kind)).validate(yaml.safe_load(text))


def test_every_file_that_people_write_is_of_a_kind() -> None:
    held = [*ROOT.glob("[!.]*.yaml"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.yaml"))]
    assert sorted(map(str, held)) == sorted(str(path) for _, path in WRITTEN if path.relative_to(ROOT).parts[0] in HELD)


@pytest.mark.parametrize(
    ("page", "kind", "folder"),
    [("evaluations", "evaluation", "evaluations"), ("own_archive", "layout", "path/to/files")],
)
def test_examples_of_the_pages_name_it_as_seen_from_their_folder(page: str, kind: str, folder: str) -> None:
    text = (ROOT / f"reports/{page}.qmd").read_text(encoding="utf-8")
    examples = re.findall(r"^```yaml\n(# yaml-language-server.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        named = NAMED.match(example)
        assert named
        assert (ROOT / folder / named[1]).resolve() == ROOT / f"schemas/{kind}.schema.yaml"
        Draft202012Validator(load_schema(kind)).validate(yaml.safe_load(example))


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_says_what_each_key_is(kind: str) -> None:
    schema = load_schema(kind)
    Draft202012Validator.check_schema(schema)
    assert [place for place, facts in list_keys(schema, "") if not resolve(facts, schema).get("description")] == []


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_key_that_has_a_default_is_not_required(kind: str) -> None:
    assert list(list_required_defaults(load_schema(kind))) == []


def list_required_defaults(schema: Any) -> Iterator[str]:
    """Yield the keys that a part of a schema requires though it declares what they are where they are left out."""
    if isinstance(schema, dict) and isinstance(schema.get("required"), list):
        yield from (name for name in schema["required"] if "default" in schema.get("properties", {}).get(name, {}))
    if isinstance(schema, dict | list):
        for part in schema.values() if isinstance(schema, dict) else schema:
            yield from list_required_defaults(part)


def list_keys(schema: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each declared key by its place, with what is declared of it."""
    if isinstance(schema, list):
        for item in schema:
            yield from list_keys(item, place)
    if not isinstance(schema, dict):
        return
    for name, facts in schema.items():
        if name == "properties":
            for key, declared in facts.items():
                yield f"{place}.{key}", declared
                yield from list_keys(declared, f"{place}.{key}")
        else:
            yield from list_keys(facts, place)


def resolve(facts: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return what is declared of a key, with what it refers to."""
    reference = facts.get("$ref", "")
    if not reference:
        return facts
    target: Any = schema
    for part in reference.removeprefix("#/").split("/"):
        target = target[part]
    return target | facts
