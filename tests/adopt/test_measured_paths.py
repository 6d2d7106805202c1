"""`adopt --check` where jobmeta.json declares another path than was measured, and which RTT counts as measured."""

from pathlib import Path

import pytest
from archives import write_archive
from own_files import START_S, client_output, socket_samples
from test_adopt import list_columns

from ccreport.adopt.adopt import adopt

DOUBTED_RTT = "RTTs contradict each other: declared 24 ms, smallest measured 10 ms (3 of 3 runs)."
DOUBTED_RATE = (
    "A bottleneck of 1 Mbit/s is declared; 3 of 3 runs measured more, such as 8 Mbit/s: was it set on the path"
)
# Of the other side of a connection, as where both hosts are one machine, and of a connection of nobody's.
OTHERS = (
    "ESTAB 0 0 10.0.0.2:5201 10.0.0.1:{port}\n\t cubic rtt:0.1/0.5 minrtt:0.1\n"
    "ESTAB 0 0 10.0.0.1:9 10.0.0.9:22\n\t cubic rtt:0.2/0.5 minrtt:0.2\n"
)


def write_tests(folder: Path, more: dict[str, str]) -> Path:
    """Write three tests of 8 Mbit/s over 10 ms, with other files beside them."""
    return write_archive(
        folder, {f"r{n}.json": client_output(4000 + n, start_s=START_S + 60 * n) for n in range(3)} | more
    )


@pytest.mark.parametrize("layout", ["", "files: [{pattern: '(?P<run>r[0-9])[.]json'}]\n"])
def test_what_jobmeta_declares_is_compared_with_what_was_measured(
    layout: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"jobmeta.json": '{"lat": "12ms", "bottleneck": "1mbit"}'}
    adopt(write_tests(tmp_path, files | ({"layout.yaml": layout} if layout else {})), check=True)
    said = capsys.readouterr().out
    assert DOUBTED_RTT in said
    assert DOUBTED_RATE in said


@pytest.mark.parametrize(
    "meta",
    [
        '{"lat": "5ms", "bottleneck": "10mbit"}',
        # The path changes during a run.
        '{"lat": "12ms", "bottleneck": "1mbit", "stages": [{"at_s": 5, "rtt_ms": 5, "rate": "20mbit"}]}',
    ],
)
def test_what_jobmeta_declares_may_be_as_measured_or_change(
    meta: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    adopt(write_tests(tmp_path, {"jobmeta.json": meta}), check=True)
    said = capsys.readouterr().out
    assert "contradict" not in said
    assert "measured more" not in said


@pytest.mark.parametrize("pattern", ["", ", {pattern: '(?P<run>r[0-9])[.]txt'}"])
def test_the_smallest_rtt_is_that_of_the_runs_own_connections(
    pattern: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Samples have 9 ms of them, results 10 ms; without a pattern samples are joined by connections."""
    samples = {f"r{n}.txt": socket_samples(4000 + n, start_s=START_S + 60 * n) for n in range(3)}
    samples = {
        path: text.replace("minrtt:10\n", f"minrtt:9\n{OTHERS.format(port=f'400{path[1]}')}")
        for path, text in samples.items()
    }
    layout = "files: [{{pattern: '(?P<run>r[0-9])[.]json'{}}}{}]\n"
    folder = write_tests(tmp_path, samples | {"layout.yaml": layout.format("", pattern)})
    adopt(folder, check=True)
    assert list_columns(capsys.readouterr().out, "RTT ms", "files") == [("9 measured", "iperf3, ss")] * 3
    (folder / "layout.yaml").write_text(
        layout.format(", set: {rtt_ms: 12}", pattern.replace("'}", "', set: {rtt_ms: 12}}"))
    )
    adopt(folder, check=True)
    assert "declared 12 ms, smallest measured 9 ms (3 of 3 runs)" in capsys.readouterr().out
