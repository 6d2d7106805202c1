"""SQL of an evaluation is tried before there is any data."""

from pathlib import Path

import pytest
from archives import ROOT

from ccreport.core.declared_files import DeclarationError
from ccreport.figures.select.check_sql import check_sql
from ccreport.summarise.view_columns import open_without_rows

GENERIC = ROOT / "evaluations/generic.yaml"
TABLE_DOTS = "figures:\n  dots: {kind: table_dots, title: Dots, table: %s, where: %s}\n"
LABEL = "labels:\n  far:\n    cases:\n      - {value: far, when: %s}\n    otherwise: %s"


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(ROOT.glob("evaluations/*.yaml")), ids=lambda path: path.stem)
def test_no_shipped_evaluation_is_refused(path: Path) -> None:
    with open_without_rows(path) as connection:
        check_sql(connection, path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "where: loss_pct IS",
            "where: los_pct IS",
            "figure 'rate_by_loss': .* its `where`: .*; did you mean `loss_pct`",
        ),
        ("where: volume_bytes > 0", "where: volume_bytes >> '", "tables.completion.where: the database refuses it: "),
        (
            "panels_by: [host",
            "panels_by: [hosst",
            "figure 'throughput_alone': .* `panels_by`: .*; did you mean `host`",
        ),
        ("labels: {}", LABEL % ("rtt_mss > 3", "\"'near'\""), "labels.far.cases.0.when: .*; did you mean `rtt_ms`"),
        ("labels: {}", LABEL % ("rtt_ms <<< 30", "\"'near'\""), r"labels\.far\.cases\.0\.when: .*<<<"),
        ("labels: {}", LABEL % ("rtt_ms > 3", "near"), 'labels.far.otherwise: .* "near" not found'),
        (
            "labels: {}",
            "labels: {}\npublished_paths: {loss_pct: rtt_mss > 3}",
            "published_paths.loss_pct: .*; did you mean `rtt_ms`",
        ),
        ("edges_ms: [1, 2,", "edges_ms: [2, 1,", r"rtt_bucket_edges_ms: not ascending; write \[1, 2, 5, 10"),
        ("where: mode = 'both'", 'where: mode = "both"', "figure 'throughput_both': .*\"both\""),
        ("figures:\n", TABLE_DOTS % ("means", "job = 'a'"), "figure 'dots': .* its `where`: .*\"job\" not found"),
        (
            "figures:\n",
            TABLE_DOTS % ("meens", "runs_count > 1"),
            ":[0-9]+: figure 'dots': .* no table `meens`; did you mean `means`",
        ),
        ("figures:\n", TABLE_DOTS % ("jobs", "'TRUE'"), "figure 'dots': .*`jobs` has no means .*; means can be drawn"),
        ("figures:\n", TABLE_DOTS % ("comparisons", "'TRUE'"), "figure 'dots': .*`comparisons` has no means"),
        (
            "kind: rate_by_loss\n",
            "kind: rate_by_loss\n    overlapped: false\n",
            ":[0-9]+: figure 'rate_by_loss': the kind 'rate_by_loss' has no `overlapped`; delete it, or select",
        ),
        ("mode <> 'both'\n    panels_by", "mod <> 'both'\n    panels_by", "figure 'throughput_alone': .*`mode`"),
        ("where: loss_pct IS", "where: rtt_ms > 0,5 AND loss_pct IS", ":[0-9]+: figure 'rate_by_loss': .* point: 0.5"),
        ("where: volume_bytes > 0", "where: volume_bytes > 0,5", "tables.completion.where: .* decimal point: 0.5"),
        ("labels: {}", LABEL % ("'rtt_ms > 0,5'", "\"'near'\""), "labels.far.cases.0.when: .* decimal point: 0.5"),
        (
            "labels: {}",
            "labels: {}\npublished_paths: {loss_pct: 'loss_pct > 0,5'}",
            "published_paths.loss_pct: .*: 0.5",
        ),
        (
            "figures:\n",
            "figures:\n  map: {kind: heat_map, title: M, where: 'TRUE'}\n",
            ":[0-9]+: figure 'map': .* draws a table; declare `edge_heat_maps: {title: …}` in `tables`",
        ),
        ("labels: {}", "labels: {}\nedge: {requests: answer_byte > 1}", "[0-9]: edge.requests: .* `answer_bytes`"),
        ("labels: {}", "labels: {}\nedge: {groups: {by: machin}}", "[0-9]: edge.groups.by: .*did you mean `machine`"),
        ("where: mode = 'both'", "where: mode = 'both' AND", "its `where`: the condition breaks off behind `AND`"),
        ("where: mode = 'both'", "where: (mode = 'both'))", "its `where`: .* an opening parenthesis is missing"),
    ],
)
def test_what_the_database_refuses_is_one_line_with_its_place(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = GENERIC.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DeclarationError, match=said) as refused, open_without_rows(path) as connection:
        check_sql(connection, path)
    assert str(refused.value).startswith(f"{path}:")
    assert "\n" not in str(refused.value)


def test_a_figure_of_modes_needs_their_table(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    modes = "figures:\n  apart: {kind: modes_by_condition, title: M, where: 'TRUE'}\n"
    path.write_text(LINES.replace("figures:\n", modes), encoding="utf-8")
    said = ":20: figure 'apart': the kind 'modes_by_condition' draws a table; declare `modes: "
    with pytest.raises(DeclarationError, match=said), open_without_rows(path) as connection:
        check_sql(connection, path)


def test_a_figure_of_a_published_table_is_tried_over_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    dots = TABLE_DOTS % ("means", "runs_count > 1")
    path.write_text(GENERIC.read_text(encoding="utf-8").replace("figures:\n", dots, 1), encoding="utf-8")
    with open_without_rows(path) as connection:
        check_sql(connection, path)


PUBLISHED = """\
title: a
algorithms: {CUBIC: {members: [cubic]}}
labels:
  orbit: {cases: [{value: low, when: rtt_ms < 100}], otherwise: "'high'"}
tables:
  published_values: {title: Printed}
  table_1_buffer_size: {title: Buffers, rows: [buffer_bytes], columns: [algorithm]}
published:
  rates:
    title: Rates
    unit: Mbit/s
    step: 1
    columns: {orbit: '{}'}
    cells: [[low, 870]]
    sql: |
      SELECT run_id, condition_id, orbit, goodput_bps / 1e6 AS x,
        1 AS y
      FROM algorithm_runs -- of all
reproduction:
  table_1_buffer_size: {expected: paths.csv, line_rate_bps: 1000000000}
"""
SQL = "published.rates.sql"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "old", "new", "said"),
    [
        (
            16,
            "goodput_bps",
            "goodput_mbps",
            f"{SQL}: the database refuses it: .* rates are in bit/s: goodput_bps / 1e6",
        ),
        (
            18,
            "algorithm_runs --",
            "read_csv('/etc/hosts') --",
            f'{SQL}: .*Cannot access file "/etc/hosts"; SQL of an eval',
        ),
        (
            18,
            "algorithm_runs --",
            "nosuch --",
            "nosuch does not exist; here there are `runs`, `labelled_runs`, `algorithm_",
        ),
        (
            18,
            "algorithm_runs --",
            "measured --",
            "only checks of claims can read it; here there are `runs`, `labelled_runs",
        ),
        (4, "when: rtt_ms < 100", "when: host IN (FROM read_text('x'))", 'labels.orbit.*Cannot access file "x"; SQL'),
        (17, "1 AS y", "(1 AS y", f"{SQL}: the database refuses it: "),
        (18, "FROM algo", "FORM algo", f"{SQL}: the database refuses it: .* did you mean `FROM`"),
        (15, "condition_id, orbit", "condition_id", f"{SQL}: its columns are run_id, condition_id, x, y; add orbit$"),
        (15, "step: 1\n", "step: 1\n    is_quotient: true\n", f"{SQL}: its columns are .*; add is_divisor$"),
        (
            20,
            "line_rate_bps: 1000000000",
            "line_rate_bps: 1000000000, line_rate: nic_bsp",
            "line_rate: .*; did you mean `nic_bps`",
        ),
    ],
)
def test_a_query_of_published_numbers_is_refused_with_its_place(
    line: int, old: str, new: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(PUBLISHED, encoding="utf-8")
    with open_without_rows(path) as connection:
        check_sql(connection, path)
    assert PUBLISHED.count(old) == 1
    path.write_text(PUBLISHED.replace(old, new), encoding="utf-8")
    line += new.count("\n") - old.count("\n")
    with (
        pytest.raises(DeclarationError, match=f"^{path}:{line}: .*{said}"),
        open_without_rows(path) as connection,
    ):
        check_sql(connection, path)


LINES = """\
title: a
algorithms: {CUBIC: {members: [cubic]}}
labels:
  distance:
    cases:
      - {value: far, when: rtt_ms > 30}
      - value: middle
        when: rtt_ms > 3
    otherwise: >-
      CASE WHEN rtt_ms IS NULL THEN 'unknown'
      ELSE 'near' END
tables:
  jobs:
    title: a
    where: >-
      mode = 'both'
      AND loss_pct > 0 AND
      flows_count > 1
figures:
  one:
    kind: throughput_over_time
    title: a
    where: mode = 'both'
    panels:
      - {title: a, where: rtt_ms > 1}
      - {title: b, where: pacing_bps > 1}
"""


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        (8, "rtt_ms > 3\n", "rtt_ms > nowhere(3)\n"),
        (11, "'near'", "nearby"),
        (17, "AND loss_pct > 0 AND", "AND loss_pct > 0 AND AND"),
        (18, "flows_count", "flow_count"),
        (23, "mode = 'both'\n    panels", "mode == = 'both'\n    panels"),
        (26, "pacing_bps", "pacing_bsp"),
    ],
)
def test_the_line_is_that_of_the_refused_word(line: int, old: str, new: str, tmp_path: Path) -> None:
    assert LINES.count(old) == 1
    path = tmp_path / "mine.yaml"
    path.write_text(LINES.replace(old, new), encoding="utf-8")
    with pytest.raises(DeclarationError, match=f"^{path}:{line}: "), open_without_rows(path) as connection:
        check_sql(connection, path)


@pytest.mark.parametrize("where", ["distance = 'far'", "labels = 'distance=far'"])
def test_a_figure_of_means_may_name_the_labels_of_its_rows(where: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    means = "  means: {title: M, rows: [distance], columns: [algorithm]}\n  jobs:\n"
    dots = TABLE_DOTS % ("means", where)
    path.write_text(LINES.replace("  jobs:\n", means).replace("figures:\n", dots), encoding="utf-8")
    with open_without_rows(path) as connection:
        check_sql(connection, path)
    path.write_text(path.read_text(encoding="utf-8").replace("rows: [distance]", "rows: [host]"), encoding="utf-8")
    if "labels" not in where:
        with (
            pytest.raises(DeclarationError, match='"distance" not found'),
            open_without_rows(path) as connection,
        ):
            check_sql(connection, path)


@pytest.mark.parametrize(
    ("label", "view"),
    [
        ("rtt_ms", "runs"),
        ("Host", "runs"),
        ("cc", "flows"),
        ("sharing", "labelled_runs"),
        ("rate", "measured"),
        ("value", "comparisons_runs"),
    ],
)
def test_a_label_cannot_have_the_name_of_a_column(label: str, view: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    labels = LABEL.replace("far:", f"{label}:", 1) % ("rtt_ms > 3", "\"'near'\"")
    path.write_text(GENERIC.read_text(encoding="utf-8").replace("labels: {}", labels), encoding="utf-8")
    line = path.read_text(encoding="utf-8").splitlines().index(f"  {label}:") + 1
    said = f"^{path}:{line}: labels: `{label}` has the name of a column of {view}; choose another$"
    with pytest.raises(DeclarationError, match=said), open_without_rows(path):
        pass


@pytest.mark.parametrize("label", ["purpose", "path_class", "loss_pattern", "test_group"])
def test_a_label_may_take_the_place_of_one_that_every_evaluation_has(label: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    labels = LABEL.replace("far:", f"{label}:", 1) % ("rtt_ms > 3", "\"'near'\"")
    path.write_text(GENERIC.read_text(encoding="utf-8").replace("labels: {}", labels), encoding="utf-8")
    with open_without_rows(path) as connection:
        assert connection.execute("SELECT count(*) FROM labelled_runs").fetchone() == (0,)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "needed"),
    [
        ("coefficients", "the label `test_group`; declare it"),
        ("cpu", "the label `path_class`; declare it"),
        ("retransmits", "the labels `sender_speed`, `test_group`; declare them"),
    ],
)
def test_a_table_whose_query_needs_labels_names_them(table: str, needed: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(LINES.replace("  jobs:\n", f"  {table}: {{title: T}}\n  jobs:\n"), encoding="utf-8")
    line = path.read_text(encoding="utf-8").splitlines().index(f"  {table}: {{title: T}}") + 1
    said = f"^{path}:{line}: tables.{table} needs {needed} in `labels`, or delete the table$"
    with pytest.raises(DeclarationError, match=said), open_without_rows(path):
        pass
