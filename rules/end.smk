"""
End: what a build says last. What made it fail is repeated as its last line; names that stand for nothing in this
archive, and results that no build renews, are warned of. `make` is told what was made.
"""

from functools import cache

from ccreport.core.algorithms import list_doubtful
from ccreport.core.evaluation import list_doubts
from ccreport.ingest.edge.unfitting_paths import describe_unfitting_paths
from ccreport.rebuild.unknown_runs import list_unknown_runs
from ccreport.report.first_page.key_numbers import list_key_numbers

# What people open after a build of these.
MADE = {
    "report": RESULTS / "report/index.html",
    "evaluation": RESULTS / MAIN / "report/index.html",
    "tables": RESULTS / MAIN / "summaries",
    "ingest": RESULTS / "tables",
    "database": RESULTS / MAIN / "archive.duckdb",
    "publish": RELEASE_FOLDER,
}
OWN_LINE = "ccreport: "
STOPPED = "ccreport: stopped; "
LAST_LINES_AT_MOST = 5


def list_own_lines(logs):
    """List what the commands of jobs that failed said to their user, each line once, from Snakemake's logs."""
    texts = [Path(log).read_text(encoding="utf-8", errors="replace") for log in logs]
    lines = [line for text in texts for line in text.splitlines()]
    return list(dict.fromkeys(line for line in lines if line.startswith(OWN_LINE)))


@cache
def warn_once(message):
    """Warn of what may have been known before the build, and is then not said again after it."""
    logger.warning(message)


def warn_of_packet_runs():
    """Warn of runs in `packet_runs` that the archive does not have, as far as it is known."""
    # Those of config.yaml are of its own archive.
    if not CONFIG_SOURCES.is_of_archive("packet_runs"):
        return
    unknown = list_unknown_runs(
        config["packet_runs"], RESULTS / "batches.txt", RESULTS / "manifests"
    )
    for number, problem in unknown:
        place = ("packet_runs", number)
        warn_once(f"warning: {CONFIG_SOURCES.blame(place, f'packet_runs: {problem}')}")


def warn_of_edge_paths():
    """Warn of a configured layout of an edge archive's paths that fits none of its files."""
    if not CONFIG_SOURCES.sets("edge"):
        return
    place = ("edge", "paths")
    layout, facts = config["edge"]["paths"], RESULTS / "batches.txt"
    if problem := describe_unfitting_paths(layout, facts, RESULTS / "manifests"):
        warn_once(f"warning: {CONFIG_SOURCES.blame(place, problem)}")


def warn_of_doubtful():
    """Warn of members of groups that are nearly called as an algorithm is, and of what else may be a slip or a draft."""
    for name, path in EVALUATION_FILES.items():
        declared = EVALUATIONS[name]
        for problem in (
            *list_doubtful(declared["algorithms"], path),
            *list_doubts(path, declared),
        ):
            logger.warning(f"warning: {problem}")


def warn_of_unmet_conditions():
    """Warn of what an archive does not have, or in another unit, and may be a slip, though it was told before the build."""
    # Only here, as loading it takes half a second.
    from duckdb import Error
    from ccreport.compare.doubtful_values import list_doubtful_values

    for name, path in EVALUATION_FILES.items():
        try:
            doubts = map(str, list_doubtful_values(RESULTS / name, path))
            for problem in dict.fromkeys(doubts):
                logger.warning(f"warning: {problem}")
        except Error:
            # An older database, which this build did not need.
            continue


def warn_of_other_results():
    """Warn of results of evaluations that the configuration no longer has."""
    found = sorted(path.parent.name for path in RESULTS.glob("*/archive.duckdb"))
    if others := [name for name in found if name not in EVALUATIONS]:
        logger.warning(
            f"warning: {RESULTS} also has results of {', '.join(others)}, which this build did not renew; delete"
            " what you no longer want, or name the evaluation in `sections`"
        )


def warn_of_archive():
    """Warn of all that a build found in its archive, or did not find there."""
    logs = Path(workflow.pathvars.apply("<logs>"))
    steps = ("compare_tables", "judge_claims")
    judged = (logs / name / f"{step}.txt" for name in EVALUATIONS for step in steps)
    # What several logs say is said once.
    for warning in dict.fromkeys(
        line for told in (LEDGER_LOG, *judged) for line in list_warnings(told)
    ):
        logger.warning(warning)
    warn_of_packet_runs()
    warn_of_edge_paths()
    warn_of_doubtful()
    warn_of_unmet_conditions()
    warn_of_other_results()


def list_outcome():
    """List what the targets asked for are, and of a report the numbers that matter."""
    made = [MADE[name] for name in workflow.dag_settings.targets if name in MADE]
    has_report = any(path.name == "index.html" for path in made)
    numbers = list_key_numbers(RESULTS / MAIN / "fragments") if has_report else []
    return [*map(str, made), *(f"  {number}" for number in numbers)]


if has_own_results():
    warn_of_packet_runs()
    warn_of_edge_paths()
warn_of_doubtful()
# Of the plugins' handlers, the one of `make` alone shows it.
for handler in workflow.logger_manager.get_log_handlers():
    handler.list_outcome = list_outcome


# Of several such blocks Snakemake runs the last only.
onsuccess:
    # Whoever builds looks at the end of the output, and not into the logs.
    if concerns_archive():
        warn_of_archive()
    # `make` says it in its own way, and hears no such message.
    logger.info("\n".join(list_outcome()))


onerror:
    if said := list_own_lines(log)[-LAST_LINES_AT_MOST:]:
        # Who stopped a sweep has read just now that it goes on.
        say_last(*(line for line in said if not line.startswith(STOPPED)))
