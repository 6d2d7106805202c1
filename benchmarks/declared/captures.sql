-- The table of benchmarks/today/captures.py: a row for each job with captures. As tcptrace does, it counts SYNs and FINs
-- that are sent again among the data packets that are.
SELECT
    job,
    sum(data_packets_count)::BIGINT AS data_packets,
    sum(retransmits_seen_count + control_retransmits_count)::BIGINT AS retransmits,
    sum(payload_bytes)::BIGINT AS payload_bytes
FROM packet_flows JOIN runs USING (run_id)
WHERE direction = 'out'
GROUP BY job
ORDER BY job
