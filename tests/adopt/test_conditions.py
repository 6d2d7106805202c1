"""What `adopt` makes of parameters: values with commas in them, and words that only say the algorithm again."""

import json
from pathlib import Path

import pytest
from archives import list_archive, write_archive
from own_files import START_S, client_output
from test_adopt import list_columns

from ccreport.adopt.adopt import adopt


def test_values_of_a_table_stay_below_their_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {f"T{number}.json": client_output(4000 + number, ("cubic", "bbr")[number // 2]) for number in range(4)}
    rows = [f'T{n};"Tag {n}, Küche";{("cubic", "bbr")[n // 2]};zz' for n in range(4)]
    files["runs.csv"] = "\n".join(["run;Note;Verfahren;x", *rows])
    files["layout.yaml"] = "table: runs.csv\nfiles: [{pattern: '(?P<run>T[0-9])[.]json'}]\n"
    folder = write_archive(tmp_path / "raw", files)
    adopt(folder, check=True)
    said = capsys.readouterr().out
    assert list_columns(said, "other")[0] == ("Note=Tag 0; Küche, Verfahren=cubic, x=zz",)
    (run, *_) = next(iter(manifest.runs for manifest in list_archive(folder, tmp_path / "w").values() if manifest.runs))
    assert (run.parameter_name, run.parameter_value) == ("Note, Verfahren, x", "Tag 0; Küche, cubic, zz")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"target_bitrate": 20_000_000}, "pacing_bps=20000000"),
        ({"fqrate": 30_000_000}, "pacing_bps=30000000"),
        ({"bytes": 1_048_576, "duration": 0}, "volume_bytes=1048576"),
        ({"duration": 30}, "–"),
        ({"protocol": "UDP", "target_bitrate": 20_000_000}, "–"),
    ],
)
def test_what_commands_were_told_is_a_condition(
    asked: dict[str, object], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {f"run{number}.json": client_output(4000 + number, start_s=START_S + 60 * number) for number in (1, 2)}
    result = json.loads(files["run2.json"])
    result["start"]["test_start"] |= asked
    folder = write_archive(tmp_path / "raw", files | {"run2.json": json.dumps(result)})
    adopt(folder, check=True)
    said = capsys.readouterr().out
    assert list_columns(said, "other") == [("–",), (told,)]
    assert ("Each condition has one run" in said) == ("protocol" not in asked)
