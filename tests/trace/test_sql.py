"""`sql`: answers, hints at misspelt names and values, and which results are asked."""

import os
import re
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest
from archives import ROOT

from ccreport.__main__ import main
from ccreport.summarise.database import read_files
from ccreport.trace.queries.absent_files import describe_absent_file


def test_a_check_of_a_claim_can_be_tried_in_sql(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = (
        "SELECT (quotient_of(list(rate) FILTER (cc = 'cubic'), list(rate) FILTER (cc = 'cubic'))).value FROM measured"
    )
    assert main(["sql", query, "--database", str(database), "--rows", "0"]) == 1
    assert "--rows 0 would show nothing" in capsys.readouterr().err
    assert main(["sql", query, "--database", str(database)]) == 0
    assert " 1.0 " in capsys.readouterr().out
    for query in ([], ["SHOW TABLES"], ["show tables;"], ["PRAGMA show_tables"]):
        assert main(["sql", *query, "--database", str(database)]) == 0
        names = re.findall(r"│ (\w+)", capsys.readouterr().out)
        assert "measured" in names
        assert len(names) == len(set(names))


def test_what_to_ask_is_told_of_tables_that_are_there(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def list_told(place: Path) -> list[str]:
        assert main(["sql", "--database", str(place)]) == 0
        return re.findall(r"^([\w<>]+) ", capsys.readouterr().out, re.MULTILINE)

    assert list_told(database)[:5] == ["runs", "labelled_runs", "algorithm_runs", "measured", "<table>_runs"]
    with duckdb.connect(tmp_path / "other.duckdb") as connection:
        connection.execute("CREATE TABLE foo AS SELECT 1 AS a")
    assert list_told(tmp_path / "other.duckdb") == []
    with duckdb.connect(tmp_path / "other.duckdb") as connection:
        connection.execute("CREATE TABLE jobs_runs AS SELECT 1 AS a; CREATE TABLE jobs AS FROM jobs_runs")
    assert main(["sql", "--database", str(tmp_path / "other.duckdb")]) == 0
    assert "such as jobs_runs: take these" in capsys.readouterr().out


def test_sql_describes_a_table_by_names_and_types(
    database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    assert main(["sql", "DESCRIBE measured", "--database", str(database)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("The report's page Dictionary has units, sources and whole meanings")
    # One sentence of what each means, of a table its own meaning.
    assert lines[0].split(maxsplit=2) == ["run_id", "VARCHAR", "One test execution, one iteration of"]
    assert lines[1].strip() == "one condition"
    counted = next(number for number, line in enumerate(lines) if line.startswith("is_counted "))
    assert " BOOLEAN " in lines[counted]
    assert lines[counted].endswith("The run counts in means, which suspect")
    assert lines[counted + 1].strip().startswith("runs do only ")
    assert max(map(len, lines[:-1])) <= 90
    assert any(line.startswith("rate ") and " STRUCT(…) " in line for line in lines)


def test_sql_describes_all_values_of_a_closed_set(
    database: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Wide enough for a line each, whatever the terminal of the tests is.
    monkeypatch.setenv("COLUMNS", "10000")
    pl.DataFrame({"cell_state": ["compared"], "cell_verdict": ["consistent"]}).write_parquet(
        database.parent / "reproduction.parquet"
    )
    assert main(["sql", "DESCRIBE reproduction", "--database", str(database)]) == 0
    told = dict(line.split("  VARCHAR  ") for line in capsys.readouterr().out.splitlines()[:-1])
    (state, verdict) = (told[name] for name in ("cell_state  ", "cell_verdict"))
    assert "missing in this archive" in state
    assert all(f"{value}: " in verdict.lower() for value in ("consistent", "inconsistent", "undecided"))


def test_sql_names_texts_that_no_row_has(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries = {
        "FROM measured WHERE algorithm = 'BBRv2'": ["No row has algorithm = 'BBRv2'; did you mean `BBR`?"],
        "FROM runs WHERE job IN ('j', 'x9') OR 'nobody' = host": [
            "No row has job = 'x9'; there are 'j'",
            "No row has host = 'nobody'; there are '10.0.0.2', 'far.example.org'",
        ],
        # What has another meaning, or is a row's, is not told.
        "FROM runs WHERE job = 'j' AND host <> 'nobody' AND run_id NOT LIKE 'r1%' AND rtt_ms < 70 AND 500 > rtt_ms": [],
        "FROM runs WHERE host LIKE 'NEAR.%' OR job ILIKE 'X%' OR rtt_ms >= 70": [
            "No row has host LIKE 'NEAR.%'; there are '10.0.0.2', 'far.example.org'",
            "No row has job ILIKE 'X%'; there are 'j'",
            "No row has rtt_ms >= 70; there are 10, 20, 60",
        ],
        "WITH own AS (SELECT 'a' AS name) FROM own WHERE name = 'a'": [],
        "FROM runs WHERE run_id IN (SELECT run_id FROM flows WHERE cc = 'reno')": [
            "No row has cc = 'reno'; there are 'bbr', 'cubic'"
        ],
        "FROM runs WHERE queue_discipline = 'fq'": ["No row has queue_discipline = 'fq'; there are none"],
        "FROM runs WHERE rtt_ms BETWEEN 500 AND 600": ["No row has rtt_ms BETWEEN 500 AND 600; there are 10, 20, 60"],
        "FROM runs WHERE job = NULL AND rtt_ms <> NULL": [
            "No row has job = NULL; write job IS NULL",
            "No row has rtt_ms <> NULL; write rtt_ms IS NOT NULL",
        ],
        "FROM runs WHERE rtt_ms IN (10, 0.02)": ["No row has rtt_ms = 0.02; there are 10, 20, 60"],
        "FROM runs WHERE rtt_ms = '10.0' OR run_id = 'r1'": [],
        "SELECT * FROM range(20) AS t(n) WHERE n = 50": ["No row has n = 50; there are 20 others, from 0 to 19"],
    }
    for query, told in queries.items():
        assert main(["sql", query, "--database", str(database)]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert [line for line in printed if line.startswith("No row")] == told


def test_sql_shows_six_digits_and_whole_numbers(
    database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    values = "1e-9 / 3, 12345678.9 / 1::DOUBLE, -2::DOUBLE / 3, 0::DOUBLE, 'inf'::DOUBLE, NULL::DOUBLE, 123456789"
    assert main(["sql", f"SELECT {values}", "--database", str(database)]) == 0
    shown = next(line for line in capsys.readouterr().out.splitlines() if "e-10" in line and "│" in line)
    assert [cell.strip() for cell in shown.strip("│").split("│")] == [
        "3.33333e-10",
        "12345679.0",
        "-0.666667",
        "0.0",
        "inf",
        "NULL",
        "123456789",
    ]


def test_sql_shows_so_many_rows_at_most(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for count, rows in ((1, 1), (3, 1), (4, 1), (5, 1), (4, 3), (3, 3), (9, 5)):
        asked = f"SELECT n FROM range({count}) AS t(n) ORDER BY n DESC"
        assert main(["sql", asked, "--rows", str(rows), "--database", str(database)]) == 0
        printed = capsys.readouterr().out
        assert 0 < len(re.findall(r"│ +\d+ │", printed)) <= rows
        # Of more rows DuckDB says it itself, if the table is wide enough.
        assert printed.endswith(f"\n{count} rows ({rows} shown)\n") is (rows < count <= rows + 3)
    with pytest.raises(SystemExit):
        main(["sql", "--rows", "-3"])
    assert "--rows: -3 is below 0" in capsys.readouterr().err


def test_an_option_with_one_value_is_given_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explain", "table_2", "--row", "sharing=both", "--row", "flows_count=16"])
    assert "--row is given twice; it takes one value" in capsys.readouterr().err


@pytest.mark.parametrize("query", [" ;", "-- nothing"])
def test_an_empty_query_is_refused(query: str, database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", query, "--database", str(database)]) == 1
    assert capsys.readouterr().err == "ccreport: the query is empty; without one, sql lists the tables\n"


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("SELECT (1 FROM runs", 'syntax error at or near "FROM"; a closing parenthesis is missing\n'),
        ("SELECT 1) FROM runs", "; an opening parenthesis is missing\n"),
        ("SELECT cv(rtt_ms) FROM runs", "; write stddev(x) / avg(x), the coefficient of variation of x\n"),
        ("FROM table_2", "does not exist; did you mean `table_2_testbed`?\n"),
        ("FROM runs WHERE job = 10", "`job` holds text, which takes single quotes\n"),
        ("FROM runs WHERE job > 10", "; text takes single quotes\n"),
        ("FROM runs WHERE job = ’j’", "; if it is text, write 'j'\n"),
        ("SELECT test_group FROM runs", "; `labelled_runs`, `measured`, `algorithm_runs` have it"),
        ("SELECT r.rtt_bucket FROM runs AS r", "? `labelled_runs`, `measured`, `algorithm_runs` have `rtt_bucket`"),
        ("SELECT cc, avg(goodput_bps) FROM runs GROUP BY cc", "? `measured`, `algorithm_runs`, `flows` have `cc`"),
        # Of a table of few columns these are named before others that have it.
        ("SELECT status FROM raw_files", "; did you mean `state`? `grouped_requests`, "),
        ("SELECT rtt_ms FROM raw_files", "size_bytes, sha256, state, rule, reason; `runs`, "),
        ("SELECT goodput FROM runs", "; did you mean `goodput_bps`?"),
        ("FROM table_2", "; did you mean `table_2_testbed`?"),
        ("help", '"help"; a query begins with SELECT or FROM, as FROM runs; `sql` alone lists the tables\n'),
        (".tables", '"."; a query begins with SELECT or FROM, as FROM runs; `sql` alone lists the tables\n'),
        ("FROM 'Table II'", "does not exist; `sql` without a query lists the tables\n"),
        (
            "FROM means",
            "; no evaluation that was built here declares `tables.means`\n",
        ),
        ("COPY FROM runs TO 'x.csv'", "; write COPY (FROM runs) TO 'file.csv'\n"),
        ("COPY (FROM runs) TO 'x.xlsx'", 'name "xlsx" is not in the catalog; name a file that ends in .csv, .json or'),
        ("SELECT mode, count(*) FROM runs GROUP mode", "; write GROUP BY mode\n"),
        ("SELECT goodput_bps FROM runs order goodput_bps", "; write ORDER BY goodput_bps\n"),
        ("FROM runs WHERE rtt_ms = 10ms", '"ms"; a number takes no unit: 10\n'),
        ("FROM runs WHERE rtt_ms > 0.5Mbit AND loss_pct = 0", "; a number takes no unit: 0.5\n"),
        ("q.sql", '`q.sql` is not a query, and sql reads none from files; type sql "$(cat q.sql)"\n'),
        ("FROM runs JOIN flows USING (run)", "side of join; did you mean `run_id`?\n"),
        ("FROM runs JOIN flows USING (nothing)", "side of join; these tables share run_id, "),
        ("SELECT avg(job) FROM runs", "'avg(VARCHAR)'; `job` is text, avg takes numbers\n"),
        ("SELECT stddev(job || 'a') FROM runs", "'stddev(VARCHAR)'; stddev takes numbers\n"),
        ("SELECT year(job) FROM runs", "'year(VARCHAR)'. You might need to add explicit type casts.\n"),
        ("DESCRIBE nosuch", "nosuch does not exist; `sql` without a query lists the tables\n"),
        ("FROM nosuch", "nosuch does not exist; `sql` without a query lists the tables\n"),
    ],
)
def test_sql_says_which_table_has_a_column(
    query: str, hint: str, database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", query, "--database", str(database)]) == 1
    assert hint in capsys.readouterr().err


def test_questions_of_the_documentation_have_answers(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    section = (ROOT / "reports/commands.qmd").read_text().partition("{#commands-sql}")[2].partition("\n## ")[0]
    queries = re.findall(r'ccreport sql "(.*?)"\n', section, re.DOTALL)
    assert len(queries) == 5
    for query in queries:
        assert main(["sql", query, "--database", str(database)]) == 0, capsys.readouterr().err
        assert capsys.readouterr().out.startswith("┌")
    # What is asked most is said where one begins.
    assert main(["sql", "--database", str(database)]) == 0
    asked = re.findall(r'sql "(.*)"', capsys.readouterr().out)
    assert len(asked) == 2
    for query in asked:
        assert main(["sql", query, "--database", str(database)]) == 0


def test_sql_prints_a_table_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The database has paths relative to the folder that its build was called in."""
    (tmp_path / "it's [a] */results/own").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "it's [a] *")
    table = Path("results/names.parquet")
    pl.DataFrame({"job": ["\x1b[2Jgone"], "number": [7]}).write_parquet(table)
    with duckdb.connect("results/own/archive.duckdb") as connection:
        connection.execute(f"CREATE VIEW names AS {read_files([table])}")
    pl.DataFrame({"claim": ["fair"], "check": ["share"]}).write_parquet("results/own/claims.parquet")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["sql", "SELECT number * 6 AS answer, job FROM names", "--database", "../it's [a] */results"]) == 0
    printed = capsys.readouterr().out
    assert "answer" in printed
    assert " 42 " in printed
    assert "\x1b" not in printed
    # What is judged by the database is a table beside it.
    assert main(["sql", "FROM claims", "--database", "../it's [a] */results"]) == 0
    assert " fair " in capsys.readouterr().out
    assert main(["sql", "SELECT check FROM claims", "--database", "../it's [a] */results"]) == 1
    assert "text takes single quotes ('check'), a column of this name double ones" in capsys.readouterr().err
    assert main(["sql", "FROM nmaes", "--database", "../it's [a] */results"]) == 1
    assert capsys.readouterr().err == "ccreport: Table with name nmaes does not exist; did you mean `names`?\n"
    assert main(["sql", "SELECT nubmer FROM names", "--database", "../it's [a] */results"]) == 1
    said = capsys.readouterr().err
    assert said.endswith("; did you mean `number`?\n")
    assert said.count("\n") == 1
    assert main(["sql", "SELECT 1; SELECT 2", "--database", "../it's [a] */results"]) == 1
    assert capsys.readouterr().err == "ccreport: there is more than one statement; only one is shown at a time\n"
    for query in ("DROP VIEW names", "CREATE TABLE mine AS FROM names", "INSERT INTO names VALUES ('a', 1)"):
        assert main(["sql", query, "--database", "../it's [a] */results"]) == 1
        assert capsys.readouterr().err.startswith("ccreport: the database is read only, as a build makes it; save an ")


def test_files_that_a_query_names_are_found_from_the_folder_that_it_is_asked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("checkout", "elsewhere"):
        table = tmp_path / folder / "results/names.parquet"
        table.parent.mkdir(parents=True)
        pl.DataFrame({"number": [len(folder)]}).write_parquet(table)
    monkeypatch.chdir(tmp_path / "checkout")
    Path("results/own").mkdir()
    with duckdb.connect("results/own/archive.duckdb") as connection:
        connection.execute(f"CREATE VIEW names AS {read_files([Path('results/names.parquet')])}")
        connection.execute("CREATE VIEW doubled AS SELECT 2 * number AS twice FROM names")
    pl.DataFrame({"claim": ["fair"]}).write_parquet("results/own/claims.parquet")
    Path("here.csv").write_text("kept\n1\n")
    monkeypatch.chdir(tmp_path / "elsewhere")
    asked = ["--database", "../checkout/results"]
    # Views read the files of their own results, though there are others of the same paths.
    copied = "COPY (SELECT twice, claim FROM doubled, claims) TO 'here.csv'"
    assert main(["sql", copied, *asked]) == 0
    assert Path("here.csv").read_text() == "twice,claim\n16,fair\n"
    assert Path("../checkout/here.csv").read_text() == "kept\n1\n"
    assert main(["sql", "SELECT 'it is ' || twice AS told FROM 'here.csv'", *asked]) == 0
    assert " it is 16 " in capsys.readouterr().out
    assert main(["sql", "SELECT other FROM names", *asked]) == 1
    assert capsys.readouterr().err.endswith("; `names` has number\n")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("FROM results/tables/runs.parquet", "a file takes single quotes: FROM 'results/tables/runs/*.parquet'"),
        ("FROM results/tables/runs/*.parquet", "a file takes single quotes: FROM 'results/tables/runs/*.parquet'"),
        ("COPY (FROM names) TO out/x.csv", "a file takes single quotes: TO 'out/x.csv'"),
        (
            "FROM 'results/tables/runs'",
            "no file `results/tables/runs` below {}; did you mean 'results/tables/runs/*.parquet'?",
        ),
        (
            "FROM 'results/tables/rnus.parquet'",
            "no file `results/tables/rnus.parquet` below {}; did you mean 'results/tables/runs/*.parquet'?",
        ),
        (
            "FROM 'results/tables/run/*.parquet'",
            "no file `results/tables/run/*.parquet` below {}; did you mean 'results/tables/runs/*.parquet'?",
        ),
        ("FROM 'results/tables'", "no file `results/tables` below {}"),
        (
            "FROM 'table.csv'",
            "no file `table.csv` below {}; did you mean 'results/other/summaries/table.csv'?",
        ),
        (
            "FROM 'results/own/summary.csv'",
            "no file `results/own/summary.csv` below {}; did you mean 'results/own/summaries.csv'?",
        ),
        ("FROM 'results/own/summaries.csv/x.csv'", "no file `results/own/summaries.csv/x.csv` below {}"),
        ("FROM nope.csv", "no file `nope.csv` below {}"),
        ("FROM '/nope/x.csv'", "no file `/nope/x.csv`"),
        ("SELECT 4 / FROM names", 'syntax error at or near "FROM"'),
    ],
)
def test_sql_names_the_file_that_is_meant_and_where_it_looked(
    query: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("tables/runs", "own", "other/summaries"):
        (tmp_path / "checkout/results" / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "checkout")
    Path("results/other/summaries/table.csv").touch()
    pl.DataFrame({"number": [1]}).write_parquet("results/tables/runs/first.parquet")
    Path("results/own/summaries.csv").write_text("n\n1\n")
    duckdb.connect("results/own/archive.duckdb").close()
    for folder, start in ((".", ""), ("elsewhere", f"{tmp_path}/checkout/")):
        Path(folder).mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        assert main(["sql", query, "--database", str(tmp_path / "checkout/results")]) == 1
        pattern = re.sub(r"(?<=FROM '|mean ')(results)", rf"{start}\1", told)
        assert capsys.readouterr().err == f"ccreport: {pattern.format(Path.cwd())}\n"


def test_the_configured_results_answer_where_none_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, number in (("results", 1), ("out/mine", 2)):
        table = Path(folder, "names.parquet")
        Path(folder, "own").mkdir(parents=True)
        pl.DataFrame({"number": [number]}).write_parquet(table)
        with duckdb.connect(f"{folder}/own/archive.duckdb") as connection:
            connection.execute(f"CREATE VIEW names AS {read_files([table])}")
    query = "SELECT 'it is ' || number AS told FROM names"
    Path("config.yaml").write_text("evaluation: own\npathvars: {results: out/mine}\n")
    assert main(["sql", query]) == 0
    printed = capsys.readouterr()
    assert (" it is 2 " in printed.out, printed.err) == (True, "")
    assert main(["sql", query, "--database", "results"]) == 0
    assert " it is 1 " in capsys.readouterr().out
    Path("config.yaml").write_text("evaluation: evaluations/other.yaml\n")
    said = (
        "note: results/own is asked first, as the configured evaluation `other` is not built; --database names others\n"
    )
    assert main(["sql", query]) == 0
    printed = capsys.readouterr()
    assert (" it is 1 " in printed.out, printed.err) == (True, said)
    assert main(["sql", "FROM nothing"]) == 1
    assert capsys.readouterr().err.startswith(f"{said}ccreport: ")
    assert main(["explain", "tables"]) == 0
    assert capsys.readouterr().err == said
    Path("config.yaml").write_text("pathvars: {results: nowhere}\n")
    drawn = ["plot_figure", "--evaluation", "generic", "--figure", "rate_by_loss", "--output", "drawn"]
    for command in (["plan_runs"], ["export", "r1"], drawn):
        assert main(command) == 1
        assert "nowhere" in capsys.readouterr().err


def test_sql_asks_the_results_that_are_named_whatever_they_are_called_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        # As two builds one after the other, each of which is moved away.
        table = Path("results/tables/names.parquet")
        table.parent.mkdir(parents=True)
        pl.DataFrame({"number": [number]}).write_parquet(table)
        Path("results/own").mkdir()
        with duckdb.connect("results/own/archive.duckdb") as connection:
            connection.execute(f"CREATE VIEW names AS {read_files([table])}")
        if number == 1:
            Path("results").rename("former")
    for folder, number in (("results", 2), ("former", 1)):
        assert main(["sql", "SELECT 'it is ' || number AS told FROM names", "--database", folder]) == 0
        assert f" it is {number} " in capsys.readouterr().out
    # Built with an absolute path they can be asked only where they were built.
    for folder in ("first", "second"):
        table = tmp_path / folder / "tables/names.parquet"
        table.parent.mkdir(parents=True)
        pl.DataFrame({"number": [7]}).write_parquet(table)
        (tmp_path / folder / "own").mkdir()
        with duckdb.connect(str(tmp_path / folder / "own/archive.duckdb")) as connection:
            connection.execute(f"CREATE VIEW names AS {read_files([table])}")
    assert main(["sql", "FROM names", "--database", "first"]) == 0
    shutil.rmtree("second")
    Path("first").rename("second")
    assert main(["sql", "FROM names", "--database", "second"]) == 1
    shutil.copytree("second", "first")
    assert main(["sql", "FROM names", "--database", "second"]) == 1
    assert capsys.readouterr().err.count("built with an absolute path of results, and these are not there") == 2
    Path("former/tables/names.parquet").unlink()
    assert main(["sql", "FROM names", "--database", "former"]) == 1
    said = capsys.readouterr().err
    assert "reads results/tables/names.parquet, which is not beside it; build its evaluation once more" in said


def test_a_database_of_an_archive_that_was_read_again_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own").mkdir()
    with duckdb.connect(str(tmp_path / "own/archive.duckdb")) as connection:
        connection.execute("CREATE TABLE runs AS SELECT 1 AS number")
    facts = tmp_path / "archive.json"
    facts.write_text("{}")
    for moved_s, is_warned in ((-60, False), (60, True)):
        made_s = (tmp_path / "own/archive.duckdb").stat().st_mtime
        os.utime(facts, (made_s + moved_s, made_s + moved_s))
        assert main(["sql", "FROM runs", "--database", str(tmp_path)]) == 0
        assert ("Build its evaluation once more: `make report`" in capsys.readouterr().err) is is_warned


def test_what_goes_to_the_standard_output_stands_there_alone(database: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "COPY (SELECT 7 AS number) TO STDOUT", "--database", str(database)]) == 0
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("number\n7\n", "1 row written\n")


def test_rows_go_through_a_pipe_as_json(database: Path, capfd: pytest.CaptureFixture[str]) -> None:
    query = "COPY (SELECT 7 AS number) TO '/dev/stdout' (FORMAT json)"
    assert query.partition("TO")[2] in (ROOT / "reports/commands.qmd").read_text()
    assert main(["sql", query, "--database", str(database)]) == 0
    assert capfd.readouterr().out == '{"number":7}\n'


@pytest.mark.parametrize(("extension", "said"), [("httpfs", "only files of this machine"), ("excel", "DuckDB's ext")])
def test_a_file_that_needs_an_extension_is_told(extension: str, said: str) -> None:
    error = duckdb.Error(
        f"An error occurred while trying to automatically install the required extension '{extension}:\n"
        f'Extension "/home/x/{extension}.duckdb_extension" not found.'
    )
    assert describe_absent_file(error, "FROM 'http://127.0.0.1:9/x.parquet'", Path(), Path()).startswith(said)


def test_an_answer_that_cannot_be_saved_is_not_the_databases_fault(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "absent/x.csv"
    assert main(["sql", f"COPY (FROM runs) TO '{target}'", "--database", str(database)]) == 1
    assert capsys.readouterr().err == f'ccreport: Cannot open file "{target}": No such file or directory\n'


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("COPY (FROM names) TO '/dev/full' (FORMAT csv)", "No space left on device"),
        ("FROM 'none.csv'", "none.csv"),
        ("FROM read_parquet('broken.duckdb')", "broken.duckdb"),
        # The program has variables of these names.
        ("FROM query", "Table with name query does not exist"),
        ("FROM connection", "Table with name connection does not exist"),
    ],
)
def test_what_a_query_itself_cannot_reach_is_not_blamed_on_the_results(
    query: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results/own").mkdir(parents=True)
    pl.DataFrame({"number": range(10_000)}).write_parquet("results/names.parquet")
    with duckdb.connect("results/own/archive.duckdb") as connection:
        connection.execute(f"CREATE VIEW names AS {read_files([Path('results/names.parquet')])}")
    Path("broken.duckdb").write_text("no database " * 2000, encoding="utf-8")
    assert main(["sql", query, "--database", "results/own"]) == 1
    told = capsys.readouterr().err
    assert said in told
    assert "cannot be read" not in told
    assert "Python" not in told


@pytest.mark.parametrize(
    "query",
    [
        "EXPORT DATABASE 'copy'",
        "IMPORT DATABASE 'exported'",
        "ATTACH 'copy' (READ_WRITE)",
        "ATTACH 'copy'",
        "EXPLAIN ANALYZE INSERT INTO mine SELECT 1",
        "MERGE INTO mine USING mine AS m ON (mine.n = m.n) WHEN MATCHED THEN DELETE",
    ],
)
def test_what_would_write_is_refused(
    query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("archive.duckdb") as connection:
        connection.execute("CREATE TABLE mine AS SELECT 1 AS n; EXPORT DATABASE 'exported'")
    assert main(["sql", query, "--database", "archive.duckdb"]) == 1
    assert capsys.readouterr().err.startswith("ccreport: the database is read only, as a build makes it; save an ")
    assert not Path("copy").exists()


@pytest.mark.parametrize(
    ("query", "own"),
    [
        ("COPY (SELECT 1) TO 'results/tables/runs/first.parquet'", "results"),
        ("EXPLAIN ANALYZE COPY (SELECT 1) TO E'results/own/new.csv' (FORMAT csv)", "results"),
        ("COPY (SELECT 1 WHERE 'a' SIMILAR TO 'b') to \"elsewhere/../linked/new.csv\"", "results"),
        ("COPY (SELECT 1) TO 'other.duckdb'", "other.duckdb"),
    ],
)
def test_an_answer_is_not_saved_among_the_files_of_a_build(
    query: str, own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("results/tables/runs", "results/own", "elsewhere"):
        Path(folder).mkdir(parents=True)
    Path("linked").symlink_to("results")
    for database in ("results/own/archive.duckdb", "other.duckdb"):
        with duckdb.connect(database) as connection:
            connection.execute("CREATE TABLE runs AS SELECT 'r1' AS run_id")
    asked = ["--database", own]
    before = sorted(Path("results").rglob("*"))
    written = "results/own/new.csv" if own == "results" else own
    for command in (["sql", query], ["export", "r1", "--output", written]):
        assert main([*command, *asked]) == 1
        said = f" would change {own}, which only a build writes; name a file elsewhere\n"
        assert capsys.readouterr().err.endswith(said)
    assert sorted(Path("results").rglob("*")) == before
    assert main(["sql", "COPY (SELECT 'TO ''results/x''' AS told) TO 'elsewhere/x.csv'", *asked]) == 0
    assert main(["sql", "COPY (SELECT 1) TO 'x.csv'", *asked]) == 0


def test_an_answer_replaces_neither_a_raw_file_nor_one_that_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("results/tables", "results/own", "mine/raw"):
        Path(folder).mkdir(parents=True)
    with duckdb.connect("results/own/archive.duckdb") as connection:
        connection.execute("CREATE TABLE runs AS SELECT 'r1' AS run_id")
    for archive in ("mine/raw", "[mine/raw, mine/more]", "{path: mine/raw}"):
        Path("config.yaml").write_text(f"archive: {archive}\n")
        for target, problem in (
            ("mine/raw/new.csv", "would change the archive mine/raw; name a file elsewhere"),
            ("config.yaml", "exists and does not look like a file of results; name another file, such as answer.csv"),
        ):
            assert main(["sql", f"COPY (SELECT 1) TO '{target}' (FORMAT csv)"]) == 1
            assert capsys.readouterr().err.endswith(f"ccreport: '{target}' {problem}\n")
            assert main(["export", "r1", "--output", target]) == 1
            assert capsys.readouterr().err.endswith(f"ccreport: --output {target} {problem}\n")
        assert Path("config.yaml").read_text() == f"archive: {archive}\n"
    assert not list(Path("mine/raw").iterdir())


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_a_file_that_is_not_a_database_is_told(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = pl.DataFrame({"number": [1]})
    rows.write_csv("rows.csv")
    rows.write_parquet("rows.parquet")
    for command in (["sql", "SELECT 1"], ["explain", "runs"], ["export", "r1"]):
        assert main([*command, "--database", name]) == 1
        said = f"ccreport: {command[0]}: {name} is not a database; sql \"FROM '{name}'\" asks a file\n"
        assert capsys.readouterr().err.endswith(said.partition(": ")[2].partition(": ")[2])


def test_a_database_of_something_else_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("other.duckdb") as connection:
        connection.execute("CREATE TABLE mine AS SELECT 1 AS n")
    said = "other.duckdb has no tables of ccreport; "
    for command in (["explain"], ["explain", "table_2"], ["explain", "claim 2"], ["export", "r1"]):
        assert main([*command, "--database", "other.duckdb"]) == 1
        assert capsys.readouterr().err.startswith(f"ccreport: {said}name that of an evaluation, such as ")
    assert main(["sql", "FROM runs", "--database", "other.duckdb"]) == 1
    assert f"Table with name runs does not exist; {said}`sql` without a query lists" in capsys.readouterr().err
    assert main(["sql", "FROM mine", "--database", "other.duckdb"]) == 0


def test_a_damaged_database_is_told(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = database.read_bytes()
    broken = [b"evaluation: auto\n", b"", whole[:100], whole[:-1], whole[:4096] + bytes(4096) + whole[8192:]]
    for number, content in enumerate(broken):
        path = tmp_path / f"{number}.duckdb"
        path.write_bytes(content)
        assert main(["sql", "FROM runs", "--database", str(path)]) == 1
        advice = "name that of an evaluation, such as results/esnet-dtn/archive.duckdb, which `make report` builds"
        assert capsys.readouterr().err == f"ccreport: {path} is not a database, or a damaged one; {advice}\n"
