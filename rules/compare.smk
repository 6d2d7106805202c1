"""
Compare: the published tables beside the paper's or another archive's, and the paper's claims.

Inputs:  <results>/archive.duckdb, <results>/summaries/, the evaluation and the values that it names
Outputs: <results>/reproduction.{parquet,csv}
         <results>/claims.{parquet,csv}
"""


rule compare_tables:
    """Put every published cell beside this archive's."""
    input:
        collect("<results>/summaries/{table}.parquet", table=CELL_TABLES),
        collect("{expected}", expected=list_expected()),
        other=list_other_tables(),
        evaluation=ancient(config["evaluation"]),
        database="<results>/archive.duckdb",
        code=list_sources("compare_tables", "reproduction", *CELL_TABLES),
    output:
        parquet="<results>/reproduction.parquet",
        csv="<results>/reproduction.csv",
    log:
        "<logs>/compare_tables.txt",
    conda:
        "../environment.yml"
    params:
        declared=declare("algorithms", "reproduction", "tables"),
        summaries=RESULTS / "summaries",
    shell:
        """
        python -m ccreport compare_tables \
            --evaluation {input.evaluation:q} \
            --database {input.database:q} \
            --summaries {params.summaries:q} \
            --compare-with {input.other:q} \
            --parquet {output.parquet:q} \
            --csv {output.csv:q} \
            &>{log:q}
        """


rule judge_claims:
    """Check what the paper says; the log names claims that nothing explains."""
    input:
        collect("<results>/summaries/{table}.parquet", table=PUBLISHED_TABLES),
        archive="<results>/archive.json",
        explanations=config["explanations"] or [],
        evaluation=ancient(config["evaluation"]),
        database="<results>/archive.duckdb",
        code=list_sources("judge_claims", "claims"),
        schema="schemas/explanations.schema.yaml",
        sql="src/ccreport/sql/claims.sql",
    output:
        parquet="<results>/claims.parquet",
        csv="<results>/claims.csv",
    log:
        "<logs>/judge_claims.txt",
    conda:
        "../environment.yml"
    params:
        declared=declare("claims"),
        summaries=RESULTS / "summaries",
    shell:
        """
        python -m ccreport judge_claims \
            --evaluation {input.evaluation:q} \
            --database {input.database:q} \
            --summaries {params.summaries:q} \
            --archive {input.archive:q} \
            --explanations {input.explanations:q} \
            --parquet {output.parquet:q} \
            --csv {output.csv:q} \
            &>{log:q}
        """
