"""What each published table is made of: the query for its rows, with the columns that the table's own query reads."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from ccreport.core.evaluation import MEANS
from ccreport.core.tables import load_schema
from ccreport.summarise.loss_patterns import LOSS_PATTERN, NONE
from ccreport.summarise.published import PUBLISHED_VALUES, select_published_runs
from ccreport.summarise.questions import COMPARISONS, LABELS, list_pooled, select_questions

# Published tables that are made of RPC tests, of which no run has a rate.
RPC_TABLES: Final = frozenset({"rpc_latency", "rpc_load"})

# Of a table's rate: goodput where the receivers of all its runs reported.
EITHER: Final = "either"
# What is between two labels of the evaluation in their column.
BETWEEN_LABELS: Final = "; "


def select_source(table: str, declared: Mapping[str, Any]) -> str:
    """Return the query that selects what a published table of an evaluation is made of."""
    facts = declared["tables"][table]
    if table in RPC_TABLES:
        return select_rpc(facts)
    if table == PUBLISHED_VALUES:
        return select_published_runs(declared["published"])
    runs = select_runs(facts)
    if table == MEANS:
        return pool_conditions(runs, facts, declared["labels"])
    if table == COMPARISONS:
        asked = {name: declared["tables"][name] for name in facts["questions"]}
        return select_questions(runs, asked, declared["equal_within_pct"])
    return runs


def select_rpc(table: Mapping[str, Any]) -> str:
    """Return the query that selects the RPC tests that a published table is made of."""
    return f"FROM labelled_rpc WHERE (\n{table['where']}\n)"


def pool_conditions(runs: str, table: Mapping[str, Any], labels: Collection[str] = ()) -> str:
    """Return a query for runs with those conditions null that the table `means` does not tell apart.

    Of the evaluation's `labels`, those that it tells apart are in `labels` as `label=value; …`, and where they sort in
    `labels_rank`.
    """
    # A loss of 0 says that it has no pattern.
    replaced = {LOSS_PATTERN: f"nullif({LOSS_PATTERN}, '{NONE}')"}
    replaced |= {name: f"nullif({name}, {name})" for name in list_pooled(table)}
    shown = f"* REPLACE ({', '.join(f'{value} AS {name}' for name, value in replaced.items())})"
    own = list_own_labels(table, labels)
    values = [f"""{_quote(f"{name}=", "'")} || coalesce({_quote(name)}::VARCHAR, '')""" for name in own]
    told = f"concat_ws('{BETWEEN_LABELS}', {', '.join(values)})" if own else "NULL::VARCHAR"
    ranks = f"[{', '.join(_quote(f'{name}_rank') for name in own)}]::INTEGER[]"
    return f"SELECT {shown}, {told} AS {LABELS}, {ranks} AS labels_rank FROM ({runs})"


def list_own_labels(table: Mapping[str, Any], labels: Collection[str]) -> list[str]:
    """Return those labels of an evaluation that the table `means` tells apart, as it is declared."""
    key = load_schema(MEANS).key
    return [name for name in (*table.get("rows", ()), *table.get("columns", ())) if name in labels and name not in key]


def _quote(text: str, mark: str = '"') -> str:
    return mark + text.replace(mark, 2 * mark) + mark


def select_runs(table: Mapping[str, Any]) -> str:
    """Return the query that selects what a published table is made of, with `rate_bps` and its `rate_basis`.

    The rate is the one that the table declares; where no selected run has a receiver's rate, it is the sender's. Of
    `either` it is the sender's where any selected run has no receiver's.
    """
    least = "count(coalesce(goodput_bps, throughput_bps))" if table["rate"] == EITHER else "1"
    rate = "goodput" if table["rate"] == EITHER else table["rate"]
    return f"""
        WITH selected AS (FROM algorithm_runs WHERE is_counted AND (
{table["where"]}
)),
        basis AS (
            SELECT CASE WHEN count(goodput_bps) >= {least} THEN '{rate}' ELSE 'throughput' END AS rate_basis
            FROM selected
        )
        SELECT selected.*, rate_basis,
            CASE rate_basis WHEN 'goodput' THEN goodput_bps ELSE throughput_bps END AS rate_bps
        FROM selected, basis
        WHERE CASE rate_basis WHEN 'goodput' THEN goodput_bps ELSE throughput_bps END IS NOT NULL
    """
