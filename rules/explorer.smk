"""
Explorer: all runs as scripts that its page loads, a run's own when it is picked.

Inputs:  the database of the report's evaluation
Outputs: <results>/explorer/, with runs.js, runs/<run>.js, vega.js, and the page's own scripts and style sheet
"""


rule export_runs:
    """Write the list of all runs, the series of each, and what draws them."""
    input:
        batches="<results>/batches.txt",
        database=RESULTS / MAIN / "archive.duckdb",
        assets=list_package_files("explorer/*.js", "explorer/*.css"),
    output:
        # The other scripts beside it are looked after by the command, which keeps those of experiments that did not change.
        runs="<results>/explorer/runs.js",
    log:
        "<logs>/export_runs.txt",
    # After what the PDF is made of: only the pages wait for this.
    priority: -1
    conda:
        "../environment.yml"
    params:
        code=digest_sources("export_runs"),
        tables=RESULTS / "tables",
        explorer=RESULTS / "explorer",
    shell:
        """
        python -m ccreport export_runs \
            --batches {input.batches:q} \
            --tables {params.tables:q} \
            --database {input.database:q} \
            --output {params.explorer:q} \
            &>{log:q}
        """
