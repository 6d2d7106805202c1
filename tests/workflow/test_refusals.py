"""Paths and names that stand for nothing: refused before anything is decided, on a fresh and on a built tree."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from archives import ROOT
from checkouts import LIMIT_S, LINKED, Checkout
from synthesised import make

pytestmark = pytest.mark.slow

TABLE = "results/esnet-dtn/summaries/jobs.csv"
NOTHING = "Nothing to be done"
# What `make` gives Snakemake.
PROGRESS = ("--logger", "ccreport")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    folder = tmp_path_factory.mktemp("refused")
    checkout = Checkout(folder / "checkout")
    checkout.set_up(make(folder / "archive", 4, seed=7, runs_per_job=2, bytes_per_run=5000).folder)
    return checkout


@pytest.fixture(scope="module")
def built(fresh: Checkout) -> Checkout:
    checkout = fresh.copy(fresh.folder.parent / "built")
    done = ask(checkout)
    assert done.returncode == 0, done.stderr
    assert NOTHING in ask(checkout).stderr
    return checkout


def ask(
    checkout: Checkout, *values: str, config: str | None = None, options: tuple[str, ...] = (), target: str = TABLE
) -> subprocess.CompletedProcess[str]:
    """Build a table as a user would, with values on the command line and, if given, a text for config.yaml."""
    own = ROOT / "config.yaml"
    text = own.read_text(encoding="utf-8") if config is None else config
    (checkout.folder / "config.yaml").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", *options, "--cores", "2", target, "--config", "archive=raw"]
    defaults = {"explanations": "", "evaluation": "esnet-dtn"}
    given = [f"{key}={value}" for key, value in defaults.items() if not any(one.startswith(key) for one in values)]
    return subprocess.run(
        [*command, "sections=[]", "packet_runs=[]", *given, *values],
        cwd=checkout.folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def write_evaluation(checkout: Checkout, old: str, new: str) -> str:
    """Write the shipped evaluation with one part replaced; return the values that name it."""
    text = (ROOT / "evaluations/esnet-dtn.yaml").read_text(encoding="utf-8")
    assert old in text
    (checkout.folder / "own").mkdir(exist_ok=True)
    path = checkout.folder / "own/esnet-dtn.yaml"
    path.write_text(text.replace(old, new, 1).replace("expected: ", f"expected: {ROOT}/evaluations/"), encoding="utf-8")
    return "evaluation=own/esnet-dtn.yaml"


ON_COMMAND_LINE = [
    ("explanations=/nope.yaml", "--config: explanations: /nope.yaml does not exist"),
    ("compare_with=/nope", "--config: compare_with: /nope does not exist"),
    (
        "compare_with=raw",
        "--config: compare_with: raw has no tables of the evaluation `esnet-dtn`; name the results folder of another b",
    ),
    (
        "packet_runs=[nosuch]",
        "--config: packet_runs: `nosuch` is not a run_id; `python -m ccreport sql 'SELECT run_id FROM runs'` lists",
    ),
    ("sections=[edge]", "--config: sections: no evaluation is called `edge`; did you mean `edge-bbr2`?"),
    ("release={former: raw}", "--config: release.former: raw is not a release: it has no SHA256SUMS"),
    ("stict=True", "--config: `stict` is not a key; did you mean `strict`?"),
    ("results=mine", "--config: `results` is not a key; did you mean `pathvars: {results: …}`?"),
    ("archive=.", "--config: archive: . has in it results, the folder of results; name a folder of raw files alone"),
    ("pathvars={results: raw}", "--config: pathvars.results: raw has the raw files of raw; name a folder"),
    ("sections=[esnet-dtn]", "--config: sections: esnet-dtn is in the report already; name it once"),
    ("renderer=quarto", "--config: `renderer` is not a key; did you mean `report: {renderer: …}`?"),
]
IN_EVALUATION = [
    ("  table_2_testbed:", "  mean_goodput:", r": tables: no query `mean_goodput`; there are coefficients, "),
    (
        "buffer_bytes, flows_count]",
        "buffer_bytes, flow_count]",
        r": tables.*: .* has no column `flow_count`; did you mean `flows",
    ),
    (
        "expected: esnet-dtn/table_1",
        "expected: esnet-dtn/table_9",
        r": reproduction\.\w+\.expected: .* does not exist; did you mean `.*/table_1_buffer_size\.csv`\?$",
    ),
    (
        "questions: [table_1_buffer_size,",
        "questions: [means,",
        r": tables\.comparisons\.questions: no table `means`; there are ",
    ),
    (
        "kind: rate_by_rtt",
        "kind: rate_by_rt",
        r": figures\.\w+\.kind: `rate_by_rt` is .*; did you mean `rate_by_rtt`",
    ),
]


STRICT_LINE = (ROOT / "config.yaml").read_text(encoding="utf-8").splitlines().index("strict: false") + 1


@pytest.mark.parametrize("tree", ["fresh", "built"])
@pytest.mark.parametrize(("value", "message"), ON_COMMAND_LINE, ids=[value for value, _ in ON_COMMAND_LINE])
def test_a_value_that_stands_for_nothing_is_refused_in_one_line(
    tree: str, value: str, message: str, request: pytest.FixtureRequest
) -> None:
    check_refusal(ask(request.getfixturevalue(tree), value), re.escape(f"ccreport: {message}"))


def test_the_tables_of_a_release_are_compared_with_and_one_of_other_evaluations_is_refused(fresh: Checkout) -> None:
    tables = fresh.folder / "release/2.1/evaluations/esnet-dtn/tables"
    tables.mkdir(parents=True)
    (tables / "table_2_testbed.parquet").touch()
    assert ask(fresh, "compare_with=release/2.1", options=("-n",)).returncode == 0
    tables.parent.rename(tables.parent.with_name("generic"))
    said = (
        "has no tables of the evaluation `esnet-dtn`, but of `generic`; name the results folder of another build, or "
    )
    check_refusal(
        ask(fresh, "compare_with=release/2.1"), re.escape(f"ccreport: --config: compare_with: release/2.1 {said}")
    )


@pytest.mark.parametrize("tree", ["fresh", "built"])
@pytest.mark.skipif(shutil.which("quarto") is not None, reason="Quarto is installed")
def test_a_renderer_that_is_not_there_is_refused_before_the_first_job(
    tree: str, request: pytest.FixtureRequest
) -> None:
    said = "ccreport: --config: report.renderer: no `quarto` is on the PATH; install it, or write `auto`, "
    check_refusal(ask(request.getfixturevalue(tree), "report={renderer: quarto}"), said)


def test_an_own_evaluation_of_the_name_of_a_section_can_do_without_that(fresh: Checkout) -> None:
    named = write_evaluation(fresh, "kind: rate_by_rtt", "kind: rate_by_rtt")
    said = "have one name, which is that of their results; rename one, or leave esnet-dtn out: sections=[brakmo-bbr]"
    done = ask(fresh, named, "sections=[brakmo-bbr, esnet-dtn]")
    check_refusal(done, re.escape(f"ccreport: --config: sections: esnet-dtn and own/esnet-dtn.yaml {said}"))


WHY_READ = (
    "; `sections` is null, so all of evaluations/ are sections: to leave draft out, write sections:"
    " [brakmo-bbr, edge-bbr2, mininet-bbr2]\n"
)
EMPTY = "algorithms: {CUBIC: {members: [cubic]}}"


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        ("tabels: {}", f"ccreport: evaluations/draft.yaml:2: `tabels` is not a key; did you mean `tables`?{WHY_READ}"),
        (f"{EMPTY}\ntables: {{jobs: {{title: Jobs, where: nosuch = 1}}}}", WHY_READ),
        (
            EMPTY,
            "warning: evaluations/draft.yaml declares neither tables nor figures nor claims, so it shows nothing\n",
        ),
    ],
    ids=["key", "sql", "empty"],
)
def test_a_draft_beside_the_evaluations_of_the_sample_says_why_it_is_read(
    draft: str, said: str, tmp_path: Path
) -> None:
    # Evaluations, and the sample, are those beside the sources.
    for name in ("evaluations", "src", "workflow"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in {*LINKED, "archive", "config.yaml"} - {"evaluations", "src", "workflow"}:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "evaluations/draft.yaml").write_text(f"title: Draft\n{draft}\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "report", "--dry-run", "--quiet", "rules"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == int(said.endswith(WHY_READ)), done.stderr
    assert said in done.stdout + done.stderr


@pytest.mark.parametrize("tree", ["fresh", "built"])
@pytest.mark.parametrize(("old", "new", "message"), IN_EVALUATION, ids=[new for _, new, _ in IN_EVALUATION])
def test_a_name_in_an_evaluation_that_stands_for_nothing_is_refused(
    tree: str, old: str, new: str, message: str, request: pytest.FixtureRequest
) -> None:
    checkout = request.getfixturevalue(tree)
    check_refusal(ask(checkout, write_evaluation(checkout, old, new)), rf"ccreport: own/esnet-dtn\.yaml:\d+{message}")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("reprot", "no target `reprot`; did you mean `report`? `snakemake --list` shows the others"),
        ("results/esnet-dtn/summaries/jobs.cvs", "no target `.*jobs.cvs`; did you mean `.*jobs.csv`?"),
        # Another evaluation that comes with the pipeline has such a table.
        (
            "results/esnet-dtn/summaries/servers.tex",
            "no target `.*`; .*esnet-dtn.yaml has no table `servers`; there are ",
        ),
        ("reprot.pdf", "no target `reprot.pdf`; did you mean `results/esnet-dtn/report.pdf`?"),
        ("table_2", "no target `table_2`; did you mean `results/esnet-dtn/summaries/table_2_testbed."),
        ("figures", "no target `figures`; did you mean `results/esnet-dtn/figures`?"),
        (
            "results/esnet-dtn/figures/figure_4/figure.svg",
            "no target `.*`; `results/esnet-dtn/figures` draws all figures, `.* plot_figure .* figure_4` this one",
        ),
        ("figures/figure_4", "no target `figures/figure_4`; did you mean `results/esnet-dtn/figures`?"),
        ("strict=True", "`strict=True` is not a target: `--config strict=True`"),
        ("ARCHIVE=x", "`ARCHIVE=x` is a setting of make: `make report ARCHIVE=x` or `--config archive=x`"),
        ("README.md", "no target `README.md`; `snakemake --list` shows"),
        ("results/tables/runs/nosuch.parquet", "no batch `nosuch`; results/batches.txt, of `list_raw_files`"),
        ("ingest_batch", "`ingest_batch` makes a file for each batch; name one of its files"),
    ],
)
def test_a_target_that_does_not_exist_is_refused_in_the_last_line(target: str, message: str, fresh: Checkout) -> None:
    done = ask(fresh, target=target)
    assert done.returncode == 1
    pattern = re.escape(f"ccreport: {message}").replace(r"\.\*", ".*")
    assert re.match(pattern, done.stderr.splitlines()[-1]), done.stderr
    assert "Exception" not in done.stderr
    # Nor is it below a list of facts about the machine.
    assert "Snakemake version" not in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["strict:True"], "--config: `strict:True` is not KEY=VALUE; write strict=True"),
        (["--configfile", "nope.yaml"], "--configfile: nope.yaml does not exist; a target comes before this option"),
    ],
)
def test_what_snakemake_cannot_read_is_refused_in_one_line(words: list[str], message: str, fresh: Checkout) -> None:
    done = ask(fresh, *words)
    assert (done.returncode, done.stderr) == (1, f"ccreport: {message}\n")


def test_a_build_is_not_compared_with_itself(built: Checkout) -> None:
    said = r"ccreport: --config: compare_with: results has the results of this build itself; name those of another, "
    check_refusal(ask(built, "compare_with=results"), said)


def check_refusal(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.returncode == 1, done.stderr
    last = done.stderr.splitlines()[-1]
    assert re.match(message, last), last
    # Two lines of Snakemake's about profile and configuration come before.
    assert len(done.stderr.splitlines()) <= 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("strict: false", "stict: false", "`stict` is not a key; did you mean `strict`?"),
        (
            "strict: false",
            "strict: ture",
            "strict: `ture` is not true or false; did you mean `true`?",
        ),
        ("strict: false", "strict false", "not YAML: a key without a colon and a blank behind it"),
        ("  renderer: auto", "\trenderer: auto", "not YAML: a tab in front; indent by blanks"),
        (
            "  renderer: auto",
            "  rendrer: auto",
            "report: `rendrer` is not a key; did you mean `renderer`?",
        ),
        (
            "  version: '1'",
            "  version: yes",
            "release.version: `true` is not text; put it in quotes: 'true'",
        ),
        (
            "include_cpu_bound: true",
            "strict: true",
            f"`strict` is also in line {STRICT_LINE}; delete one of them",
        ),
    ],
)
def test_a_mistake_in_the_configuration_is_named_by_its_line(old: str, new: str, message: str, fresh: Checkout) -> None:
    text = (ROOT / "config.yaml").read_text(encoding="utf-8")
    assert old in text
    changed = text.replace(old, new, 1)
    line = next(number for number, one in enumerate(changed.splitlines(), 1) if one.startswith(new))
    check_refusal(ask(fresh, config=changed), re.escape(f"ccreport: config.yaml:{line}: {message}") + "$")


@pytest.mark.parametrize("tree", ["fresh", "built"])
@pytest.mark.parametrize("options", [(), PROGRESS, ("--dry-run",)])
def test_a_failed_build_ends_with_the_line_that_matters(
    tree: str, options: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    checkout = request.getfixturevalue(tree)
    value = write_evaluation(checkout, "where: path_class <> 'testbed'", "where: no_such_column = 1")
    done = ask(checkout, value, options=options)
    assert done.returncode == 1
    # It is told before the first job.
    assert (checkout.results / "tables").exists() == (tree == "built")
    assert done.stderr.splitlines()[-1].startswith("ccreport: ")
    assert "no_such_column" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("tree", ["fresh", "built"])
def test_a_fault_of_the_checks_themselves_ends_the_build(
    tree: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    broken = "import ccreport.figures.select.check_sql as module\nmodule.check_sql = lambda *_: {}['gone']\n"
    (tmp_path / "sitecustomize.py").write_text(broken)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    checkout = request.getfixturevalue(tree)
    done = ask(checkout, write_evaluation(checkout, "kind: rate_by_rtt", "kind: rate_by_rtt"))
    assert done.returncode == 1
    assert "KeyError: 'gone'" in done.stderr
    assert "rule " not in done.stderr


@pytest.mark.parametrize("tree", ["fresh", "built"])
def test_published_values_that_cannot_be_used_are_refused_before_the_first_job(
    tree: str, request: pytest.FixtureRequest
) -> None:
    checkout = request.getfixturevalue(tree)
    table = "esnet-dtn/table_1_buffer_size.csv"
    value = write_evaluation(checkout, f"expected: {table}", 'expected: ""')
    path = checkout.folder / "own/esnet-dtn.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(f'expected: {ROOT}/evaluations/""', "expected: mine.csv"), encoding="utf-8")
    values = (ROOT / "evaluations" / table).read_text(encoding="utf-8")
    path.with_name("mine.csv").write_text(values.replace("mean_gbps", "mean_gbit", 1), encoding="utf-8")
    done = ask(checkout, value)
    assert done.returncode == 1
    said = "ccreport: own/mine.csv, line 1: `mean_gbit` is not a column; did you mean `mean_gbps`?"
    assert done.stderr.splitlines()[-1] == said
    assert "rule " not in done.stderr


@pytest.mark.parametrize("tree", ["fresh", "built"])
def test_explained_pairs_that_are_not_published_are_refused_before_the_first_job(
    tree: str, request: pytest.FixtureRequest
) -> None:
    checkout = request.getfixturevalue(tree)
    text = (ROOT / "archive/explanations.yaml").read_text(encoding="utf-8")
    (checkout.folder / "own").mkdir(exist_ok=True)
    name = "no loss, both, 16 flows, RTT < 30 ms"
    (checkout.folder / "own/explained.yaml").write_text(text.replace(name, name.replace("16", "17")), encoding="utf-8")
    done = ask(checkout, "explanations=own/explained.yaml")
    assert done.returncode == 1
    assert re.fullmatch(
        r"ccreport: own/explained\.yaml:\d+: esnet-dtn has no published pair `no loss, both, 17 flows, RTT < 30 ms`; "
        r"did you mean `no loss, both, 16 flows, RTT < 30 ms`\?",
        done.stderr.splitlines()[-1],
    )


def test_names_that_may_be_wrong_are_warned_of(built: Checkout) -> None:
    value = write_evaluation(built, "members: [bbr2,", "members: [bbr9,")
    done = ask(built, value, "packet_runs=[first.nosuch]")
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"own/esnet-dtn\.yaml:\d+: algorithms\.BBR\.members: no algorithm of Linux is called `bbr9`", done.stderr
    )
    assert done.stderr.count("warning: --config: packet_runs: the archive has no run `first.nosuch`") == 1
    # Whoever builds looks at the end.
    *jobs, end = re.split(r"\d+ of \d+ steps", done.stderr)
    assert jobs
    assert "algorithms.BBR.members: no algorithm of Linux is called `bbr9`" in end


def test_a_release_of_nobody_is_refused_before_the_first_job(fresh: Checkout) -> None:
    said = (
        "ccreport: release.creators names nobody; say who measured, below `release`: .*; release.license is not set; "
    )
    done = ask(fresh, target="publish")
    assert done.returncode == 1, done.stderr
    assert re.match(said, done.stderr.splitlines()[-1])
    assert "rule " not in done.stderr
    named = ask(fresh, "release={creators: [{name: Ada}], license: CC0-1.0}", options=("-n",), target="publish")
    assert "release." not in named.stdout + named.stderr
    # This checkout has no licence and the like of its own.
    assert "Missing input files for rule publish" in named.stdout


def test_an_upload_to_nowhere_is_refused_before_the_first_job(fresh: Checkout) -> None:
    done = ask(fresh, "release={creators: [{name: Ada}], license: CC0-1.0}", target="upload")
    assert done.returncode == 1, done.stderr
    said = "ccreport: release.target is not set; name a folder, s3://bucket/prefix or https://host/folder"
    assert done.stderr.splitlines()[-1] == said
    assert "rule " not in done.stderr
    done = ask(fresh, "release={target: 'ftp://host/x'}", options=("-n",), target="upload")
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1].startswith("ccreport: release.target: ftp://host/x: no such kind of address; ")


def test_a_text_that_no_run_has_is_told_before_the_first_job_and_at_the_end(built: Checkout) -> None:
    done = ask(built, write_evaluation(built, "mode = 'both'", "cc_list = 'cubik'"))
    assert done.returncode == 0, done.stderr
    said = (
        r"^warning: own/esnet-dtn\.yaml:\d+: tables\.\w+\.where: no run has cc_list = 'cubik'; did you mean `cubic`\?$"
    )
    first, *_, end = re.split(r"^rule |\d+ of \d+ steps", done.stderr, flags=re.MULTILINE)
    assert [len(re.findall(said, part, re.MULTILINE)) for part in (first, end, done.stderr)] == [1, 1, 2]


def test_a_damaged_database_does_not_keep_an_edited_evaluation_from_being_built(built: Checkout) -> None:
    database = built.results / "esnet-dtn/archive.duckdb"
    kept, edited = database.read_bytes(), write_evaluation(built, "mode = 'both'", "cc_list = 'cubik'")
    try:
        database.write_bytes(b"damaged")
        os.utime(database, (0, 0))
        done = ask(built, edited, options=("-n",))
    finally:
        database.write_bytes(kept)
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count("no run has cc_list = 'cubik'; did you mean `cubic`?") == 1


def test_results_of_another_evaluation_are_named(built: Checkout) -> None:
    (built.results / "former").mkdir(exist_ok=True)
    (built.results / "former/archive.duckdb").touch()
    done = ask(built, "batch_mib=31")
    assert done.returncode == 0, done.stderr
    assert "results also has results of former, which this build did not renew" in done.stderr


def test_no_rule_prints_the_paths_of_the_package_or_lists_itself_among_targets(built: Checkout) -> None:
    # Where raw files are to be listed first, no later rule is planned.
    assert ask(built).returncode == 0
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", "report", "--config", "archive=raw", "explanations="],
        cwd=built.folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert "render_fragments" in done.stdout + done.stderr
    assert max(map(len, (done.stdout + done.stderr).splitlines())) < 5000
    listed = subprocess.run(
        [sys.executable, "-m", "snakemake", "--list", "--config", "archive=raw", "explanations="],
        cwd=built.folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    people, _, parts = listed.stdout.partition("\n\nRules that these call:\n")
    assert people.splitlines()[0].startswith("report ")
    assert len(people.splitlines()) == 10
    assert "ingest_batch" in parts
    assert "ingest_batch" not in people
