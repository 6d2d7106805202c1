"""Pages without content take their sections and the links to both with them."""

import shutil
from pathlib import Path

from archives import ROOT

from ccreport.report.site.absent_pages import leave_out_pages


def test_a_report_without_claims_explains_none(tmp_path: Path) -> None:
    for page in (ROOT / "reports").glob("*.qmd"):
        shutil.copyfile(page, tmp_path / page.name)
    assert "{{< include fragments/words.md >}}" in (tmp_path / "methods.qmd").read_text(encoding="utf-8")
    leave_out_pages(tmp_path, ["claims", "reproduction"])
    pages = {page.name: page.read_text(encoding="utf-8") for page in tmp_path.glob("*.qmd")}
    assert "claims.qmd" not in pages
    assert "Which claims hold" not in pages["index.qmd"]
    assert "Which runs were left out" in pages["index.qmd"]
    assert "fragments/words.md" not in pages["methods.qmd"]
    assert "## Suspect runs" in pages["methods.qmd"]
    assert "the table of words in `src" in pages["evaluations.qmd"]
    assert [name for name, text in pages.items() if "sec-claims" in text or "sec-reproduction" in text] == []
