"""`explain` of a claim: its checks as they were judged, their queries, and the runs and raw files behind them."""

from pathlib import Path

import duckdb
import polars as pl
import pytest
import yaml
from explained_runs import FACTS, raw_file
from test_summarise import EVALUATION, build_database, gather, run

from ccreport.__main__ import main
from ccreport.compare.claim_verdicts import HOLDS, UNKNOWN
from ccreport.compare.claims import judge_claims
from ccreport.core.tables import load_schema
from ccreport.summarise.open_results import open_results
from ccreport.trace.claims.checked_runs import find_runs, join_runs, parse_query, select_runs
from ccreport.trace.claims.compared_means import describe_cvs, describe_parts
from ccreport.trace.claims.deciding_rows import describe_deciding
from ccreport.trace.claims.explain_claim import _measure_plainly, _prepare, _show_check, has_claim
from ccreport.trace.compared_cells import show_compared
from ccreport.trace.raw_files import ReadFiles
from ccreport.trace.rows.left_out import describe_suspects
from ccreport.trace.shown_runs import show_files

FASTER = "SELECT avg(rate_bps) AS value, count(*) AS n FROM measured WHERE rtt_ms < 15 AND algorithm = 'CUBIC'"
SHORT_AND_LONG = """\
WITH far AS (FROM labelled_runs WHERE rtt_ms > 50), runs AS (SELECT 1 AS one)
SELECT count(*) AS value, count(*) AS n FROM far, runs"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("claims") / "mine"
    folder.mkdir()
    tables = gather(
        run(1, {"bbr": 9.0}, rtt_ms=10.0, condition_id="a", **FACTS),
        run(2, {"cubic": 10.0}, rtt_ms=10.0, condition_id="b", **FACTS),
        run(3, {"cubic": 30.0}, rtt_ms=20.0, condition_id="c", **FACTS),
        run(4, {"cubic": 30.0}, rtt_ms=60.0, condition_id="d", **FACTS),
    ) | {"raw_files": [raw_file("2/src", "r2"), raw_file("3/src", "r3")]}
    check = {"at_least": 1, "minimum_runs": 1}
    claim = {
        "text": "It is fast",
        "source": "Section 1",
        "checks": [
            {"name": "rate", "sql": FASTER, **check},
            {"name": "far runs", "sql": SHORT_AND_LONG, **check},
        ],
    }
    declared = yaml.safe_load(EVALUATION.read_text())
    declared = {key: declared[key] for key in ("title", "algorithms", "labels", "tables")} | {"claims": {"fast": claim}}
    (folder / "mine.yaml").write_text(yaml.safe_dump(declared))
    build_database(folder, tables, folder / "mine.yaml")
    (folder / "archive.json").write_text("{}")
    judge_claims(
        folder / "mine.yaml", folder / "archive.duckdb", folder, folder / "archive.json", [],
        folder / "claims.parquet", folder / "claims.csv",
    )  # fmt: skip
    return folder


def test_a_claim_is_explained_by_its_checks_runs_and_files(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluation = str(results / "mine.yaml")
    assert main(["explain", "fast", "--database", str(results), "--evaluation", evaluation]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("mine, claim 1, fast: undecided\n  It is fast (Section 1)\n")
    assert "\n  All checks must hold: undecided (check 1 and 2).\n\nCheck 1, rate: " in printed
    assert "  here           10000000\n  accepted       at least 1\n  runs           1 (at least 1 needed)\n" in printed
    assert f"    {FASTER}\n" in printed
    # One run of a short path with CUBIC, one of a long path; a part of the query that is called `runs` selects none.
    assert "Runs of the checks (2):\n" in printed
    assert "  In all: Session s; Job j; Host 10.0.0.2; Algorithm CUBIC; Retransmit source ss\n" in printed
    assert (
        "  Checks  Iteration  RTT (ms)  Goodput (Mbit/s)  Retransmitted (%)  Run\n"
        "  1       2          10        10.00             0.2000             r2\n"
        "  2       4          60        30.00             0.4000             r4\n"
    ) in printed
    assert printed.count("  r4\n") == 1
    assert f"  # run r2\n  {'2' * 64}  2/src\n" in printed
    assert "3/src" not in printed
    assert "\nLeft out as suspect, of the same conditions:\n  no run\n" in printed


def test_suspect_runs_of_the_conditions_of_some_runs_are_told(results: Path) -> None:
    with open_results(results / "archive.duckdb") as connection:
        conditions = "(VALUES ('a', 'x'), ('b', 'x'), ('c', 'y')) AS runs(run_id, condition_id)"
        connection.execute(f"CREATE TEMP TABLE all_labelled_runs AS FROM {conditions}")
        facts = "'slow' AS suspect_rule, 0.5 AS observed, 2.0 AS bound, 's' AS bound_unit"
        connection.execute(f"CREATE TEMP TABLE suspects AS SELECT run_id, {facts} FROM all_labelled_runs")
        told = describe_suspects(connection, pl.DataFrame({"run_id": ["a"]}))
    assert told[2:] == ["  b (slow: 0.500 s, the bound is 2; page Ledger)"]


def test_what_its_maker_says_of_an_archive_is_below_the_verdict(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = pl.read_parquet(results / "claims.parquet")
    judged.with_columns(about_archive=pl.lit("The link was slow.")).write_parquet(results / "claims.parquet")
    assert main(["explain", "fast", "--database", str(results)]) == 0
    assert ".\n  Why: The link was slow.\n\nCheck 1" in capsys.readouterr().out
    judged.write_parquet(results / "claims.parquet")


def test_the_evaluation_is_found_where_the_build_had_it(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = ["explain", "fast", "--database", str(results)]
    assert main(own) == 0
    assert f"{results}/mine.yaml:" in capsys.readouterr().out
    moved = (results / "mine.yaml").rename(results / "moved.yaml")
    assert main(own) == 1
    assert "mine.yaml is gone; name its file by --evaluation" in capsys.readouterr().err
    assert main([*own, "--evaluation", str(moved)]) == 0
    moved.rename(results / "mine.yaml")


def explain_extreme(folder: Path, capsys: pytest.CaptureFixture[str], sql: str, extreme: str) -> str:
    """Return what is printed of a claim on CUBIC's three runs, 10 and 30 Mbit/s at 10 ms and 20 Mbit/s at 60 ms."""
    tables = gather(
        run(1, {"cubic": 10.0}, rtt_ms=10.0, condition_id="a", **FACTS),
        run(2, {"cubic": 30.0}, rtt_ms=10.0, condition_id="a", **FACTS),
        run(3, {"cubic": 20.0}, rtt_ms=60.0, condition_id="b", **FACTS),
    ) | {"raw_files": [raw_file("2/src", "r2")]}
    folder = folder / "mine"
    folder.mkdir()
    check = {"name": "rate", "sql": sql, "extreme": extreme, "at_least": 1, "minimum_runs": 1}
    other = {"name": "far runs", "sql": SHORT_AND_LONG, "at_least": 1, "minimum_runs": 1}
    claim = {"text": "It is fast", "source": "Section 1", "checks": [check, other]}
    declared = yaml.safe_load(EVALUATION.read_text())
    declared = {key: declared[key] for key in ("title", "algorithms", "labels", "tables")} | {"claims": {"fast": claim}}
    (folder / "mine.yaml").write_text(yaml.safe_dump(declared))
    build_database(folder, tables, folder / "mine.yaml")
    (folder / "archive.json").write_text("{}")
    database, claims = folder / "archive.duckdb", folder / "claims.parquet"
    judge_claims(folder / "mine.yaml", database, folder, folder / "archive.json", [], claims, folder / "claims.csv")
    assert main(["explain", "fast", "--database", str(folder)]) == 0
    return capsys.readouterr().out


GROUPED = "SELECT mean_of(list(rate)) FROM measured WHERE algorithm = 'CUBIC' AND rtt_ms < {} GROUP BY rtt_ms"
NAMED = (
    "WITH paths AS (SELECT rtt_ms, mean_of(list(rate)) AS mean FROM measured GROUP BY rtt_ms) SELECT mean FROM paths"
)


def test_an_extreme_says_which_row_it_is_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = explain_extreme(tmp_path, capsys, GROUPED.format(50), "greatest")
    assert "Check 1, rate (Mbit/s): " in printed
    assert "\n  here           20.0\n  which          the greatest of 1 row: RTT (ms) 10\n" in printed


def test_of_a_range_both_ends_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slower = NAMED.replace("mean_of(list(rate))", "any_value({'value': 2 * rtt_ms, 'n': 1})")
    printed = explain_extreme(tmp_path, capsys, slower, "range")
    assert "\n  here           6.00\n" in printed
    assert "the greatest, 120, of 2 rows: RTT (ms) 60; the least, 20.0, of 2 rows: RTT (ms) 10\n" in printed


def test_an_extreme_without_a_value_is_explained_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = explain_extreme(tmp_path, capsys, GROUPED.format(50), "range")
    assert "Check 1, rate: undecided" in printed
    assert "  which  " not in printed


def test_an_extreme_of_a_published_table_is_of_the_row_with_its_value() -> None:
    connection = duckdb.connect()
    key = load_schema("stability").key
    columns = ", ".join(f"c AS {name}" for name in key)
    rows = "(VALUES ('a', 0.5::DOUBLE, 0.4, 3.0), ('b', 0.75::DOUBLE, 0.6, 1.0)) AS t (c, cv, low, high)"
    connection.execute(f"CREATE TABLE stability AS SELECT {columns}, cv, low, high FROM {rows}")
    connection.execute("CREATE VIEW cvs AS SELECT cv, low, high FROM stability")
    connection.execute("CREATE VIEW stability_runs AS SELECT 'r' || rtt_bucket AS run_id, rtt_bucket FROM stability")
    query = "SELECT cv AS value, low, high, 3 AS n FROM cvs"
    node = parse_query(connection, query)
    names = {letter: ",".join(f"{name}={letter}" for name in key) for letter in "ab"}
    found = describe_deciding(connection, node, "greatest", ["stability"])
    # Those of the greatest, and of the row whose interval has the upper end.
    assert (found.rows_count, found.runs) == (2, {"ra", "rb"})
    assert found.which == f'the greatest of 2 rows: explain stability --row "{names["b"]}"'
    # The interval reaches to where that of a row with less does.
    assert found.ends == (
        "the greatest lower and the greatest upper end of the intervals of the 2 rows, widened so that all hold at once"
        f' with 95 %; the upper end is of explain stability --row "{names["a"]}" (3 runs)'
    )
    least = describe_deciding(connection, node, "least", ["stability"])
    assert "; the lower end is of " in least.ends
    assert least.runs == {"ra"}
    connection.execute("UPDATE stability SET cv = 0.75")
    assert describe_deciding(connection, node, "greatest", ["stability"]).which == ""


def test_of_runs_those_algorithms_are_shown_that_a_check_names(results: Path) -> None:
    with open_results(results / "archive.duckdb") as connection:
        every = {"r1", "r2"}
        for text, shown in {
            "": [("r1", "BBR", "1"), ("r2", "CUBIC", "1")],
            # A run that has none of the named algorithms keeps its rows.
            "it's WHERE algorithm = 'BBR'": [("r1", "BBR", "1"), ("r2", "CUBIC", "1")],
        }.items():
            assert join_runs(connection, [(every, text)]).select("run_id", "algorithm", "checks").rows() == shown
        both = join_runs(connection, [(every, ""), ({"r1"}, "algorithm=BBR")])
        assert both.select("run_id", "checks").rows() == [("r2", "1"), ("r1", "1, 2")]


def test_names_that_are_not_claims(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = ["--database", str(results)]
    assert main(["explain", "fats", *own]) == 1
    assert capsys.readouterr().err == "ccreport: no published table and no claim `fats`; did you mean `fast`?\n"
    assert main(["explain", "fast", "--row", "a=b", *own]) == 1
    assert "is a claim, which has no rows" in capsys.readouterr().err
    assert main(["explain", *own]) == 0
    assert capsys.readouterr().out.endswith("claims:\n  1 fast  undecided\n")
    # A claim goes by words of its text, too.
    assert main(["explain", "IT is  fast", *own]) == 0
    assert capsys.readouterr().out.startswith("mine, claim 1, fast: ")
    assert main(["explain", "it is slow", *own]) == 1
    assert "no published table `it is slow`; there are " in capsys.readouterr().err


def test_a_claim_has_a_number(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = ["--database", str(results), "--evaluation", str(results / "mine.yaml")]
    assert main(["explain", "claim 1", *own]) == 0
    assert capsys.readouterr().out.startswith("mine, claim 1, fast: ")
    assert main(["explain", "claims_1", *own]) == 0
    assert capsys.readouterr().out.startswith("mine, claim 1, fast: ")
    assert main(["explain", "claim fa", *own]) == 0
    assert capsys.readouterr().out.startswith("mine, claim 1, fast: ")
    # Another evaluation beside it has one of that number, too, and none of that name.
    other = results.parent / "other"
    other.mkdir()
    pl.DataFrame({"claim_number": [1], "claim": ["slow"], "claim_verdict": [HOLDS]}).write_parquet(
        other / "claims.parquet"
    )
    duckdb.connect(other / "archive.duckdb").close()
    asked = ("claim 1", "Claim One", "claim 2", "claim two", "fast")
    assert [has_claim(other / "archive.duckdb", "fast", name) for name in asked] == [True, True, False, False, False]
    assert has_claim(results / "archive.duckdb", "fast", "fast")
    for name in ("Claim 2", "claim two"):
        assert main(["explain", name, *own]) == 1
        assert capsys.readouterr().err == "ccreport: no claim 2; there are 1\n"


def test_a_claim_that_is_not_judged_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "esnet-dtn").mkdir()
    build_database(tmp_path / "esnet-dtn", gather(run(1, {"bbr": 9.0}, **FACTS)), EVALUATION)
    assert main(["explain", "stability_short_paths", "--database", str(tmp_path)]) == 1
    said = "claim `stability_short_paths` of esnet-dtn is not judged yet; `make report` does it"
    assert said in capsys.readouterr().err


def test_a_cell_is_shown_beside_what_it_was_compared_with(tmp_path: Path) -> None:
    names = {"comparison": "paper", "table_name": "table_2_testbed", "cell": "no loss, 16 flows", "sharing": "both"}
    key = names | {"flows_count": 16, "rtt_bucket": "RTT < 30 ms", "algorithm": "BBR", "pair_verdict": "undecided"}
    cells = [
        key | {"cell_number": 1, "test_group": "0.01 % loss", "matched_test_group": "1 % loss", "value_ratio": 0.5},
        key | {"cell_number": 2, "test_group": "1 % loss", "matched_test_group": None, "algorithm": "CUBIC"},
        key | {"cell_number": 3, "test_group": "no loss", "matched_test_group": None, "value_ratio": 2.0},
    ]
    row = {"test_group": "1 % loss", "rate_mean_bps": 1.0} | {
        name: key[name] for name in ("sharing", "flows_count", "rtt_bucket", "algorithm")
    }
    assert show_compared(tmp_path, "table_2_testbed", row) == []
    pl.DataFrame(cells).write_parquet(tmp_path / "reproduction.parquet")
    assert show_compared(tmp_path, "table_3_paths", row) == []
    shown = show_compared(tmp_path, "table_2_testbed", row)
    assert shown[:2] == ["", "Compared with the paper, no loss, 16 flows, BBR:"]
    assert " ".join(shown[-3:]).count("There: where it was compared with; here: this archive.") == 1
    assert " ".join(shown[-3:]).count("Inconsistent: ") == 1
    assert shown[2:-3] == [
        "  Verdict on the pair         undecided",
        "  Matched with the loss here  1 % loss",
        "  Here over there             0.5000",
    ]
    # How cells were matched is said where they were.
    pl.DataFrame([cell | {"match": "name"} for cell in cells]).write_parquet(tmp_path / "reproduction.parquet")
    matched = show_compared(tmp_path, "table_2_testbed", row)
    assert matched[:-3] == [*shown[:5], "  Matched by                  name", *shown[5:]]
    assert matched[-1] == "  Matched the other way: as the other of these two has it."


def test_an_undecided_check_says_what_would_tell() -> None:
    numbers = {"value": 0.4462, "low": 0.3441, "high": 0.5786, "paper_value": 0.4, "at_least": None, "at_most": 0.5}
    row = numbers | {"check_number": 3, "check": "ratio", "verdict": UNKNOWN, "runs_count": 5, "minimum_runs_count": 3}
    assert _show_check(row | {"needed_runs_count": 16}, {"sql": "SELECT 1\n"}, 9, is_exact=True) == [
        "Check 3, ratio: undecided (only 5 runs; about 16 would decide)",
        "  here           0.446",
        "  95 % interval  0.344–0.579",
        "  paper          0.4",
        "  accepted       at most 0.5",
        "  because        the interval contains 0.5, so the true value may be on either side",
        "  runs           5 (at least 3 needed), the fewest of what is compared; 9 in all",
        "    SELECT 1",
    ]
    assert _show_check(row | {"needed_runs_count": None}, {"sql": ""}, 5, is_exact=True)[0].endswith(
        ": undecided (the interval holds a bound)"
    )
    assert _show_check(row | {"verdict": HOLDS}, {"sql": ""}, 5, is_exact=True)[0] == "Check 3, ratio: holds"
    read = _show_check(row | {"needed_runs_count": None}, {"sql": ""}, 99, is_exact=False)
    assert "  runs           5 (at least 3 needed); the query reads 99, listed below" in read
    several = _show_check(row | {"needed_runs_count": 16}, {"sql": ""}, 9, is_exact=True, plain="0.400–0.5")
    widened = "  95 % interval  0.400–0.5 by the query; 0.344–0.579 judges, so that all checks hold at once with 95 %"
    assert several[2] == widened
    lone = _show_check(row | {"value": None, "runs_count": 3}, {"sql": ""}, 3, is_exact=True)
    assert "  runs           3" in lone
    alone = row | {"value": None, "low": None, "high": None, "runs_count": 0}
    for count, lack in {0: "no such runs", 3: "nothing to compare its runs with"}.items():
        assert _show_check(alone, {"sql": ""}, count, is_exact=True)[0] == f"Check 3, ratio: undecided ({lack})"


def test_every_part_of_a_query_selects_its_runs() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE cells AS SELECT * FROM (VALUES ('a', 1), ('b', 2), ('c', 3)) AS t (run_id, x)")
        joined = (
            "SELECT sum(x) FROM cells WHERE x < (SELECT max(x) FROM cells WHERE x > 2) GROUP BY x > 1 HAVING sum(x) > 9"
        )
        assert select_runs(connection, joined) == {"a", "b", "c"}
        assert select_runs(connection, "SELECT strata FROM rate_cells('cells') WHERE x = 2") == {"b"}
        assert select_runs(connection, "SELECT") == set()


# Two conditions of a cell, and one of another cell that has a single run.
CELLS = """
CREATE TEMP TABLE varied AS
SELECT 'g' AS test_group, 'alone' AS sharing, 1 AS flows_count, 'CUBIC' AS algorithm, * FROM (VALUES
    ('r2', 'short', 'a', 1.0), ('r3', 'short', 'a', 2.0), ('r4', 'short', 'b', 3.0), ('r1', 'long', 'c', 4.0)
) AS runs(run_id, rtt_bucket, condition_id, rate_bps)
"""


def _compare_cvs(macro: str) -> str:
    return f"SELECT cv_quotient(flatten(list({macro}(strata))), [], min(cell_count(strata))) FROM rate_cells('varied')"


def test_the_query_gives_the_plain_interval_in_the_unit_of_the_check() -> None:
    with duckdb.connect() as connection:
        columns = "SELECT 0.2 AS value, 0.1 AS low, 0.4 AS high, 5 AS n"
        for query in (columns, "SELECT {'value': 0.2, 'low': 0.1, 'high': 0.4}"):
            assert _measure_plainly(connection, query, {"value": 20.0}) == "10.0–40.0"
        for query in ("SELECT 0.2 AS value, 5 AS n", "SELECT NULL AS value, 1 AS low, 2 AS high", "FROM range(2)"):
            assert _measure_plainly(connection, query, {"value": 20.0}) is None


def test_the_runs_of_a_check_are_those_that_its_number_is_computed_from(results: Path) -> None:
    # Not those of a subquery that filters, nor those that no FILTER passes, nor those that have no value.
    beside = "WHERE run_id IN (SELECT run_id FROM algorithm_runs WHERE algorithm = 'CUBIC')"
    long_paths = "SELECT quotient_of(list(rate) FILTER (rtt_ms > 50), list(rate) FILTER (rtt_ms < 15)) FROM measured"
    with open_results(results / "archive.duckdb") as connection:
        _prepare(connection, results / "none")
        connection.execute(CELLS)
        cases = {
            f"SELECT mean_of(list(rate)) FROM measured {beside} AND rtt_ms < 50": {"r2", "r3"},
            f"{long_paths} WHERE algorithm = 'CUBIC'": {"r2", "r4"},
            f"WITH m AS (SELECT mean_of(list(rate)) FROM measured {beside} GROUP BY rtt_ms) FROM m": {"r2", "r3", "r4"},
            # Two runs of one condition in a cell, and one alone in another, which does not vary.
            _compare_cvs("pooled_cvs"): {"r2", "r3", "r4"},
            _compare_cvs("within_cvs"): {"r2", "r3"},
            "SELECT mean_of(list({'run': run, 'x': NULL::DOUBLE, 'y': 1.0::DOUBLE})) FROM measured": set(),
        }
        assert {query: find_runs(connection, query) for query in cases} == {
            query: (runs, True) for query, runs in cases.items()
        }
        computed = f"SELECT mean_of(list(rate)).value AS value, 1 AS n FROM measured {beside}"
        read, is_exact = find_runs(connection, computed)
        assert read >= {"r2", "r3", "r4"}
        assert not is_exact


def test_a_quotient_shows_what_it_is_of(results: Path) -> None:
    within = _compare_cvs("within_cvs").replace("[]", "[{'cv': 0.1, 'weight': 1.0, 'variance': 0.5}]")
    compared = "SELECT quotient_of(list(rate) FILTER (rtt_ms > 50), list(rate) FILTER (rtt_ms < 15)) FROM measured"
    with open_results(results / "archive.duckdb") as connection:
        _prepare(connection, results / "none")
        connection.execute(CELLS)
        told = {
            query: describe_parts(connection, query)
            for query in (
                f"{compared} WHERE algorithm = 'CUBIC'",
                f"{compared.replace('quotient', 'difference')} WHERE algorithm = 'CUBIC'",
                # 1 and 2 of one condition: a standard deviation of 0.7071 over 1.5.
                f"{within} WHERE rtt_bucket = 'short'",
                f"{compared} WHERE algorithm = 'none'",
                f"{compared} GROUP BY algorithm",
                "SELECT 1 AS value, 2 AS n",
            )
        }
    assert list(told.values()) == [
        "30.00 Mbit/s (mean of 1 run) over 10.00 Mbit/s (mean of 1 run)",
        "30.00 Mbit/s (mean of 1 run) less 10.00 Mbit/s (mean of 1 run)",
        "47.14 % (mean of 1 CV) over 10.00 % (mean of 1 CV)",
        None,
        None,
        None,
    ]


def test_a_part_is_told_as_a_mean_only_where_it_is_one(results: Path) -> None:
    both = "mean_of(list(rate) FILTER (rtt_ms < 15))"
    led = "quotient_of(list(rate) FILTER (rtt_ms > 50), list(rate) FILTER (rtt_ms < 15))"
    tests = "SELECT {'id': run_id || '/' || repetition} AS run FROM measured, (SELECT unnest([1, 2]) AS repetition)"
    cvs = "SELECT [{'cv': cv, 'weight': 0.5, 'variance': 0.5} for cv in [0.1, 0.3]] AS cvs"
    # Of runs 1 to 4 with 10, 10, 20 and 60 ms and 1, 2, 3 and 4 of 1000 segments sent again.
    told = {
        "SELECT mean_of(list(rate)) FROM measured": "mean of 4 runs",
        "SELECT mean_of(list(rate)) FROM (FROM measured UNION ALL FROM measured)": "mean of 8 values of 4 runs",
        "SELECT mean_of(list(retransmits)) FROM measured": "4 runs: 10 retransmits over 4,000 segments",
        "SELECT mean_of(list({'run': run, 'x': rtt_ms, 'y': 2.5})) FROM measured": (
            "4 runs: sum of x 100 over sum of y 10"
        ),
        "SELECT mean_of(list({'run': run, 'x': if(rtt_ms < 15, NULL, 1), 'y': 1.0})) FROM measured": "mean of 2 runs",
        f"SELECT mean_of(list({{'run': run, 'x': 1.0, 'y': 1.0}})) FROM ({tests})": "mean of 8 repetitions",
        # Of each run its own ratio.
        "SELECT difference_of(list({'run': run, 'x': rtt_ms, 'y': rtt_ms / 2}), list({'run': run, 'x': 1, 'y': 1})) "
        "FROM measured": "2.000 (mean of 4 runs) less 1.000 (mean of 4 runs)",
        f"SELECT cv_quotient(cvs, cvs, 3) FROM ({cvs})": " over ".join(
            ["20.00 % (mean of 2 CVs of 1 cell, each counting alike)"] * 2
        ),
        f"SELECT nearness({both}, {both}, {both}) FROM measured": (
            "9.500 Mbit/s (of 2 runs) beside 9.500 Mbit/s (of 2 runs) and 9.500 Mbit/s (of 2 runs)"
        ),
        f"SELECT quotient_of_quotients({led}, {led}) FROM measured": " over ".join(
            ["3.158 (a quotient, of at least 1 run a side)"] * 2
        ),
    }
    with open_results(results / "archive.duckdb") as connection:
        _prepare(connection, results / "none")
        assert {query: describe_parts(connection, query) for query in told} == told
        # Tests that follow each other in a run are that run's.
        assert find_runs(connection, f"SELECT mean_of(list({{'run': run, 'x': 1.0, 'y': 1.0}})) FROM ({tests})") == (
            {"r1", "r2", "r3", "r4"},
            True,
        )


def test_the_coefficients_of_variation_behind_a_mean_are_listed_by_cell(results: Path) -> None:
    with open_results(results / "archive.duckdb") as connection:
        _prepare(connection, results / "none")
        connection.execute(CELLS)
        within, pooled = (describe_cvs(connection, _compare_cvs(macro)) for macro in ("within_cvs", "pooled_cvs"))
        assert describe_cvs(connection, "SELECT mean_of(list(rate)) FROM measured") == []
    assert within[0] == "  CVs (1), each of a cell:"
    assert [" ".join(line.split()) for line in within[1:]] == [
        "Test group Sharing Flows RTT bucket Algorithm Rate CV (%)",
        "g alone 1 short CUBIC 47.14",
    ]
    # Of 1, 2 and 3: a standard deviation of 1 over a mean of 2.
    assert [line.split()[-2:] for line in pooled[2:]] == [["CUBIC", "50.00"]]


def test_of_many_files_the_first_are_listed(tmp_path: Path) -> None:
    runs = pl.DataFrame({"run_id": ["a", "b", "c"], "experiment_id": "j", "result_path": None})
    files = [
        {"path": f"{run}/{number}", "sha256": "0", "run_id": run, "experiment_id": "j"}
        for run in "abc"
        for number in range(30)
    ]
    schema = dict.fromkeys(("run_id", "experiment_id", "result_path"), pl.String)
    lines = show_files(runs.cast(schema), ReadFiles(pl.DataFrame(files)), tmp_path)
    assert sum(line.startswith("  0  ") for line in lines) == 12
    assert "Raw files (90; sha256, path):" in lines
    assert lines[-1] == "  … and 78 more files, which --full lists"
    few = ReadFiles(pl.DataFrame(files[:12]), {"a/1": "BBR"})
    shown = show_files(runs.cast(schema), few, tmp_path)
    assert shown[-12:-10] == ["  0  a/0", "  0  a/1  (BBR)"]
    every = show_files(runs.cast(schema), ReadFiles(pl.DataFrame(files)), tmp_path, is_full=True)
    assert sum(line.startswith("  0  ") for line in every) == 90
