"""The database that `explain` and `sql` are asked about."""

from pathlib import Path

import pytest
from condition_runs import build_database
from explained_runs import FACTS, raw_file
from test_summarise import gather, run


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = gather(
        *(run(n, {"bbr": rate}, rtt_ms=10.0, condition_id="a", **FACTS) for n, rate in ((1, 9.0), (2, 11.0))),
        *(run(n, {"bbr": rate}, rtt_ms=20.0, condition_id="b", **FACTS) for n, rate in ((3, 18.0), (4, 22.0))),
        *(run(n, {"cubic": rate}, rtt_ms=10.0, condition_id="c", **FACTS) for n, rate in ((5, 10.0), (6, 30.0))),
        run(7, {"cubic": 5.0, "bbr": 35.0}, rtt_ms=10.0, condition_id="f", loss_pct=0.1, **FACTS),
        run(8, {"cubic": 5.0, "bbr": 3.0}, rtt_ms=10.0, condition_id="g", buffer_bytes=25_000, **FACTS),
        run(9, {"bbr": 1.0}, rtt_ms=10.0, condition_id="a", is_counted=False, **FACTS),
        run(10, {"cubic": 8.0}, rtt_ms=60.0, condition_id="h", host="far.example.org", **FACTS),
    )
    tables |= {
        "raw_files": [
            raw_file("1/src", "r1"),
            raw_file("2/src", "r2"),
            raw_file("2/left", "r2", state="ignored"),
            raw_file("7/src", "r7"),
            raw_file("meta.json", None),
            raw_file("other/meta.json", None, experiment_id="x"),
        ]
    }
    # In a folder of its own, where databases of other tests are not results beside it.
    folder = tmp_path_factory.mktemp("results") / "explained"
    folder.mkdir()
    return build_database(folder, tables)
