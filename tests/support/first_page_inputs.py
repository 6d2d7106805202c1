"""Pairs, claims and comparisons for the first page."""

from typing import Any

import polars as pl

from ccreport.compare.verdicts import NOT_REPRODUCED, REPRODUCED, UNDECIDED
from ccreport.core.tables import conform
from ccreport.report.first_page.pairs import list_pairs

CLAIMS = {
    "first": {"text": "BBR is *faster*.", "source": "Section 1"},
    "second": {"text": "CUBIC <b>varies</b> more.", "source": "Section 2"},
    "third": {"text": "Both are alike.", "source": "Section 3"},
}
TITLES = {"table_1": "Table I: by buffer", "table_2": "Table II: on the testbed"}
BOTH = ["BBR", "CUBIC"]


def make_cells(
    table: str,
    cell: str,
    verdict: str | None,
    theirs: tuple[float, float | None, float | None],
    own: tuple[float, float | None, float | None],
    **others: Any,
) -> list[dict[str, Any]]:
    """Return the two rows of a pair; ratios are (value, low, high)."""
    row = {
        "comparison": "paper",
        "table_name": table,
        "cell": cell,
        "cell_state": "compared",
        "expected_cv": 0.1,
        "pair_verdict": verdict,
        **dict(zip((f"pair_expected{end}_ratio" for end in ("", "_low", "_high")), theirs, strict=True)),
        **dict(zip((f"pair{end}_ratio" for end in ("", "_low", "_high")), own, strict=True)),
    } | others
    return [row | {"algorithm": name, "cell_number": number} for number, name in enumerate(BOTH, 1)]


def make_pairs(*pairs: list[dict[str, Any]]) -> pl.DataFrame:
    rows = [row | {"cell_number": number} for number, row in enumerate((row for pair in pairs for row in pair), 1)]
    return list_pairs(conform(pl.DataFrame(rows, infer_schema_length=None), "reproduction"), BOTH)


WORDS = {"holds": "holds", "does not hold": "contradicted", "not enough data": "undecided"}


def make_claims(**verdicts: list[tuple[str, int]]) -> pl.DataFrame:
    """Return checks of claims, each as its verdict and its runs; the worst is the claim's."""
    order = ["does not hold", "not enough data", "holds"]
    rows = [
        {
            "claim_number": number,
            "claim": claim,
            "claim_verdict": (of_claim := min((verdict for verdict, _ in checks), key=order.index)),
            "claim_verdict_shown": WORDS[of_claim],
            "check_number": place,
            "check": "c",
            "runs_count": runs,
            "minimum_runs_count": 3,
            "verdict": verdict,
            "verdict_shown": WORDS[verdict],
        }
        for number, (claim, checks) in enumerate(verdicts.items(), 1)
        for place, (verdict, runs) in enumerate(checks, 1)
    ]
    return conform(pl.DataFrame(rows, infer_schema_length=None), "claims")


def declare(judged: pl.DataFrame, neutral: float | None = None) -> dict[str, Any]:
    """Return what an evaluation declares of claims: their texts, and of all checks the same neutral value."""
    counts = judged.group_by("claim", maintain_order=True).len().iter_rows()
    return {
        name: CLAIMS.get(name, CLAIMS["third"]) | {"checks": [{"neutral": neutral}] * count} for name, count in counts
    }


def make_comparisons(
    *verdicts: str | tuple[str, str, float | tuple[float, float, float] | None], least: float | None = None
) -> pl.DataFrame:
    """Return comparisons of BBR and CUBIC, each as its verdict, or with its question and ratio, with an interval."""
    rows = []
    for given in verdicts:
        verdict, question, ratios = (given, "no loss", None) if isinstance(given, str) else given
        ratio, low, high = ratios if isinstance(ratios, tuple) else (ratios, None, None)
        rows.append(
            {
                "table_name": "comparisons",
                "measure": "goodput_bps",
                "question": question,
                "first_algorithm": "BBR",
                "second_algorithm": "CUBIC",
                "verdict": verdict,
                "ahead_algorithm": verdict.removesuffix(" faster") if verdict.endswith(" faster") else None,
                "first_mean": ratio,
                "second_mean": None if ratio is None else 1.0,
                "effect_mean_ratio": ratio,
                "effect_low_ratio": low,
                "effect_high_ratio": high,
                "least_effect_pct": least,
                **dict.fromkeys(("first_runs_count", "second_runs_count", "strata_count"), 1),
                "is_paired": False,
                "tests_count": len(verdicts),
                "equal_within_pct": 5.0,
            }
        )
    return conform(pl.DataFrame(rows, infer_schema_length=None), "comparisons")


NO_COMPARISONS = make_comparisons()
AHEAD = make_cells("table_1", "12 MB", REPRODUCED, (8.0, 7.0, 9.0), (10.0, 8.0, 12.5))
ELSEWHERE = make_cells("table_2", "0.1 % loss", NOT_REPRODUCED, (25.8, 21.0, 31.0), (1.0, 0.99, 1.01))
CLOSE = make_cells("table_2", "no loss", UNDECIDED, (1.0, 0.9, 1.1), (1.0, 0.99, 1.01))
