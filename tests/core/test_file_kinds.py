"""Files of one kind, given to who takes another: each is called by its own kind, with what takes it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from archives import ROOT

from ccreport.archive.read_layout import load_layout
from ccreport.collect.declare.campaign import load_campaign
from ccreport.compare.claims import explains_archive
from ccreport.compare_kernels.declaration import load_comparison
from ccreport.core.declared_files import KINDS, DeclarationError, find_other_kind
from ccreport.core.evaluation import load_evaluation

FILES = {
    "campaign": ROOT / "campaigns/quick.yaml",
    "comparison": ROOT / "comparisons/hystart.yaml",
    "config": ROOT / "config.yaml",
    "evaluation": ROOT / "evaluations/generic.yaml",
    "explanations": "archive_sha256: '0'\nevaluations: {}\n",
    "layout": "files:\n- pattern: '{run}.json'\n",
}
READERS: dict[str, Callable[[Path], Any]] = {
    "campaign": lambda path: load_campaign(path, {"clock": "virtual"}),
    "comparison": load_comparison,
    "evaluation": load_evaluation,
    "explanations": lambda path: explains_archive(path, ""),
    "layout": load_layout,
}


@pytest.mark.parametrize(("kind", "wanted"), [(kind, wanted) for kind in FILES for wanted in READERS if kind != wanted])
def test_a_file_of_another_kind_is_called_by_its_own(kind: str, wanted: str, tmp_path: Path) -> None:
    written = FILES[kind]
    path = tmp_path / "own.yaml"
    path.write_text(written if isinstance(written, str) else written.read_text(encoding="utf-8"), encoding="utf-8")
    noun, reader = KINDS[kind]
    if (kind, wanted) == ("campaign", "comparison"):
        # Not `collect`, which refuses those with `candidate`.
        reader = "`campaign: {}` in a comparison"
    told = f"this is {noun}, not {KINDS[wanted][0]}; {reader.format(path)} takes it"
    with pytest.raises(DeclarationError, match=rf"own\.yaml(:1)?: {re.escape(told)}$"):
        READERS[wanted](path)


def test_a_misspelt_key_does_not_make_another_kind() -> None:
    assert find_other_kind({"titel": "x", "sessions": []}, "campaign", "own.yaml") is None
    assert find_other_kind({"title": "x"}, "campaign", "own.yaml") is None
    assert find_other_kind({"nothing": 1}, "evaluation", "own.yaml") is None
    assert find_other_kind([], "evaluation", "own.yaml") is None
