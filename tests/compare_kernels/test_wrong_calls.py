"""What `compare_kernels` says of calls that cannot be meant: what is wrong, and what to type."""

import re
from pathlib import Path

import pytest
from archives import ROOT

from ccreport.__main__ import main
from ccreport.collect.attempts import Attempt, append_attempt
from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.engines import Place
from ccreport.collect.kernel.find_kernel import read_user_kernel
from ccreport.collect.plan import Plan
from ccreport.collect.sessions import write_json
from ccreport.collect.testbed.guest import name_missing_algorithms
from ccreport.compare_kernels import carry_out
from ccreport.compare_kernels.campaigns import write_campaigns
from ccreport.compare_kernels.carry_out import check_sides
from ccreport.compare_kernels.compare_kernels import _declare
from ccreport.compare_kernels.declaration import load_comparison, make_comparison
from ccreport.compare_kernels.findings import check_names
from ccreport.core.declared_files import DeclarationError
from ccreport.core.errors import InputError
from ccreport.storage.locks import hold_lock

ON, OFF = "tcp_cubic.hystart=1", "tcp_cubic.hystart=0"
CAMPAIGN = ("--campaign", "hystart")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            (ON,),
            f"`{ON}` is one side only; name the second and --campaign, or a file of `comparisons`; as in `{ON} def",
        ),
        (("hystrat",), "did you mean `comparisons/hystart.yaml`?"),
        ((ON, OFF), "two sides need a campaign that both run; add, for example, --campaign campaigns/hystart.yaml"),
        ((ON, OFF, "--campaign", "hystrat"), "no campaign is called `hystrat`; did you mean `hystart`?"),
        ((ON, OFF, "--campaign", f"{ROOT}/campaigns/hystrat.yaml"), f"did you mean `{ROOT}/campaigns/hystart.yaml`?"),
        (("comparisons/hystart.yaml", OFF), f"comparisons/hystart.yaml names both sides; leave out `{OFF}`"),
        (("comparisons/hystart.yaml", *CAMPAIGN), "comparisons/hystart.yaml names its own campaign; leave out --campa"),
        (("linux", OFF, *CAMPAIGN), "`linux` is not a side: the path of a kernel has a slash; write ./linux"),
        (("tcp_cubic.hystart", OFF, *CAMPAIGN), "a setting needs a value; write tcp_cubic.hystart=1"),
        (("tcp_cubic.hystart=", OFF, *CAMPAIGN), "a setting needs a value; write tcp_cubic.hystart=1"),
        (
            ("hystart=0", OFF, *CAMPAIGN),
            "`hystart=0` is not a side: write ./linux for a kernel, tcp_cubic.hystart=0 or",
        ),
        ((ON, OFF, *CAMPAIGN, "--cores", "0"), "--cores: a build takes at least 1"),
        ((ON, OFF, *CAMPAIGN, "--blocks", "1"), "--blocks: an interval takes at least 2, not 1"),
        (
            ("net.ipv4.tcp_rmem=lots", OFF, *CAMPAIGN),
            'takes 3 integers, not `lots`; write "net.ipv4.tcp_rmem=4096 131072 6291456"\n',
        ),
        (
            ("default", f"net.ipv4.tcp_wmem=4096,16384,65536,{OFF}", *CAMPAIGN),
            f'blanks between the values of one; write "net.ipv4.tcp_wmem=4096 16384 65536,{OFF}"\n',
        ),
        (("tcp_sack=0", OFF, *CAMPAIGN), "`tcp_sack=0` is not a side: write net.ipv4.tcp_sack=0\n"),
        (("net.ipv4.tcp_wmem", OFF, *CAMPAIGN), 'needs a value; write "net.ipv4.tcp_wmem=4096 16384 4194304"\n'),
    ],
)
def test_a_call_that_cannot_be_meant_says_what_to_type(
    arguments: tuple[str, ...],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linux").touch()
    assert main(["compare_kernels", *arguments, "--output", "out", "--archive", "archive"]) == 3
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["linux"]


@pytest.mark.parametrize(
    ("campaign", "told"),
    [
        ("campaign/own.yaml", "campaign/own.yaml does not exist; did you mean `campaigns/own.yaml`?"),
        ("campaigns", "campaigns is a folder; name a file in it"),
    ],
)
def test_a_campaign_that_is_not_there_is_told_as_the_comparison_writes_it(
    campaign: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "campaigns").mkdir()
    (tmp_path / "campaigns/own.yaml").touch()
    path = tmp_path / "own.yaml"
    path.write_text(f"title: T\ncampaign: {campaign}\na: {{algorithm: cubic}}\nb: {{algorithm: bbr}}\n")
    with pytest.raises(DeclarationError, match=rf"own\.yaml:2: campaign: {re.escape(told)}$"):
        load_comparison(path)


def write_comparison(path: Path, expected: str) -> Path:
    campaign = ROOT / "campaigns/hystart.yaml"
    path.write_text(f"title: T\ncampaign: {campaign}\na: {{name: A}}\nb: {{name: B}}\n{expected}", encoding="utf-8")
    return path


def test_expectations_in_another_form_are_told_as_a_whole_item(tmp_path: Path) -> None:
    path = write_comparison(tmp_path / "own.yaml", "expected:\n  lossy: {goodput: higher}\n")
    with pytest.raises(DeclarationError, match=r"own\.yaml:5: expected: .*; write each item as `- (.*)`$") as raised:
        load_comparison(path)
    item = str(raised.value).rpartition("`- ")[2].rstrip("`")
    load_comparison(write_comparison(path, f"expected:\n  - {item}\n"))


@pytest.mark.parametrize(
    ("written", "line", "told"),
    [
        (
            "expected:\n- condition: '*'\n  measure: gooodput\n  verdict: up\n",
            7,
            "expected: there is no measure `gooodput`",
        ),
        (
            "expected:\n- measure: goodput\n  condition: lossi\n  verdict: up\n",
            7,
            "expected: no job of the campaign is",
        ),
        (
            "criteria:\n  x:\n    section: '1'\n    conditions: '*'\n    measures: {rtt: low}\n",
            9,
            "criteria, x: there is",
        ),
        (
            "criteria:\n  x:\n    section: '1'\n    conditions: none\n    measures: {goodput: low}\n",
            8,
            "criteria, x: no job",
        ),
    ],
)
def test_names_that_the_campaign_cannot_have_are_told_with_their_line(
    written: str, line: int, told: str, tmp_path: Path
) -> None:
    comparison = load_comparison(write_comparison(tmp_path / "own.yaml", written))
    with pytest.raises(DeclarationError, match=rf"own\.yaml:{line}: {told}"):
        check_names(comparison, comparison.campaign)


@pytest.mark.parametrize(
    ("side", "told"),
    [
        ("{algorithm: bbr}", "side b: no job of .* runs `candidate`"),
        ("{sysctls: {net.ipv4.tcp_sack: x}}", "side b: net.ipv4.tcp_sack takes an integer"),
    ],
)
def test_a_side_that_the_campaign_cannot_have_is_told_with_its_line(side: str, told: str, tmp_path: Path) -> None:
    path = write_comparison(tmp_path / "own.yaml", "")
    path.write_text(path.read_text(encoding="utf-8").replace("{name: B}", side), encoding="utf-8")
    with pytest.raises(DeclarationError, match=rf"own\.yaml:4: {told}"):
        write_campaigns(load_comparison(path), tmp_path)


def test_the_expectations_of_the_docs_are_of_the_campaign_there(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "reports/collect.qmd").read_text(encoding="utf-8"), re.DOTALL)
    (expected,) = (block for block in blocks if block.startswith("expected:"))
    comparison = load_comparison(write_comparison(tmp_path / "own.yaml", expected))
    check_names(comparison, comparison.campaign)


@pytest.mark.parametrize("arguments", [("--algorithm", "htpc"), ("--kernel", "/nosuch")])
def test_a_refused_comparison_leaves_no_folder(arguments: tuple[str, ...], tmp_path: Path) -> None:
    places = ["--output", str(tmp_path / "out"), "--archive", str(tmp_path / "archive")]
    assert main(["compare_kernels", str(ROOT / "comparisons/rfc9743.yaml"), *arguments, *places]) == 3
    assert list(tmp_path.iterdir()) == []
    # What an earlier call left there stays.
    (tmp_path / "out").mkdir()
    (tmp_path / "out/summary.md").touch()
    assert main(["compare_kernels", str(ROOT / "comparisons/rfc9743.yaml"), *arguments, *places]) == 3
    assert (tmp_path / "out/summary.md").exists()


def test_sides_of_two_clocks_are_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = make_comparison(ON, OFF, ROOT / "campaigns/quick.yaml", {})
    places = iter([Place("namespaces", "real"), Place("user-mode-kernel", "virtual")])
    monkeypatch.setattr(carry_out, "_find_place", lambda *_: next(places))
    with pytest.raises(InputError, match="one side would be measured in virtual time and the other in real time"):
        carry_out.plan_sides(write_campaigns(compared, tmp_path), tmp_path / "archive")


def test_a_misspelt_algorithm_is_told_as_collect_tells_it() -> None:
    assert name_missing_algorithms({"cubik"}, {"cubic", "bbr"}) == (
        "the user-mode kernel has no congestion control cubik; it has bbr, cubic; did you mean `cubic`? "
        "Else name another kernel by --kernel"
    )


def test_help_gives_the_fewest_blocks_and_no_empty_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compare_kernels", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "at least 2, or 0 for what the file declares" in said
    assert "(default: .)" not in said


def test_a_kernel_that_cannot_be_run_says_why(tmp_path: Path) -> None:
    kernel = tmp_path / "linux"
    kernel.write_bytes(b"\x7fELF")
    text = tmp_path / "README.md"
    text.write_text("A kernel\n")
    (empty := tmp_path / "source/linux").mkdir(parents=True)
    for path, told in (
        (tmp_path, f"{tmp_path} is a folder; name the kernel's file in it, such as {kernel}"),
        (tmp_path.parent, f"{tmp_path.parent} is a folder; name the kernel's file in it, such as {kernel}$"),
        (empty, f"{empty} is a folder; name the kernel's file in it$"),
        (tmp_path / "linus", f"No such file or directory; did you mean `{kernel}`?"),
        (kernel, f"{kernel} cannot be run as a user-mode kernel; if it is one, type `chmod \\+x {kernel}`"),
        (text, f"{text} is not a program, as a user-mode kernel is; `make kernel` builds one$"),
    ):
        with pytest.raises(InputError, match=told.replace("?", "\\?")):
            read_user_kernel(path)


def test_a_kernel_of_a_side_that_is_not_there_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(f"title: T\ncampaign: {ROOT}/campaigns/hystart.yaml\na: {{name: A}}\nb:\n  kernel: /none/linux\n")
    with pytest.raises(
        DeclarationError, match=r"own\.yaml:5: side b: /none/linux cannot be run as a user-mode kernel: "
    ):
        write_campaigns(load_comparison(path), tmp_path / "campaigns")


def test_a_kernel_of_the_current_folder_is_not_looked_for_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("linux").write_text("#!/bin/sh\necho CONFIG_UML=y\n")
    Path("linux").chmod(0o755)
    assert read_user_kernel(Path("./linux")).path == tmp_path / "linux"


def test_an_archive_of_other_sides_is_called_by_these(tmp_path: Path) -> None:
    def plan_sides(value: int) -> dict[str, Plan]:
        sides = [f"net.ipv4.tcp_window_scaling={number}" for number in (1, value)]
        compared = make_comparison(*sides, ROOT / "campaigns/quick.yaml", {"blocks_count": 2})
        campaigns = write_campaigns(compared, tmp_path / str(value))
        return {key: plan_campaign(load_campaign(path), path.stem) for key, path in campaigns.items()}

    before = plan_sides(0)
    archive = tmp_path / "archive"
    check_sides(before, archive)
    for number, plan in enumerate(before.values()):
        session = archive / f"2026-11-20:22:1{number}"
        run = plan.runs[0]
        (session / run.job).mkdir(parents=True)
        (session / run.job / f"src-cmd:{run.suffix}").write_text("{}")
        told = {"campaign": plan.campaign, "title": plan.title, "label": run.session}
        write_json(session / "session.json", told)
        attempt = Attempt(run.suffix, run.job, 1, "2026-11-20T22:19:30Z", 11.5, "completed", None, run.fingerprint())
        append_attempt(session, attempt)
    check_sides(before, archive)
    expected = "compares net.ipv4.tcp_window_scaling=1 with net.ipv4.tcp_window_scaling=0; name another --archive"
    with pytest.raises(InputError, match=expected):
        check_sides(plan_sides(2), archive)


def test_the_same_side_twice_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    _declare("default", "default", Path("hystart"), 0, 0.0, "")
    assert "comparisons/unchanged.yaml shows what chance alone does, with `seed_offset: 1`" in capsys.readouterr().err
    _declare(ON, OFF, Path("hystart"), 0, 0.0, "")
    assert capsys.readouterr().err == ""


def test_a_second_comparison_into_the_same_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with hold_lock(out / ".lock", "it is free"):
        places = ("--output", str(out), "--archive", str(tmp_path / "archive"))
        assert main(["compare_kernels", ON, OFF, *CAMPAIGN, *places]) == 3
    assert f"{out}: another comparison is at work there; wait for it, or name --output" in capsys.readouterr().err
    assert not (tmp_path / "archive").exists()
