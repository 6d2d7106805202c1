"""
Measure: flows and runs of a batch of experiments, the suspect runs and the ledger of the whole archive.

Inputs:  <results>/manifests/, <results>/tables/<table>/<batch>.parquet, <results>/rejects/<reader>/<batch>.parquet
Outputs: <results>/tables/{flows,runs,reconciliation}/<batch>.parquet
         <results>/tables/{raw_files,rejects,suspects}/archive.parquet
"""

LEDGER_LOG = Path(workflow.pathvars.apply("<logs>")) / "measure_ledger.txt"


rule measure_batch:
    """Measure the flows of the experiments that changed, add them up to runs, and compare them with captures."""
    input:
        collect("<results>/tables/{table}/{{batch}}.parquet", table=NEEDED_TABLES),
        manifests=ancient("<results>/manifests"),
    output:
        collect("<results>/tables/{table}/{{batch}}.parquet", table=MEASURED_TABLES),
    log:
        "<logs>/measure_batch/{batch}.txt",
    # Before the next is read: of many jobs that could run Snakemake asks all inputs whenever it starts one.
    priority: 1
    conda:
        "../environment.yml"
    params:
        code=digest_sources("measure_batch", *MEASURED_TABLES),
        manifest=digest_manifest,
        tables=RESULTS / "tables",
        interrupted=(
            "--include-interrupted"
            if config["include_interrupted"]
            else "--no-include-interrupted"
        ),
        cpu_bound=(
            "--include-cpu-bound"
            if config["include_cpu_bound"]
            else "--no-include-cpu-bound"
        ),
    shell:
        """
        python -m ccreport measure_batch \
            --batch {wildcards.batch:q} \
            --manifests {input.manifests:q}/{wildcards.batch:q}.json \
            --tables {params.tables:q} \
            {params.interrupted} \
            {params.cpu_bound} \
            &>{log:q}
        """


rule measure_ledger:
    """Count again what became of every raw file; fail if one is unaccounted for."""
    input:
        list_batch_tables,
        list_batch_rejects,
        batches="<results>/batches.txt",
        manifests="<results>/manifests",
    output:
        raw_files="<results>/tables/raw_files/archive.parquet",
        rejects="<results>/tables/rejects/archive.parquet",
    log:
        "<logs>/measure_ledger.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("measure_ledger", "raw_files", "rejects"),
        tables=RESULTS / "tables",
        rejected=RESULTS / "rejects",
    shell:
        """
        python -m ccreport measure_ledger \
            --batches {input.batches:q} \
            --manifests {input.manifests:q} \
            --tables {params.tables:q} \
            --rejected {params.rejected:q} \
            --raw-files {output.raw_files:q} \
            --rejects {output.rejects:q} \
            &>{log:q}
        """


# What a strict build needs beside what it makes: nothing that is made depends on it.
ACCEPTED = ["<results>/accepted.txt"] if config["strict"] else []


rule list_rejects:
    """Fail if any raw file, or part of one, was rejected: what `strict` asks for."""
    input:
        rejects="<results>/tables/rejects/archive.parquet",
    output:
        listed="<results>/accepted.txt",
    log:
        "<logs>/list_rejects.txt",
    # Before what would be made in vain.
    priority: 3
    conda:
        "../environment.yml"
    params:
        code=digest_sources("list_rejects"),
    shell:
        """
        python -m ccreport list_rejects \
            --rejects {input.rejects:q} \
            --listed {output.listed:q} \
            &>{log:q}
        """


rule measure_suspects:
    """Find the runs whose own data say that something disturbed them, by comparing each with all of its siblings."""
    input:
        # Which waits for the tables of all batches.
        "<results>/tables/raw_files/archive.parquet",
        batches="<results>/batches.txt",
    output:
        suspects="<results>/tables/suspects/archive.parquet",
    log:
        "<logs>/measure_suspects.txt",
    # Nearly all that follows waits for this.
    priority: 2
    conda:
        "../environment.yml"
    params:
        code=digest_sources("measure_suspects", "suspects"),
        tables=RESULTS / "tables",
    shell:
        """
        python -m ccreport measure_suspects \
            --batches {input.batches:q} \
            --tables {params.tables:q} \
            --suspects {output.suspects:q} \
            &>{log:q}
        """
