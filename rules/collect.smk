"""
Collect: a declared sweep carried out on an emulated testbed, into a raw archive that the other rules read.

Inputs:  the campaign of config.yaml
Outputs: none that Snakemake knows: it would remove an archive that is half collected
The archive is <collect_into>/<campaign>/; <results>/collected/<campaign>.json has the counts of its runs and attempts.
"""

CAMPAIGN = Path(config["campaign"])


rule collect:
    """Make the runs of the campaign that its archive does not have yet, if any; the terminal shows how far it is."""
    input:
        campaign=CAMPAIGN,
    log:
        f"<logs>/collect/{CAMPAIGN.stem}.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("collect"),
        archive=Path(config["collect_into"]) / CAMPAIGN.stem,
        summary=RESULTS / f"collected/{CAMPAIGN.stem}.json",
        clock=config["collect_clock"] or "",
        kernel=config["collect_kernel"] or "",
    shell:
        """
        python -m ccreport collect \
            --campaign {input.campaign:q} \
            --archive {params.archive:q} \
            --summary {params.summary:q} \
            --clock={params.clock:q} \
            --kernel={params.kernel:q} \
            2>&1 | tee --ignore-interrupts {log:q}
        """
