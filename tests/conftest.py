import gc

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh-golden", action="store_true", help="write the golden files anew from this build")


def pytest_unconfigure() -> None:
    # A callback that Hypothesis leaves there keeps DuckDB's objects alive to the end, which prints pages of warnings.
    gc.callbacks.clear()
