"""
Evaluation checks: the SQL and published values of evaluations, and the pairs that are explained, tried before the first job.
"""

import traceback
from concurrent.futures import ThreadPoolExecutor


def check_sql_of_evaluations(wildcards):
    """Try the SQL of each evaluation that was changed after its database was made, and read its published values.

    It is an input function that names no file. `-n` calls it as a build does, before the first job; the processes of
    jobs do not try again.
    """
    checks = []
    for name, path in EVALUATION_FILES.items() if workflow.is_main_process else ():
        published = [
            path.parent / facts["expected"]
            for facts in EVALUATIONS[name]["reproduction"].values()
        ]
        if is_older(RESULTS / name / "archive.duckdb", [path]):
            checks.append((name, check_sql, path))
        explanations = [Path(config["explanations"])] if config["explanations"] else []
        sources = [path, *published, *explanations]
        if is_older(RESULTS / name / "reproduction.parquet", sources):
            checks.append((name, check_published, path, *explanations))
    # The database works while Python waits, and no job does yet.
    with ThreadPoolExecutor() as pool:
        results = [(name, pool.submit(*check)) for name, *check in checks]
        for name, result in results:
            try:
                for problem in result.result() or ():
                    warn_once(f"warning: {problem}")
            except InputError as error:
                refuse_evaluation(name, error)
            except Exception:
                # Where an input function fails, Snakemake takes the results of its rule as they are, and says nothing.
                stop(traceback.format_exc())
    return []


def is_older(result, sources):
    """Return whether a result is not there, or one of its sources was changed after it was made."""
    made = result.stat().st_mtime if result.exists() else 0
    return any(source.stat().st_mtime > made for source in sources)


def check_sql(evaluation):
    """Raise InputError with what the database refuses of an evaluation's SQL; return what may be misspelt in it.

    That is what no run has, as far as runs were read; the end of a build tells it of all of them.
    """
    # Only here, as loading them takes half a second.
    from ccreport.compare.claims import check_claims
    from ccreport.compare.try_claims import find_database, find_several_rows
    from ccreport.figures.select.check_sql import check_sql as check_figures
    from duckdb import Error
    from ccreport.summarise import label_values
    from ccreport.summarise.view_columns import open_without_rows

    with open_without_rows(evaluation) as connection:
        check_figures(connection, evaluation)
        check_claims(connection, evaluation)
        label_values.check_label_values(connection, evaluation)
        if has_own_results():
            try:
                with find_database(connection, RESULTS, evaluation) as database:
                    fault = find_several_rows(connection, database, evaluation)
                    unmet = list(label_values.list_unmet(database, evaluation))
            except (Error, InputError, OSError):
                # Made by another version, damaged, or without its tables: this build makes them anew.
                pass
            else:
                if fault:
                    raise fault
                return unmet
        return list(label_values.list_unmet_texts(connection, evaluation))


def check_published(evaluation, explanations=None):
    """Raise InputError where a file of published values cannot be used, or a pair is explained that is not published."""
    from ccreport.compare.expected import read_published
    from ccreport.report.first_page.pairs import check_explained_pairs

    published = read_published(evaluation)
    if explanations:
        check_explained_pairs(explanations, evaluation, published)
