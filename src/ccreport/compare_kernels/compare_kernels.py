"""The command `compare_kernels`: measure two sides, compare them, and say by the exit code what was found."""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from ccreport.collect.collect import find_campaign
from ccreport.compare_kernels.campaigns import write_campaigns
from ccreport.compare_kernels.carry_out import PlannedSide, build_database, measure_sides, plan_sides
from ccreport.compare_kernels.declaration import Comparison, load_comparison, make_comparison
from ccreport.compare_kernels.findings import check_names, find_all, find_exit_code
from ccreport.compare_kernels.measures import read_runs
from ccreport.compare_kernels.outputs import write_json, write_junit, write_summary
from ccreport.compare_kernels.page import write_page
from ccreport.compare_kernels.scorecard import score
from ccreport.compare_kernels.wording import summarise
from ccreport.core.declarations import SCHEMAS
from ccreport.core.errors import InputError
from ccreport.core.schema_problems import find_near
from ccreport.storage.locks import hold_lock
from ccreport.storage.writable import check_folder

NAME: Final = "{comparison}"
LOCK: Final = ".lock"
EQUAL_AT_MOST_PCT: Final = 100
BLOCKS_AT_LEAST: Final = 2
COMPARISONS: Final = SCHEMAS.parent / "comparisons"
YAML: Final = (".yaml", ".yml")
NO_CAMPAIGN: Final = Path()


def compare_kernels(
    a: str,
    b: str = "",
    /,
    campaign: Path = NO_CAMPAIGN,
    blocks: int = 0,
    equal_within: float = 0.0,
    algorithm: str = "",
    kernel: str = "",
    clock: Literal["", "virtual", "real"] = "",
    archive: Path = Path("archive/compared", NAME),
    output: Path = Path("results/compared", NAME),
    cores: int = 2,
) -> int:
    """Compare two kernels, settings or algorithms; exit 0 as declared, 1 differs, 2 undecided, 3 could not be done.

    `a` is a file of `comparisons`, or the first side: a kernel's path, an algorithm, `module.parameter=value` or
    `net.…=value`, several with commas between them, or `default`. `b` is then the second side. `campaign` is the
    campaign that two sides of the command line measure. `blocks` is how often it is measured on each side, at least 2,
    or 0 for what the file declares, else 4. `equal_within` is by how many % two sides may differ and are called equal,
    0 for what the file declares, else 5. `algorithm` is the second side's in place of the file's. `kernel` is the path
    of a user-mode kernel for sides that name none. `clock`, virtual or real, replaces the campaign's.
    `archive` is the raw archive's own folder; the same command goes on with the runs that it lacks. `output` is a
    folder, which gets comparison.json, junit.xml, summary.md and index.html. `cores` are those of the build. Raise
    InputError where it could not be done.
    """
    if cores < 1:
        raise InputError("--cores: a build takes at least 1")
    comparison = _declare(a, b, campaign, blocks, equal_within, algorithm)
    into, made = (Path(str(path).replace(NAME, comparison.name)) for path in (archive, output))
    for path, option in ((into, "--archive"), (made, "--output")):
        check_folder(path, option)
    is_new = not made.exists()
    made.mkdir(parents=True, exist_ok=True)
    try:
        with hold_lock(made / LOCK, f"{made}: another comparison is at work there; wait for it, or name --output"):
            sides = _plan(comparison, into, made, {"kernel": kernel, "clock": clock}, is_new=is_new)
            return _compare(comparison, sides, into, made, cores)
    except KeyboardInterrupt:
        raise InputError("stopped; the same command goes on with the missing runs") from None


def _declare(a: str, b: str, campaign: Path, blocks: int, equal_within: float, algorithm: str) -> Comparison:
    """Return the comparison that the command line names; raise InputError where it names none."""
    told = {"blocks_count": blocks, "equal_within_pct": equal_within}
    given = {key: value for key, value in told.items() if value}
    if blocks and blocks < BLOCKS_AT_LEAST:
        raise InputError(f"--blocks: an interval takes at least {BLOCKS_AT_LEAST}, not {blocks}")
    if not 0 <= equal_within <= EQUAL_AT_MOST_PCT:
        raise InputError(f"--equal-within: {equal_within:g} % is not between 0 and {EQUAL_AT_MOST_PCT} %")
    if a.endswith(YAML):
        if b:
            raise InputError(f"{a} names both sides; leave out `{b}`")
        if campaign != NO_CAMPAIGN:
            raise InputError(f"{a} names its own campaign; leave out --campaign, which is for two sides typed here")
        return load_comparison(Path(a), algorithm, given)
    if not b:
        files = {path.stem: f"{path.parent.name}/{path.name}" for path in COMPARISONS.glob("*.yaml")}
        near = find_near(a, files)
        meant = f"did you mean `{files[near]}`?" if near else f"as in `{a} default --campaign campaigns/hystart.yaml`"
        raise InputError(f"`{a}` is one side only; name the second and --campaign, or a file of `comparisons`; {meant}")
    if campaign == NO_CAMPAIGN:
        raise InputError("two sides need a campaign that both run; add, for example, --campaign campaigns/hystart.yaml")
    compared = make_comparison(a, b, find_campaign(campaign), given)
    if compared.a == compared.b:
        print(
            f"note: both sides are `{a}`, of which virtual time gives equal results; comparisons/unchanged.yaml shows "
            "what chance alone does, with `seed_offset: 1`",
            file=sys.stderr,
        )
    return compared


def _plan(
    comparison: Comparison, archive: Path, output: Path, testbed: Mapping[str, str], *, is_new: bool
) -> dict[str, PlannedSide]:
    """Return what is to be measured; where that is refused, a new folder of results does not stay."""
    try:
        campaigns = write_campaigns(comparison, output / "campaigns", testbed)
        check_names(comparison, campaigns["a"])
        return plan_sides(campaigns, archive)
    except InputError:
        if is_new:
            shutil.rmtree(output)
        raise


def _compare(comparison: Comparison, sides: Mapping[str, PlannedSide], archive: Path, output: Path, cores: int) -> int:
    measured = measure_sides(sides, comparison.blocks_count, archive)
    for run, why in measured.failures.items():
        print(f"failed: {run}: {why}", file=sys.stderr)
    database = build_database(archive, output / "build", cores)
    runs = read_runs(database, comparison.name)
    findings = find_all(comparison, runs)
    scores = score(comparison, findings)
    write_json(output / "comparison.json", comparison, findings, scores, measured)
    write_junit(output / "junit.xml", comparison, findings, measured)
    write_summary(output / "summary.md", comparison, findings, scores, measured)
    write_page(output, comparison, findings, scores, runs, measured, database)
    print(summarise(comparison, findings, measured))
    print(output / "index.html")
    if measured.failures:
        raise InputError(f"{len(measured.failures)} runs failed; the same command tries them again")
    return find_exit_code(findings, measured.failures)
