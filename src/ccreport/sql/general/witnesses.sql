-- Witnesses: every captured data flow with what iperf3, ss and the capture say of it, and why they differ.
-- All rows of the table reconciliation, those of runs that count in no mean included: a difference is worth a look there.
SELECT
    runs.session,
    runs.job,
    runs.iteration,
    flows.local_port,
    algorithms.algorithm,
    reconciliation.retransmits_iperf3_count,
    reconciliation.retransmits_ss_count,
    reconciliation.retransmits_ss_net_count,
    reconciliation.retransmits_capture_count,
    reconciliation.iperf3_difference_count,
    reconciliation.ss_difference_count,
    reconciliation.goodput_iperf3_bps,
    reconciliation.goodput_ss_bps,
    reconciliation.goodput_capture_bps,
    reconciliation.rtt_min_iperf3_ms,
    reconciliation.rtt_min_ss_ms,
    reconciliation.rtt_min_capture_ms,
    reconciliation.is_explained,
    reconciliation.explanation,
    reconciliation.flow_id,
    reconciliation.raw_file_id
FROM reconciliation
JOIN runs USING (run_id)
JOIN flows USING (run_id, flow_id)
LEFT JOIN algorithms ON algorithms.cc = coalesce(reconciliation.cc, 'unknown')
ORDER BY
    runs.session, runs.job, runs.iteration, flows.local_port, reconciliation.raw_file_id, reconciliation.flow_id
