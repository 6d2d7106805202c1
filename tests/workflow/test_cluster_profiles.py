"""The profiles for clusters and the image: that they name what is there, and ask for what a cluster has."""

import logging
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import snakemake_executor_plugin_slurm
from archives import ROOT

from ccreport.core.declarations import load_yaml
from ccreport.core.evaluation import list_evaluations, name_rule
from ccreport.workflow_fixes.slurm_status import ask_often, keep_answer

SLURM = ROOT / "workflow/profiles/slurm/config.yaml"
KUBERNETES = ROOT / "workflow/profiles/kubernetes"
RULE = re.compile(r"^(?:rule|checkpoint) (\w+):\n((?:[ \n].*\n?)+)", re.MULTILINE)
# A rule for each evaluation, which name_rule names after the subcommand.
RULE_OF_EVALUATIONS = re.compile(r"^    rule:\n((?:[ \n].*\n?)+)", re.MULTILINE)


def read_rules() -> dict[str, str]:
    """Return the body of each rule by its name."""
    rules = {}
    for path in sorted((ROOT / "rules").glob("*.smk")):
        text = path.read_text()
        rules |= dict(RULE.findall(text))
        for body in RULE_OF_EVALUATIONS.findall(text):
            command = body.partition('name_rule("')[2].partition('"')[0]
            rules |= {name_rule(command, evaluation): body for evaluation in list_evaluations()}
    return rules


RULES = read_rules()


def read_profile(path: Path) -> dict[str, Any]:
    return load_yaml(path)


def test_a_profile_names_rules_that_there_are() -> None:
    # Snakemake itself passes over names that no rule has.
    profile = read_profile(SLURM)
    assert {*profile["groups"], *profile["set-resources"]} - set(RULES) == set()


def test_jobs_that_the_inventory_makes_anew_stand_first_in_their_groups() -> None:
    # With others before them Snakemake 9.27 ends such a build half done, and says nothing.
    remade = {
        name
        for name, body in RULES.items()
        if re.search(r"batches\.txt|archive\.json|manifests|list_batch_\w+", body.partition("output:")[0])
    }
    assert {"list_views", "measure_ledger", "render_fragments"} <= remade
    grouped: dict[str, set[str]] = {}
    for rule, group in read_profile(SLURM)["groups"].items():
        grouped.setdefault(group, set()).add(rule)
    # render_paper stands after render_fragments, of whose output it is made.
    mixed = {group: rules - remade for group, rules in grouped.items() if rules & remade and rules - remade}
    assert mixed == {"pages": {"render_paper"}}


def test_no_rule_asks_for_more_threads_than_a_cluster_job_has() -> None:
    profile = read_profile(SLURM)
    assert not any(re.search(r"^    threads:", body, re.MULTILINE) for body in RULES.values())
    assert profile["set-threads"].keys() <= RULES.keys()
    assert max(profile["set-threads"].values()) <= profile["cores"]


def test_a_controller_that_is_down_leaves_its_answer_from_before() -> None:
    answers: list[int | None] = [300, None, 60, None]
    executor, validation = ModuleType("executor"), ModuleType("validation")
    executor.get_min_job_age = validation.get_min_job_age = lambda: answers.pop(0)
    keep_answer(executor, validation)  # asks for the first time, as the build starts
    assert [executor.get_min_job_age(), validation.get_min_job_age()] == [300, 60]
    assert executor.get_min_job_age() == 60


def test_on_a_cluster_of_one_s_own_slurm_is_asked_often() -> None:
    class Executor:
        waited_s = 25

        @property
        def next_seconds_between_status_checks(self) -> int:
            return self.waited_s

        @next_seconds_between_status_checks.setter
        def next_seconds_between_status_checks(self, value: int) -> None:
            self.waited_s = value

    ask_often(Executor, 2)
    executor = Executor()
    assert executor.next_seconds_between_status_checks == 2
    executor.next_seconds_between_status_checks = 1
    assert executor.next_seconds_between_status_checks == 1
    inherited = type(snakemake_executor_plugin_slurm.Executor.next_seconds_between_status_checks)
    assert inherited is property


def test_the_executor_asks_by_the_name_whose_answer_is_kept() -> None:
    assert "get_min_job_age" in snakemake_executor_plugin_slurm.Executor.check_active_jobs.__code__.co_names
    assert callable(snakemake_executor_plugin_slurm.get_min_job_age)


def test_the_executor_asks_before_its_first_job_where_the_profile_names_the_command() -> None:
    validation = snakemake_executor_plugin_slurm.validation
    settings = SimpleNamespace(status_command=read_profile(SLURM)["slurm-status-command"])
    with patch.object(validation, "get_min_job_age", return_value=300) as ask:
        validation.validate_status_command_settings(settings, logging.getLogger())
    ask.assert_called_once_with()


def test_every_try_gets_more_memory() -> None:
    profile = read_profile(SLURM)
    asked = [profile["default-resources"], *profile["set-resources"].values()]
    assert all(re.fullmatch(r"attempt \* \d+", resources["mem_mb"]) for resources in asked)
    assert profile["retries"] >= 1


def test_the_job_for_kubernetes_is_one_pod_that_calls_its_profile() -> None:
    job = read_profile(KUBERNETES / "job.yaml")
    pod = job["spec"]["template"]["spec"]
    [container] = pod["containers"]
    folder = str(KUBERNETES.relative_to(ROOT))
    assert container["command"] == ["snakemake", "--profile", folder, "report"]
    # Two pods at once would write into one checkout.
    assert (job["spec"]["parallelism"], job["spec"]["completions"]) == (1, 1)
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert {volume["name"] for volume in pod["volumes"]} == set(mounts)
    assert container["workingDir"].startswith(mounts["checkout"])
    built = re.search(r"^# docker build --tag (\S+) ", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert built is not None
    assert container["image"] == built[1]


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="hadolint is not installed")
def test_the_image_is_declared_without_fault() -> None:
    checked = subprocess.run(["hadolint", ROOT / "Dockerfile"], capture_output=True, text=True, timeout=60, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")


def test_the_image_is_made_of_files_that_its_context_has() -> None:
    copies = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    copied = " ".join(copies).split()
    let_in = (ROOT / ".dockerignore").read_text().split()
    assert "requirements.lock" in copied
    assert all((ROOT / name).exists() and f"!{name}" in let_in for name in copied)
