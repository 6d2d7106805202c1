"""
Measure: flows and runs of one experiment, and the ledger of the whole archive.

Inputs:  <results>/tables/<table>/<experiment>.parquet, <results>/rejects/<rule>/<experiment>.parquet
Outputs: <results>/tables/{flows,runs,reconciliation}/<experiment>.parquet
         <results>/tables/{raw_files,rejects}/archive.parquet
"""


rule measure_runs:
    """Measure the flows of one experiment, add them up to runs, and compare them with captures."""
    input:
        manifest="<results>/manifests/{experiment}.json",
        tests="<results>/tables/tests/{experiment}.parquet",
        streams="<results>/tables/streams/{experiment}.parquet",
        samples="<results>/tables/samples/{experiment}.parquet",
        cpu_samples="<results>/tables/cpu_samples/{experiment}.parquet",
        experiments="<results>/tables/experiments/{experiment}.parquet",
        hosts="<results>/tables/hosts/{experiment}.parquet",
        qdiscs="<results>/tables/qdiscs/{experiment}.parquet",
        captures="<results>/tables/captures/{experiment}.parquet",
        capture_logs="<results>/tables/capture_logs/{experiment}.parquet",
        packet_flows="<results>/tables/packet_flows/{experiment}.parquet",
        packet_intervals="<results>/tables/packet_intervals/{experiment}.parquet",
        code=list_sources("measure_runs", "flows", "runs", "reconciliation"),
    output:
        flows="<results>/tables/flows/{experiment}.parquet",
        runs="<results>/tables/runs/{experiment}.parquet",
        reconciliation="<results>/tables/reconciliation/{experiment}.parquet",
    log:
        "<logs>/measure_runs/{experiment}.txt",
    conda:
        "../environment.yml"
    params:
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
        python -m ccreport measure_runs \
            --manifest {input.manifest:q} \
            --tests {input.tests:q} \
            --streams {input.streams:q} \
            --samples {input.samples:q} \
            --cpu-samples {input.cpu_samples:q} \
            --experiments {input.experiments:q} \
            --hosts {input.hosts:q} \
            --qdiscs {input.qdiscs:q} \
            --captures {input.captures:q} \
            --capture-logs {input.capture_logs:q} \
            --packet-flows {input.packet_flows:q} \
            --packet-intervals {input.packet_intervals:q} \
            --flows {output.flows:q} \
            --runs {output.runs:q} \
            --reconciliation {output.reconciliation:q} \
            {params.interrupted} \
            {params.cpu_bound} \
            &>{log:q}
        """


rule measure_ledger:
    """Count again what became of every raw file; fail if one is unaccounted for."""
    input:
        list_experiment_tables,
        list_experiment_rejects,
        experiments="<results>/experiments.txt",
        code=list_sources("measure_ledger", "raw_files", "rejects"),
    output:
        raw_files="<results>/tables/raw_files/archive.parquet",
        rejects="<results>/tables/rejects/archive.parquet",
    log:
        "<logs>/measure_ledger.txt",
    conda:
        "../environment.yml"
    params:
        manifests=RESULTS / "manifests",
        tables=RESULTS / "tables",
        rejected=RESULTS / "rejects",
        strict="--strict" if config["strict"] else "--no-strict",
    shell:
        """
        python -m ccreport measure_ledger \
            --experiments {input.experiments:q} \
            --manifests {params.manifests:q} \
            --tables {params.tables:q} \
            --rejected {params.rejected:q} \
            --raw-files {output.raw_files:q} \
            --rejects {output.rejects:q} \
            {params.strict} \
            &>{log:q}
        """
