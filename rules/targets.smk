"""
Targets: what can be asked for, as `--list` prints it, and what of a call stands for nothing. Included last, when all
rules are known.
"""

import textwrap

from ccreport.core.schema_problems import guess_near

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
        names = {*own, *map(workflow.pathvars.apply, list_table_files(MAIN))}
        names |= {str(file) for file in made if "{" not in str(file)}
        near = guess_near(target, TARGETS) or guess_near(target, names)
        stop(f"no target `{target}`{near or ';'} `snakemake --list` shows them all")
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
