"""
Inventory: what the archive holds.

Inputs:  the archive of config.yaml
Outputs: <results>/batches.txt, one batch of experiments a line
         <results>/archive.json, facts of the archive as a whole
         <results>/manifests/<batch>.json, its runs and files
         <results>/inventory.jsonl, what was found out of experiments and files, for those that do not change
         <results>/archive/, what was packed, and of an archive in parts links to the files below <results>/parts/
"""


checkpoint list_raw_files:
    """List every raw file of the archive, by batch, experiment and run."""
    input:
        fetched=FETCHED_FACTS if IS_REMOTE else [],
        # Before anything is read.
        checked=check_sql_of_evaluations,
    output:
        batches="<results>/batches.txt",
        facts="<results>/archive.json",
        manifests=directory("<results>/manifests"),
        # Read before it is written: a job that fails leaves it as it was.
        index=update("<results>/inventory.jsonl"),
    log:
        "<logs>/list_raw_files.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("list_raw_files"),
        archive=PLACES,
        # Not an input: a folder's own time stamp says nothing about changes deep inside it, a tarball may be replaced by an
        # older one, and Snakemake takes no input whose time is in the future, as of a machine whose clock is ahead.
        # Asked by this rule only, and once, as it looks at every file.
        fingerprint=lambda wildcards: [
            describe_fetched() if name in FETCHED else ask_fingerprint(place)
            for name, place in zip(ARCHIVES, PLACES)
        ],
        # Results from the future: the inventory is made again, so that the build begins, and sets their times back.
        set_backs=lambda wildcards: count_set_backs(RESULTS),
        unpacked=UNPACKED,
        tables=[RESULTS / "tables", RESULTS / "rejects"],
        batch_mib=config["batch_mib"],
        layout=[LAYOUT] if LAYOUT else [],
        layout_hash=LAYOUT_HASH,
    shell:
        """
        python -m ccreport list_raw_files \
            --archive {params.archive:q} \
            --unpacked {params.unpacked:q} \
            --index {output.index:q} \
            --manifests {output.manifests:q} \
            --tables {params.tables:q} \
            --batches {output.batches:q} \
            --facts {output.facts:q} \
            --batch-mib {params.batch_mib:q} \
            --layout {params.layout:q} \
            &>{log:q}
        """
