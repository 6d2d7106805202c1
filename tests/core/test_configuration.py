"""The configuration and what it names: what is refused, with which words, and which of its sources is blamed."""

import copy
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from ccreport.core.algorithms import list_doubtful
from ccreport.core.configuration import (
    Sources,
    check_config,
    check_explanations,
    check_file,
    check_pathvars,
    find_archive_problem,
    find_results_problem,
)
from ccreport.core.declared_files import DeclarationError, find_line, read_declared
from ccreport.core.schema_problems import find_problem, guess, guess_path
from ccreport.core.settings.release_names import find_license_problem, find_orcid_problem

OWN = """\
# Two lines, then keys.

strict: true
release:
  version: '1'
packet_runs: [a.b,
  nosuch]
"""


def refuse(config: dict[str, Any], sources: Sources) -> str:
    with pytest.raises(DeclarationError) as caught:
        check_config(config, sources)
    return str(caught.value)


def test_the_source_that_counts_is_blamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(OWN, encoding="utf-8")
    Path("mine.yaml").write_text("strict: maybe\n", encoding="utf-8")
    files = [Path("config.yaml"), Path("mine.yaml")]
    declared = {"strict": "maybe"}
    said = "strict: `maybe` is not true or false"
    assert refuse(dict(declared), Sources(declared, files)) == f"--config: {said}"
    assert refuse(dict(declared), Sources({}, files)) == f"mine.yaml:1: {said}"
    assert refuse(dict(declared), Sources({}, files[:1])) == f"config.yaml:3: {said}"
    # Nested: the command line sets another key of the group.
    given = {"release": {"pack": True}}
    declared = {"release": {"pack": True, "version": "a b"}}
    assert refuse(declared, Sources(given, files)).startswith("config.yaml:5: release.version: `a b` is not allowed")
    assert refuse({"packet_runs": ["a.b", "nosuch"]}, Sources({}, files)).startswith(
        "config.yaml:7: packet_runs: `nosuch`"
    )


def test_a_key_of_the_default_archive_is_not_that_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text("archive: sample\npacket_runs: [a.b]\n", encoding="utf-8")
    Path("mine.yaml").write_text("archive: own\n", encoding="utf-8")
    files = [Path("config.yaml"), Path("mine.yaml")]
    assert Sources({}, files[:1]).is_of_archive("packet_runs")
    assert not Sources({}, files).is_of_archive("packet_runs")
    assert not Sources({"archive": "own"}, files[:1]).is_of_archive("packet_runs")
    assert Sources({"packet_runs": ["c.d"]}, files).is_of_archive("packet_runs")
    Path("mine.yaml").write_text("archive: own\npacket_runs: [c.d]\n", encoding="utf-8")
    assert Sources({}, files).is_of_archive("packet_runs")


@pytest.mark.parametrize(("given", "read"), [("true", True), ("FALSE", False), ("yes", True), ("no", False)])
def test_the_command_line_may_write_truth_as_yaml_does(
    given: str, read: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in ({"strict": given}, {"release": {"pack": given}}):
        config: dict[str, Any] = copy.deepcopy(place)
        check_config(config, Sources(place, []))
        assert (config["strict"] if "strict" in place else config["release"]["pack"]) is read


def test_the_command_line_may_write_null_where_nothing_may_be_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"explanations": "null", "sections": "null", "store_results": "NULL"}
    config: dict[str, Any] = dict(given)
    check_config(config, Sources(given, []))
    assert [config[key] for key in given] == [None] * 3
    said = "--config: strict: `null` is not true or false"
    assert refuse({"strict": "null"}, Sources({"strict": "null"}, [])) == said


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ("archive/mine", "has the raw files of archive/mine"),
        ("archive/mine/below", "has the raw files of archive/mine"),
        ("archive", "has the raw files of archive/mine"),
        ("config.yaml", "is a file; name a folder"),
        ("config.yaml/below", "is below /"),
        (".", "has files of ccreport"),
        ("src/mine", "has files of ccreport"),
        ("results", None),
        ("archive/results", None),
        ("../elsewhere", None),
        ("~/results", "is a folder called ~; write /"),
    ],
)
def test_results_have_a_folder_of_their_own(
    results: str, said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("archive/mine").mkdir(parents=True)
    Path("config.yaml").touch()
    found = find_results_problem(Path(results), [Path("archive/mine")], tmp_path)
    assert found is None if said is None else str(found).startswith(f"{results} {said}")


@pytest.mark.parametrize(
    ("archive", "said"),
    [
        ("results", "results is the folder of results; name a folder of raw files alone"),
        (".", ". has in it results, the folder of results; name a folder of raw files alone"),
        ("results/tables", "results/tables is in the folder of results; name a folder of raw files alone"),
        ("archive/mine", None),
    ],
)
def test_raw_files_are_apart_from_results(
    archive: str, said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_archive_problem(Path("results"), [Path(archive)]) == said


def test_logs_have_a_folder_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("README.md").touch()
    for place in ("README.md", "README.md/below"):
        with pytest.raises(DeclarationError, match=f"pathvars.logs: {place} is "):
            check_pathvars(Sources({"pathvars": {"logs": place}}, []))
    check_pathvars(Sources({"pathvars": {"logs": "logs/new"}}, []))


def test_defaults_are_filled_in_and_the_default_campaign_need_not_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config: dict[str, Any] = {}
    check_config(config, Sources({}, [Path("config.yaml")]))
    assert config["release"]["version"] == "1"
    assert config["campaign"] == "campaigns/quick.yaml"
    given = {"campaign": "campaigns/quick.yaml"}
    assert refuse(dict(given), Sources(given, [])) == "--config: campaign: campaigns/quick.yaml does not exist"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("edge", {"paths": "(?P<machine>"}, "edge.paths: not a regular expression: missing ), unterminated subpattern"),
        ("edge", {"paths": "(?P<mashine>.*)"}, "`mashine` is not a group that is read; did you mean `machine`?"),
        ("archive", [], "archive: is empty"),
        ("archive", ["a", "a"], "archive: `a` is listed twice"),
        ("connections_count", "4", "connections_count: `4` is not a whole number; write 4"),
        ("connections_count", 99, "connections_count: `99` is out of range; write a whole number from 1 up to 16"),
        ("batch_mib", "1e3", "batch_mib: `1e3` is not a number; write 1000"),
        ("release", {"date": "2026-13-01"}, "release.date: `2026-13-01` is not a date"),
        ("report", "embedded", "report: `embedded` is not a group of keys; write 'report={renderer: embedded}'"),
        ("edge", "x", "edge: `x` is not a group of keys; write 'edge={KEY: x}', KEY one of paths, access_log_format"),
        (
            "report",
            {"renderer:embedded": None},
            "missing behind its colon: write 'report={renderer: embedded}'",
        ),
        ("strict", None, "strict: null, or nothing behind the equals sign, is not true or false"),
        ("release", {"pack": None}, "release.pack: null, or nothing behind the colon, is not true or false"),
        ("batch_mib", 0, "batch_mib: `0` is out of range; write a number above 0"),
        ("batch_mib", "32MB", "is not a number; write 32, in the unit of `batch_mib` and without its name"),
        ("packet_runs", "null", "packet_runs: `null` is not a list; an empty list is []"),
        ("sections", "edge-bbr2", "sections: `edge-bbr2` is not a list or null; put it in brackets: [edge-bbr2]"),
        ("verify", "release/1", "verify: release/1 does not exist; name the folder, the .tar.zst or the address of "),
        ("explanations", "archive", "explanations: archive is a folder, not a file"),
        ("explanations", "None", "explanations: None does not exist; write null for none"),
        (
            "edge",
            {"access_log_format": "$remote_addr $request_time"},
            "edge.access_log_format: it needs $request_time and $bytes_sent or $body_bytes_sent",
        ),
        (
            "release",
            {"creators": [{"name": "Ada", "orcid": "https://orcid.org/0000-0002-1825-0098"}]},
            "orcid: https://orcid.org/0000-0002-1825-0098 is not an ORCID: by its other digits the last would be 7",
        ),
        (
            "release",
            {"creators": [{"name": "Ada", "orcid": "0000-0001"}]},
            "`0000-0001` is not allowed here: ORCID of a person as an address, such as https://orcid.org/0000-0002-1825-0",
        ),
        (
            "release",
            {"creators": [{"name": "Ada", "orcid": "0000-0002-1825-0097"}]},
            "`0000-0002-1825-0097` is not allowed here; did you mean `https://orcid.org/0000-0002-1825-0097`?",
        ),
        ("collect_kernel", "~/no-kernel", "collect_kernel: ~/no-kernel does not exist"),
    ],
)
def test_a_value_says_what_to_type(key: str, value: object, message: str) -> None:
    assert message in refuse({key: value}, Sources({key: value}, []))


def test_releases_that_there_are_are_named(tmp_path: Path) -> None:
    given = str(tmp_path / "9")
    for key, value in (("verify", given), ("release", {"former": given})):
        (tmp_path / "2.0/tables").mkdir(parents=True, exist_ok=True)
        (tmp_path / "raw").mkdir(exist_ok=True)
        for folder in ("2.0", "raw"):
            (tmp_path / folder / "SHA256SUMS").touch()
        assert refuse({key: value}, Sources({key: value}, [])).endswith(f"9 does not exist; {tmp_path} has 2.0")
        (tmp_path / "2.0/SHA256SUMS").unlink()
        said = refuse({key: value}, Sources({key: value}, []))
        assert said.endswith(" of a release; `snakemake --cores 8 publish` makes one")
        assert ("the .tar.zst or" in said) == (key == "verify")


def test_a_former_release_is_the_folder_of_one(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/SHA256SUMS").touch()
    (tmp_path / "1.tar.zst").touch()
    (tmp_path / "2.0.tar.zst").touch()
    (tmp_path / "2.0/tables").mkdir(parents=True)
    (tmp_path / "2.0/SHA256SUMS").touch()
    faults = {
        str(tmp_path): f"it has no SHA256SUMS; did you mean `{tmp_path}/2.0`?",
        str(tmp_path / "raw"): "it has SHA256SUMS and none of datapackage.json, ",
        str(tmp_path / "2.0.tar.zst"): f"it is not a folder; did you mean `{tmp_path}/2.0`?",
        str(tmp_path / "1.tar.zst"): "it is not a folder; name the folder of a release",
        "https://host.example/1/": "it is not a folder; name the folder of a release",
    }
    for former, fault in faults.items():
        said = refuse({"release": {"former": former}}, Sources({}, []))
        assert said.startswith(f"release.former: {former} is not a release: {fault}")


@pytest.mark.parametrize(
    ("version", "hint"), [("../x", "`../` at the beginning"), ("-1.0", "`-` at the beginning"), ("1/0", "`/`")]
)
def test_a_sign_that_only_may_not_begin_a_version_is_said_to_begin_it(version: str, hint: str) -> None:
    said = refuse({"release": {"version": version}}, Sources({}, []))
    assert said.endswith(f"underscores and plus signs; leave out {hint}")


@pytest.mark.parametrize("before", ["https://doi.org/", "doi:", "https://dx.doi.org/"])
def test_a_doi_is_written_without_its_address(before: str) -> None:
    said = refuse({"release": {"doi": f"{before}10.5281/z"}}, Sources({}, []))
    assert said == f"release.doi: `{before}10.5281/z` has more than it needs; write doi: 10.5281/z"


def test_truth_in_quotes_is_text_in_a_file() -> None:
    said = refuse({"release": {"pack": "No"}}, Sources({}, []))
    assert said == "release.pack: `No` is not true or false; write it without quotes: no"


@pytest.mark.parametrize(
    ("digits", "said"),
    [
        # Those of ORCID's documentation: both kinds of check digits.
        ("0000-0002-1825-0097", ""),
        ("0000-0001-5109-3700", ""),
        ("0000-0002-1694-233X", ""),
        ("0000-0002-1694-2331", "is not an ORCID: by its other digits the last would be X"),
        ("0000-0002-1825-097X", "is not an ORCID: by its other digits the last would be "),
        ("0000000-2-1825-0097", "is not an ORCID, four groups of four digits as in https://orcid.org/0000-0002-1825-"),
    ],
)
def test_the_last_digit_of_an_orcid_checks_the_others(digits: str, said: str) -> None:
    problem = find_orcid_problem(f"https://orcid.org/{digits}")
    assert said in problem
    assert bool(said) is bool(problem)


def test_a_day_that_is_to_be_text_needs_quotes_where_none_are_lost() -> None:
    problem = find_problem({"run": date(2026, 11, 25)}, {"properties": {"run": {"type": "string"}}})
    assert str(problem).endswith("`2026-11-25` is not text; put it in quotes: '2026-11-25'")


def test_a_value_in_a_list_has_the_unit_of_its_key() -> None:
    schema = {"properties": {"rtt_ms": {"type": "array", "items": {"type": "number"}}}}
    problem = find_problem({"rtt_ms": [20, "80ms"]}, schema)
    assert str(problem) == "rtt_ms.1: `80ms` is not a number; write 80, in the unit of `rtt_ms` and without its name"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("rtt_ms", "0.02s", "write 20, in the unit of `rtt_ms`"),
        ("rtt_ms", "500us", "write 0.5, "),
        ("rtt_ms", "5%", "write a number in the unit of `rtt_ms`, without its name"),
        ("duration_s", "2 min", "write 120, "),
        ("sender_mbps", "1G", "write 1000, "),
        ("sender_mbps", "500 kbit/s", "write 0.5, "),
        ("sender_mbps", "50Mbps", "write 50, "),
        ("buffer_bytes", "12MB", "write 12000000, "),
        ("buffer_bytes", "64KiB", "write 65536, "),
        ("loss_pct", "0.5%", "write 0.5, "),
        ("flows_count", "4 flows", "write 4, "),
    ],
)
def test_a_number_with_a_unit_is_turned_into_the_unit_of_its_key(key: str, value: str, said: str) -> None:
    assert f"; {said}" in str(find_problem({key: value}, {"properties": {key: {"type": "number"}}}))


def test_a_number_is_text_as_written_where_text_is_wanted(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("archive: [010, 2025]\nrelease: {version: 1.10, date: 2026-11-20}\n", encoding="utf-8")
    config = read_declared(own) | {"evaluation": 7}
    check_config(config, Sources({"evaluation": 7}, [own]))
    assert (config["archive"], config["evaluation"]) == (["010", "2025"], "7")
    assert (config["release"]["version"], config["release"]["date"]) == ("1.10", "2026-11-20")
    own.write_text("release: {version: yes}\n", encoding="utf-8")
    assert refuse(read_declared(own), Sources({}, [own])).endswith("`true` is not text; put it in quotes: 'true'")
    own.write_text("report: embedded\n", encoding="utf-8")
    assert refuse(read_declared(own), Sources({}, [own])).endswith("; write {renderer: embedded}")


def test_an_address_is_not_looked_up_as_a_path() -> None:
    check_config({"verify": "https://host.example/release/1/"}, Sources({}, []))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- archive: x", "config.yaml: it has no keys; write `archive: PATH`, one key a line"),
        ("", "config.yaml: it has no keys"),
        ("a: 1\nb: {c: 1, c: 2}\n", "config.yaml:2: `c` is also in line 2; delete one of them"),
        ("a: 1\nb: 'x\nc: 2\n", "config.yaml:2: not YAML: a quote that is not closed"),
        (
            "a: 1\nb: [x,\nc: 2\n",
            "config.yaml:2: not YAML: a bracket that is not closed, or no comma",
        ),
        (
            "a: 1\nb: {x: 1,\nc: 2\n",
            "config.yaml:2: not YAML: a brace that is not closed, or no comma",
        ),
        ("a: 1\n  b: 2\n", "config.yaml:2: not YAML: indented deeper than the line above, or a colon within a text"),
        ("a:\n  b: 1\n c: 2\n", "config.yaml:3: not YAML: not indented as the lines above"),
        ('a: "\\d"\n', "config.yaml:1: not YAML: a backslash in double quotes; write the text in single quotes"),
        (
            "a:\n  - b: 1\n   c: 2\n",
            "config.yaml:3: not YAML: not indented as its list's items; indent it as the text be",
        ),
        (
            "a:\n  - b\n  c: 1\n",
            "config.yaml:3: not YAML: not indented as its list's items; indent it as the text behind",
        ),
        ("a: 1\nb c\nd: 2\n", "config.yaml:2: not YAML: a key without a colon and a blank behind it"),
        (
            "a:\n  b c\n  # what follows\n  d: 2\n",
            "config.yaml:2: not YAML: a key without a colon and a blank behind it",
        ),
        ("a 1\nb: 2\n", "config.yaml:1: not YAML: a key without a colon and a blank behind it"),
        ("a\n  b: 2\n", "config.yaml:1: not YAML: a key without a colon and a blank behind it"),
        ("a:\n  - b\n  - 'c\n", "config.yaml:3: not YAML: a quote that is not closed"),
        ("a: 1\nb: 2026-13-40\n", "config.yaml:2: b: `2026-13-40` is not a date: month must be in 1..12"),
        ("a: 1\nb:\n  - c: 2026-02-30\n", "config.yaml:3: b.0.c: `2026-02-30` is not a date: day is out of range"),
    ],
)
def test_a_file_that_is_not_a_configuration(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(DeclarationError) as caught:
        check_file(Path("config.yaml"))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_not_text_are_said_so(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_bytes(b"title: \xff")
    with pytest.raises(DeclarationError, match=r"own\.yaml: cannot be read: it is not UTF-8 text$"):
        read_declared(tmp_path / "own.yaml")


def test_a_line_is_that_of_the_last_part_that_the_file_has(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN, encoding="utf-8")
    places = [("strict",), ("release", "version"), ("release", "former"), ("packet_runs", 1), ("nothing",)]
    assert [find_line(tmp_path / "own.yaml", place) for place in places] == [3, 5, 4, 7, None]


EXPLAINED = f"archive_sha256: {'ab' * 32}\nevaluations:\n  NAME:\n    claims:\n      CLAIM: So.\n"


@pytest.mark.parametrize(
    ("name", "claim", "message"),
    [
        ("own", "fast", None),
        ("own", "fsat", "explained.yaml:5: evaluations.own.claims: own makes no claim `fsat`; did you mean `fast`?"),
        (
            "esnet-dnt",
            "x",
            "explained.yaml:3: evaluations: no evaluation is called `esnet-dnt`; did you mean `esnet-dtn`?",
        ),
        # Of an evaluation that this build does not have.
        ("mininet-bbr2", "x", None),
        ("another", "x", None),
    ],
)
def test_explanations_name_claims_that_are_made(
    name: str, claim: str, message: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("explained.yaml")
    path.write_text(EXPLAINED.replace("NAME", name).replace("CLAIM", claim), encoding="utf-8")
    if message is None:
        check_explanations(path, {"own": {"fast": {}}})
        return
    with pytest.raises(DeclarationError) as caught:
        check_explanations(path, {"own": {"fast": {}}})
    assert str(caught.value) == message


def test_a_guess_is_the_name_meant_or_all_names() -> None:
    assert guess("edge", ["edge-bbr2", "esnet-dtn"]) == "; did you mean `edge-bbr2`?"
    assert guess("xyz", ["b", "a"]) == "; there are a, b"
    assert guess("xyz", []) == "; there are none"


def test_a_beginning_may_have_its_letters_swapped() -> None:
    assert guess("tabel_2", ["retransmits", "table_2_testbed"]) == "; did you mean `table_2_testbed`?"


def test_a_key_that_is_there_is_not_the_one_that_is_meant() -> None:
    schema = {"additionalProperties": False, "properties": {"tables": {}, "labels": {}}}
    problem = find_problem({"tables": {}, "lables": {}}, schema)
    assert str(problem) == "`lables` is not a key; did you mean `labels`?"


def test_a_condition_that_a_comma_ended_is_put_in_quotes() -> None:
    schema = {"additionalProperties": False, "properties": {"when": {}, "value": {}}}
    case = yaml.safe_load("{value: shallow, when: buffer_bytes < coalesce(bottleneck_bps, 1e10) / 8}")
    said = "`1e10) / 8` is not a key; put the condition in quotes, as between braces a comma ends it"
    assert str(find_problem(case, schema)) == said


def test_what_is_missing_is_named() -> None:
    problem = find_problem({"a": {}}, {"properties": {"a": {"required": ["b"]}}})
    assert str(problem) == "a: `b` is missing"
    told = {"required": ["where"], "properties": {"where": {"description": "A condition. Of SQL."}}}
    assert str(find_problem({}, told)) == "`where` is missing: A condition"


def test_a_text_for_a_list_of_groups_is_put_into_one() -> None:
    schema = {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {"name": {}}}}
    problem = find_problem({"a": "Ada Example"}, {"properties": {"a": schema}})
    assert str(problem) == "a: `Ada Example` is not a list; write [{name: Ada Example}]"


def test_an_algorithm_of_nearly_a_known_name_is_doubtful(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("algorithms:\n  BBR:\n    members: [bbr3, bbr9]\n  Own:\n    members: [quux]\n", encoding="utf-8")
    (said,) = map(str, list_doubtful(read_declared(path)["algorithms"], path))
    assert said.partition("own.yaml")[2].startswith(
        ":3: algorithms.BBR.members: no algorithm of Linux is called `bbr9`; did"
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("archive/sampel.tar.zst", "; did you mean `{}/archive/sample.tar.zst`?"),
        # The file is meant, where the folder that is nearly called so has it, or one nearly called so.
        ("archvie/sample.tar.zst", "; did you mean `{}/archive/sample.tar.zst`?"),
        ("archvie/sampel.tar.zst", "; did you mean `{}/archive/sample.tar.zst`?"),
        ("archvie/other", "; did you mean `{}/archive`?"),
        ("archive/other", ""),
        ("nowhere/at/all", ""),
    ],
)
def test_a_path_that_is_not_there_is_guessed_by_what_its_folder_has(path: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive/sample.tar.zst").touch()
    assert guess_path(tmp_path / path) == said.format(tmp_path)
    assert guess_path(Path(path), base=tmp_path) == said.replace("{}/", "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (None, None),
        ("CC-BY-4.0", None),
        ("BSD3", "`BSD3` is not an identifier of SPDX; did you mean `BSD-3-Clause`?"),
        ("cc by 4.0", "`cc by 4.0` is not an identifier of SPDX; did you mean `CC-BY-4.0`?"),
        ("BSD", "`BSD` is not an identifier of SPDX; did you mean `BSD-3-Clause`?"),
        ("gpl", "`gpl` is not an identifier of SPDX; did you mean `GPL-3.0-or-later`?"),
        ("BSD1", "`BSD1` is not an identifier of SPDX; did you mean `BSD-1-Clause`?"),
        ("MITT", "`MITT` is not an identifier of SPDX; did you mean `MIT`?"),
        ("ours", "`ours` is not an identifier of SPDX; "),
    ],
)
def test_a_licence_is_one_of_spdx(name: str | None, said: str | None) -> None:
    problem = find_license_problem(name)
    assert problem == said or (said is not None and problem is not None and problem.startswith(said))


def test_what_was_typed_to_make_is_told_by_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCREPORT_TYPED", "campaign=CAMPAIGN collect_clock=CLOCK")
    sources = Sources({"campaign": "x", "verify": "y"}, [])
    assert str(sources.blame(("campaign",), "campaign: x does not exist")) == "CAMPAIGN: x does not exist"
    assert str(sources.blame(("verify",), "verify: y does not exist")) == "--config: verify: y does not exist"
