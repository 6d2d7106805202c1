"""
Targets: what can be asked for, as `--list` prints it, and what of a call stands for nothing. Included last, when all
rules are known.
"""

import difflib
import textwrap

from ccreport.core.schema_problems import guess
from ccreport.workflow_fixes.typed_settings import explain_target

# What people ask for; the other rules make parts of it.
TARGETS = """
    report evaluation tables ingest database publish upload verify store_results collect
""".split()


def list_targets(only_targets=False):
    """Print the targets for people with what they are, then the names of the rules between, as `--list` does."""
    described = {each.name: each.docstring for each in workflow.rules}
    for name in TARGETS:
        print(f"{name:14} {described[name]}")
    parts = sorted(described.keys() - set(TARGETS))
    print("\nRules that these call:", *textwrap.wrap(", ".join(parts), 100), sep="\n  ")


def list_made(file):
    """List the paths that an output can have, as far as its wildcards are known; not all evaluations have all files."""
    plain = re.sub(r"\{(\w+)[^{}]*\}", r"{\1}", str(file))
    values = {"document": ["report", "supplement"], "site": "report"}
    paths = collect(plain, evaluation=EVALUATIONS, **values, allow_missing=True)
    return [path for path in paths if "{" not in path and file.match(path)]


def guess_target(target, rules, made):
    """Return what to put behind an unknown target: the target or file that is meant, by its name or all of its path."""
    paths = {name: name for name in rules}
    paths |= {path: path for file in made for path in list_made(file)}
    for name, declared in EVALUATIONS.items():
        figures = str(RESULTS / name / "figures")
        tables = map(workflow.pathvars.apply, list_table_files(name))
        paths |= {path: path for path in tables}
        paths |= {f"{figures}/{figure}": figures for figure in declared["figures"]}
    meant = {name: name for name in TARGETS}
    for path, file in paths.items():
        parts = path.split("/")
        for start in range(len(parts)):
            meant.setdefault("/".join(parts[start:]), file)
    # Who types the beginning of a name means all of it.
    begun = {}
    for typed, file in meant.items():
        is_one = "/" not in typed[len(target) :]
        begun.setdefault(typed[: len(target)] if is_one else typed, file)
    # Targets are few, and go first.
    near = difflib.get_close_matches(target, TARGETS, n=1, cutoff=0.8)
    near += difflib.get_close_matches(target, begun, n=1, cutoff=0.8)
    return f"; did you mean `{meant.get(near[0]) or begun[near[0]]}`?" if near else ""


def explain_figure(path):
    """Return what to say of a figure by itself or a file of it, None for any other path: all are drawn at once."""
    named = re.fullmatch(
        rf"{re.escape(str(RESULTS))}/([^/]+)/figures/(\w+)(/.*)?", path
    )
    evaluation, figure = named.groups()[:2] if named else ("", "")
    if figure not in EVALUATIONS.get(evaluation, {}).get("figures", {}):
        return None
    option = "" if str(RESULTS) == "results" else f" --database {RESULTS}"
    command = f"plot_figure --evaluation {EVALUATION_FILES[evaluation]} --figure {figure} --output {figure}{option}"
    return (
        f"`{RESULTS}/{evaluation}/figures` draws all figures, "
        f"`python -m ccreport {command}` this one"
    )


def explain_table(path):
    """Return what to say of the file of a table that its evaluation does not declare, None for any other."""
    named = re.fullmatch(
        rf"{re.escape(str(RESULTS))}/([^/]+)/summaries/(\w+)\.\w+", path
    )
    evaluation, table = named.groups() if named else ("", "")
    tables = EVALUATIONS.get(evaluation, {}).get("tables", {})
    if not tables or table in tables:
        return None
    return (
        f"{EVALUATION_FILES[evaluation]} has no table `{table}`{guess(table, tables)}"
    )


def is_rule(target):
    """Tell whether a target is the name of a rule; end where it is not a file that one makes either."""
    own = {each.name: each for each in workflow.rules}
    if target in own:
        varied = ", ".join(sorted(own[target].wildcard_names))
        # `--forcerun` and the like may name such a rule.
        if varied and target in workflow.dag_settings.targets:
            stop(f"`{target}` makes a file for each {varied}; name one of its files")
        return True
    made = [file for each in own.values() for file in each.products()]
    path = target if os.path.isabs(target) else os.path.relpath(target)
    matches = list(filter(None, (file.match(path) for file in made)))
    if not matches:
        if setting := explain_target(target, config):
            stop(setting)
        if unknown := explain_table(path):
            stop(f"no target `{target}`; {unknown}")
        if one := explain_figure(path):
            stop(f"no target `{target}`; {one}")
        near = guess_target(target, own, made)
        stop(f"no target `{target}`{near or ';'} `snakemake --list` shows the others")
    known = RESULTS / "batches.txt"
    batches = read_batches(known) if known.exists() else {}
    asked = {match["batch"] for match in matches if "batch" in match.re.groupindex}
    if unknown := ", ".join(asked - batches.keys()):
        stop(f"no batch `{unknown}`; {known}, of `list_raw_files`, has their names")
    return False


# Snakemake lists all rules alike; this is only how this workflow is listed.
workflow.list_rules = list_targets
# Of each target of a call Snakemake asks this before it plans; its own message on an unknown one is an exception's.
workflow.is_rule = is_rule
