"""
Explorer: all runs as scripts that its page loads, a run's own when it is picked.

Inputs:  the database of the report's evaluation, its published tables and the verdicts on its claims
Outputs: <results>/explorer/, with runs.js, runs/<run>.js, vega.js, the page's own scripts and style sheet, and sql.js
         and tables/<table>.js where `make sql` added the engine
"""

import sys

SQL_ENGINE = Path(sys.prefix, "share/ccreport/sql.js")


rule export_runs:
    """Write the list of all runs, the series of each, and what draws them."""
    input:
        batches="<results>/batches.txt",
        database=RESULTS / MAIN / "archive.duckdb",
        evaluation=ancient(EVALUATION_FILES[MAIN]),
        published=[path for path in list_table_files(MAIN) if path.endswith(".parquet")],
        judged=collect(
            "<results>/{evaluation}/{table}.parquet",
            evaluation=MAIN,
            table=["claims", "reproduction"],
        ),
        engine=[str(SQL_ENGINE)] if SQL_ENGINE.exists() else [],
        assets=list_package_files("explorer/*.js", "explorer/*.css"),
    output:
        # The other scripts beside it are looked after by the command, which keeps those of experiments that did not change.
        runs="<results>/explorer/runs.js",
    log:
        "<logs>/export_runs.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("export_runs"),
        declared=lambda wildcards: describe(
            MAIN, ("algorithm_names", "figures", "reproduction", "tables")
        ),
        tables=RESULTS / "tables",
        explorer=RESULTS / "explorer",
    shell:
        """
        python -m ccreport export_runs \
            --batches {input.batches:q} \
            --tables {params.tables:q} \
            --database {input.database:q} \
            --evaluation {input.evaluation:q} \
            --published {input.published:q} {input.judged:q} \
            --engine {input.engine:q} \
            --output {params.explorer:q} \
            &>{log:q}
        """
