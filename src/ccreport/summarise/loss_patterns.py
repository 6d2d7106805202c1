"""How each run's packets are lost, as netem's recorded model has it: `loss_pattern`, where no label takes its place."""

from collections.abc import Container
from typing import Final

LOSS_PATTERN: Final = "loss_pattern"
NONE, RANDOM, BURSTS = "none", "random", "bursts"
PATTERNS: Final = (NONE, RANDOM, BURSTS)
# gemodel · gemodel 20% · state 1% 5% · 25%: the correlation of each loss with the one before
BURSTY: Final = r"^\s*(gemodel|state|0*[.]?0*[1-9])"


def mark_loss_patterns(runs: str, labels: Container[str]) -> str:
    """Return the query that adds `loss_pattern` to a query of runs, but where the evaluation's labels have one.

    The pattern is null where the loss is not known.
    """
    if LOSS_PATTERN in labels:
        return runs
    return f"""
        SELECT runs.*, CASE
            WHEN loss_pct = 0 THEN '{NONE}'
            WHEN loss_pct > 0 AND (qdisc_bursts OR job_bursts) THEN '{BURSTS}'
            WHEN loss_pct > 0 THEN '{RANDOM}'
        END AS {LOSS_PATTERN}
        FROM ({runs}) AS runs
        LEFT JOIN (
            SELECT run_id, bool_or(regexp_matches(loss_model, '{BURSTY}')) AS qdisc_bursts FROM qdiscs GROUP BY run_id
        ) USING (run_id)
        LEFT JOIN (
            SELECT experiment_id, bool_or(regexp_matches(loss_model, '{BURSTY}')) AS job_bursts
            FROM experiments GROUP BY experiment_id
        ) USING (experiment_id)
    """
