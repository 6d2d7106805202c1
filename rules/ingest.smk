"""
Ingest: the raw files of a batch of experiments as typed tables, whatever their formats.

Inputs:  <results>/manifests/<batch>.json, whose content counts and not its time, and the raw files that it lists
Outputs: <results>/tables/<table>/<batch>.parquet
         <results>/rejects/<reader>/<batch>.parquet, what could not be used and why
"""


rule compile_kernels:
    """Compile the readers' kernels once, before many jobs would each do it."""
    output:
        kernels="<results>/kernels.txt",
    log:
        "<logs>/compile_kernels.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("compile_kernels"),
    shell:
        """
        python -m ccreport compile_kernels \
            --kernels {output.kernels:q} \
            &>{log:q}
        """


rule ingest_batch:
    """Read the raw files of the experiments of a batch that changed, and keep what is known of the others."""
    input:
        manifests=ancient("<results>/manifests"),
        kernels="<results>/kernels.txt",
    output:
        collect("<results>/tables/{table}/{{batch}}.parquet", table=READ_TABLES),
        collect("<results>/rejects/{reader}/{{batch}}.parquet", reader=RULES),
    log:
        "<logs>/ingest_batch/{batch}.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("ingest_batch", *READ_TABLES, "rejects"),
        manifest=digest_manifest,
        # Whether an archive elsewhere is packed may show only when it was fetched.
        root=lambda wildcards: find_raw_folder(PLACES, UNPACKED),
        tables=RESULTS / "tables",
        rejected=RESULTS / "rejects",
        packet_runs=list_packet_runs,
        edge_paths=config["edge"]["paths"],
        access_log_format=config["edge"]["access_log_format"],
    shell:
        """
        python -m ccreport ingest_batch \
            --batch {wildcards.batch:q} \
            --manifests {input.manifests:q}/{wildcards.batch:q}.json \
            --root {params.root:q} \
            --tables {params.tables:q} \
            --rejected {params.rejected:q} \
            --packet-runs {params.packet_runs:q} \
            --edge-paths {params.edge_paths:q} \
            --access-log-format {params.access_log_format:q} \
            &>{log:q}
        """
