"""Names of parameters and their values as two texts: as many values as names are read again, whatever is in them."""

from pathlib import Path

from archives import iperf3_json, list_archive, write_archive
from hypothesis import given
from hypothesis import strategies as st

from ccreport.archive.parameters import join_parameters, split_parameters


@given(st.dictionaries(st.text(", ab", min_size=1), st.text(", 1;")))
def test_each_name_has_its_value_again(told: dict[str, str]) -> None:
    names = {name.replace(", ", "; "): value.replace(", ", "; ") for name, value in told.items()}
    again = split_parameters(*join_parameters(told))
    assert len(names) < len(told) or again == names


def test_a_run_without_parameters_has_neither() -> None:
    assert join_parameters({}) == (None, None)
    assert split_parameters(None, None) == {}


def test_settings_of_a_job_and_its_swept_parameter_have_a_value_each(tmp_path: Path) -> None:
    job = '{"param_name": "beta", "settings": {"note, of whom": "after lunch, again"}}'
    files = {"jobmeta.json": job, "src-cmd:10.0.0.2:1:beta:717": iperf3_json()}
    (manifest,) = list_archive(write_archive(tmp_path / "raw", files), tmp_path / "w").values()
    told = (manifest.runs[0].parameter_name, manifest.runs[0].parameter_value)
    assert split_parameters(*told) == {"beta": "717", "note; of whom": "after lunch; again"}
