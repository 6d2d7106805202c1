"""Two releases compared: flipped verdicts first, cells and figures with old, new and what may be why."""

import html
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from archives import ROOT, save_table
from small_release import HELLO, NOTHING, judge, make_config, make_results, release_of, save_manifests

from ccreport.__main__ import main
from ccreport.archive.manifest import RawFile
from ccreport.compare.claim_verdicts import CONTRADICTED, FAILS, HOLDS, SIZE
from ccreport.core.declarations import load_yaml
from ccreport.core.errors import InputError
from ccreport.core.tables import read_table
from ccreport.publish import stage
from ccreport.publish.changes.causes import CAUSES, PLACES, describe_raw, list_config
from ccreport.publish.changes.change import Change, compare_values
from ccreport.publish.changes.compare import Section, _describe_figure, compare_releases, format_html, format_text
from ccreport.publish.changes.declared_parts import list_differences
from ccreport.publish.changes.differences import Exhibit, ReleaseFolder, list_exhibits
from ccreport.publish.changes.former import compare_former
from ccreport.publish.checks.sums import check_sums
from ccreport.publish.release import publish
from ccreport.publish.sums import write_sums
from ccreport.report.markup.content_security import META, POLICY

FILE = RawFile("f", "2026-11-20:22:10/j/src-cmd:h:1", "src-cmd", None, 6, HELLO, "ignored", rule="x")
CLAIMS = "evaluations/one/claims.parquet"
ADDED = RawFile("n", "2026-11-20:22:10/j/<new>", "src-cmd", None, 0, NOTHING, "ignored", rule="x")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old")
    return release_of(folder, make_results(folder))


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish a build in which a run is gone, so that the claim fails; a figure, a raw file and code are others."""
    folder = tmp_path_factory.mktemp("new")
    results = make_results(folder)
    save_table("runs", [{"run_id": "e.a", "experiment_id": "e"}], results / "tables/runs/b2.parquet")
    save_manifests(results, FILE, ADDED)
    (results / "one/figures/figure_1/figure.svg").write_text("another")
    release = release_of(folder, results, date="2026-11-23")
    config = release / "code/config.yaml"
    changed = config.read_text().replace("include_suspect: false", "include_suspect: true")
    config.write_text(changed.replace("connections_count: 4", "connections_count: 8"))
    ledger = release / "code/src/ccreport/measure/flows.py"
    ledger.write_text(f"{ledger.read_text()}\n# changed\n")
    write_sums(release)
    return release


def test_runs_come_first_by_name(old: Path, new: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = compare_releases(ReleaseFolder(old), ReleaseFolder(new))[0]
    # Both are version 2.1.
    # It has no rate.
    told = ("e.b (left out of all means: no rate)",)
    assert runs == Section("Runs: 2 → 1", names=(("runs only in the former release", told),))
    assert compare_releases(ReleaseFolder(new), ReleaseFolder(old))[0].names == (
        ("runs only in the later release", told),
    )
    assert main(["diff", str(old), str(new)]) == 0
    said = capsys.readouterr().out
    assert (
        f"\n\n## Runs: 2 → 1\n\n1 run only in the former release:\n\n    {told[0]}\n\n## Possible causes of all" in said
    )


def test_runs_that_count_in_one_release_alone_are_told_by_the_rule(old: Path, tmp_path: Path) -> None:
    one, other = (Path(shutil.copytree(old, tmp_path / name)) for name in ("one", "other"))
    runs = [{"run_id": f"e.{name}", "is_counted": True, "throughput_bps": 1.0} for name in "abc"]
    save_table("runs", runs[:2], one / "tables/runs/archive.parquet")
    save_table("runs", runs, other / "tables/runs/archive.parquet")
    rules = [("e.b", "rate_below_siblings"), ("e.c", "test_twice"), ("e.c", "clock_step")]
    suspects = [
        {"run_id": run, "suspect_rule": rule, "observed": 2.0, "bound": 1.0, "bound_unit": "runs"}
        for run, rule in sorted(rules)
    ]
    save_table("suspects", suspects, other / "tables/suspects/archive.parquet")
    section = compare_releases(ReleaseFolder(one), ReleaseFolder(other))[0]
    assert section.names == (
        ("runs only in the later release", ("e.c (left out of all means: suspect by clock_step, test_twice)",)),
        (
            "runs left out of all means only in the later release",
            ("e.b (left out of all means: suspect by rate_below_siblings)",),
        ),
    )
    config = other / "code/config.yaml"
    config.write_text(config.read_text().replace("include_suspect: false", "include_suspect: true"))
    (alone,) = compare_releases(ReleaseFolder(one), ReleaseFolder(other))[0].names
    assert alone == ("runs only in the later release", ("e.c",))


def test_files_are_listed_only_if_asked_for(old: Path, new: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["diff", str(old), str(new)]
    assert main(given) == 0
    said = capsys.readouterr().out
    assert "## Figures\n" in said
    assert "\n1 figure:\n" in said
    assert "\n    figure_1 (one): the same data; otherwise drawn or described (1 file)\n" in said
    assert "## Raw files\n\n1 added (--full lists them)\n" in said
    assert "code/src/ccreport/measure/flows.py" not in said
    assert main([*given, "--full"]) == 0
    said = capsys.readouterr().out
    assert "## Figure figure_1 (one)\n" in said
    assert "\n    figure.svg: " in said
    assert "1 added:\n\n    2026-11-20:22:10/j/<new>\n" in said
    assert "\n    code/src/ccreport/measure/flows.py\n" in said


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ((Change("figure.csv", "a", "b"), Change("figure.svg", "a", "b")), "other data (2 files)"),
        ((Change("figure.csv", "–", "b"), Change("figure.svg", "–", "b")), "drawn now, not before"),
        ((Change("figure.csv", "a", "–"), Change("missing.txt", "–", "b")), "no longer drawn"),
    ],
)
def test_a_figure_is_a_line(changes: tuple[Change, ...], told: str) -> None:
    assert _describe_figure(Exhibit("figure", "one", "figure_1", changes)) == f"figure_1 (one): {told}"


def test_a_flipped_verdict_comes_before_others_with_its_causes(old: Path, new: Path) -> None:
    _, shared, first, *others = compare_releases(ReleaseFolder(old), ReleaseFolder(new))
    assert first.title == "Verdicts that flipped (one)"
    assert first.changes == (Change("two_runs", "holds", CONTRADICTED), Change("two_runs, runs", "holds", CONTRADICTED))
    assert first.causes == others[0].causes == ("those above, of all that follows",)
    causes = (
        "raw files: added 2026-11-20:22:10/j/<new>",
        "configuration: include_suspect",
        "code of measure_batch: flows.py",
    )
    assert shared == Section("Possible causes of all that follows", names=(("causes", causes),))
    assert others[0].title == "Other values of claims (one)"
    assert Change("two_runs, runs, value", "2", "1", -0.5) in others[0].changes


def test_each_key_of_the_configuration_can_change_results_or_not() -> None:
    """A new key must be named here or in CAUSES."""
    keys = set(load_yaml(ROOT / "schemas/config.schema.yaml")["properties"])
    without = {
        *("offline", "connections_count", "store_results", "verify", "campaign", "collect_into", "collect_clock"),
        *("collect_kernel", "sections", "explanations", "compare_with", "strict", "batch_mib", "release", "report"),
        "pathvars",
    }
    assert keys == CAUSES | PLACES | without
    assert not CAUSES & without


def test_figures_raw_files_keys_and_code_are_named(old: Path, new: Path) -> None:
    found = compare_releases(ReleaseFolder(old), ReleaseFolder(new), is_full=True)
    sections = {section.title: section for section in found}
    (change,) = sections["Figure figure_1 (one)"].changes
    assert change.where == "figure.svg"
    assert change.old != change.new
    assert sections["Raw files"].names == (("added", ("2026-11-20:22:10/j/<new>",)),)
    assert sections["Configuration"].changes == (
        Change("connections_count", "4", "8"),
        Change("include_suspect", "false", "true"),
    )
    assert ("files of measure_batch", ("code/src/ccreport/measure/flows.py",)) in sections["Code"].names


def test_cells_have_old_and_new_values(old: Path, tmp_path: Path) -> None:
    one, other = (Path(shutil.copytree(old, tmp_path / name)) for name in ("one", "other"))
    path = "evaluations/one/tables/jobs.parquet"
    rows = [{"session": "s", "job": job, "runs_count": 1} for job in ("a", "b")]
    save_table("jobs", rows, one / path)
    save_table("jobs", [rows[0] | {"runs_count": 2}, rows[1] | {"job": "c"}], other / path)
    (exhibit,) = list_exhibits(ReleaseFolder(one), ReleaseFolder(other))
    assert (exhibit.kind, exhibit.name) == ("cells", "jobs")
    (changed,) = exhibit.changes
    assert (changed.old, changed.new) == ("1", "2")
    assert changed.where.endswith("runs_count")
    before, after = (f"session=s, job={job}, sharing=alone, algorithm=x" for job in "bc")
    assert exhibit.alone == ((before,), (after,))
    section = compare_releases(ReleaseFolder(one), ReleaseFolder(other))[2]
    # Rows that only one has are apart from cells that changed.
    assert section.names == (
        ("rows only in the former release", (before,)),
        ("rows only in the later release", (after,)),
    )
    text = format_text([section])
    assert "\n1 changed:\n" in text
    assert f"\n1 row only in the former release:\n\n    {before}\n" in text
    assert section.causes == ("nothing that this release holds; perhaps other versions of libraries",)
    declared = other / "evaluations/one/one.yaml"
    facts = yaml.safe_load(declared.read_text())
    facts["tables"]["jobs"] |= {"where": "loss_pct > 0", "title": "t" * 200}
    declared.write_text(yaml.safe_dump(facts))
    section = compare_releases(ReleaseFolder(one), ReleaseFolder(other))[2]
    where = "tables.jobs.where (TRUE -> loss_pct > 0)"
    assert section.causes == ("declaration: tables.jobs.title", f"declaration: {where}")


def test_causes_of_claims_are_also_the_tables_that_their_queries_read(old: Path, tmp_path: Path) -> None:
    one, other = (Path(shutil.copytree(old, tmp_path / name)) for name in ("one", "other"))
    queries = {"by_runs": "FROM rate_cells('jobs_runs')", "by_rows": "FROM jobs", "neither": "FROM runs"}
    for side, where in ((one, "TRUE"), (other, "loss_pct > 0")):
        path = side / "evaluations/one/one.yaml"
        declared = yaml.safe_load(path.read_text())
        declared["tables"]["jobs"] |= {"where": where, "title": where}
        declared["labels"]["purpose"]["otherwise"] = f"'{where}'"
        claim = declared["claims"].pop("two_runs")
        check = claim["checks"][0]
        declared["claims"] = {name: claim | {"checks": [check | {"sql": sql}]} for name, sql in queries.items()}
        path.write_text(yaml.safe_dump(declared))
    query = other / "code/src/ccreport/sql/general/jobs.sql"
    query.write_text(f"{query.read_text()}\n-- changed\n")
    write_sums(other)
    row = read_table("claims", [one / CLAIMS]).row(0, named=True)
    for name in queries:
        for side, value in ((one, 1.0), (other, 2.0)):
            save_table("claims", [row | {"claim": name, "value": value}], side / CLAIMS)
        section = compare_releases(ReleaseFolder(one), ReleaseFolder(other))[2]
        assert section.title == "Other values of claims (one)"
        assert section.causes == (
            "declaration: labels.purpose.otherwise ('TRUE' -> 'loss_pct > 0')",
            *(["declaration: tables.jobs.where (TRUE -> loss_pct > 0)"] if name != "neither" else []),
            *(["code of summarise_tables: jobs.sql"] if name == "by_rows" else []),
        )


@pytest.mark.parametrize(
    ("was", "is_now", "told"),
    [
        ({"a": 1, "b": [1, 2]}, {"a": 1, "b": [2]}, ["x.b ([1, 2] -> [2])"]),
        ([{"value": "p", "when": "q"}], [{"value": "p", "when": "r"}], ["x.p.when (q -> r)"]),
        ([{"name": "p", "f": 1.00000001}], [{"name": "p"}], ["x.p.f (1 -> –)"]),
        ([{"name": "p"}, {"name": "q"}], [{"name": "q"}, {"name": "p"}], ["x (in another order)"]),
        ("s" * 200, "t", ["x"]),
        (None, {}, ["x (– -> {})"]),
        (3, 3, []),
    ],
)
def test_keys_of_a_declaration_are_named_with_both_values(was: object, is_now: object, told: list[str]) -> None:
    assert list(list_differences("x", was, is_now)) == told


@pytest.mark.parametrize(("count", "told"), [(2, "added a0, a1 · removed z"), (5, "5 added, 1 removed")])
def test_a_few_raw_files_are_named_as_causes(count: int, told: str) -> None:
    kinds = {"added": [f"a{number}" for number in range(count)], "removed": ["z"], "changed": []}
    assert list(describe_raw(kinds)) == [f"raw files: {told}"]


def test_a_configuration_differs_in_what_it_means(old: Path, tmp_path: Path) -> None:
    one, other = (Path(shutil.copytree(old, tmp_path / name)) for name in ("one", "other"))
    settings = [{"sections": ["../evaluations/b/b.yaml", "../evaluations/a/a.yaml"], "explanations": "../e.yaml"}]
    settings += [{"sections": ["../evaluations/a/a.yaml", "../evaluations/b/b.yaml"], "explanations": None}]
    for side, values in zip((one, other), settings, strict=True):
        path = side / "code/config.yaml"
        path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | values))
    (one / "evaluations/explanations.yaml").write_text(f"archive_sha256: {HELLO}\nevaluations: {{}}\n")
    (change,) = list_config(ReleaseFolder(one), ReleaseFolder(other))
    assert change == Change("explanations", "../e.yaml", "null (left out: they explain another archive)")
    (change,) = list_config(ReleaseFolder(other), ReleaseFolder(one))
    assert change.old == "null (left out: they explain another archive)"
    # Of the same archive nobody but the configuration left them out.
    (one / "evaluations/explanations.yaml").write_text(f"archive_sha256: {NOTHING}\nevaluations: {{}}\n")
    (change,) = list_config(ReleaseFolder(one), ReleaseFolder(other))
    assert change.new == "null"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"sections": []}))
    assert list_config(ReleaseFolder(one), ReleaseFolder(other))[1] == Change("sections", "a, b", "none")


def test_what_only_one_side_has_is_a_line(old: Path, tmp_path: Path) -> None:
    """None of its values changed, so each of them would be a line without a cause."""
    other = Path(shutil.copytree(old, tmp_path / "other"))
    copied = Path(shutil.copytree(old / "evaluations/one", other / "evaluations/another"))
    (copied / "one.yaml").rename(copied / "another.yaml")
    citation = other / "CITATION.cff"
    citation.write_text(citation.read_text().replace("2.1", "2.2"))
    added, *others = compare_releases(ReleaseFolder(old), ReleaseFolder(other))[1:]
    assert added == Section("Evaluations", names=(("evaluations", ("another is not in version 2.1",)),))
    assert not any(section.changes or section.causes for section in others)
    (removed,) = compare_releases(ReleaseFolder(other), ReleaseFolder(old))[1].names
    assert removed == ("evaluations", ("another is not in version 2.1",))


def test_a_table_that_only_one_side_has_is_a_line(old: Path, tmp_path: Path) -> None:
    one, other = (Path(shutil.copytree(old, tmp_path / name)) for name in ("one", "other"))
    path = other / "evaluations/one/one.yaml"
    declared = yaml.safe_load(path.read_text())
    (name,) = declared.pop("tables")
    path.write_text(yaml.safe_dump(declared))
    (other / f"evaluations/one/tables/{name}.parquet").unlink()
    rows = [{"session": "s", "job": job, "runs_count": 1} for job in ("a", "b")]
    save_table(name, rows, one / f"evaluations/one/tables/{name}.parquet")
    (exhibit,) = list_exhibits(ReleaseFolder(one), ReleaseFolder(other))
    assert (exhibit.name, exhibit.changes) == (name, (Change("the whole table", "2 rows", "–"),))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (8e9, 9e9, "8e+09 -> 9e+09 (+12 %)"),
        (100, 99, "100 -> 99 (-1 %)"),
        (-2.0, -1.0, "-2 -> -1 (+50 %)"),
        (1, 31, "1 -> 31 (+3,000 %)"),
        (1.0, 1e-4, "1 -> 0.0001 (-100 %)"),
        (0.0, 0.5, "0 -> 0.5"),
        (None, 3, "– -> 3"),
        (False, True, "False -> True"),
        (1.00000001, 1.00000002, "1.00000001 -> 1.00000002 (+1e-06 %)"),
    ],
)
def test_a_changed_number_has_its_relative_change(before: object, after: object, told: str) -> None:
    change = compare_values("a", before, after)
    assert change is not None
    assert f"    a: {told}\n" in format_text([Section("Claims", changes=(change,))])


def test_of_a_table_the_largest_changes_are_shown_unless_all_are_listed() -> None:
    rows = [(row, compare_values(f"row={row}, a_bps", 100, 100 + row, "a_bps")) for row in range(1, 251)]
    ranked = sorted((change for _, change in rows if change), key=lambda change: change.rank)
    section = Section("Table means", changes=(Change("row=251", "–", "2"), *ranked), has_cells=True)
    brief, usual, full = (format_text([section], **words) for words in ({"is_brief": True}, {}, {"is_full": True}))
    assert [re.split("[,:]", line)[0].strip() for line in brief.splitlines() if "->" in line] == [
        f"row={row}" for row in (251, *range(250, 241, -1))
    ]
    assert all("251 changed, means and ratios first, p-values last:\n" in text for text in (brief, usual, full))
    assert "    and 241 more (--full lists them)\n" in brief
    assert usual.count("->") == 200
    assert usual.index("row=251:") < usual.index("row=250,")
    assert full.count("->") == 251
    assert full.index("row=1,") > full.index("row=2,")
    alone = Section("Table means", names=(("rows only in version 1", tuple(f"row={row}" for row in range(12))),))
    text = format_text([replace(alone, has_cells=True)], is_brief=True)
    assert "12 rows only in version 1:\n" in text
    assert text.endswith("    row=9\n    and 2 more (--full lists them)\n\n")


def test_means_come_before_their_intervals_and_p_values_last(old: Path, tmp_path: Path) -> None:
    before = {
        "table_name": "t",
        "measure": "goodput_bps",
        "first_algorithm": "A",
        "second_algorithm": "B",
        "verdict": "undecided",
        "first_mean": 9e9,
        "second_mean": 8e9,
        "difference_mean_high": 1e3,
        "first_runs_count": 10,
        "second_runs_count": 10,
        "strata_count": 2,
        "p_ratio": 1e-17,
        "p_holm_ratio": 0.01,
    }
    after = before | {
        "verdict": "less",
        "first_mean": 8e9,
        "second_mean": 7e9,
        "difference_mean_high": 1e7,
        "first_runs_count": 5,
        "p_ratio": 1e-13,
        "p_holm_ratio": 0.04,
    }
    # A rate of 2 bit/s is nothing beside gigabits, however many times the former one it is.
    tiny = {**before, "question": "b", "verdict": "less", "first_mean": 1.0}
    one, other = (Path(shutil.copytree(old, tmp_path / name)) for name in ("one", "other"))
    for side, rows in (
        (one, [before | {"question": "a"}, tiny]),
        (other, [after | {"question": "a"}, tiny | {"first_mean": 2.0}]),
    ):
        path = side / "evaluations/one/one.yaml"
        declared = yaml.safe_load(path.read_text())
        declared["tables"] = {"comparisons": declared["tables"].popitem()[1]}
        path.write_text(yaml.safe_dump(declared))
        save_table("comparisons", rows, side / "evaluations/one/tables/comparisons.parquet")
    flips, exhibit = list_exhibits(ReleaseFolder(one), ReleaseFolder(other))
    where = "table_name=t, measure=goodput_bps, question=a, first_algorithm=A, second_algorithm=B"
    assert (flips.kind, flips.changes) == ("flips", (Change(where, "undecided", "less"),))
    columns = ["second_mean", "first_mean", "first_mean", "difference_mean_high"]
    columns += ["first_runs_count", "p_holm_ratio", "p_ratio"]
    assert [change.where.split(", ")[-1] for change in exhibit.changes] == columns
    assert (exhibit.changes[2].old, exhibit.changes[2].new) == ("1", "2")
    # Verdicts are at the top, beside those of claims; text and pages have one order.
    sections = compare_releases(ReleaseFolder(one), ReleaseFolder(other))
    titles = ["Verdicts of claims", "Verdicts of comparisons that flipped (one)", "Table comparisons (one)"]
    assert [section.title for section in sections if section.title.startswith(("Ver", "Tab"))][:3] == titles
    for told in (format_text(sections), format_text(sections, is_brief=True), format_html("", "", sections)):
        assert "7 changed, means and ratios first, p-values last:" in told
        places = [told.index(f", {column}") for column in dict.fromkeys(columns)]
        assert places == sorted(places)
    # Of p-values a share in per cent says nothing.
    assert "p_holm_ratio: 0.01 -> 0.04\n" in format_text(sections)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        *(("rate_mean_bps", 0), ("p50_ratio", 0), ("rtt_lowest_ms", 0), ("ahead_algorithm", 0), ("value_p01", 0)),
        *(("rate_cv", 1), ("cv_mean_cv", 1), ("rate_low_cv", 2), ("pair_high_ratio", 2), ("difference_mean_low", 2)),
        *(
            ("runs_count", 3),
            ("least_effect_pct", 3),
            ("p_ratio", 4),
            ("p_equal_holm_ratio", 4),
            ("pair_p_holm_ratio", 4),
        ),
    ],
)
def test_columns_are_ranked_by_their_names(column: str, kind: int) -> None:
    change = compare_values("", 1, 2, column)
    assert change is not None
    assert change.rank[0] == kind


def test_the_configured_evaluation_comes_before_the_others(old: Path, tmp_path: Path) -> None:
    one, other = (Path(shutil.copytree(old, tmp_path / name)) for name in ("one", "other"))
    for side, verdict in ((one, HOLDS), (other, SIZE)):
        config = side / "code/config.yaml"
        config.write_text(f"{config.read_text()}\nevaluation: evaluations/one.yaml\n")
        copied = Path(shutil.copytree(side / "evaluations/one", side / "evaluations/another"))
        (copied / "one.yaml").rename(copied / "another.yaml")
        for name in ("one", "another"):
            path = side / f"evaluations/{name}/claims.parquet"
            rewrite_claims(path, verdict_shown=verdict)
    exhibits = list(list_exhibits(ReleaseFolder(one), ReleaseFolder(other)))
    assert [exhibit.evaluation for exhibit in exhibits if exhibit.kind == "verdicts"] == ["one", "another"]


def rewrite_claims(path: Path, **values: Any) -> None:
    save_table("claims", [row | values for row in read_table("claims", [path]).to_dicts()], path)


def test_verdicts_are_compared_in_the_words_of_pages(old: Path, tmp_path: Path) -> None:
    """A claim that fails otherwise than before has the same verdict in the column that pages do not show."""
    one, other = (Path(shutil.copytree(old, tmp_path / name)) for name in ("one", "other"))
    for side, words in ((one, CONTRADICTED), (other, SIZE)):
        facts = {"claim_verdict": FAILS, "verdict": FAILS, "claim_verdict_shown": words, "verdict_shown": words}
        rewrite_claims(side / CLAIMS, **facts)
    (exhibit,) = list_exhibits(ReleaseFolder(one), ReleaseFolder(other))
    flips = (Change("two_runs", CONTRADICTED, SIZE), Change("two_runs, runs", CONTRADICTED, SIZE))
    assert (exhibit.kind, exhibit.changes) == ("verdicts", flips)


def test_verdicts_of_a_release_without_the_words_of_pages_are_compared(old: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(old, tmp_path / "other"))
    rewrite_claims(other / CLAIMS, claim_verdict=FAILS, claim_verdict_shown=SIZE)
    older = Path(shutil.copytree(old, tmp_path / "older"))
    pl.read_parquet(older / CLAIMS).drop("claim_verdict_shown", "verdict_shown").write_parquet(older / CLAIMS)
    (exhibit,) = list_exhibits(ReleaseFolder(older), ReleaseFolder(other))
    assert (exhibit.kind, exhibit.changes) == ("verdicts", (Change("two_runs", HOLDS, FAILS),))


def test_what_the_page_of_claims_shows_of_a_declaration_is_compared(old: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(old, tmp_path / "other"))
    rewrite_claims(other / CLAIMS, paper_value=3.0, minimum_runs_count=2)
    path = other / "evaluations/one/one.yaml"
    declared = yaml.safe_load(path.read_text())
    claim = declared["claims"]["two_runs"]
    was = claim["source"]
    claim["source"] = "Section V"
    claim["checks"][0]["quote"] = "two runs"
    path.write_text(yaml.safe_dump(declared))
    (exhibit,) = list_exhibits(ReleaseFolder(old), ReleaseFolder(other))
    assert exhibit.kind == "claims"
    assert [(change.where, change.old, change.new) for change in exhibit.changes] == [
        ("two_runs, runs, paper_value", "–", "3"),
        ("two_runs, runs, minimum_runs_count", "1", "2"),
        ("two_runs, source", was, "Section V"),
        ("two_runs, runs, quote", "–", "two runs"),
    ]


@pytest.mark.slow
def test_verdicts_on_published_pairs_are_compared_and_published_values(old: Path, tmp_path: Path) -> None:
    one, other = (Path(shutil.copytree(old, tmp_path / name)) for name in ("one", "other"))
    for side, verdict, rate in ((one, "undecided", 8e9), (other, "reproduced", 9e9)):
        rows = [
            {
                "table_name": "jobs",
                "cell_number": number,
                "cell": "no loss",
                "algorithm": algorithm,
                "expected_bps": bps,
            }
            for number, algorithm, bps in ((1, "BBR", rate), (2, "CUBIC", 1e9))
        ]
        facts = {"comparison": "paper", "cell_state": "compared", "match": "name", "pair_verdict": verdict}
        save_table("reproduction", [row | facts for row in rows], side / "evaluations/one/reproduction.parquet")
    (exhibit,) = list_exhibits(ReleaseFolder(one), ReleaseFolder(other))
    assert (exhibit.kind, exhibit.changes) == (
        "pairs",
        (
            Change("jobs, no loss, pair_verdict", "undecided", "reproduced"),
            Change("jobs, no loss, BBR, expected_bps", "8e+09", "9e+09", 0.125),
        ),
    )
    (other / "evaluations/one/expected").mkdir()
    (other / "evaluations/one/expected/jobs.csv").write_text("")
    path = other / "evaluations/one/one.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"equal_within_pct": 7}))
    write_sums(other)
    section = compare_releases(ReleaseFolder(one), ReleaseFolder(other))[2]
    assert section.title == "Reproduction of published values (one)"
    assert section.causes == ("declaration: equal_within_pct (5 -> 7)", "declaration: expected/jobs.csv")


def test_a_claim_that_only_one_release_makes_did_not_flip(old: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(old, tmp_path / "other"))
    claims = read_table("claims", [other / CLAIMS])
    added = claims.row(0, named=True) | {"claim": "another", "claim_number": 9}
    save_table("claims", [*claims.to_dicts(), added], other / CLAIMS)
    (exhibit,) = list_exhibits(ReleaseFolder(old), ReleaseFolder(other))
    assert (exhibit.kind, exhibit.changes) == ("checks", (Change("another, runs", "–", "holds"),))
    titles = [section.title for section in compare_releases(ReleaseFolder(other), ReleaseFolder(old))]
    assert titles[1:3] == ["Verdicts of claims", "Checks of claims added or removed (one)"]


def test_the_same_release_has_no_difference(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(old), str(old)]) == 0
    said = capsys.readouterr().out
    title = f"version 2.1 of 2026-11-20 ({old}) and version 2.1 of 2026-11-20 ({old})"
    count = len(ReleaseFolder(old).files)
    assert said == f"# {title}: the same release, all {count} files have the same SHA-256\n"


def test_the_older_release_given_second_is_told(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later = tmp_path / "2.10"
    shutil.copytree(old, later)
    cited = (later / "CITATION.cff").read_text()
    (later / "CITATION.cff").write_text(cited.replace("2.1", "2.10"))
    write_sums(later)
    for sides, is_told in (((later, old), True), ((old, later), False)):
        assert main(["diff", *map(str, sides)]) == 0
        assert capsys.readouterr().err == (
            "ccreport: version 2.1 is compared as the later one of 2.10; give the older release first to see what was "
            "added\n"
            if is_told
            else ""
        )


def test_the_page_is_escaped_and_under_the_policy(
    old: Path, new: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", str(old), str(new), "--html", str(tmp_path / "page.html")]) == 0
    said = capsys.readouterr().out
    assert said.index("Verdicts that flipped") < said.index("Other values of claims")
    page = (tmp_path / "page.html").read_text()
    assert META.format(POLICY) in page
    assert "<td" in page
    assert "j/&lt;new&gt;" in page
    assert not re.search(r"<script|<style| on\w+=|<new>", page)


def test_a_page_that_cannot_be_written_is_refused_before_the_work(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    places = {
        "a/page.html": r"--html \S+: \S+/a does not exist; name a file in a folder that does",
        ".": r"--html \S+ is a folder; name a file in it",
        "file/page.html": r"--html: \S+/page\.html cannot be written: not a directory",
        # The kernel's own files: not even root writes there.
        "/proc/page.html": r"--html: /proc/page\.html cannot be written: .+",
        "/proc/version": r"--html: /proc/version cannot be written: .+",
    }
    for command in (["diff", str(old), str(old)], ["verify", str(old), "--quick"]):
        for place, said in places.items():
            assert main([*command, "--html", str(tmp_path / place)]) == 2
            printed = capsys.readouterr()
            assert re.fullmatch(f"ccreport: {said}\n", printed.err)
            assert printed.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_is_no_release_cannot_be_compared(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(old), str(tmp_path)]) == 2
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/a").touch()
    write_sums(tmp_path)
    assert main(["diff", str(old), str(tmp_path)]) == 2
    assert "is incomplete: it has no CITATION.cff; `verify` says what else it lacks" in capsys.readouterr().err


@pytest.mark.parametrize(
    "gone",
    [
        *("CITATION.cff", "code/config.yaml", "raw/SHA256SUMS", "tables/", "evaluations/"),
        *("evaluations/one/one.yaml", "evaluations/one/tables/"),
    ],
)
def test_an_incomplete_release_cannot_be_compared(
    gone: str, old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = Path(shutil.copytree(old, tmp_path / "bare"))
    shutil.rmtree(bare / gone) if gone.endswith("/") else (bare / gone).unlink()
    write_sums(bare)
    for sides in ([old, bare], [bare, old]):
        assert main(["diff", *map(str, sides)]) == 2
        printed = capsys.readouterr()
        assert printed.err == f"ccreport: {bare} is incomplete: it has no {gone}; `verify` says what else it lacks\n"
        assert not printed.out


@pytest.mark.slow
def test_the_page_of_changes_and_changes_of_the_release_have_the_same_in_them(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    old = release_of(folder, make_results(folder), code=stage.CODE)
    results, evaluation = make_results(tmp_path), folder / "one.yaml"
    save_table("runs", [{"run_id": "e.a", "experiment_id": "e"}], results / "tables/runs/b2.parquet")
    save_manifests(results, FILE, ADDED)
    explained = tmp_path / "explanations.yaml"
    explained.write_text(f"archive_sha256: {HELLO}\nevaluations: {{}}\n")
    judge(results, evaluation)
    facts = {"former": str(old), "date": "2026-11-23", "version": "2.2"}
    config = json.dumps(json.loads(make_config(**facts)) | {"explanations": str(explained)})
    compare_former(config, results, [evaluation], [], tmp_path / "changes.md")
    page = (tmp_path / "changes.md").read_text()
    assert "j/<new>" not in page
    page = html.unescape(page)
    assert page.startswith("Compared with version 2.1 of 2026-11-20,")
    release = tmp_path / "release/2.2"
    publish(config, [tmp_path / "results"], results, [evaluation], [], release)
    text = (release / "CHANGES.md").read_text()
    assert text.startswith(
        "# Changes in version 2.2 of 2026-11-23\n\nCompared with version 2.1 of 2026-11-20.\n\n## Runs: 2 → 1\n\n"
    )
    assert json.loads((release / "datapackage.json").read_text())["version"] == "2.2"
    headings = [re.findall(r"^## (.+)$", told, re.MULTILINE) for told in (page, text)]
    assert headings[0] == headings[1]
    assert headings[0] == [
        *("Runs: 2 → 1", "Possible causes of all that follows", "Verdicts that flipped (one)"),
        *("Other values of claims (one)", "Raw files", "Configuration", "Code", "Tables, figures and other results"),
    ]
    # Each line of the one is in the other, where rows are of a table and names are code.
    for line in re.findall(r"^    (.+)$", text, re.MULTILINE):
        where = re.sub(r": \S+ -> .*", "", line)
        assert f">{where}<" in page, line
    assert "<td>contradicted</td>" in page
    assert page.count("No difference.") == text.count("No difference.") == 2


def test_a_report_without_a_former_release_says_so(tmp_path: Path) -> None:
    compare_former(make_config(), tmp_path, [], [], tmp_path / "changes.md")
    assert (tmp_path / "changes.md").read_text() == ""


@pytest.mark.slow
def test_a_damaged_former_release_is_refused_as_diff_refuses_it(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = Path(shutil.copytree(old, tmp_path / "damaged"))
    (damaged / "evaluations/one/tables/jobs.csv").write_text("changed\n")
    assert main(["diff", str(damaged), str(old)]) == 2
    told = capsys.readouterr().err.removeprefix("ccreport: ").rstrip("\n")
    assert "is damaged: evaluations/one/tables/jobs.csv: not what SHA256SUMS says" in told
    with pytest.raises(InputError, match=f"^{re.escape(told)}$"):
        compare_former(make_config(former=str(damaged)), tmp_path, [], [], tmp_path / "changes.md")
    assert not (tmp_path / "changes.md").exists()
    # Raw files are not compared, and may be many: only their list is read.
    shutil.rmtree(damaged)
    shutil.copytree(old, damaged)
    (damaged / "raw/raw.tar.zst").write_bytes(b"changed")
    check, *_ = check_sums(damaged, [], has_raw=False)
    assert check.state == "passed"


def test_a_former_release_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"release\.former: .* is not a release"):
        compare_former(make_config(former=str(tmp_path)), tmp_path, [], [], tmp_path / "changes.md")


@pytest.mark.parametrize(
    ("names", "counted"), [(("a",), "1 difference in old:"), (("a", "b"), "2 differences in old:")]
)
def test_one_difference_is_in_the_singular(names: tuple[str, ...], counted: str) -> None:
    assert counted in format_text([Section("CSV files", names=(("differences in old", names),))])
