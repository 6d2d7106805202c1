"""The word that is meant by a misspelt one, and what is said of a value that breaks a schema."""

from typing import Any

import pytest

from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.schema_problems import find_near, find_problem


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("codle", ["cake", "fq_codel", "red"], "fq_codel"),
        ("cubic", ["BBR", "CUBIC"], "CUBIC"),
        ("CUBIK", ["CUBIC", "cubic"], "CUBIC"),
        ("cubik", ["CUBIC", "cubic"], "cubic"),
        ("rat", ["share", "rate_by_rtt"], "rate_by_rtt"),
        ("rate_by_rt", ["rate_by_buffer", "rate_by_rtt_1_flow"], "rate_by_rtt_1_flow"),
        ("run", ["run_completions", "runs"], "runs"),
        ("rtt", ["path_rtt", "sharing"], "path_rtt"),
        ("nothing", ["path_rtt"], None),
    ],
)
def test_a_guess_is_the_nearest_in_whichever_case(word: str, known: list[str], near: str | None) -> None:
    assert find_near(word, known) == near


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("rate_mbps", "20e6", "`20e6` is not a number; write 20, in the unit of `rate_mbps`"),
        ("rate_mbps", 2_500_000, "write a number up to 1000; write 2.5, in the unit of `rate_mbps`"),
        ("rate_mbps", "2e2", "`2e2` is not a number; write 200"),
        ("rate_mbps", 2_000, "write a number up to 1000"),
        ("count", 20_000_000, "write a number up to 1000"),
        ("rtt_ms", 20_000, "write a number up to 1000"),
    ],
)
def test_a_rate_in_bits_per_second_is_told_in_the_unit_of_its_key(key: str, value: object, said: str) -> None:
    problem = find_problem({key: value}, {"properties": {key: {"type": "number", "maximum": 1000}}})
    assert problem is not None
    assert problem.text.endswith(said)


@pytest.mark.parametrize(
    ("value", "schema", "said"),
    [
        (-1, {"type": "number", "minimum": 0}, "`-1` is out of range; write a number from 0 on"),
        (101, {"type": ["number", "null"], "maximum": 100}, "`101` is out of range; write a number up to 100"),
        (0, {"type": "integer", "exclusiveMinimum": 0, "maximum": 9}, "write a whole number above 0 up to 9"),
        (1, {"minimum": 0, "exclusiveMaximum": 1}, "`1` is out of range; write a number from 0 below 1"),
        (2.5, {"type": ["integer", "null"]}, "`2.5` is not a whole number or null; write 3"),
        ("2.5 s", {"type": "integer"}, "`2.5 s` is not a whole number; write 3, in the unit of"),
        ("ten", {"type": "integer"}, "`ten` is not a whole number; write digits, such as 10"),
        ("9,5", {"type": ["number", "null"]}, "`9,5` is not a number or null; write 9.5"),
        ("1,500", {"type": "number"}, "`1,500` is not a number; write 1500"),
        (
            None,
            {"type": "array", "items": {"required": ["name", "sql"]}},
            "not a list; write its items below it, each from `- n",
        ),
        (None, {"type": "array", "default": []}, "write its items in brackets: [a, b], or leave the key out"),
        (
            None,
            {"type": "object", "properties": {"cases": {}}},
            "write its keys below it, indented, such as `cases: …`",
        ),
        (
            None,
            {"type": "object", "required": ["title"]},
            "is not a group of keys; write its keys below it, indented, such",
        ),
        (None, {"type": "object", "default": {}}, "write names below it, indented: `NAME: …`, or leave the key out"),
        (None, {"type": "string"}, "null, or nothing behind the colon, is not text; write a value"),
        ([], {"minItems": 2}, "is empty"),
        ([1], {"minItems": 2}, "has 1 item; write at least 2"),
        ([1, 2, 3], {"maxItems": 2}, "has 3 items; write at most 2"),
        ("abc", {"maxLength": 2}, "has 3 characters; write at most 2"),
        ({"a": 1}, {"dependentRequired": {"a": ["b"]}}, "`a` needs `b` beside it"),
        (
            {"a": 1, "b": 1, "c": 1},
            {"oneOf": [{"required": ["a"]}, {"required": ["b", "c"]}]},
            "has more than it needs; write either `a` or `b` and `c`",
        ),
    ],
)
def test_a_value_that_breaks_a_schema_says_what_is_allowed(value: object, schema: dict[str, Any], said: str) -> None:
    problem = find_problem(value, schema)
    assert problem is not None
    assert said in problem.text


def test_no_sentence_of_the_library_is_left_for_a_keyword_of_our_schemas() -> None:
    """Each keyword that a schema of ours has either is described, or cannot be what is wrong with a value itself."""
    described = {
        *("type", "enum", "required", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "uniqueItems"),
        *("pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "oneOf", "dependentRequired"),
        *("format", "additionalProperties"),
    }
    structural = {"properties", "items", "propertyNames", "if", "then", "$defs", "$ref"}
    notes = {"$schema", "$id", "title", "description", "default", "examples"}

    def list_keywords(schema: object) -> set[str]:
        if not isinstance(schema, dict):
            return set()
        named = [one for key in ("properties", "$defs") for one in schema.get(key, {}).values()]
        below = [schema.get(key) for key in ("items", "propertyNames", "additionalProperties", "if", "then")]
        return {*schema}.union(*map(list_keywords, (*named, *below, *schema.get("oneOf", []))))

    for path in sorted(SCHEMAS.glob("*.schema.yaml")):
        assert list_keywords(load_yaml(path)) <= described | structural | notes, path.name


@pytest.mark.parametrize(
    ("value", "place"), [({"b": ["2ms", "8ms"], "c": 1}, ("b", 0)), ({"c": "x", "a": "y", "b": [1]}, ("c",))]
)
def test_of_two_faults_the_first_of_the_file_is_told(value: object, place: tuple[object, ...]) -> None:
    number = {"type": "number"}
    problem = find_problem(value, {"properties": {"a": number, "b": {"items": number}, "c": number}})
    assert problem is not None
    assert problem.place == place
