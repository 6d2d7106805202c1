"""The data dictionary: every table and column as its schema declares it."""

from typing import Final

from ccreport.core.declarations import list_tables
from ccreport.core.tables import Column, load_schema
from ccreport.core.text import make_label
from ccreport.report.markup.blocks import (
    NONE,
    Html,
    close_fold,
    markdown,
    number,
    open_fold,
    prose,
    render_float,
    render_table,
    verbatim,
)

HEADER: Final = ("Column", "Type", "Unit", "Null", "Values", "Meaning", "Source", "Reference")


def render_dictionary() -> str:
    """Return one section for each declared table."""
    return "\n".join(_render_section(table) for table in list_tables())


def _render_section(table: str) -> str:
    schema = load_schema(table)
    label = make_label("tbl-schema", table)
    rows = [_make_row(column, is_key=column.name in schema.key) for column in schema.columns]
    columns = render_table(HEADER, rows, title=f"Columns of {table}")
    return (
        f"## {table} {{{make_label('#table', table)}}}\n\n"
        f"{markdown(schema.description)} A row is {markdown(schema.grain)}.\n\n"
        f"{open_fold(f'{len(rows)} columns')}\n"
        f"{render_float(label, columns, f'Columns of `{table}`; those of the key are bold.')}\n"
        f"{close_fold()}"
    )


def _make_row(column: Column, *, is_key: bool) -> list[Html]:
    name = verbatim(column.name)
    source = column.source if column.since is None else f"{column.source}, since {column.since}"
    return [
        Html(f"<strong>{name}</strong>") if is_key else name,
        prose(column.type),
        prose(column.unit) if column.unit else NONE,
        prose("yes" if column.nullable else "no"),
        _show_values(column),
        prose(column.description),
        prose(source),
        prose(column.reference) if column.reference else NONE,
    ]


def _show_values(column: Column) -> Html:
    if column.enum:
        return Html(", ".join(verbatim(value) for value in column.enum))
    if column.min is not None and column.max is not None:
        return Html(f"{number(column.min)} to {number(column.max)}")
    if column.min is not None:
        return Html(f"≥ {number(column.min)}")
    return NONE if column.max is None else Html(f"≤ {number(column.max)}")
