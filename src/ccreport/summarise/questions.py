"""Questions of the table `comparisons`: which algorithm is ahead in a row of a table, or under the same conditions.

The view `comparisons_runs` has the runs of all questions, one row per run, algorithm and quantity. Runs of one question
are compared within strata only: the same path (destination, round-trip time) and all other conditions.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.evaluation import MEANS
from ccreport.core.tables import load_schema

COMPARISONS: Final = "comparisons"
# The column of the table `means` with the evaluation's labels.
LABELS: Final = "labels"
RATE, RETRANSMITS, COMPLETION = "rate", "retransmits", "completion"
PAIRED: Final = "algorithm"
# Of each table whose rows can be asked about: the quantities that are compared.
QUANTITIES: Final[Mapping[str, tuple[str, ...]]] = {
    "table_1_buffer_size": (RATE,),
    "table_2_testbed": (RATE,),
    "table_3_paths": (RATE,),
    MEANS: (RATE, RETRANSMITS),
    "retransmits": (RETRANSMITS,),
}
# Conditions whose order their labels give.
RANKED: Final = (LABELS, "test_group", "path_class", "sender_speed", "rtt_bucket")
# The column that a verdict makes bold, by what its measure begins with.
BOLD_COLUMNS: Final = {
    MEANS: {"goodput": "rate_mean_bps", "throughput": "rate_mean_bps", "retransmit": "retransmit_ratio"},
    "retransmits": {"retransmit": "retransmit_mean_ratio"},
}
RATE_COLUMNS: Final = {"goodput": "rate_mean_bps", "throughput": "rate_mean_bps"}
# Without tables to ask about, each set of these is a question.
OWN_CONDITIONS: Final = (
    *("host", "path_rtt", "loss_pct", "loss_pattern", "nic_bps", "bottleneck_bps", "buffer_bytes", "pacing_bps"),
    "background_udp_bps",
    *("volume_bytes", "parameter_name", "parameter_value", "flows_count", "beside"),
)
# What runs of a stratum have in common. A measured RTT differs from run to run: the destination represents it.
STRATUM: Final = """
    (host, CASE WHEN coalesce(rtt_source, '') NOT IN ('ping', 'ss', 'iperf3') THEN rtt_ms END, loss_pct, loss_pattern,
    nic_bps, pacing_bps, bottleneck_bps, background_udp_bps, parameter_name, parameter_value, buffer_bytes,
    volume_bytes, flows_count, sharing, beside)::VARCHAR
"""
# How a question words a condition; other columns hold words.
WORDS: Final = {
    "flows_count": "flows_count || if(flows_count = 1, ' flow', ' flows')",
    "loss_pct": "printf('%.3g', loss_pct) || ' % loss'",
    # Loss is random where nothing is said.
    "loss_pattern": "CASE WHEN loss_pattern NOT IN ('none', 'random') THEN 'in ' || loss_pattern END",
    "buffer_bytes": "'buffer ' || name_size(buffer_bytes)",
    "volume_bytes": "name_size(volume_bytes)",
    "bottleneck_bps": "'bottleneck ' || name_rate(bottleneck_bps)",
    "nic_bps": "'sender ' || name_rate(nic_bps)",
    "pacing_bps": "'paced to ' || name_rate(pacing_bps)",
    # A value says nothing without its name.
    "parameter_name": "if(parameter_value IS NULL, parameter_name, NULL)",
    "parameter_value": "if(parameter_value IS NULL, NULL, concat_ws(' ', parameter_name, parameter_value))",
    "background_udp_bps": "'beside ' || name_rate(background_udp_bps) || ' of UDP'",
    "sender_speed": "sender_speed || ' sender'",
    "sender_host": "'from ' || sender_host",
    "limit_packets_count": "'queue of ' || limit_packets_count || ' packets'",
    "has_queue_ecn": "if(has_queue_ecn IS NULL, NULL, if(has_queue_ecn, 'queue with ECN', 'queue without ECN'))",
    "mtu_bytes": "'MTU ' || mtu_bytes || ' B'",
    "duration_s": "'for ' || printf('%g', duration_s) || ' s'",
    # changes at 5 s: RTT 80 ms 10mbit; 10 s: loss 1 %
    "stages_json": """CASE WHEN json_valid(stages_json) AND json_type(stages_json) = 'ARRAY' THEN
        'changes at ' || array_to_string(list_transform(from_json(stages_json, '["json"]'), lambda stage: concat_ws(
            ' ', (stage ->> '$.at_s') || ' s:', 'RTT ' || (stage ->> '$.rtt_ms') || ' ms', stage ->> '$.rate',
            'loss ' || (stage ->> '$.loss') || ' %'
        )), '; ')
    ELSE stages_json END""",
    # Algorithms as tables name them.
    "beside": """coalesce('both ' || (
        SELECT string_agg(algorithm, ' and ' ORDER BY algorithm_rank, algorithm) FROM algorithms
        WHERE list_contains(string_split(beside, ','), algorithms.cc)
    ), 'both ' || replace(beside, ',', ' and '), 'alone')""",
    # distance=near; loss_class=none
    LABELS: """array_to_string(list_transform(string_split(labels, '; '), lambda label: concat_ws(
        ' ', replace(split_part(label, '=', 1), '_', ' '),
        coalesce(nullif(regexp_replace(label, '^\\w+=', ''), ''), 'unknown')
    )), ', ')""",
}
# Conditions of the table `means` that its questions name only where they differ.
OFTEN_SAME: Final = (
    *("sender_host", "nic_bps", "limit_packets_count", "has_queue_ecn", "mtu_bytes", "duration_s", "stages_json"),
    "kernel",
)
# Name and value of a quantity; of a time also whether it is known, or only that the run took longer.
MEASURES: Final = {
    RATE: ("rate_basis || '_bps'", "rate_bps", "TRUE", ""),
    RETRANSMITS: ("'retransmit_ratio'", "retransmit_ratio", "TRUE", ""),
    COMPLETION: ("'completion_s'", "completion_s", "is_complete", "LEFT JOIN run_completions USING (run_id, cc)"),
}
# Where one algorithm has more flows of a run than another, its sum of rates says nothing of the algorithm.
PER_FLOW: Final = """(
    WITH asked AS {asked},
    unequal AS (
        SELECT DISTINCT question FROM asked GROUP BY question, run_id HAVING min(cc_flows_count) < max(cc_flows_count)
    ),
    counts AS (
        SELECT
            question, algorithm, algorithm_rank, max(cc_flows_count) AS most_count,
            concat_ws(' to ', nullif(min(cc_flows_count), most_count), most_count) || ' ' || algorithm AS counted
        FROM asked SEMI JOIN unequal USING (question)
        GROUP BY question, algorithm, algorithm_rank
    ),
    words AS (
        SELECT question, string_agg(counted, ', ' ORDER BY algorithm_rank, algorithm) AS counted
        FROM counts
        GROUP BY question
    )
    SELECT
        asked.* EXCLUDE (question, measure, value),
        asked.question || coalesce(', rate per flow (flows: ' || counted || ')', '') AS question,
        CASE WHEN counted IS NULL THEN measure ELSE rate_basis || '_per_flow_bps' END AS measure,
        CASE WHEN counted IS NULL THEN value ELSE value / cc_flows_count END AS value
    FROM asked LEFT JOIN words USING (question)
)"""


def select_questions(own_runs: str, tables: Mapping[str, Mapping[str, Any]], equal_within_pct: float) -> str:
    """Return the query of `comparisons_runs`.

    `tables` are published tables, by name as the evaluation declares them, whose rows are the questions; without any,
    each set of conditions of the runs of the query `own_runs` is one.
    """
    parts = [
        _select_measure(table, f"FROM {table}_runs", list_conditions(table, declared), quantity)
        for table, declared in tables.items()
        for quantity in QUANTITIES[table]
    ]
    # A transfer of a given volume is judged by its time, any other run by its rate.
    parts = parts or [
        _select_measure(COMPARISONS, f"FROM ({own_runs}) WHERE volume_bytes IS {given}", OWN_CONDITIONS, quantity)
        for quantity, given in ((RATE, "NULL"), (RETRANSMITS, "NULL"), (COMPLETION, "NOT NULL"))
    ]
    ranks = " ".join(f"WHEN '{table}' THEN {rank}" for rank, table in enumerate((*tables, COMPARISONS)))
    # Names of tables and columns are the program's own.
    return f"""
        SELECT
            asked.*, stratum, CASE table_name {ranks} END AS table_rank,
            {equal_within_pct}::DOUBLE AS equal_within_pct
        FROM ({" UNION ALL BY NAME ".join(parts)}) AS asked
        JOIN (SELECT DISTINCT run_id, {STRATUM} AS stratum FROM all_algorithm_runs) USING (run_id)
    """


def list_conditions(table: str, declared: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that name a row of a table of questions, in the order of its key.

    Of the table `means` these are the ones that its declaration tells apart.
    """
    pooled = list_pooled(declared) if table == MEANS else ()
    return tuple(name for name in load_schema(table).key if name not in {PAIRED, *pooled})


def list_pooled(declared: Mapping[str, Any]) -> list[str]:
    """Return the columns of the key of the table `means` that its declaration does not tell apart."""
    key = load_schema(MEANS).key
    named = {LABELS, *declared.get("rows", key), *declared.get("columns", ())}
    return [name for name in key if name not in named]


def _select_measure(table: str, runs: str, conditions: Sequence[str], quantity: str) -> str:
    measure, value, is_known, joined = MEASURES[quantity]
    order = ", ".join(_list_orders(conditions))
    asked = f"""(
        SELECT
            *, '{table}' AS table_name, {name_question(table, conditions)} AS question, {measure} AS measure,
            {value} AS value, {is_known} AS is_known, dense_rank() OVER (ORDER BY {order}) AS question_rank
        FROM (SELECT * {runs}) {joined}
    )"""
    return PER_FLOW.format(asked=asked) if quantity == RATE else asked


def name_question(table: str, conditions: Sequence[str]) -> str:
    """Return the SQL of a question about a table in words, over the columns of its conditions."""
    words = {name: WORDS.get(name, name) for name in conditions}
    if table == MEANS:
        differs = "count(DISTINCT coalesce({0}::VARCHAR, '')) OVER () > 1"
        words |= {
            name: f"CASE WHEN {differs.format(name)} THEN {words[name]} END" for name in OFTEN_SAME if name in words
        }
    return f"concat_ws(', ', {', '.join(words.values())})"


def _list_orders(conditions: Sequence[str]) -> Iterator[str]:
    for name in conditions:
        if name in RANKED:
            yield f"{name}_rank"
        elif name == "path_rtt":
            yield "rtt_ms"
        elif name == "parameter_value":
            yield "natural_key(parameter_value, parameter_name)"
        yield name


def has_questions(connection: duckdb.DuckDBPyConnection) -> bool:
    """Tell whether a database compares anything: whether it has the view of the runs of all questions."""
    views = connection.sql("SELECT view_name FROM duckdb_views() WHERE view_name = 'comparisons_runs'")
    return bool(views.fetchall())


def ask_table(connection: duckdb.DuckDBPyConnection, table: str) -> pl.DataFrame | None:
    """Return the rows of the query of `comparisons` about one table, without statistics; null where nothing asks it."""
    if table not in QUANTITIES or not has_questions(connection):
        return None
    asked: pl.DataFrame = connection.sql(f"FROM {COMPARISONS} WHERE table_name = '{table}'").pl()
    return asked


def find_bold(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    declared: Mapping[str, Any],
    summary: pl.DataFrame,
    judged: pl.DataFrame,
) -> dict[str, pl.Series]:
    """Return for each column of a declared table that a verdict can make bold, which rows are ahead of all others.

    `judged` are the comparisons of the table with their verdicts.
    """
    words = name_question(table, list_conditions(table, declared))
    connection.register("summary_rows", summary.to_arrow())
    try:
        questions = connection.sql(f"SELECT {words} FROM summary_rows").fetchall()
    finally:
        connection.unregister("summary_rows")
    bold: dict[str, pl.Series] = {}
    for start, column in BOLD_COLUMNS.get(table, RATE_COLUMNS).items():
        ahead = _find_ahead(judged.filter(pl.col("measure").str.starts_with(start)))
        rows = zip(questions, summary[PAIRED], strict=True)
        is_ahead = pl.Series([ahead.get(question) == algorithm for (question,), algorithm in rows], dtype=pl.Boolean)
        bold[column] = bold[column] | is_ahead if column in bold else is_ahead
    return bold


def _find_ahead(judged: pl.DataFrame) -> dict[str, str]:
    """Return by question the algorithm that is ahead of all others that it is compared with."""
    ahead = {}
    for (question,), pairs in judged.group_by("question", maintain_order=True):
        algorithms = {*pairs["first_algorithm"], *pairs["second_algorithm"]}
        for algorithm in algorithms:
            if int((pairs["ahead_algorithm"] == algorithm).sum()) == len(algorithms) - 1:
                ahead[str(question)] = algorithm
    return ahead
