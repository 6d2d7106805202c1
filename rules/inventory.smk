"""
Inventory: what the archive holds.

Inputs:  the archive of config.yaml
Outputs: <results>/batches.txt, one batch of experiments a line
         <results>/archive.json, facts of the archive as a whole
         <results>/manifests/<batch>.json, its runs and files; rewritten only where that changes it
         <results>/inventory.jsonl, what was found out of experiments and files, for those that do not change
"""


checkpoint list_raw_files:
    """List every raw file of the archive, by batch, experiment and run."""
    input:
        fetched="<results>/fetched.json" if IS_REMOTE else [],
    output:
        batches="<results>/batches.txt",
        facts="<results>/archive.json",
    log:
        "<logs>/list_raw_files.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("list_raw_files"),
        archive=ARCHIVE,
        # Not an input: a folder's own time stamp says nothing about changes deep inside it, a tarball may be replaced by an
        # older one, and Snakemake takes no input whose time is in the future, as of a machine whose clock is ahead.
        # Asked by this rule only, and once, as it looks at every file.
        fingerprint=lambda wildcards: (
            "fetched" if IS_REMOTE else ask_fingerprint(ARCHIVE)
        ),
        unpacked=RESULTS / "archive",
        index=RESULTS / "inventory.jsonl",
        manifests=RESULTS / "manifests",
        tables=[RESULTS / "tables", RESULTS / "rejects"],
        batch_mib=config["batch_mib"],
    shell:
        """
        python -m ccreport list_raw_files \
            --archive {params.archive:q} \
            --unpacked {params.unpacked:q} \
            --index {params.index:q} \
            --manifests {params.manifests:q} \
            --tables {params.tables:q} \
            --batches {output.batches:q} \
            --facts {output.facts:q} \
            --batch-mib {params.batch_mib:q} \
            &>{log:q}
        """
