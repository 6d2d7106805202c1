import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import open_chromium
from builds import CUT
from playwright.sync_api import Browser

from ccreport.archive.harness_layout import find_root
from ccreport.archive.unpack import unpack_archive


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh-golden", action="store_true", help="write the golden files anew from this build")


# The longest first, by CI's log: begun last, such a file would keep one process waiting for the other.
LONGEST = (
    "test_faults",
    "test_browser",
    "test_refusals",
    "test_cluster",
    "test_compare_live",
    "test_own_archive",
    "test_documented_commands",
    "test_release",
    "test_workflow_changes",
    "test_hostile_report",
    "test_workflow",
    "test_explorer_browser",
    "test_explorer_list",
    "test_explorer_plots",
    "test_workflow_elsewhere",
    "test_row_order",
    "test_read_only",
    "test_verify",
    "test_capture_fuzz",
    "test_virtual_time",
    "test_workflow_parts",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


def pytest_unconfigure() -> None:
    # A callback that Hypothesis leaves there keeps DuckDB's objects alive to the end, which prints pages of warnings.
    gc.callbacks.clear()


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the cut of the sample archive as a folder."""
    folder = tmp_path_factory.mktemp("raw")
    unpack_archive(CUT, folder / "cut")
    return find_root(folder / "cut")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_chromium() as opened:
        yield opened
