"""What labels of an evaluation and their values are called, in columns and in words."""

from typing import Any

import polars as pl
import pytest

from ccreport.summarise.grids.label_names import call_labels, read_shown_names, show_names

LABELS: dict[str, Any] = {
    "severity": {"cases": [{"value": "clean", "shown": "No loss"}, {"value": "light", "shown": "Little, if any"}]},
    "far_away": {"cases": [{"value": "yes, it is"}]},
    "sender_speed": {"cases": [{"value": "clean", "shown": "40G"}]},
    "path_class": {"cases": [{"value": "lossy", "shown": "WAN"}, {"value": "clean"}]},
    "test_group": {"cases": [{"value": "clean", "shown": "Group A"}, {"value": "lossy", "shown": "clean"}]},
}
ROWS = ["severity", "far_away"]
DECLARED: dict[str, Any] = {
    "labels": LABELS,
    "tables": {"means": {"rows": ROWS, "headings": {"severity": "Severity of loss"}}},
    "published": {
        "text": {
            "title": "Abstract",
            "columns": {"severity": "{} at", "test_group": "{}", "flows_count": "{} flows"},
            "cells": [["clean", "clean", 16, 9.1], ["light", "elsewhere", 1, [1, None]]],
        }
    },
}


def test_values_of_labels_are_as_their_own_label_shows_them() -> None:
    shown = read_shown_names(LABELS)
    assert shown["severity"] == {"clean": "No loss", "light": "Little, if any"}
    assert "far_away" not in shown
    rows = pl.DataFrame(
        {
            "severity": ["clean", "heavy"],
            "test_group": ["clean", "lossy"],
            "matched_test_group": ["lossy", None],
            "host": ["clean", "lossy"],
            "labels": ["severity=clean; test_group=clean", None],
        }
    )
    assert show_names(rows, shown).rows() == [
        ("No loss", "Group A", "clean", "clean", "severity=No loss; test_group=Group A"),
        ("heavy", "clean", None, "lossy", None),
    ]


@pytest.mark.parametrize(
    ("table", "text", "called"),
    [
        # Each value is that of the table's own label, and no name is called another name.
        ("table_2_testbed", "clean, alone, 1 flow", "Group A, alone, 1 flow"),
        ("table_2_testbed", "lossy, alone, 1 flow", "clean, alone, 1 flow"),
        ("table_2_testbed", "cleaner, clean air", "cleaner, clean air"),
        ("table_3_paths", "clean sender, clean, both", "40G sender, clean, both"),
        ("retransmits", "clean sender, clean, clean, both", "40G sender, clean, Group A, both"),
        ("table_1_buffer_size", "clean, both", "clean, both"),
        # Behind the labels' names.
        (
            "means",
            "severity clean, far away yes, it is, 1 flow",
            "severity of loss: No loss, far away yes, it is, 1 flow",
        ),
        ("means", "severity light, far away unknown", "severity of loss: Little, if any, far away unknown"),
        ("means", "severity unknown", "severity of loss: unknown"),
        ("means", "clean, lossy", "clean, lossy"),
        ("comparisons", "clean, 1 flow", "clean, 1 flow"),
    ],
)
def test_words_have_the_labels_of_their_own_table(table: str, text: str, called: str) -> None:
    for column in ("question", "cell"):
        rows = pl.DataFrame({"table_name": [table], column: [text]})
        assert call_labels(rows, DECLARED)[column].to_list() == [called]


def test_published_cells_have_the_labels_of_their_columns() -> None:
    cells = ["clean at, clean, 16 flows", "light at, elsewhere, 1 flows", "clean"]
    rows = pl.DataFrame({"exhibit": "Abstract", "cell": cells})
    named = ["No loss at, Group A, 16 flows", "Little, if any at, elsewhere, 1 flows", "clean"]
    assert call_labels(rows, DECLARED)["cell"].to_list() == named


def test_the_labels_of_means_are_words() -> None:
    rows = pl.DataFrame({"labels": ["severity=clean; far_away=", None]})
    assert call_labels(rows, DECLARED)["labels"].to_list() == ["severity of loss: No loss, far away unknown", None]
