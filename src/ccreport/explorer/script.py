"""Data as scripts: a page that was opened from disk may load scripts, but may not fetch files."""

import json
import math
import re
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from ccreport.core.atomic_files import replace_text

# Names that every file system and URL takes as they are; a leading dot would hide the file.
SAFE_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
SIGNIFICANT_DIGITS: Final = 4


def name_script(run_id: str) -> str:
    """Return the file name, without extension, of a run's script: the run's id, else a digest of it."""
    if SAFE_NAME.fullmatch(run_id):
        return run_id
    return f"_{sha256(run_id.encode('utf-8', 'backslashreplace')).hexdigest()[:32]}"


def round_number(value: float | None, digits: int = SIGNIFICANT_DIGITS) -> float | int | None:
    """Return a number rounded to so many significant digits, as an int where it is whole; None if it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded


def write_call(path: Path, function: str, *arguments: Any) -> None:
    """Write a script that calls a function of the page with these arguments, which hold what JSON can hold."""
    texts = (json.dumps(argument, separators=(",", ":"), allow_nan=False) for argument in arguments)
    replace_text(path, f"ccreportExplorer.{function}({','.join(texts)});\n")
