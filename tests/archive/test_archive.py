from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccreport.archive.harness_layout import Suffix, find_folder, parse_suffix, split_name


@pytest.mark.parametrize(
    ("text", "destinations", "parameter", "has_limits", "expected"),
    [
        ("10.201.1.2:1", {"10.201.1.2"}, None, False, ("10.201.1.2", 1, None, None, None, None)),
        ("10.201.1.2:1:10.0ms", {"10.201.1.2"}, None, False, ("10.201.1.2", 1, 10.0, None, None, None)),
        ("h.example.net:3:1000", {"h.example.net"}, None, True, ("h.example.net", 3, None, 1000, None, None)),
        ("h:2:loss_thresh:3", {"h"}, "loss_thresh", False, ("h", 2, None, None, "loss_thresh", "3")),
        ("h:2:loss_thresh:3:20ms", {"h"}, "loss_thresh", False, ("h", 2, 20.0, None, "loss_thresh", "3")),
        ("h:2:loss_thresh:3:1000", {"h"}, "loss_thresh", True, ("h", 2, None, 1000, "loss_thresh", "3")),
        # An IPv6 literal ends in a number as an iteration does; the known destinations tell them apart.
        ("2001:db8::2:4", {"2001:db8::2"}, None, False, ("2001:db8::2", 4, None, None, None, None)),
        ("2001:db8::2:4:10.0ms", {"2001:db8::2", "2001:db8:"}, None, False, ("2001:db8::2", 4, 10.0, None, None, None)),
        # Without metadata the suffix is read from the right.
        ("2001:db8::2:4:10.0ms", set(), None, False, ("2001:db8::2", 4, 10.0, None, None, None)),
        ("h:2:p:3:20ms", set(), "p", False, ("h", 2, 20.0, None, "p", "3")),
        ("h:7", set(), None, False, ("h", 7, None, None, None, None)),
        ("no iteration", set(), None, False, (None, None, None, None, None, None)),
    ],
)
def test_suffixes_are_read_from_the_right(
    text: str, destinations: set[str], parameter: str | None, has_limits: bool, expected: tuple[object, ...]
) -> None:
    assert parse_suffix(text, destinations, parameter, has_limits=has_limits) == Suffix(text, *expected)


@given(
    st.sampled_from(["h", "10.0.0.1", "2001:db8::1", "fe80::1"]),
    st.integers(0, 999),
    st.one_of(st.none(), st.floats(0, 1000).map(lambda value: round(value, 1))),
)
def test_a_written_suffix_reads_back(host: str, iteration: int, rtt: float | None) -> None:
    text = f"{host}:{iteration}" + (f":{rtt}ms" if rtt is not None else "")
    assert parse_suffix(text, {host}, has_limits=False) == Suffix(text, host, iteration, rtt)


@given(st.text())
def test_no_name_is_an_error(name: str) -> None:
    item = split_name(name)
    if item is not None:
        assert parse_suffix(item.suffix, (), has_limits=True).text == item.suffix


@pytest.mark.parametrize(
    ("name", "item", "client", "suffix", "endings"),
    [
        ("src-cmd:10.0.0.2:1:10.0ms", "src-cmd", 1, "10.0.0.2:1:10.0ms", ()),
        ("src-cmd-3:h:1", "src-cmd", 3, "h:1", ()),
        ("src-cmd:h:1.fixed.json", "src-cmd", 1, "h:1", (".fixed.json",)),
        ("src-cmd:h:1.json.gz", "src-cmd", 1, "h:1", (".json", ".gz")),
        ("mpstat-receiver:h:1:10.0ms.json", "mpstat-receiver", 1, "h:1:10.0ms", (".json",)),
        ("tcpdump-log:h:1", "tcpdump-log", 1, "h:1", ()),
        ("tcpdump:h:1.gz", "tcpdump", 1, "h:1", (".gz",)),
    ],
)
def test_names_split_into_item_and_suffix(
    name: str, item: str, client: int, suffix: str, endings: tuple[str, ...]
) -> None:
    found = split_name(name)
    assert found is not None
    assert (found.item, found.client_number, found.suffix, found.endings) == (item, client, suffix, endings)


def test_an_experiment_is_the_job_folder_below_the_session() -> None:
    folder = find_folder(PurePosixPath("data/2026-11-20:22:10/job a/plots"))
    assert (folder.path, folder.session, folder.job) == ("data/2026-11-20:22:10/job a", "2026-11-20:22:10", "job a")
    assert folder.experiment_id.startswith("2026-11-20-22-10-job-a-")


def test_a_file_outside_a_session_belongs_to_its_own_folder() -> None:
    folder = find_folder(PurePosixPath("results/10g"))
    assert (folder.path, folder.session, folder.job) == ("results/10g", None, "results/10g")
    assert folder.experiment_id.startswith("10g-")


def test_folders_with_like_names_are_different_experiments() -> None:
    one = find_folder(PurePosixPath("2026-11-20:22:10/a b"))
    other = find_folder(PurePosixPath("2026-11-20:22:10/a-b"))
    assert one.experiment_id != other.experiment_id
