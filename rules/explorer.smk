"""
Explorer: all runs as scripts that its page loads, a run's own when it is picked.

Inputs:  the database of the report's evaluation
Outputs: <results>/explorer/, with runs.js, runs/<run>.js, vega.js, and the page's own scripts and style sheet
"""


rule export_runs:
    """Write the list of all runs, the series of each, and what draws them."""
    input:
        database=RESULTS / MAIN / "archive.duckdb",
        code=list_sources("export_runs"),
        assets=list_package_files("explorer/*.js", "explorer/*.css"),
    output:
        explorer=directory("<results>/explorer"),
    log:
        "<logs>/export_runs.txt",
    conda:
        "../environment.yml"
    shell:
        """
        python -m ccreport export_runs \
            --database {input.database:q} \
            --output {output.explorer:q} \
            &>{log:q}
        """
