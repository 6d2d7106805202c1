"""The campaigns of the two sides: that of the comparison, with what a side sets, and its sessions once for each block.

Both have sessions, jobs and runs of the same names, and so, in virtual time, the same seeds: run 1 of a job in block 2
meets the same chance on either side.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml

from ccreport.collect.collect import check_kernel
from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.declare.sysctls import check_sysctls, find_wrong_value
from ccreport.collect.engines import choose_place
from ccreport.collect.kernel.find_kernel import find_user_kernel
from ccreport.collect.kernel.known_settings import name_unknown_settings
from ccreport.collect.plan import Plan
from ccreport.compare_kernels.declaration import Comparison, Side, quote_side
from ccreport.core.algorithms import CANDIDATE
from ccreport.core.atomic_files import replace_text
from ccreport.core.declared_files import read_declared
from ccreport.core.errors import InputError

ALGORITHM_KEYS: Final = frozenset({"congestion_control", "default_congestion_control"})
# block-2-main: the session `main` of the campaign in the second block.
LABEL: Final = re.compile(r"block-(\d+)-(.+)")
# The end of a title: (side a: tcp_cubic.hystart=1)
SIDE: Final = re.compile(r" \(side [ab]: (.*)\)$", re.DOTALL)


def write_campaigns(
    comparison: Comparison, folder: Path, testbed: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Path]:
    """Write the campaign of each side, by the side, into a folder; raise as `load_campaign` where it cannot be used.

    `testbed` are settings of that name in place of the campaign's, where they are not empty.
    """
    # Faults are told with the lines of the file that somebody wrote.
    given = {key: value for key, value in testbed.items() if value}
    written = load_campaign(comparison.campaign, given)
    plan = plan_campaign(written, comparison.name)
    check_sysctls(written)
    for key, side in (("a", comparison.a), ("b", comparison.b)):
        for name, value in side.sysctls.items():
            if problem := find_wrong_value(name, str(value), "{}: {}" if comparison.path else '"{}={}"'):
                raise comparison.blame(f"side {key}: {problem}", (key, "sysctls", name))
        _check_kernel(comparison, key, side)
    if not (comparison.a.kernel and comparison.b.kernel):
        check_kernel(written)
    declared = read_declared(comparison.campaign)
    declared.setdefault("testbed", {}).update(given)
    for key, side in (("a", comparison.a), ("b", comparison.b)):
        if problem := _find_wrong_algorithm(declared, side, comparison.campaign):
            raise comparison.blame(f"side {key}: {_find_unknown_setting(plan, side) or problem}", (key,))
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for key, side in (("a", comparison.a), ("b", comparison.b)):
        paths[key] = folder / f"{comparison.name}-{key}.yaml"
        made = _apply(copy.deepcopy(declared), side, comparison.blocks_count)
        made["title"] += f" (side {key}: {side.name})"
        made["testbed"]["seed"] = made["testbed"].get("seed", 1) + (comparison.seed_offset if key == "b" else 0)
        replace_text(paths[key], yaml.safe_dump(made, sort_keys=False, allow_unicode=True))
        load_campaign(paths[key])
    return paths


def list_steps(blocks_count: int) -> Iterator[tuple[int, str]]:
    """Yield blocks with their sides in the order in which they are measured: a b, b a, a b, …"""
    for block in range(1, blocks_count + 1):
        for side in "ab" if block % 2 else "ba":
            yield block, side


def find_block(label: str) -> int:
    """Return the block of a session's label."""
    return int(LABEL.sub(r"\1", label))


def find_side(title: str) -> str | None:
    """Return the name of the side whose campaign has this title; null for titles of other campaigns."""
    match = SIDE.search(title)
    return match[1] if match else None


def name_session(label: str) -> str:
    """Return what the campaign itself calls a session."""
    return LABEL.sub(r"\2", label)


def _check_kernel(comparison: Comparison, key: str, side: Side) -> None:
    if side.kernel:
        try:
            find_user_kernel(side.kernel)
        except InputError as error:
            raise comparison.blame(f"side {key}: {error}", (key, "kernel")) from error


def _find_wrong_algorithm(declared: dict[str, Any], side: Side, campaign: Path) -> str | None:
    """Return what to type where a side names no algorithm and jobs run `candidate`, or one and none does."""
    names_candidate = CANDIDATE in set(_list_algorithms(declared))
    if names_candidate == (side.algorithm is not None):
        return None
    if side.algorithm is not None:
        return (
            f"no job of {campaign} runs `{CANDIDATE}`, which {side.algorithm} could stand for; write "
            f"`congestion_control: {CANDIDATE}` in those that both sides are to run"
        )
    settings = [f"{name}={value}" for name, value in {**side.sysctls, **side.module_parameters}.items()]
    typed = quote_side(",".join(["cubic", *filter(None, [side.kernel]), *settings]))
    return (
        f"{campaign} runs `{CANDIDATE}`: say which algorithm it is, for cubic by `{typed}` on the command line or "
        "`algorithm: cubic` in the file of the comparison"
    )


def _find_unknown_setting(plan: Plan, side: Side) -> str | None:
    """Return what to say of settings of a side that its kernel lacks, null where it has all, or can load more."""
    if not (side.sysctls or side.module_parameters):
        return None
    testbed = replace(plan.testbed, kernel=side.kernel or plan.testbed.kernel)
    kernel = choose_place(replace(plan, testbed=testbed)).kernel
    run = replace(plan.runs[0], sysctls=dict(side.sysctls), module_parameters=dict(side.module_parameters))
    return name_unknown_settings(kernel, [run]) if kernel else None


def _apply(declared: dict[str, Any], side: Side, blocks_count: int) -> dict[str, Any]:
    """Return a campaign with the settings of a side, its sessions once for each block."""
    declared["testbed"] |= {"kernel": side.kernel} if side.kernel else {}
    for job in (job for session in declared["sessions"] for job in session["jobs"]):
        for key, settings in (("sysctls", side.sysctls), ("module_parameters", side.module_parameters)):
            if settings:
                job[key] = (job.get(key) or {}) | dict(settings)
    declared = _replace_candidate(declared, side.algorithm or CANDIDATE)
    blocks = range(1, blocks_count + 1)
    declared["sessions"] = [
        session | {"label": f"block-{block}-{session['label']}"} for block in blocks for session in declared["sessions"]
    ]
    return declared


def _list_algorithms(value: Any, *, is_named: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _list_algorithms(item, is_named=key in ALGORITHM_KEYS)
    elif isinstance(value, list):
        for item in value:
            yield from _list_algorithms(item, is_named=is_named)
    elif is_named and isinstance(value, str):
        yield value


def _replace_candidate(value: Any, algorithm: str, *, is_named: bool = False) -> Any:
    """Return a declaration in which an algorithm replaces `candidate` where that is named as one."""
    if isinstance(value, dict):
        return {key: _replace_candidate(part, algorithm, is_named=key in ALGORITHM_KEYS) for key, part in value.items()}
    if isinstance(value, list):
        return [_replace_candidate(part, algorithm, is_named=is_named) for part in value]
    return algorithm if is_named and value == CANDIDATE else value
