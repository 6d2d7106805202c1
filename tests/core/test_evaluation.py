import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from archives import ROOT, write_yaml

from ccreport.core import evaluation
from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.declared_files import DeclarationError
from ccreport.core.evaluation import (
    choose_evaluation,
    choose_sections,
    list_doubts,
    list_evaluations,
    load_evaluation,
    resolve_evaluation,
)

SHIPPED = list_evaluations()
DECLARATIONS = sorted(SCHEMAS.glob("*.schema.yaml"))


@pytest.mark.parametrize("path", DECLARATIONS, ids=lambda path: path.name)
def test_the_schemas_of_declarations_are_json_schemas(path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(load_yaml(path))


def test_the_shipped_evaluations_are_the_files_of_their_folder() -> None:
    assert {*SHIPPED} == evaluation.SHIPPED
    assert sorted(path.stem for path in (ROOT / "evaluations").glob("*.yaml")) == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_a_bare_name_is_a_shipped_evaluation_that_keeps_its_schema(name: str) -> None:
    path = resolve_evaluation(name)
    assert path.samefile(ROOT / f"evaluations/{name}.yaml")
    assert load_evaluation(path)["title"]


def test_a_path_is_itself_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.yaml").write_text("", encoding="utf-8")
    (tmp_path / "named").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert resolve_evaluation(str(tmp_path / "own.yaml")) == tmp_path / "own.yaml"
    assert resolve_evaluation("own.yaml") == Path("own.yaml")
    assert resolve_evaluation("./named") == Path("named")


def test_an_unknown_name_lists_those_there_are(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yaml", "notes.txt"):
        (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / "c.yaml").mkdir()
    with pytest.raises(DeclarationError, match=r"^no evaluation is called `gomez`; there are a, b$"):
        resolve_evaluation("gomez", tmp_path)
    with pytest.raises(DeclarationError, match=r"^x/y\.yaml does not exist; there are a, b$"):
        resolve_evaluation("x/y.yaml", tmp_path)
    # A suffix makes it a path, so that no name leads out of the folder or to another file.
    with pytest.raises(DeclarationError, match="does not exist"):
        resolve_evaluation("../a.yaml", tmp_path / "c.yaml")


def test_a_path_of_something_else_says_what_to_name(tmp_path: Path) -> None:
    (tmp_path / "values.csv").write_text("a,b\n", encoding="utf-8")
    with pytest.raises(DeclarationError, match=r"values\.csv is not an evaluation; name a file that ends in \.yaml$"):
        resolve_evaluation(f"{tmp_path}/values.csv")
    with pytest.raises(DeclarationError, match=r" is a folder; name a file, such as .*/NAME\.yaml$"):
        resolve_evaluation(f"{tmp_path}/")
    (tmp_path / "own.yaml").touch()
    with pytest.raises(DeclarationError, match=r" is a folder; name a file, such as .*/own\.yaml$"):
        resolve_evaluation(f"{tmp_path}/")


def test_a_folder_without_evaluations_has_none(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"; there are none$"):
        resolve_evaluation("", tmp_path)


def test_the_archive_chooses_where_nobody_does(tmp_path: Path) -> None:
    sample, copy = ROOT / "archive/sample", tmp_path / "sample"
    copy.mkdir()
    assert choose_evaluation([sample]) == "esnet-dtn"
    assert choose_evaluation([tmp_path / ".." / sample]) == "esnet-dtn"
    assert choose_sections([sample], "esnet-dtn") == ["brakmo-bbr", "edge-bbr2", "mininet-bbr2"]
    # Another of the same name would have its results in the same folder.
    for path in ("evaluations/edge-bbr2.yaml", "own/edge-bbr2.yaml"):
        assert choose_sections([sample], path) == ["brakmo-bbr", "esnet-dtn", "mininet-bbr2"]
    for archives in ([copy], [sample, copy], [tmp_path / "not there"], [Path("https://host.example/sample")]):
        assert choose_evaluation(archives) == "generic"
        assert choose_sections(archives, "generic") == []


def test_a_word_gives_the_bounds_and_a_release_has_them_beside_it(tmp_path: Path) -> None:
    declared = load_yaml(ROOT / "evaluations/esnet-dtn.yaml")
    check = declared["claims"]["many_flows_loss"]["checks"][0]
    path = tmp_path / "own.yaml"

    def load(**bounds: float) -> Any:
        check.update(bounds)
        write_yaml(path, declared)
        return load_evaluation(path)["claims"]["many_flows_loss"]["checks"][0]

    first = load()
    assert (first["word"], first["at_least"]) == ("clear winner", 1.25)
    assert load(at_least=1.25) == first
    with pytest.raises(DeclarationError, match="`clear winner` gives the bounds, so there is no other"):
        load(at_least=1.2)


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ("", r":10: claims.one, check `a`: .*; name a word, at_least or at_most"),
        (
            ", at_least: 800, at_most: 950, paper: 870_000_000",
            r":10: claims.one, check `a`: `paper` is 8.7e\+08 and a bound 800; write both in the same unit",
        ),
        (", word: over", r":10: claims.one, check `a`: `over` needs a number; write it as `paper`, or as `of` where"),
        (", at_least: 5, at_most: 3", r":10: claims.one, check `a`: no value is at least 5 and at most 3"),
        (", at_least: '5'", r":10: claims.one, check `a`, at_least: `5` is not a number; write 5"),
        (", at_leats: 5", r":10: claims.one, check `a`: `at_leats` is not a key; did you mean `at_least`\?"),
        # Without a name it is known by its place alone.
        (", at_least: 5, sql: SELECT 1}, {at_least: 5", r":10: claims\.one\.checks\.1: `name` is missing"),
    ],
)
def test_bounds_that_accept_any_value_or_none_are_refused(bounds: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "title: a\nalgorithms: {CUBIC: {members: [cubic]}}\nlabels: {}\n"
        "tables: {jobs: {title: a}}\nfigures: {}\nclaims:\n  one:\n    text: a\n    source: b\n"
        f"    checks: [{{name: a{bounds}, sql: SELECT 1}}]\n",
        encoding="utf-8",
    )
    with pytest.raises(DeclarationError, match=f"{path}{said}"):
        load_evaluation(path)


def test_a_phrase_in_place_of_its_word_is_answered_with_the_word(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = (ROOT / "evaluations/esnet-dtn.yaml").read_text(encoding="utf-8")
    for written, hint in (("faster", "did you mean `more`?"), ("similr", "did you mean `similar`?")):
        path.write_text(text.replace("word: similar", f"word: {written}", 1), encoding="utf-8")
        with pytest.raises(DeclarationError, match=rf"check `[^`]+`: no word `{written}`; {re.escape(hint)}"):
            load_evaluation(path)


def test_a_figure_calls_the_only_member_of_a_group_by_its_name(tmp_path: Path) -> None:
    declared = load_yaml(ROOT / "evaluations/generic.yaml") | {
        "algorithms": {
            "Old": {"members": ["bbr"]},
            "New": {"members": ["bbr2", "bbr3"]},
            "Loss": {"members": ["cubic"]},
        }
    }
    path = tmp_path / "own.yaml"
    write_yaml(path, declared)
    assert load_evaluation(path)["algorithm_names"] == {"bbr": "Old", "cubic": "Loss"}
    write_yaml(path, declared | {"algorithm_names": {"bbr": "Oldest"}})
    assert load_evaluation(path)["algorithm_names"] == {"bbr": "Oldest", "cubic": "Loss"}


@pytest.mark.parametrize(
    ("second", "said"),
    [(["bbr2"], "bbr2 is in two groups: BBRv2 and BBRv1; delete"), (["bbr", "bbr"], "bbr is twice in BBRv1; delete")],
)
def test_an_algorithm_is_of_one_group(second: list[str], said: str, tmp_path: Path) -> None:
    groups = {"BBRv2": {"members": ["bbr2"]}, "BBRv1": {"members": second}}
    path = tmp_path / "own.yaml"
    write_yaml(path, load_yaml(ROOT / "evaluations/generic.yaml") | {"algorithms": groups})
    with pytest.raises(DeclarationError, match=rf"own\.yaml:\d+: algorithms: {said}"):
        load_evaluation(path)


@pytest.mark.parametrize(
    ("groups", "own", "said"),
    [
        (
            {"CUBIC": ["cubic"]},
            {"bbr": "CUBIC"},
            "algorithm_names: `CUBIC` is cubic; give bbr another name, such as `bbr: BBRv1`",
        ),
        (
            {"BBR": ["bbr2", "bbr3"]},
            {"bbr": "BBR"},
            "algorithm_names: `BBR` is bbr2; give bbr another name, such as `bbr: BBRv1`",
        ),
        (
            {"CUBIC": ["cubic"]},
            {"bbr2": "New", "bbr3": "New"},
            "algorithm_names: `New` is bbr2; give bbr3 another name, such as `bbr3: BBRv3`",
        ),
        (
            {"CUBIC": ["cubic"]},
            {"bbr": "hybla"},
            "algorithm_names: `hybla` is hybla; give bbr another name, such as `bbr: BBRv1`",
        ),
        (
            {"BBR": ["bbr2"], "Old": ["reno", "bbr"]},
            {},
            "algorithms.Old.members: figures would call both bbr2 and bbr `BBR`; add `algorithm_names: {bbr: BBRv1}`",
        ),
    ],
)
def test_two_algorithms_have_two_names(
    groups: dict[str, list[str]], own: dict[str, str], said: str, tmp_path: Path
) -> None:
    declared = load_yaml(ROOT / "evaluations/generic.yaml") | {"algorithm_names": own}
    path = tmp_path / "own.yaml"
    write_yaml(path, declared | {"algorithms": {group: {"members": members} for group, members in groups.items()}})
    with pytest.raises(DeclarationError, match=rf"own\.yaml:\d+: {re.escape(said)}$"):
        load_evaluation(path)


PUBLISHED = """\
title: a
algorithms: {CUBIC: {members: [cubic]}}
labels: {size: {cases: [{value: s, shown: small, when: loss_pct = 0}, {value: b, shown: big, when: loss_pct > 0}]}}
tables:
  means: {title: a}
  comparisons: {title: b, questions: [means]}
  published_values: {title: c}
published:
  text:
    title: a
    unit: s
    step: 1
    columns: {size: '{}'}
    cells:
      - [s, 870]
      - [b, [600, 700]]
    sql: SELECT run_id, condition_id, size, goodput_bps AS x, 1 AS y FROM algorithm_runs
printed: {tables: [means]}
"""


@pytest.mark.parametrize(
    ("line", "old", "new", "said"),
    [
        (
            6,
            "questions: [means]",
            "questions: [retransmits]",
            "tables.comparisons.questions: no table `retransmits`; there are means, publ",
        ),
        (18, "[means]}\n", "[measn]}\n", "printed.tables: no table `measn`; did you mean `means`?"),
        (16, "[600, 700]", "[700, 600]", "cells.1: no value is at least 700 and at most 600; write [600, 700]"),
        (16, "[b, [600, 700]]", "[s, 600]", "published.text.cells.1: repeats cells.0"),
        (
            16,
            "[b, [600, 700]]",
            "[b, x, 600]",
            "published.text.cells.1: write a value of each of size, then the number",
        ),
        (16, "[600, 700]", "[null, null]", "published.text.cells.1: a range has at least one end: [80, null]"),
        (16, "[600, 700]", "600 s", "cells.1: `600 s` is not a number or a range; write 600, the unit is in `unit`"),
        (
            16,
            "[600, 700]",
            "600 ms",
            "is not a number or a range; write it in s, as `unit` says, and without the unit's",
        ),
        (16, "[600, 700]", "600–700", "is not a number or a range; write [600, 700]"),
        (16, "[600, 700]", "'> 600'", "is not a number or a range; write [600, null]"),
        (16, "[600, 700]", "'<=600'", "is not a number or a range; write [null, 600]"),
        (16, "[600, 700]", "'9,5'", "is not a number or a range; write 9.5"),
        (16, "[600, 700]", "many", "not a number or a range; write digits, such as 80, or a range, such as [80, null]"),
        (
            12,
            "step: 1",
            "step: 0",
            "published.text.step: 0 is for ranges alone; write the least step between two printed",
        ),
        (7, "  published_values: {title: c}\n", "", "published: declare `published_values: {title: …}` in `tables`"),
        (13, "'{}'", "'{'", "published.text.columns.size: `{` is not allowed here: Words with one `{}`, where the val"),
        (13, "'{}'", "size", "published.text.columns.size: `size` is not allowed here"),
        (13, "'{}'", "'{} of {}'", "published.text.columns.size: `{} of {}` is not allowed here"),
        (11, "unit: s", "unit: Mbits", "published.text.unit: no unit `Mbits`; did you mean `Mbit/s`?"),
        (11, "unit: s", "unit: mbit/s", "published.text.unit: no unit `mbit/s`; did you mean `Mbit/s`?"),
        (3, "shown: big", "shown: small", "labels.size: `s` and `b` would both be shown as `small`"),
    ],
)
def test_what_contradicts_another_part_is_refused_with_its_line(
    line: int, old: str, new: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(PUBLISHED, encoding="utf-8")
    load_evaluation(path)
    start, found, end = PUBLISHED.rpartition(old)
    assert found
    path.write_text(f"{start}{new}{end}", encoding="utf-8")
    with pytest.raises(DeclarationError, match=re.escape(f"{path}:{line}: ")) as refused:
        load_evaluation(path)
    assert said in str(refused.value)


NAMES = """\
title: a
algorithms: {CUBIC: {members: [cubic]}}
labels: {test_group: {}}
figures: {loss_both: {kind: rate_by_loss, title: a, where: 'TRUE'}}
claims: {fair one: {text: a, source: b, checks: [{name: c, at_least: 1, sql: SELECT 1}]}}
"""


@pytest.mark.parametrize(
    ("line", "old", "new", "said"),
    [
        (4, "loss_both", "loss both", "figures: `loss both` is not allowed here: Name of a file, of letters without"),
        (4, "loss_both", "../loss", "figures: `../loss` is not allowed here: Name of a file"),
        (4, "loss_both", "l" * 101, "figures: has 101 characters; write at most 100"),
        (4, "loss_both", "2026", "figures: `2026` is not text; put it in quotes: '2026'"),
        (3, "test_group", "test group", "labels: `test group` is not allowed here: Name of a column, of letters"),
        (5, "fair one", "faïr", "claims: `faïr` is not allowed here: Name in links and commands, of letters"),
        (5, "fair one", "fair/one", "claims: `fair/one` is not allowed here"),
        (
            4,
            "title: a,",
            "title: 'Figure 3: a', where: 'TRUE'}, late: {kind: rate_by_loss, title: 'Figure 3: b',",
            "figures.late.title: `loss_both` is Figure 3, too; give one of them another number",
        ),
        (3, "test_group: {}", "test_group: {}, Test_group: {}", "labels: `Test_group` differs too little from `test_g"),
        (
            4,
            "figures: {",
            "figures: {Loss-both: {kind: rate_by_rtt, title: b, where: 'TRUE'}, ",
            "`loss_both` differs too ",
        ),
    ],
)
def test_a_name_that_is_not_an_address_is_refused_with_what_it_may_have(
    line: int, old: str, new: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(NAMES, encoding="utf-8")
    load_evaluation(path)
    path.write_text(NAMES.replace(old, new), encoding="utf-8")
    with pytest.raises(DeclarationError, match=re.escape(f"{path}:{line}: ")) as refused:
        load_evaluation(path)
    assert said in str(refused.value)


def test_a_margin_that_looks_like_a_ratio_is_doubted(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    for margin, said in (
        (5, None),
        (0.05, f"{path}:19: equal_within_pct: 0.05 is 0.05 %; write 5 if the ratio is meant"),
    ):
        path.write_text(f"{PUBLISHED}equal_within_pct: {margin}\n", encoding="utf-8")
        assert [*map(str, list_doubts(path, load_evaluation(path)))] == ([said] if said else [])


def test_an_evaluation_needs_no_labels_and_one_that_shows_nothing_is_doubted(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("title: a\nalgorithms: {CUBIC: {members: [cubic]}}\n", encoding="utf-8")
    declared = load_evaluation(path, looks_up=True)
    assert declared["labels"] == {}
    said = f"{path} declares neither tables nor figures nor claims, so it shows nothing"
    assert [*map(str, list_doubts(path, declared))] == [said]


def test_a_label_of_the_name_of_a_column_is_told_before_the_rows_that_name_another(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    rows = PUBLISHED.replace("labels: {size:", "labels: {host:").replace("{title: a}", "{title: a, rows: [size]}")
    path.write_text(rows, encoding="utf-8")
    said = r":3: labels: `host` has the name of a column of runs; choose another$"
    with pytest.raises(DeclarationError, match=said):
        load_evaluation(path, looks_up=True)


def test_a_file_that_is_empty_or_has_nearly_the_name_is_told(tmp_path: Path) -> None:
    path = tmp_path / "second.yaml"
    path.touch()
    with pytest.raises(DeclarationError, match=r"second\.yaml is empty$"):
        load_evaluation(path)
    with pytest.raises(DeclarationError, match=r"seconds\.yaml does not exist; did you mean `.*second\.yaml`\?$"):
        resolve_evaluation(str(tmp_path / "seconds.yaml"))
