"""Set-up: the files that name versions, the licence or the sample archive agree."""

import hashlib
import re
import tomllib
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ccreport.core.declarations import load_yaml

TOP = Path(__file__).parents[2]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
RUNTIME = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
DEVELOPMENT = [Requirement(line) for line in PROJECT["project"]["optional-dependencies"]["dev"]]
LOCK = (TOP / "requirements-dev.lock").read_text()
RUNTIME_LOCK = (TOP / "requirements.lock").read_text()
MAKEFILE = (TOP / "Makefile").read_text()
ENVIRONMENT = load_yaml(TOP / "environment.yml")

PYTHONS = ["3.11", "3.12", "3.13"]
CONDA_NAMES = {"duckdb": "python-duckdb", "snakemake": "snakemake-minimal"}


def locked_versions(python: str, lock: str = LOCK) -> dict[str, str]:
    """A lock's package → version on Linux with one version of Python."""
    machine = default_environment() | {
        "platform_machine": "x86_64",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
    }
    versions = {}
    # numpy==2.4.6 ; python_full_version < '3.12' \
    for line in re.findall(r"^(\w\S*==.*?) *\\$", lock, re.MULTILINE):
        entry = Requirement(line)
        if entry.marker is None or entry.marker.evaluate(machine):
            (version,) = entry.specifier
            versions[canonicalize_name(entry.name)] = version.version
    return versions


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("requirement", RUNTIME + DEVELOPMENT, ids=str)
def test_every_dependency_is_locked(requirement: Requirement, python: str) -> None:
    assert requirement.specifier.contains(locked_versions(python)[canonicalize_name(requirement.name)])


@pytest.mark.parametrize("python", PYTHONS)
def test_a_report_needs_a_part_of_the_lock_of_developers(python: str) -> None:
    runtime, everything = locked_versions(python, RUNTIME_LOCK), locked_versions(python)
    assert runtime.items() < everything.items()
    assert {canonicalize_name(requirement.name) for requirement in RUNTIME} | {"setuptools"} <= set(runtime)
    assert {"pytest", "mypy", "uv"}.isdisjoint(runtime)


@pytest.mark.parametrize("lock", [LOCK, RUNTIME_LOCK])
def test_every_locked_package_has_a_hash(lock: str) -> None:
    entries = re.split(r"^(?=\w)", lock, flags=re.MULTILINE)[1:]
    assert [entry.splitlines()[0] for entry in entries if "\n    --hash=sha256:" not in entry] == []
    assert len(entries) > len(RUNTIME)


@pytest.mark.parametrize("lock", [LOCK, RUNTIME_LOCK])
def test_lock_names_no_address(lock: str) -> None:
    assert "http" not in lock
    assert re.findall(r"^ *--(?!hash=)\S+", lock, re.MULTILINE) == []


def test_conda_environment_has_the_locked_runtime_packages() -> None:
    *conda, pip = ENVIRONMENT["dependencies"]
    listed = dict(line.split("=") for line in conda if line != "pip")
    listed |= dict(line.split("==") for line in pip["pip"] if "==" in line)
    listed = {canonicalize_name(name): version for name, version in listed.items()}
    locked = locked_versions(listed.pop("python"))
    quarto = listed.pop("quarto")
    assert f"quarto-cli=={quarto}." in MAKEFILE
    names = [canonicalize_name(requirement.name) for requirement in RUNTIME] + ["setuptools"]
    assert sorted(listed) == sorted(CONDA_NAMES.get(name, name) for name in names)
    for name in names:
        version = listed[CONDA_NAMES.get(name, name)]
        assert version.count(".") >= 1
        assert f"{locked[name]}.".startswith(f"{version}."), name


def test_conda_environment_installs_the_project() -> None:
    assert ENVIRONMENT["name"] == "ccreport"
    assert ENVIRONMENT["channels"][:2] == ["conda-forge", "bioconda"]
    assert "-e ." in ENVIRONMENT["dependencies"][-1]["pip"]


def test_pre_commit_uses_the_locked_tools() -> None:
    (repository,) = load_yaml(TOP / ".pre-commit-config.yaml")["repos"]
    (hook,) = repository["hooks"]
    assert (repository["repo"], hook["language"], hook["entry"]) == ("local", "system", "make lint")
    tools = re.findall(r"^\t\$\(IN_VENV\) (\S+)", MAKEFILE.partition("\nlint:")[2].partition("\n\n")[0], re.MULTILINE)
    assert set(tools) == {"ruff", "snakefmt", "snakemake", "mypy"}
    assert set(tools) <= set(locked_versions("3.11"))


def test_python_requirement_agrees() -> None:
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert PROJECT["tool"]["ruff"]["target-version"] == "py311"
    assert "sys.version_info < (3, 11)" in MAKEFILE
    assert "--python-version 3.11" in MAKEFILE
    assert ENVIRONMENT["dependencies"][0].removeprefix("python=") in PYTHONS


def test_citation_and_licence_agree_with_the_project() -> None:
    citation = load_yaml(TOP / "CITATION.cff")
    assert citation["version"] == PROJECT["project"]["version"]
    assert citation["license"] == PROJECT["project"]["license"] == "BSD-3-Clause"
    assert (TOP / "LICENSE").read_text().startswith("BSD 3-Clause License")


def test_the_sample_archive_is_what_its_checksums_and_its_readme_say() -> None:
    parts = sorted((TOP / "archive/sample").glob("*.tar.zst"))
    sums = [f"{hashlib.sha256(part.read_bytes()).hexdigest()}  {part.name}\n" for part in parts]
    assert (TOP / "archive/sample/SHA256SUMS").read_text() == "".join(sums)
    readme = (TOP / "archive/README.md").read_text()
    assert f"{sum(part.stat().st_size for part in parts):,} bytes" in readme
    assert [part.name for part in parts if f"`{part.name.removesuffix('.tar.zst')}`" not in readme] == []
