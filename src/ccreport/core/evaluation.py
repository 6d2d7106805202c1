"""Evaluations: what a report shows, as `evaluations/*.yaml` declares it."""

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ccreport.core.algorithms import list_repeated, list_shared_names
from ccreport.core.declarations import QUERIES, SCHEMAS, list_tables, load_yaml
from ccreport.core.declared_files import DeclarationError, blame, load_declared, show_path
from ccreport.core.schema_problems import Place, format_place, guess, guess_path
from ccreport.core.text import make_label, split_number
from ccreport.core.units import name_buckets
from ccreport.core.words import bound_check, list_wrong_bounds, list_wrong_published

# Beside `schemas`, as the files that come with the pipeline are.
EVALUATIONS: Final = SCHEMAS.parent / "evaluations"
# Those that come with the pipeline are for any archive; people keep theirs beside them.
SHIPPED: Final = frozenset({"brakmo-bbr", "edge-bbr2", "esnet-dtn", "generic", "mininet-bbr2"})
SUFFIX: Final = ".yaml"
# The dash of esnet-dtn
NOT_IN_RULES: Final = re.compile(r"[^A-Za-z0-9]+")
# What a file of published values has of each cell; its other columns say which cell it is.
PUBLISHED_COLUMNS: Final = ("mean_gbps", "cv", "is_suspect")
# Queries and macros that the database of every evaluation has.
SHARED_QUERIES: Final = (
    *("macros", "measured_runs", "fairness", "labelled_rpc", "edge_values"),
    *("flow_completions", "run_completions"),
)

# What queries of claims share; the table of that name is made of verdicts.
CLAIMS: Final = "claims"

# What `evaluation` is where the archive decides.
AUTO: Final = "auto"
SAMPLE: Final = SCHEMAS.parent / "archive/sample"
# It names the sample by its hash.
SAMPLE_EXPLAINED: Final = SAMPLE.with_name("explanations.yaml")
OF_SAMPLE: Final = "esnet-dtn"
GENERIC: Final = "generic"

# The table whose rows may be labels of the evaluation, and the column by which its rows always differ.
MEANS: Final = "means"
# What is slower was written in another unit.
LINE_RATE_AT_LEAST_BPS: Final = 1e5
ALGORITHM: Final = "algorithm"
MARGIN_SELDOM_BELOW_PCT: Final = 0.5
# Parts whose names are addresses on pages, or columns in SQL.
NAMED: Final = ("labels", "figures", "claims")
# What a report shows.
SHOWN: Final = ("tables", "figures", "claims")


def choose_evaluation(archives: Sequence[Path]) -> str:
    """Return the name of the evaluation of an archive, or of its parts, where none is named: the sample has its own."""
    return OF_SAMPLE if is_sample(archives) else GENERIC


def choose_sections(archives: Sequence[Path], main: str) -> list[str]:
    """Return the evaluations that are sections where none are named: the sample has all but the name or path `main`."""
    known = list_evaluations() if is_sample(archives) else []
    return [name for name in known if name not in (Path(main).stem, GENERIC)]


def is_sample(archives: Sequence[Path]) -> bool:
    """Return whether an archive, or the one part of it, is where the sample lies that comes with the pipeline."""
    return len(archives) == 1 and archives[0].exists() and SAMPLE.exists() and archives[0].samefile(SAMPLE)


def resolve_evaluation(name: str, folder: Path = EVALUATIONS) -> Path:
    """Return the file of an evaluation: one that comes with the pipeline by its bare name, any other by its path.

    A bare name has neither a slash nor the suffix .yaml, and stands for the file of that name in `folder`. Raise
    DeclarationError, with what to type, where there is not such a file.
    """
    is_path = "/" in name or name.endswith(SUFFIX)
    path = Path(name) if is_path else folder / f"{name}{SUFFIX}"
    if path.is_file() and path.suffix not in ("", SUFFIX, ".yml"):
        raise DeclarationError(f"{name} is not an evaluation; name a file that ends in {SUFFIX}")
    if path.is_file():
        return path
    if path.is_dir():
        found = next(iter(list_evaluations(path)), "NAME")
        raise DeclarationError(f"{name} is a folder; name a file, such as {path / found}{SUFFIX}")
    shipped = list_evaluations(folder)
    if is_path:
        raise DeclarationError(f"{name} does not exist{guess_path(path) or guess(path.stem, shipped)}")
    raise DeclarationError(f"no evaluation is called `{name}`{guess(name, shipped)}")


def list_evaluations(folder: Path = EVALUATIONS) -> list[str]:
    """Return the names of the evaluations of a folder, sorted."""
    return sorted(path.stem for path in folder.glob(f"*{SUFFIX}") if path.is_file())


def has_known_authors(archive_sha256: str) -> bool:
    """Return whether the archive of a hash is the sample, which comes with the pipeline, and so is of its authors."""
    return SAMPLE_EXPLAINED.is_file() and load_yaml(SAMPLE_EXPLAINED)["archive_sha256"] == archive_sha256


def list_queries() -> list[str]:
    """Return the names of the tables that have a query and a schema, sorted: those that an evaluation can publish."""
    return [table for table in list_tables() if table != CLAIMS and table in QUERIES]


def name_rule(command: str, evaluation: str) -> str:
    """Return the name of the rule that runs a subcommand for one evaluation: `summarise_tables_esnet_dtn`."""
    return f"{command}_{NOT_IN_RULES.sub('_', evaluation)}"


def load_evaluation(path: Path, *, looks_up: bool = False) -> dict[str, Any]:
    """Return an evaluation with its defaults filled in.

    Bounds that words give are among them, and the only member of a group has the group's name in figures. Raise
    DeclarationError where it breaks its schema, where a claim or a reproduction names a figure or table that it does
    not declare, and where a claim names a word that has no bounds. With `looks_up` so it does where a query, a column
    or a file of values does not exist.
    """
    evaluation = load_declared(path, "evaluation")
    absent = _list_absent(evaluation, path.parent) if looks_up else ()
    # The first alone is said, and what follows may rest on it.
    for place, problem in itertools.chain(absent, _list_unknown(evaluation)):
        raise blame(path, DeclarationError(problem, place))
    groups = evaluation["algorithms"].items()
    alone = {facts["members"][0]: group for group, facts in groups if len(facts["members"]) == 1}
    evaluation["algorithm_names"] = alone | evaluation["algorithm_names"]
    for facts in evaluation["claims"].values():
        facts["checks"] = [check | bound_check(check) for check in facts["checks"]]
    return evaluation


def list_doubts(path: Path, evaluation: Mapping[str, Any]) -> Iterator[DeclarationError]:
    """Yield what to say of an evaluation that shows nothing, and of a margin in per cent that looks like a ratio."""
    if not any(evaluation[part] for part in SHOWN):
        yield DeclarationError(f"{show_path(path)} declares neither tables nor figures nor claims, so it shows nothing")
    if (margin := evaluation["equal_within_pct"]) < MARGIN_SELDOM_BELOW_PCT:
        said = f"equal_within_pct: {margin:g} is {margin:g} %; write {100 * margin:g} if the ratio is meant"
        yield blame(path, DeclarationError(said, ("equal_within_pct",)))


def _list_absent(evaluation: Mapping[str, Any], folder: Path) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each name of something outside of the file that does not exist."""
    tables: dict[str, Any] = evaluation["tables"]
    queries = list_queries()
    for table in (table for table in tables if table not in queries):
        yield ("tables", table), f"tables: no query `{table}`{guess(table, queries)}"
    yield from _list_taken_names(evaluation["labels"])
    for table, facts in tables.items():
        yield from _list_unknown_columns(table, facts, evaluation["labels"])
    for table, facts in evaluation["reproduction"].items():
        place: Place = ("reproduction", table)
        if not (expected := folder / facts["expected"]).is_file():
            yield (*place, "expected"), f"{format_place((*place, 'expected'))}: {_describe_missing(expected)}"
        if table in tables and (column := facts.get("scale", {}).get("column")):
            key, named = load_yaml(SCHEMAS / "tables" / f"{table}.yaml")["key"], (*place, "scale", "column")
            if column not in key:
                yield named, f"{format_place(named)}: no column `{column}` tells cells apart{guess(column, key)}"


def _list_taken_names(labels: Iterable[str]) -> Iterator[tuple[Place, str]]:
    """Yield the labels that have the name of a column of `runs`; those of its views only a database tells."""
    columns = set(_list_columns(load_yaml(SCHEMAS / "tables/runs.yaml"))) if labels else set()
    for label in labels:
        if label.lower() in columns:
            yield ("labels", label), f"labels: `{label}` has the name of a column of runs; choose another"


def _list_columns(schema: Mapping[str, Any]) -> list[str]:
    return [column if isinstance(column, str) else column["name"] for column in schema["columns"]]


def _describe_missing(expected: Path) -> str:
    """Return what is wrong with the path of a file of published values, and which one is meant."""
    shown = show_path(expected)
    if expected.is_dir():
        within = next((path.name for path in sorted(expected.glob("*.csv"))), "NAME.csv")
        return f"{shown} is a folder; name a file, such as {shown}/{within}"
    return f"{shown} does not exist{guess_path(Path(shown))}"


def _list_unknown(evaluation: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each name that refers to nothing, and of what one part has wrong by itself."""
    yield from list_repeated(evaluation["algorithms"])
    yield from list_shared_names(evaluation["algorithms"], evaluation["algorithm_names"])
    yield from _list_like_names(evaluation)
    for label, facts in evaluation["labels"].items():
        yield from _list_same_names(label, facts)
    for table, facts in evaluation["tables"].items():
        yield from _list_wrong_axes(table, facts)
    edges = evaluation["rtt_bucket_edges_ms"]
    if edges != sorted(set(edges)):
        yield ("rtt_bucket_edges_ms",), f"rtt_bucket_edges_ms: not ascending; write {sorted(set(edges))}"
    for claim, facts in evaluation["claims"].items():
        yield from list_wrong_bounds(claim, facts["checks"])
    for place, kind, names, known in _list_references(evaluation):
        for name in (name for name in names if name not in known):
            yield (*place, names.index(name)), f"{format_place(place)}: no {kind} `{name}`{guess(name, known)}"
    yield from _list_wrong_reproductions(evaluation)
    yield from list_wrong_published(evaluation)


def _list_references(evaluation: Mapping[str, Any]) -> Iterator[tuple[Place, str, list[str], list[str]]]:
    """Yield each list of names of figures or tables: its place, what is named, the names, and those that there are."""
    figures, tables = list(evaluation["figures"]), list(evaluation["tables"])
    for table, facts in evaluation["tables"].items():
        yield ("tables", table, "questions"), "table", facts["questions"], [name for name in tables if name != table]
    for claim, facts in evaluation["claims"].items():
        yield ("claims", claim, "shown_in"), "figure or table", facts["shown_in"], [*tables, *figures]
    for kind, names in evaluation["printed"].items():
        yield ("printed", kind), kind.removesuffix("s"), names, list(evaluation[kind])
    yield ("front_figures",), "figure", evaluation["front_figures"], figures


def _list_wrong_reproductions(evaluation: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    tables = evaluation["tables"]
    for table, facts in evaluation["reproduction"].items():
        place: Place = ("reproduction", table)
        if table not in tables:
            yield place, f"reproduction: no table `{table}`{guess(table, tables)}"
        elif "rows" not in tables[table]:
            yield place, f"reproduction: {table} is not a table of cells (it has no `rows`)"
        elif table == MEANS:
            told = "cannot be compared with published values, as its cells are named by all settings of their runs"
            yield place, f"reproduction: `{table}` {told}; compare one of the tables `table_…`"
        if facts["line_rate_bps"] < LINE_RATE_AT_LEAST_BPS:
            named: Place = (*place, "line_rate_bps")
            yield named, f"{format_place(named)}: {facts['line_rate_bps']:,} bit/s; write 10_000_000_000 for 10 Gbit/s"
        yield from _list_wrong_scales(table, facts, name_buckets(evaluation["rtt_bucket_edges_ms"]))


def _list_wrong_axes(table: str, facts: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    rows, columns = facts.get("rows", []), facts.get("columns", [])
    for number, name in enumerate(columns):
        if name in rows:
            place = ("tables", table, "columns", number)
            yield place, f"tables.{table}: `{name}` is in `rows` and in `columns`; delete one of them"
    if table == MEANS and "rows" in facts and ALGORITHM not in (*rows, *columns):
        problem = f"`{ALGORITHM}` is in neither `rows` nor `columns`; add it to one of them"
        yield ("tables", table, "rows"), f"tables.{table}: {problem}"


def _list_unknown_columns(
    table: str, facts: Mapping[str, Any], labels: Mapping[str, Any]
) -> Iterator[tuple[Place, str]]:
    named = [
        (part, name)
        for part in ("rows", "columns", "measures", "headings", "column_notes")
        for name in facts.get(part, ())
    ]
    if not named:
        return
    schema = load_yaml(SCHEMAS / "tables" / f"{table}.yaml")
    columns = _list_columns(schema)
    for part, name in named:
        # The rows of means are of conditions, and of what the evaluation calls them.
        is_condition = table == MEANS and part not in ("measures", "column_notes")
        known = [*(key for key in schema["key"] if key != "labels"), *labels] if is_condition else columns
        if name not in known:
            place = ("tables", table, part, name if part in ("headings", "column_notes") else facts[part].index(name))
            yield place, f"tables.{table}.{part}: {table} has no column `{name}`{guess(name, known)}"


def _list_like_names(evaluation: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each name or number that pages and SQL do not tell from another: `Loss` and `loss`."""
    for part in NAMED:
        held: dict[str, str] = {}
        for name in evaluation[part]:
            if (first := held.setdefault(make_label(part, name), name)) != name:
                yield (part, name), f"{part}: `{name}` differs too little from `{first}`; rename one of them"
    for part, kind in {"tables": "Table", "figures": "Figure"}.items():
        titles: dict[str, str] = {}
        for name, facts in evaluation[part].items():
            number, _ = split_number(facts["title"], kind)
            if number and (first := titles.setdefault(number, name)) != name:
                said = f"{part}.{name}.title: `{first}` is {kind} {number}, too; give one of them another number"
                yield (part, name, "title"), said


def _list_same_names(label: str, facts: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of each value of a label that tables would show by the name of another."""
    held: dict[str, str] = {}
    for number, case in enumerate(facts["cases"]):
        shown = case.get("shown", case["value"])
        if held.setdefault(shown, case["value"]) != case["value"]:
            place = ("labels", label, "cases", number, "shown" if "shown" in case else "value")
            yield place, f"labels.{label}: `{held[shown]}` and `{case['value']}` would both be shown as `{shown}`"


def _list_wrong_scales(table: str, facts: Mapping[str, Any], buckets: Collection[str]) -> Iterator[tuple[Place, str]]:
    """Yield place and words of what cells of a reproduction cannot be matched by; `buckets` are those of RTTs."""
    place: Place = ("reproduction", table)
    if facts["match"] == "dimensionless" and "scale" not in facts:
        said = "`match: dimensionless` needs `scale`, which says what has the same effect"
        yield (*place, "match"), f"{format_place(place)}: {said}"
    for name in facts.get("scale", {}).get("rtt_ms", ()):
        if name not in buckets:
            named = (*place, "scale", "rtt_ms", name)
            yield named, f"{format_place(named[:-1])}: no bucket is called `{name}`{guess(name, buckets)}"
