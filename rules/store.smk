"""
Store: tables and published tables copied into S3 or another place, where others query them.

Inputs:  <results>/{evaluation}/archive.duckdb, <results>/{evaluation}/summaries/
Outputs: <results>/stored.json, what was copied; below `store_results` of config.yaml: tables/, summaries/, views.sql
"""


localrules:
    store_results,


rule store_results:
    """Copy what is new or changed of the tables to the place that the config names; the terminal shows how far it is."""
    input:
        ACCEPTED,
        database=RESULTS / MAIN / "archive.duckdb",
        tables=list_table_files(MAIN),
    output:
        facts="<results>/stored.json",
    log:
        "<logs>/store_results.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("store_results"),
        summaries=RESULTS / MAIN / "summaries",
        target=config["store_results"] or "",
    shell:
        """
        python -m ccreport store_results \
            --database {input.database:q} \
            --summaries {params.summaries:q} \
            --target {params.target:q} \
            --facts {output.facts:q} \
            --log {log:q}
        """
