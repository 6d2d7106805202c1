"""The PDF: every page of its list in order, tables and figures numbered, hostile text as text, the same bytes."""

import re
import shutil
import subprocess
from io import BytesIO
from pathlib import Path

import pikepdf
import pytest
from lxml.html import fragment_fromstring
from pdf_structure import find_faults
from report_inputs import NASTY

from ccreport.report.markup.blocks import render_callout, render_float, render_table, render_tabs, text, verbatim
from ccreport.report.markup.escape import escape_text, show_text
from ccreport.report.pdf.layout import break_sentences, read_table
from ccreport.report.pdf.render import render_paper
from ccreport.report.site.links import PageError

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="150"><rect width="9" height="9"/>'
    '<text x="9" y="50" font-family="Liberation Sans, Arial" font-size="11px">Throughput</text></svg>'
)
FIGURE = '![A caption](figures/one/figure.svg){#fig-one fig-alt="Rises to 5 &quot;Gbit/s&quot;" width=300 height=150}'
# In Typst's own notation.
TYPST = (
    '#eval("1 + 1") #panic("run")',
    "$ sum $ and @reference and <label>",
    "*bold* _emphasis_ `code` \\u{41}",
    "= heading",
    "- item",
    "+ item",
    "/ term: meaning",
    "// comment /* comment */",
    "[content] ] ) }",
    '"] #read("/etc/passwd")',
    "https://example.org/#x~y -- --- ...",
)


def make_project(folder: Path, pages: dict[str, str]) -> dict[str, Path]:
    """Write a report of these pages, the first of which is listed first, and return the arguments of `render_paper`."""
    for name in ("reports", "fragments", "figures/one"):
        (folder / name).mkdir(parents=True)
    listed = "".join(f"  - {name}.qmd\n" for name in pages)
    (folder / "reports/report.md").write_text(f"---\npages:\n{listed}---\n\nOf {{{{< var evaluation.title >}}}}.\n")
    for name, content in pages.items():
        (folder / f"reports/{name}.qmd").write_text(f"---\ntitle: {name.title()}\n---\n\n{content}\n")
    (folder / "fragments/_variables.yml").write_text("evaluation: {title: BBR &#38; CUBIC}\n")
    (folder / "figures/one/figure.svg").write_text(SVG)
    output = folder / "report.pdf"
    return {
        "document": "report",
        "sources": folder / "reports",
        "fragments": folder / "fragments",
        "figures": [folder / "figures"],
        "kept": folder / "converted",
        "output": output,
    }


def render(folder: Path, **pages: str) -> bytes:
    """Return the PDF of these pages, uncompressed."""
    arguments = make_project(folder, pages)
    render_paper(**arguments)
    readable = BytesIO()
    with pikepdf.open(arguments["output"]) as pdf:
        pdf.save(
            readable,
            object_stream_mode=pikepdf.ObjectStreamMode.disable,
            stream_decode_level=pikepdf.StreamDecodeLevel.generalized,
            compress_streams=False,
            deterministic_id=True,
        )
    return readable.getvalue()


def read(folder: Path, *options: str) -> str:
    """Return the words of the PDF, one space between any two, as a PDF reader finds them."""
    if not shutil.which("pdftotext"):
        pytest.skip("pdftotext (poppler-utils) is not installed")
    command = ["pdftotext", *options, str(folder / "report.pdf"), "-"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return " ".join(found.replace("\u200b", "").replace("\xa0", " ").split())


def squeeze(words: str) -> str:
    return re.sub(r"\s", "", words)


def test_pages_come_in_the_order_of_the_list(tmp_path: Path) -> None:
    table = render_table(["Runs", "Rate"], [[text("one"), text("4.2")]], title="t", numbers={1})
    render(
        tmp_path,
        zebra=f"See @tbl-first.\n\n{FIGURE}\n\n{render_float('tbl-first', table, 'The first.', '4')}",
        apple=render_float("tbl-first", table, "The second."),
    )
    words = read(tmp_path)
    assert "BBR & CUBIC" in words
    assert "See Table 4." in words
    # A label is one of its page.
    positions = [words.index(part) for part in ("1 Zebra", "A caption", "Table 4: The first.")]
    positions += [words.rindex(part) for part in ("2 Apple", "The second.")]
    assert positions == sorted(positions)
    assert "Runs Rate one 4.2" in words


def test_what_is_given_no_number_has_none(tmp_path: Path) -> None:
    numbered = FIGURE.replace("#fig-one", "#fig-two").replace("}", " number=S2}").replace("A caption", "The paper's")
    table = render_table(["Runs"], [[text("one")]], title="t")
    own, paper = (
        render_float(f"tbl-{name}", table, f"{name}.", name=number) for name, number in (("own", None), ("paper", "II"))
    )
    page = f"{numbered}\n\n{FIGURE}\n\n{paper}\n{own}\n@fig-two and @tbl-paper.\n"
    render(tmp_path, page=page)
    words = read(tmp_path)
    for caption in ("Figure S2: The paper", "A caption", "Table II: paper.", "own."):
        assert caption in words
    assert "Figure S2 and Table II." in words
    assert re.findall(r"(?:Figure|Table) \w+:", words) == ["Figure S2:", "Table II:"]


def test_the_title_page_names_authors_date_and_version(tmp_path: Path) -> None:
    arguments = make_project(tmp_path, {"page": "Text."})
    authors = escape_text("Ada Byron and the #others")
    facts = f"archive: {{dates: 2026-11-25}}\nsoftware: {{version: 0.1.0}}\nrelease: {{authors: '{authors}'}}\n"
    with (tmp_path / "fragments/_variables.yml").open("a", encoding="utf-8") as variables:
        variables.write(facts)
    render_paper(**arguments)
    assert "Ada Byron and the #others · measured 2026-11-25 · ccreport 0.1.0" in read(tmp_path)


def test_a_percentage_is_on_one_line(tmp_path: Path) -> None:
    arguments = make_project(tmp_path, {"page": " ".join(["0.1 % loss."] * 60)})
    render_paper(**arguments)
    command = ["pdftotext", "-layout", str(tmp_path / "report.pdf"), "-"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert sum("%" in line for line in lines) > 1
    assert not [line for line in lines if line.strip().startswith("%")]


def test_a_document_has_its_own_of_a_fragment(tmp_path: Path) -> None:
    arguments = make_project(tmp_path, {"page": "{{< include fragments/cells.md >}}"})
    for name, words in (("cells", "All."), ("cells_report", "A summary."), ("cells_supplement", "Cells.")):
        (tmp_path / f"fragments/{name}.md").write_text(f"{words}\n", encoding="utf-8")
    render_paper(**arguments)
    assert "1 Page A summary." in read(tmp_path)


def test_contents_list_tables_and_figures_that_have_numbers_of_their_own(tmp_path: Path) -> None:
    page = "::: {.contents}\n:::\n\n## Figure 2: Rates {#two .unnumbered}\n\nText.\n\n## Part\n\nMore.\n"
    render(tmp_path, page=page)
    words = re.sub(r"(?: \.)+ \u2060?", " . . . ", read(tmp_path))
    # Beside each other, which `pdftotext` reads line by line.
    assert "Contents 1 Page . . . 1" in words
    assert "Figure 2: Rates . . . 1" in words
    assert "Figure 2: Rates Text. 1.1 Part More." in words
    assert "Part . . ." not in words


def test_contents_are_where_they_are_asked_for(tmp_path: Path) -> None:
    page = "Conclusion.\n\n::: {.contents depth=2}\n:::\n\n## Part {#part}\n\nText.\n"
    render(tmp_path, first=page, second="More.")
    assert "1 First Conclusion. Contents 1 First . . . 1 1.1 Part . . . 1 2 Second . . . 1 1.1 Part Text." in re.sub(
        r"(?: \.)+ \u2060?", " . . . ", read(tmp_path)
    )


def draw_section(number: int, height: int) -> str:
    """Return a section of a figure 700 px wide."""
    attributes = f'#fig-{number} fig-alt="A line" width=700 height={height} number={number}'
    figure = f"![Shown.](figures/f{number}/figure.svg){{{attributes}}}"
    return f"## Part {number}\n\nWords on {number}.\n\n{figure}\n"


@pytest.mark.parametrize(
    ("heights", "expected"),
    [
        # At least 0.43 pt for a px, beside the title on 749 pt.
        ((450, 450, 450), [2, 1]),
        ((300, 600, 900), [2, 1]),
        ((900, 900, 300), [1, 2]),
        # One that does not fit beside the title is as high as a page.
        ((2500, 300), [0, 1, 1]),
    ],
)
def test_two_drawings_share_a_page_where_they_stay_legible(
    heights: tuple[int, ...], expected: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sections = "\n".join(draw_section(number, height) for number, height in enumerate(heights))
    arguments = make_project(tmp_path, {"page": sections})
    for number, height in enumerate(heights):
        (tmp_path / f"figures/f{number}").mkdir()
        drawing = SVG.replace('width="300" height="150"', f'width="700" height="{height}"')
        (tmp_path / f"figures/f{number}/figure.svg").write_text(drawing)
    render_paper(**arguments)
    # Typst warns of pages that it could not settle.
    assert capsys.readouterr().err == ""
    read(tmp_path)
    printed = subprocess.run(
        ["pdftotext", str(tmp_path / "report.pdf"), "-"], capture_output=True, text=True, check=True
    ).stdout.split("\f")
    # The words of a section, its drawing and its caption are on one page.
    assert [page.count("Words on") for page in printed[:-1]] == expected
    assert [len(re.findall(r"Figure \d:", page)) for page in printed[:-1]] == expected


# 27 rows are more than those by which alone a long table is measured, as Table II has.
@pytest.mark.parametrize("rows_count", [12, 27])
def test_a_short_table_is_on_one_page(rows_count: int, tmp_path: Path) -> None:
    words = "\n\n".join(f"Paragraph {number}." for number in range(34))
    table = render_table(["Name", "Count"], [[text(f"run{i}"), text(str(i))] for i in range(rows_count)], title="t")
    render(tmp_path, page=f"{words}\n\n{render_float('tbl-short', table, 'Short.')}")
    assert read(tmp_path, "-l", "1").endswith("Paragraph 33.")
    assert read(tmp_path, "-layout").count("Name Count") == 1


def test_a_table_of_sentences_as_high_begins_where_there_is_room(tmp_path: Path) -> None:
    words = "\n\n".join(f"Paragraph {number}." for number in range(29))
    rows = [[text(f"run{i}"), text("It was slower than others. " * 8)] for i in range(13)]
    table = render_table(["Name", "Why"], rows, title="t", is_text=True)
    render(tmp_path, page=f"{words}\n\n{render_float('tbl-why', table, 'Why.')}")
    assert read(tmp_path, "-layout").count("Name Why") == 2


def test_a_link_to_a_page_leads_within_the_document_and_elsewhere_is_text(tmp_path: Path) -> None:
    links = (
        "[there](second.qmd#part), [html](second.html), [explorer](explorer.qmd#run=1), [out](https://example.org/x)"
    )
    pdf = render(tmp_path, first=links, second="## Part {#part}\n\nText.\n")
    assert "there, html, explorer, out" in read(tmp_path)
    assert pdf.count(b"/URI (") == 1
    assert b"explorer.qmd" not in pdf


def test_a_dead_link_in_brackets_is_left_out(tmp_path: Path) -> None:
    kept = "([all](second.qmd), [others](ledger.qmd)) ([text](second.qmd))"
    links = f"Last of all ([x](ledger.qmd))\n\nSix are suspect ([which and why](ledger.qmd#x)): no mean {kept}."
    render(tmp_path, first=links, second="Text.")
    assert "Last of all Six are suspect: no mean (all, others) (text)." in read(tmp_path)


def test_a_verdict_is_a_tag_in_front_of_its_claim(tmp_path: Path) -> None:
    page = "[There](#claim-a).\n\n## [Does not hold]{.verdict-fails}: CUBIC is faster {#claim-a}\n\nText.\n"
    pdf = render(tmp_path, page=page)
    words = read(tmp_path)
    assert "There. Does not hold" in words
    # Without the colon, and without a number of its own.
    assert words.endswith("CUBIC is faster") or "CUBIC is faster Text." in words
    assert "1.1" not in words
    assert pdf.count(b"/Subtype /Link") == 1


def test_the_first_page_has_short_findings_and_the_picture_before_all_else(tmp_path: Path) -> None:
    lines = "**Here:** It is 0.{n} here.\\\n  **There:** It is 1.{n} there. More of {n}."
    answers = "\n".join(f"- **Is it {n}?** {lines.format(n=n)}" for n in range(5))
    verdicts = "\n".join(f"- **Verdict {n}:** It holds. As {n} says." for n in range(3))
    between = "- **Others?** Of versions."
    lists = "\n\n".join(f"::: {{.findings}}\n\n{each}\n\n:::" for each in (answers, between, verdicts))
    listed = f"{lists}\n\n::: {{.contents}}\n:::"
    words, picture = (
        f":::: {{.front-{name}}}\n\n{part}\n\n::::" for name, part in (("words", listed), ("picture", FIGURE))
    )
    front = f"::::: {{.front}}\n\n{words}\n\n{picture}\n\n:::::\n"
    note = "::: {.callout-note}\n\n## About\n\nNot theirs. Short tests. BBR is BBRv2.\n\nThe rest.\n\n:::\n"
    after = "\n\n".join(["After.", *["More."] * 40])
    render(tmp_path, index=f"{note}\n{front}\n{after}\n", next="## Figure 2: Rates {#two .unnumbered}\n\nText.\n")
    words = read(tmp_path)
    parts = (
        "Not theirs. BBR is BBRv2.",
        "Is it 0? Here: It is 0.0 here; There: It is 1.0 there. •",
        "Is it 3? Here: It is 0.3 here; There: It is 1.3 there. •",
        "Verdict 0: It holds. As 0 says.",
        "Verdict 1: It holds.",
        "A caption",
        "About Short tests. The rest.",
        "More on the findings",
        "Is it 3? More of 3.",
        "More of 4.",
        "Verdict 1: As 1 says.",
        "As 2 says.",
    )
    places = [words.index(part) for part in (*parts, "After.")]
    assert places == sorted(places)
    # The contents are beside the picture, with the numbers of figures alone.
    assert words.count("Contents") == 1
    assert re.search(r"Figure 2 [. \u2060]+2\b", words)
    # What is above the picture is not said again, and nothing is left of the first verdict.
    counts = {
        "Is it 3?": 2,
        "It is 0.3 here": 1,
        "Is it 4?": 1,
        "Verdict 0:": 1,
        "Verdict 1: It holds": 1,
        "Verdict 2:": 1,
    }
    assert {said: words.count(said) for said in counts} == counts
    # A table of the first answer is there, too, and once; it has the room of the fourth answer.
    table = "<table class='data matrix'>\n<tr><td>BBR 24.1×</td><td>equal ±5 %</td></tr>\n</table>"
    fenced = f"```{{=html}}\n{table}\n```".replace("\n", "\n  ")
    first = "- **Is it 0?** Here: It is 0.0 here.\n\n  " + fenced + "\n\n  **Else:** More of 0.\n\n"
    others = answers.partition("\n- ")[2]
    front = front.replace(answers, f"{first}- {others}")
    (beside := tmp_path / "beside").mkdir()
    render(beside, index=f"{note}\n{front}\n{after}\n", next="## Figure 2: Rates {#two .unnumbered}\n\nText.\n")
    words = read(beside)
    parts = (
        "Is it 0? Here",
        "BBR 24.1×",
        "Is it 2?",
        "Verdict 0:",
        "A caption",
        "Is it 0? Else: More of 0.",
        "Is it 3?",
    )
    places = [words.index(part) for part in parts]
    assert places == sorted(places)
    assert words.count("BBR 24.1×") == words.count("Is it 3?") == 1


def test_offers_of_files_are_left_out(tmp_path: Path) -> None:
    hidden = '::: {.content-visible when-format="html"}\n\nOn screen.\n\n:::\n\n'
    shown = '[Never]{.content-hidden when-format="typst"} [printed]{.content-visible when-format="typst"}'
    render(tmp_path, page=f"[This table as CSV](tables/x.csv), all of it.\n\n{hidden}Kept {shown}.\n")
    words = read(tmp_path)
    assert "CSV" not in words
    assert "On screen" not in words
    assert "Kept printed." in squeeze(words).replace("Keptprinted", "Kept printed")


def test_of_tabs_the_first_is_printed_and_callouts_are_whole(tmp_path: Path) -> None:
    tabs = render_tabs([("Table", "What it shows.\n"), ("Query", "SELECT secret")])
    callout = render_callout("warning", "Careful", "Its text.")
    render(tmp_path, page=f"{tabs}\n{callout}")
    words = read(tmp_path)
    assert "What it shows." in words
    assert "SELECT" not in words
    assert "Careful Its text." in words


def test_a_long_table_repeats_its_header(tmp_path: Path) -> None:
    rows = [[text(f"run{i}"), text(str(i))] for i in range(120)]
    render(tmp_path, page=render_float("tbl-long", render_table(["Name", "Count"], rows, title="t"), "Long."))
    words = read(tmp_path, "-layout")
    # 120 rows of about 13 pt on pages of at most 737 pt: two or three of them.
    assert words.count("Name Count") in (2, 3)
    assert all(f"run{i} {i}" in words for i in range(120))


@pytest.mark.parametrize("rows_count", [200, 201])
def test_of_a_table_of_more_than_200_rows_the_first_are_printed(rows_count: int, tmp_path: Path) -> None:
    # Its name reaches over all rows, also those that are left out, and its note stays.
    rows = "".join(f"<tr><td>run{i}</td></tr>" for i in range(1, rows_count))
    table = (
        "```{=html}\n<table><thead><tr><th>Host</th><th>Run</th></tr></thead><tbody>"
        f"<tr><td rowspan='{rows_count}'>sender</td><td>run0</td></tr>{rows}</tbody>"
        "<tfoot><tr><td colspan='2'>A note of the table.</td></tr></tfoot></table>\n```\n"
    )
    render(tmp_path, page=render_float("tbl-long", table, "Long."))
    words = read(tmp_path)
    assert "sender" in words
    assert "A note of the table." in words
    assert all(re.search(rf"\brun{i}\b", words) for i in range(200))
    assert "run200" not in words
    assert ("Only the first 200 rows are printed here" in words) == (rows_count > 200)


@pytest.mark.parametrize("place", [0, 59])
@pytest.mark.parametrize("group", ["", "<tr><th class='gt_group_heading' colspan='2'>16 flows</th></tr>"])
def test_a_long_table_is_made_as_small_as_its_longest_cell_needs(place: int, group: str, tmp_path: Path) -> None:
    # At the size of other tables it would be wider than the page, and break.
    longest = " ".join(f"word{i}" for i in range(19))
    rows = [f"<tr><td>{longest if i == place else 'short'}</td><td>{i}</td></tr>" for i in range(60)]
    head = "<thead><tr><th>Note</th><th>Run</th></tr></thead>"
    table = f"```{{=html}}\n<table>{head}<tbody>{group}{''.join(rows)}</tbody></table>\n```\n"
    render(tmp_path, page=render_float("tbl-long", table, "Long."))
    assert f"{longest} {place}" in read(tmp_path, "-layout")


def test_a_table_with_spanners_groups_and_notes_keeps_every_cell(tmp_path: Path) -> None:
    table = (
        "```{=html}\n<table><thead><tr><th rowspan='2'>Loss</th><th colspan='2'>BBR</th></tr>"
        "<tr><th class='gt_right'>M</th><th>CV</th></tr></thead><tbody>"
        "<tr><th class='gt_group_heading' colspan='3'>16 flows</th></tr>"
        "<tr><td>0.1</td><td class='gt_right'><strong>9.5</strong><br><small>9.1–9.9</small></td>"
        "<td>–</td></tr></tbody>"
        "<tfoot><tr><td colspan='3'>Rates in Gbit/s.</td></tr><tr><td colspan='3'>CV in %.</td></tr></tfoot>"
        "</table>\n```\n"
    )
    render(tmp_path, page=render_float("tbl-x", table, "Rates."))
    words = read(tmp_path, "-layout")
    # Notes follow each other in one paragraph.
    assert "Rates in Gbit/s. CV in %." in words
    for part in ("BBR", "Loss", "M", "CV", "16 flows", "0.1", "9.5", "9.1–9.9", "–", "Rates in Gbit/s."):
        assert part in words, part


def test_a_table_of_markdown_keeps_every_cell(tmp_path: Path) -> None:
    render(tmp_path, page="| Name | Rate |\n|---|---:|\n| one `x` | *4.2* |\n| [two](other.qmd) | 523.1 |\n")
    assert "Name Rate one x 4.2 two 523.1" in read(tmp_path, "-layout")


def test_a_table_amid_other_html_keeps_every_cell(tmp_path: Path) -> None:
    table = (
        "<table><thead><tr><th>Name</th><th>Rate</th></tr></thead><tbody><tr><th colspan='2'>16 flows</th></tr>"
        "<tr><td rowspan='2'>one</td><td>4.2</td></tr><tr><td>5.3</td></tr></tbody>"
        "<tfoot><tr><td>All</td><td>9.5</td></tr></tfoot></table>"
    )
    render(tmp_path, page=f"```{{=html}}\n<p>Before.</p>\n{table}\n<p>After.</p>\n```\n")
    assert "Before. Name Rate 16 flows one 4.2 5.3 All 9.5 After." in read(tmp_path, "-layout")


def test_where_only_numbers_of_tables_changed_no_page_is_converted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def render_rate(rate: str) -> str:
        page = render_float("tbl-x", render_table(["Rate"], [[text(rate)]], title="t"), "Rates.")
        arguments = make_project(tmp_path / rate, {"page": page})
        render_paper(**{**arguments, "kept": tmp_path / "converted"})
        return read(tmp_path / rate)

    assert "4.2" in render_rate("4.2")
    monkeypatch.setattr("ccreport.report.site.pandoc._run", lambda *_: pytest.fail("a page was converted"))
    assert "5.3" in render_rate("5.3")


def test_a_table_that_is_too_wide_keeps_its_text_on_the_page(tmp_path: Path) -> None:
    header = [f"column {i}" for i in range(18)] + ["explanation"]
    sentence = "A sentence that is much too long to stand in a narrow column beside eighteen others of numbers."
    row = [text(f"12345678.{i:02}") for i in range(18)] + [text(sentence)]
    render(tmp_path, page=f"## Before\n\n{render_float('tbl-w', render_table(header, [row] * 2, title='t'), 'Wide.')}")
    words = read(tmp_path)
    assert words.count(sentence) == 2
    assert words.count("12345678.17") == 2
    boxes = read(tmp_path, "-bbox")
    # A4 upright but for the table's own page.
    assert [page[:3] for page in re.findall(r'<page width="([\d.]+)', boxes)] == ["595", "841"]
    for page in boxes.split("<page ")[1:]:
        width, *ends = (float(x) for x in re.findall(r'(?:width|xMax)="([\d.]+)"', page))
        # The margin is 20 mm.
        assert max(ends) < width - 56


def test_what_names_a_row_is_above_it_and_what_explains_it_below(tmp_path: Path) -> None:
    header = ["question", *(f"column {i}" for i in range(18)), "explanation"]
    question, sentence = "Which of the two algorithms was the faster one, on this path", "S" + "o it is" * 12
    rows = [
        [text(f"{question} {n}?"), *(text(f"12345678.{i:02}") for i in range(17)), text(f"1234567.{n}"), text(sentence)]
        for n in (1, 2)
    ]
    render(tmp_path, page=f"## Before\n\n{render_float('tbl-w', render_table(header, rows, title='t'), 'Wide.')}")
    found = re.findall(r"path ([12])\?|1234567\.([12])|(So it is)", read(tmp_path))
    assert ["".join(parts) for parts in found] == ["1", "1", "So it is", "2", "2", "So it is"]


def test_the_name_of_rows_is_above_them_once_where_the_table_fits_without_its_column(tmp_path: Path) -> None:
    # 29 + 2 characters and 12 times 11 + 2 are more than 170, the columns of numbers alone are not.
    header = ["run", *(f"column {i}" for i in range(12))]
    runs = ("capture-of-cubic-at-high-loss", "capture-of-bbr-at-high-loss")
    rows = [[text(run), *(text(f"12345678.{i:02}") for i in range(12))] for run in runs for _ in range(2)]
    render(tmp_path, page=f"## Before\n\n{render_float('tbl-w', render_table(header, rows, title='t'), 'Wide.')}")
    assert re.findall(r"run: (\S+)", read(tmp_path)) == list(runs)
    assert [page[:3] for page in re.findall(r'<page width="([\d.]+)', read(tmp_path, "-bbox"))] == ["595"]


def test_the_paragraph_before_a_turned_table_goes_with_it_to_its_page(tmp_path: Path) -> None:
    table = render_table([f"column {i}" for i in range(24)], [[text(f"12345678.{i:02}") for i in range(24)]], title="t")
    render(tmp_path, page=f"Before.\n\n## Paths\n\nWhere runs went.\n\n{render_float('tbl-x', table, 'Wide.')}")
    upright, turned, *_ = read_pages(tmp_path)
    assert "Where runs went" not in upright
    assert re.search("Paths.*Where runs went", turned, re.DOTALL)


def test_a_wide_table_may_stand_anywhere(tmp_path: Path) -> None:
    header = [f"column {i}" for i in range(24)]
    table = render_table(header, [[text(f"12345678.{i:02}") for i in range(24)]], title="t")
    inside = f"::: {{.box}}\n\n:::: {{#place}}\n\n{table}\n\n::::\n\n:::\n\n[Up](#place).\n"
    tabs = render_tabs([("Table", render_float("tbl-x", table, "In a tab.")), ("Other", "No.\n")])
    render(tmp_path, page=f"{inside}\n{tabs}\n{render_callout('note', 'Box', table)}")
    assert read(tmp_path).count("12345678.23") == 3


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        # 201 + 41 + 7 characters are more than the 157 of text at 0.9, broken ones (32 + 32 + 7) fit as they are.
        (("word " * 39 + "last", "word " * 7 + "last", "00.00"), (1.0, [199**0.6, 39**0.6, None])),
        # 146 + 9: at 0.9 they fit unbroken.
        (("word " * 28 + "last", "0000.00"), None),
        # Nothing to break.
        (("0" * 30,) * 6, None),
        # Five times 32 are more than the 141 of text in its own size: 141.1 / 160; six times are at the least size.
        (("word " * 7,) * 5, (141.1 / 160, [34**0.6] * 5)),
        (("word " * 7,) * 6, (0.83, [34**0.6] * 6)),
    ],
)
def test_long_cells_break_before_text_is_too_small(
    cells: tuple[str, ...], expected: tuple[float, list[int | None]] | None
) -> None:
    row = "".join(f"<td>{cell.strip()}</td>" for cell in cells)
    # A row of blanks changes nothing.
    rows = f"<tr>{row}</tr><tr>{'<td></td>' * len(cells)}</tr>"
    table = read_table(fragment_fromstring(f"<table><tbody>{rows}</tbody></table>"), rows_at_most=2)
    assert break_sentences(table) == (expected and (pytest.approx(expected[0]), expected[1]))


def test_no_text_of_a_table_is_smaller_than_7_points(tmp_path: Path) -> None:
    remark = "<br><small>“twice as much or more” (at least twice)</small>"
    cells = [*(["0.123–0.456"] * 7), f"undecided{remark}", f"<code>retransmit_ratio</code>{remark}"]
    rows = "".join(f"<td>{cell}</td>" for cell in cells)
    head = "".join("<th>Accepted range</th>" for _ in cells)
    render(
        tmp_path,
        page=f"```{{=html}}\n<table><thead><tr>{head}</tr></thead><tbody><tr>{rows}</tr></tbody></table>\n```\n",
    )
    command = ["pdftohtml", "-xml", "-i", "-stdout", "-zoom", "3", str(tmp_path / "report.pdf")]
    fonts = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    sizes = [int(size) for size in re.findall(r'<fontspec id="\d+" size="(\d+)"', fonts)]
    assert min(sizes) == 3 * 7


@pytest.mark.parametrize("name", [*TYPST, *NASTY])
def test_text_of_the_archive_is_printed_and_does_nothing(name: str, tmp_path: Path) -> None:
    escaped = escape_text(name)
    table = render_table(["Name"], [[text(name)], [verbatim(name)]], title="t")
    figure = f'![{escaped}](figures/one/figure.svg){{#fig-one fig-alt="{escaped}"}}'
    render(tmp_path, page=f"{render_float('tbl-x', table, escaped)}\n{figure}\n\n{escaped}\n\n- {escaped}\n")
    # Letters that no font has are printed as their escapes; quotes must not become round ones.
    expected = "".join(char if ord(char) < 0x2E80 else f"\\u{ord(char):04x}" for char in show_text(name))
    # Two cells, two captions, a paragraph and an item.
    assert squeeze(read(tmp_path)).count(squeeze(expected)) == 6


def test_the_pdf_is_accessible(tmp_path: Path) -> None:
    pdf = render(tmp_path, page=f"## Part\n\n$$ x_i $$\n\n{FIGURE}\n\n- item\n\nTerm\n:   Meaning\n")
    # Metadata are not compressed: the identifier of ISO 14289-1, the language, the title.
    assert b"<pdfuaid:part>1</pdfuaid:part>" in pdf
    assert b"/Lang (en" in pdf
    assert b"BBR &amp; CUBIC" in pdf


def test_tags_say_what_everything_is(tmp_path: Path) -> None:
    table = render_table(["Rate"], [[text("4.2")]], title="t")
    render(tmp_path, page=f"## Part\n\n### Less\n\n$$ x_i $$\n\n{FIGURE}\n\n{render_float('tbl-x', table, 'Rates.')}")
    assert find_faults(tmp_path / "report.pdf") == []
    if shutil.which("pdfinfo"):
        command = ["pdfinfo", "-struct", str(tmp_path / "report.pdf")]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stderr == ""


def test_a_letter_that_no_font_has_does_not_stop_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pdf = render(tmp_path, page="A letter of Syriac: \u0710.\n")
    assert pdf.startswith(b"%PDF-")
    assert "not PDF/UA-1" in capsys.readouterr().err


def test_the_same_sources_give_the_same_bytes_anywhere(tmp_path: Path) -> None:
    pages = {"page": f"## Part\n\n@fig-one shows it.\n\n{FIGURE.replace('}', ' number=1}')}\n"}
    first, second = (render(tmp_path / place, **pages) for place in ("here", "a/much/longer place"))
    assert first == second
    assert str(tmp_path).encode() not in first
    assert len({(tmp_path / place / "report.pdf").read_bytes() for place in ("here", "a/much/longer place")}) == 1
    for clock in (b"CreationDate", b"ModDate", b"CreateDate"):
        assert clock not in first


def test_tags_are_there_and_compressed(tmp_path: Path) -> None:
    table = render_table(["Run"], [[text(f"run{i}")] for i in range(200)], title="Many runs")
    pdf = render(tmp_path, page=table)
    assert pdf.count(b"/StructElem") > 200
    compressed = (tmp_path / "report.pdf").read_bytes()
    assert b"/StructElem" not in compressed
    assert b"<pdfuaid:part>1</pdfuaid:part>" in compressed


def test_fonts_of_the_machine_are_not_used(tmp_path: Path) -> None:
    pdf = render(tmp_path, page=FIGURE)
    assert "Throughput" in read(tmp_path)
    assert b"LiberationSans" not in pdf
    assert b"LibertinusSerif" in pdf


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("@fig-none is not there.", "fig-none"),
        ("{{< include fragments/none.md >}}", r"page\.qmd:5: no such file to include"),
        ("{{< var none.such >}}", r"page\.qmd:5: no such variable: none\.such"),
        ("![x](figures/one/figure.svg){#fig-x}", "no fig-alt"),
        ("::: {#tbl-x}\n\nonly a caption\n\n:::", "no caption"),
    ],
)
def test_a_page_that_cannot_be_rendered_is_named(page: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PageError, match=message):
        render(tmp_path, page=page)
    assert not (tmp_path / "report.pdf").exists()


def test_a_listed_page_that_is_not_there_is_named(tmp_path: Path) -> None:
    arguments = make_project(tmp_path, {"page": "Text."})
    (tmp_path / "reports/page.qmd").unlink()
    with pytest.raises(PageError, match=r"report\.md: no such page: page\.qmd"):
        render_paper(**arguments)


def test_a_list_of_no_pages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PageError, match=r"report\.md: `pages` names none"):
        render(tmp_path)


def find_overprints(folder: Path) -> list[tuple[str, str]]:
    """Return the pairs of words of the PDF that cover each other."""
    boxes = read(folder, "-bbox")
    found = []
    for page in boxes.split("<page ")[1:]:
        words = [
            (*(float(end) for end in word.groups()[:4]), word[5])
            for word in re.finditer(r'<word xMin="(.*?)" yMin="(.*?)" xMax="(.*?)" yMax="(.*?)">(.*?)</word>', page)
        ]
        for number, (left, top, right, bottom, one) in enumerate(words):
            found += [
                (one, other)
                for x, y, x_end, y_end, other in words[number + 1 :]
                if min(right, x_end) - max(left, x) > 1 and min(bottom, y_end) - max(top, y) > (bottom - top) / 2
            ]
    return found


@pytest.mark.parametrize("longest", ["cubic_p16_loss0.001", "capture_of_cubic_p16_loss0.001_again"])
@pytest.mark.parametrize("columns_count", [11, 14])
def test_no_word_of_a_table_is_printed_over_another(longest: str, columns_count: int, tmp_path: Path) -> None:
    # With the longer name its column takes what the others leave, which is less than a job needs.
    jobs = [*(f"{cc}_p{flows}_lossnone" for cc in ("bbr2", "both", "cubic") for flows in (1, 16)), longest]
    header = ["Job", "Sharing", *(f"Throughput {n} (Gbit/s)" for n in range(columns_count))]
    rows = [[text(job), text("alone"), *(text(f"0.00{n:03}") for n in range(columns_count))] for job in jobs]
    render(tmp_path, page=render_float("tbl-jobs", render_table(header, rows, title="t"), "Jobs."))
    assert find_overprints(tmp_path) == []
    assert all(job in squeeze(read(tmp_path)) for job in jobs)


def test_a_row_is_on_one_page_but_for_one_that_is_higher(tmp_path: Path) -> None:
    # Rows of seven lines, of which no whole number fills a page.
    sentence = "A sentence that takes several lines of its column, as others beside it have as many words. " * 5
    for folder, last, count in ((tmp_path / "rows", "its end", 30), (tmp_path / "tall", "word " * 3000 + "its end", 1)):
        rows = [[text(f"begin{n}"), text(sentence), text(f"{sentence} {last} {n}")] for n in range(count)]
        render(folder, page=render_float("tbl-x", render_table(["Run", "What", "Why"], rows, title="t"), "Rows."))
        pages = [squeeze(page) for page in read_pages(folder)]
        assert squeeze(f"{last} {count - 1}")[-8:] in "".join(pages)
        ends = [[n for n in range(count) if f"end{n}" in page.replace(f"begin{n}", "")] for page in pages]
        begins = [[n for n in range(count) if f"begin{n}" in page] for page in pages]
        assert count == 1 or begins == ends


def read_pages(folder: Path) -> list[str]:
    command = ["pdftotext", "-layout", str(folder / "report.pdf"), "-"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return found.split("\f")
