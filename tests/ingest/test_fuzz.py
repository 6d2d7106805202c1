"""What fuzzing begins with and what it found once: each reader ends well on it, the whole way to its tables."""

import pytest
from fuzz.seeds import SEEDS
from fuzz.targets import CORPUS, TARGETS, list_inputs


def test_every_reader_of_the_pipeline_is_fuzzed() -> None:
    assert set(SEEDS) == set(TARGETS)
    assert {path.name for path in CORPUS.iterdir()} <= set(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_a_reader_ends_well_on_what_was_found(name: str) -> None:
    inputs = list(list_inputs(name))
    assert inputs
    for data in inputs:
        TARGETS[name](data)
