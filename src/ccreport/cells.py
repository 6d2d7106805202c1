"""Where the report shows what a cell of a published table is made of."""


def page_of_cells(table: str) -> str:
    """Return the name, without its ending, of the page that lists the runs behind each cell of a table."""
    return f"cells_{table}"


def cell_href(table: str, number: int) -> str:
    """Return the link to a cell, by the number of its row in the table's Parquet and CSV files, from 1."""
    return f"{page_of_cells(table)}.html#cell-{number}"
