"""Tables of the PDF: what a cell of HTML is in Typst, where headings break, what moves below its row."""

import pytest
from lxml.html import HtmlElement, fragment_fromstring

from ccreport.report.markup.html_blocks import Line
from ccreport.report.pdf.cells import CellWriter, make_label, quote, read_lines, write_text
from ccreport.report.pdf.layout import Table, fit_table, read_table
from ccreport.report.pdf.tables import set_tables

PAGES = frozenset({"index", "claims", "tables"})
HEAD = 'table.header(table.cell(align: bottom + left, "A"), table.cell(align: bottom + right, "B"))'
TABLE = """<table><thead><tr><th>A</th><th class="number">B</th></tr></thead>
<tbody><tr><td>one</td><td class="number">1</td></tr></tbody></table>"""


def cell(content: str) -> HtmlElement:
    (found,) = fragment_fromstring(f"<table><tr><td>{content}</td></tr></table>").iter("td")
    return found


def write(content: str, width: int | None = None) -> str:
    return CellWriter("tables", PAGES).write(cell(content), width)


def table_of(header: list[str], *rows: list[str]) -> Table:
    head = "".join(f"<th>{name}</th>" for name in header)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return read_table(fragment_fromstring(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"), 200)


def lines(text: str) -> list[Line]:
    return [Line(one, "page.qmd", number) for number, one in enumerate(text.split("\n"), start=1)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ""),
        ("4.2", '"4.2"'),
        ("a &lt; b", '"a < b"'),
        ("two\n  lines", '"two lines"'),
        ('say "x\\y" #panic()', r'"say \"x\\y\" #panic()"'),
        ("<strong>9.5</strong><br><small>9.1–9.9</small>", '{strong("9.5"); linebreak(); small("9.1–9.9")}'),
        ("a <code>b c</code> d", '{"a "; raw("b c"); " d"}'),
        ("<code>a<em>b</em></code>", 'raw("ab")'),
        ("<code></code>", 'raw("")'),
        ('<span class="none">–</span>', '"–"'),
        ("<b>unknown</b>", '"unknown"'),
        ("日\U0001f600", r'"\\u65e5\\U0001f600"'),
    ],
)
def test_what_a_cell_holds_is_strings_of_typst(content: str, expected: str) -> None:
    assert write(content) == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("#table-2", 'to("tables--table-2", "x")'),
        ("claims.html#claim_one", 'to("claims--claim-one", "x")'),
        ("claims.html", 'to("claims", "x")'),
        ("https://example.org/?q=1#x", 'link("https://example.org/?q=1#x", "x")'),
        ("cells_jobs.html#jobs-1", '"x"'),
        ("explorer.html#run=1", '"x"'),
        ("tables/jobs.csv", '"x"'),
        ("figures/rtt.svg", '"x"'),
        ("report.pdf", '"x"'),
        ("../index.html", '"x"'),
    ],
)
def test_a_link_leads_within_the_document_or_to_another_host(target: str, expected: str) -> None:
    assert write(f'<a href="{target}">x</a>') == expected


def test_long_names_may_break_and_sentences_stay() -> None:
    def broken(text: str) -> str:
        return "".join(write_text(text)).replace("\u200b", "|")

    assert broken("2026-01-01:00:00/a.json") == '"2026-01-01:|00:|00/|a.|json"'
    assert broken("20.characters_at_most") == '"20.|characters_|at_|most"'
    # A shorter one, which may be a number or a unit, in fewer places.
    assert broken("20.characters_at_mos") == '"20.characters_|at_|mos"'
    assert broken("0.00096512 Gbit/s 10:20:30,40") == '"0.00096512 Gbit/s 10:20:30,40"'
    assert broken("a sentence, of words: all short.") == '"a sentence, of words: all short."'
    assert broken("0123456789abcdef" * 2) == '"0123456789abcdef|0123456789abcdef|"'


def test_quotes_and_control_characters_end_no_string() -> None:
    assert quote('"\\\x00\n') == r'"\"\\  "'


def test_a_label_has_its_page_in_front() -> None:
    assert make_label("claims", "claim: a_b") == "claims--claim--a-b"


def test_lines_are_told_by_their_breaks() -> None:
    assert read_lines(cell(" <strong>9.5</strong><br>\n<small>9.1 – 9.9</small> x")) == ("9.5", "9.1 – 9.9 x")
    assert read_lines(cell("")) == ("",)


def test_text_breaks_between_words_only() -> None:
    assert write("Rate mean (Gbit/s)", 8) == '{"Rate"; linebreak(); "mean"; linebreak(); "(Gbit/s)"}'
    assert write("Rate mean (Gbit/s)", 9) == '{"Rate mean"; linebreak(); "(Gbit/s)"}'


def test_headings_break_in_a_table_of_more_than_120_characters() -> None:
    # Each column takes 12 characters and 2 beside them: ten take 140, eight 112.
    for count, is_broken in ((8, False), (10, True)):
        fitted, is_wide = fit_table(table_of(["Mean of all"] * count, ["<td>123456789012</td>"] * count))
        assert {cell.width for cell in fitted.head[0]} == ({12} if is_broken else {None})
        assert not is_wide


def test_a_table_too_wide_moves_its_sentences_below_their_rows() -> None:
    # 14 columns of 14 characters and one of 30, as a cell that is longer breaks: 14 * 16 + 32 = 256 of 200.
    numbers = ["<td>12345678901234</td>"] * 14
    sentence = "It says <code>something</code> that takes more than fifty characters."
    rows = [
        [*numbers, f"<td>{sentence}</td>"],
        [*numbers, "<td>–</td>"],
        ["<th colspan=15>group</th>"],
    ]
    fitted, is_wide = fit_table(table_of([*"abcdefghijklmn", "Why"], *rows))
    assert fitted.columns == 14
    assert [len(row) for row in fitted.body] == [14, 1, 14, 1]
    note, group = fitted.body[1][0], fitted.body[3][0]
    assert (note.columns, group.columns) == (14, 14)
    assert CellWriter("tables", PAGES).write(note.element) == (
        '{emph("Why:"); " It says "; raw("something"); " that takes more than fifty characters. "}'
    )
    # What is left is 224 characters wide, and 208 without its first column, which therefore stays.
    assert is_wide


def test_a_question_is_above_its_row_though_a_short_name_stays_beside_the_numbers() -> None:
    numbers = ["<td class='number'>12345678901234</td>"] * 14
    question = "Which of them is faster with sixteen flows and 0.1 % loss?"
    table = table_of(["Measure", "Question", *"abcdefghijklmn"], ["<td>rate</td>", f"<td>{question}</td>", *numbers])
    fitted, _ = fit_table(table)
    assert [len(row) for row in fitted.body] == [1, 15]
    assert fitted.body[0][0].lines == (f"Question: {question}",)


def test_a_table_whose_cells_reach_over_rows_keeps_its_columns() -> None:
    row = ["<td>12345678901234</td>"] * 14
    table = table_of(["x"] * 15, [f"<td rowspan=2>{'word ' * 12}</td>", *row], row)
    fitted, is_wide = fit_table(table)
    assert (fitted.columns, fitted.body, is_wide) == (15, table.body, True)


def test_a_cell_reaches_over_no_more_rows_than_are_printed() -> None:
    element = fragment_fromstring(
        "<table><tbody><tr><td rowspan=9>a</td><td>1</td></tr><tr><td>2</td></tr><tr><td>3</td></tr></tbody></table>"
    )
    assert [[cell.rows for cell in row] for row in read_table(element, 2).body] == [[2, 1], [1]]


def test_a_page_includes_its_tables() -> None:
    page = f"Before\n\n```{{=html}}\n<div class='x'>\n{TABLE}\n</div>\n```\n\nAfter"
    kept, files = set_tables(lines(page), "tables", PAGES)
    assert [line.text for line in kept] == [
        *("Before", "", "```{=typst}", '#include "/tables/tables_1.typ"', "```", "", "After"),
    ]
    assert [line.number for line in kept[-2:]] == [9, 10]
    assert files == {
        "tables/tables_1.typ": '#import "/paper.typ": *\n'
        f'#data-table(2,\nnotes: [],\nhead: ({HEAD}, head-rule),\n("one", table.cell(align: right, "1"),),\n)\n'
    }


@pytest.mark.parametrize(
    "block",
    [
        "<p>No table.</p>",
        f"<p>Words.</p>{TABLE}",
        f"<div>Words.{TABLE}</div>",
        f"<div>{TABLE}Words.</div>",
        f"{TABLE}{TABLE}",
    ],
)
def test_a_block_with_more_than_a_table_stays(block: str) -> None:
    page = lines(f"```{{=html}}\n{block}\n```")
    assert set_tables(page, "tables", PAGES) == (page, {})


def test_a_table_of_many_rows_names_the_longest_of_each_column() -> None:
    # Of 21 rows the second column is longest in the last, the first in the first.
    rows = "".join(f"<tr><td>{'x' * (30 - i)}</td><td>{'y' * (i + 1)}</td></tr>" for i in range(21))
    group = "<tr><th colspan=2>all of them</th></tr>"
    page = f"```{{=html}}\n<table><tbody>{group}{rows}</tbody></table>\n```"
    # Without a head the first row tells how many columns there are; here it is the longest.
    _, files = set_tables(lines(page), "tables", PAGES)
    (written,) = files.values()
    pairs = ", ".join(f"({i}, {22 - i},)" for i in range(1, 9))
    assert f"longest: ({pairs},),\nspanning: (0,),\n" in written
    few = page.replace("<tr><td>xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx</td><td>y</td></tr>", "")
    assert "longest" in "".join(set_tables(lines(few), "tables", PAGES)[1].values())
    fewer = few.replace(group, "")
    assert "longest" not in "".join(set_tables(lines(fewer), "tables", PAGES)[1].values())
