"""
Ingest: the raw files of one experiment as typed tables, whatever their formats.

Inputs:  <results>/manifests/<experiment>.json and the raw files that it lists
Outputs: <results>/tables/<table>/<experiment>.parquet
         <results>/rejects/<reader>/<experiment>.parquet, what could not be used and why
"""


rule compile_kernels:
    """Compile the readers' kernels once, before many jobs would each do it."""
    input:
        code=list_sources("compile_kernels"),
    output:
        kernels="<results>/kernels.txt",
    log:
        "<logs>/compile_kernels.txt",
    conda:
        "../environment.yml"
    shell:
        """
        python -m ccreport compile_kernels \
            --kernels {output.kernels:q} \
            &>{log:q}
        """


rule ingest_experiment:
    """Read all raw files of one experiment: iperf3, pscheduler, ss, mpstat, metadata, captures, campaigns."""
    input:
        manifest="<results>/manifests/{experiment}.json",
        kernels="<results>/kernels.txt",
        code=list_sources(
            "ingest_experiment", *INGESTED_TABLES, *PACKET_TABLES, "rejects"
        ),
    output:
        tests="<results>/tables/tests/{experiment}.parquet",
        streams="<results>/tables/streams/{experiment}.parquet",
        intervals="<results>/tables/intervals/{experiment}.parquet",
        samples="<results>/tables/samples/{experiment}.parquet",
        cpu_samples="<results>/tables/cpu_samples/{experiment}.parquet",
        experiments="<results>/tables/experiments/{experiment}.parquet",
        hosts="<results>/tables/hosts/{experiment}.parquet",
        qdiscs="<results>/tables/qdiscs/{experiment}.parquet",
        harness_results="<results>/tables/harness_results/{experiment}.parquet",
        captures="<results>/tables/captures/{experiment}.parquet",
        capture_logs="<results>/tables/capture_logs/{experiment}.parquet",
        packet_flows="<results>/tables/packet_flows/{experiment}.parquet",
        packet_intervals="<results>/tables/packet_intervals/{experiment}.parquet",
        packets="<results>/tables/packets/{experiment}.parquet",
        connections="<results>/tables/connections/{experiment}.parquet",
        web_requests="<results>/tables/web_requests/{experiment}.parquet",
        machine_counters="<results>/tables/machine_counters/{experiment}.parquet",
        rpc_tests="<results>/tables/rpc_tests/{experiment}.parquet",
        rpc_samples="<results>/tables/rpc_samples/{experiment}.parquet",
        rpc_histograms="<results>/tables/rpc_histograms/{experiment}.parquet",
        sessions="<results>/tables/sessions/{experiment}.parquet",
        calibrations="<results>/tables/calibrations/{experiment}.parquet",
        attempts="<results>/tables/attempts/{experiment}.parquet",
        rejects=collect(
            "<results>/rejects/{reader}/{{experiment}}.parquet", reader=READERS
        ),
    log:
        "<logs>/ingest_experiment/{experiment}.txt",
    conda:
        "../environment.yml"
    params:
        root=RAW_FOLDER,
        packet_runs=list_packet_runs,
        edge_paths=config["edge"]["paths"],
        access_log_format=config["edge"]["access_log_format"],
    shell:
        """
        python -m ccreport ingest_experiment \
            --manifest {input.manifest:q} \
            --root {params.root:q} \
            --tests {output.tests:q} \
            --streams {output.streams:q} \
            --intervals {output.intervals:q} \
            --samples {output.samples:q} \
            --cpu-samples {output.cpu_samples:q} \
            --experiments {output.experiments:q} \
            --hosts {output.hosts:q} \
            --qdiscs {output.qdiscs:q} \
            --harness-results {output.harness_results:q} \
            --captures {output.captures:q} \
            --capture-logs {output.capture_logs:q} \
            --packet-flows {output.packet_flows:q} \
            --packet-intervals {output.packet_intervals:q} \
            --packets {output.packets:q} \
            --connections {output.connections:q} \
            --web-requests {output.web_requests:q} \
            --machine-counters {output.machine_counters:q} \
            --rpc-tests {output.rpc_tests:q} \
            --rpc-samples {output.rpc_samples:q} \
            --rpc-histograms {output.rpc_histograms:q} \
            --sessions {output.sessions:q} \
            --calibrations {output.calibrations:q} \
            --attempts {output.attempts:q} \
            --rejects {output.rejects:q} \
            --packet-runs {params.packet_runs:q} \
            --edge-paths {params.edge_paths:q} \
            --access-log-format {params.access_log_format:q} \
            &>{log:q}
        """
