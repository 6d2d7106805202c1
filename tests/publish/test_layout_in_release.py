"""What a release carries beside its data: the layout that names raw files, and all that its texts lead to."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from archives import ROOT, write_archive
from own_files import RUNS_LAYOUT

from ccreport.archive.read_layout import load_layout, split_archive
from ccreport.core.declarations import load_yaml
from ccreport.publish.stage import _write_config, stage_code, stage_layout
from ccreport.verify.recompute import _make_config

CONFIG = {"explanations": None, "release": {"version": "1"}, "pathvars": {"results": "here"}}


@pytest.mark.parametrize("is_inline", [False, True])
def test_a_release_carries_the_layout_and_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_inline: bool
) -> None:
    # Paths of the configuration are from the folder in which a build is started.
    monkeypatch.chdir(tmp_path)
    table = "sub/runs.csv"
    declared = yaml.safe_load(RUNS_LAYOUT) | {"table": table}
    write_archive(tmp_path, {"layout.yaml": yaml.safe_dump(declared), table: "run,loss_pct\nrun1,0.1\n"})
    release = tmp_path / "release"
    (release / "code").mkdir(parents=True)
    config = CONFIG | {"archive": {"path": "raw", "layout": declared if is_inline else "layout.yaml"}}
    _write_config(config, ["raw.tar.zst"], ["own"], release / "code/config.yaml")
    stage_layout(split_archive(config["archive"])[1], release / "code")

    shown = load_yaml(release / "code/config.yaml")
    assert shown["archive"] == {"path": "../raw/raw.tar.zst", "layout": "layout.yaml"}
    layout = load_layout(release / "code/layout.yaml")
    assert layout.by_run == {"run1": {"run": "run1", "loss_pct": 0.1}}
    assert [pattern.expression for pattern in layout.patterns] == [one["pattern"] for one in declared["files"]]

    # Who verifies makes the tables with it.
    made = _make_config(release, [release / "raw/raw.tar.zst"], ["own"], tmp_path / "work")
    assert made["archive"] == {"path": str(release / "raw/raw.tar.zst"), "layout": str(release / "code/layout.yaml")}


def test_a_release_without_a_layout_has_none(tmp_path: Path) -> None:
    config = CONFIG | {"archive": ["a", "b"]}
    _write_config(config, [], ["own"], tmp_path / "config.yaml")
    stage_layout(split_archive(config["archive"])[1], tmp_path)
    assert load_yaml(tmp_path / "config.yaml")["archive"] == ["a", "b"]
    assert not (tmp_path / "layout.yaml").exists()


def test_a_configured_layout_is_a_path_or_json() -> None:
    assert split_archive("raw") == ("raw", "")
    assert split_archive({"path": ["a", "b"], "layout": None}) == (["a", "b"], "")
    assert split_archive({"path": "raw", "layout": "own.yaml"}) == ("raw", "own.yaml")
    assert json.loads(split_archive({"path": "raw", "layout": {"table": "t.csv"}})[1]) == {"table": "t.csv"}


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_a_release_has_all_that_its_texts_lead_to(name: str, tmp_path: Path) -> None:
    stage_code(ROOT, tmp_path)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (tmp_path / name).read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (tmp_path / link).is_file()] == []


@pytest.mark.slow
def test_a_release_has_all_that_its_own_report_is_built_with(tmp_path: Path) -> None:
    stage_code(ROOT, tmp_path)
    locks = re.findall(r"\brequirements[\w-]*\.lock\b", (tmp_path / "Makefile").read_text(encoding="utf-8"))
    packages = [path.relative_to(ROOT) for path in (ROOT / "src").glob("*/__init__.py")]
    assert len(set(locks)) == len(packages) == 2
    assert [name for name in (*locks, *packages) if not (tmp_path / name).is_file()] == []
    config = load_yaml(ROOT / "config.yaml") | {"archive": str(ROOT / "archive/sample"), "explanations": None}
    (tmp_path / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    planned = subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "all", "--cores", "1", "report"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert planned.returncode == 0, planned.stderr
