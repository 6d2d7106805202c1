"""
Targets: what can be asked for, as `--list` prints it, and what of a call stands for nothing. Included last, as all rules are known then.
"""

import textwrap

from ccreport.core.schema_problems import guess_near

# What people ask for; the other rules make parts of it.
TARGETS = """
    report evaluation tables ingest database publish upload verify store_results collect
""".split()


def list_targets(only_targets=False):
    """Print the targets for people with what they are, then the names of the rules between, as `--list` does."""
    described = {rule.name: rule.docstring for rule in workflow.rules}
    for name in TARGETS:
        print(f"{name:14} {described[name]}")
    parts = sorted(described.keys() - set(TARGETS))
    print("\nRules that these call:", *textwrap.wrap(", ".join(parts), 100), sep="\n  ")


def is_rule(target):
    """Tell whether a target is a rule; end where it is not a file that a rule makes either."""
    named = {rule.name: rule for rule in workflow.rules}
    if target in named:
        if wildcards := ", ".join(sorted(named[target].wildcard_names)):
            stop(f"`{target}` makes a file for each {wildcards}; name one of its files")
        return True
    path = os.path.relpath(target)
    if any(rule.is_producer(path) for rule in workflow.rules):
        return False
    files = {str(file) for rule in workflow.rules for file in rule.products()}
    plain = {file for file in files if "{" not in file}
    tables = map(workflow.pathvars.apply, list_table_files(MAIN))
    near = guess_near(target, TARGETS) or guess_near(target, {*named, *plain, *tables})
    stop(f"no target `{target}`{near or ';'} `snakemake --list` shows what there is")


# Snakemake lists all rules alike; this is only how this workflow is listed.
workflow.list_rules = list_targets
# Of each target of a call Snakemake asks this before it plans; its own message on an unknown one is an exception's.
workflow.is_rule = is_rule
