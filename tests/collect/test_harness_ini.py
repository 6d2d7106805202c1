"""INI files of the harness as campaigns: each kind of section with the facts that it must yield."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from archives import FIXTURES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ccreport.__main__ import main
from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.harness_ini.commands import parse_source_command
from ccreport.collect.harness_ini.import_ini import import_harness_ini
from ccreport.collect.harness_ini.sweeps import (
    ParameterSweep,
    parse_loss,
    parse_parameter_sweep,
    parse_rtts,
    parse_tc_rate,
)
from ccreport.collect.plan import Plan
from ccreport.core.errors import InputError
from ccreport.core.units import UnitError

INIS = FIXTURES / "harness_ini"


def import_fixture(folder: Path, name: str, **options: Any) -> tuple[dict[str, Any], str, Plan]:
    """Return the jobs of an imported fixture with the shared settings, the file's text, and its plan."""
    campaign = folder / "campaigns/mine.yaml"
    import_harness_ini(INIS / name, campaign=campaign, **options)
    text = campaign.read_text(encoding="utf-8")
    declared = yaml.safe_load(text)
    (session,) = declared["sessions"]
    jobs = {job["name"]: declared.get("defaults", {}) | job for job in session["jobs"]}
    return jobs, text, plan_campaign(load_campaign(campaign), "mine")


def test_a_sweep_through_a_netem_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs, _, plan = import_fixture(tmp_path, "pscheduler_netem.ini")
    assert list(jobs) == ["ps_sweep_p4", "ps_limits", "ps_vector", "ps_increment"]
    assert jobs["ps_sweep_p4"] == {
        "name": "ps_sweep_p4",
        "iterations_count": 3,
        "duration_s": 60,
        "rtt_ms": [0.6, 2, 3, 40],
        "loss_pct": 0.001,
        "limit_packets_count": 1000,
        "flows_count": 4,
        "destinations": [{"alias": "192.0.2.7"}],
        "commands": {"before_source": ["sysctl -w net.ipv4.tcp_congestion_control=bbr"]},
        "instruments": {"capture": {"snap_bytes": 96}},
        "extra_arguments": ["-w", "64M"],
    }
    # 4 delays x 3 iterations, 3 limits x 2, 3 values, 600 to 800 in steps of 100.
    counts = {name: sum(run.job == name for run in plan.runs) for name in jobs}
    assert counts == {"ps_sweep_p4": 12, "ps_limits": 6, "ps_vector": 3, "ps_increment": 3}
    warnings = capsys.readouterr().err.splitlines()
    assert "pscheduler_netem.ini: ps_sweep_p4, src-cmd: --client-cpu-affinity 0: the testbed binds nothing to CPUs" in (
        warnings[0].removesuffix(" or addresses")
    )
    assert [line.split(": ")[1] for line in warnings] == [
        "ps_sweep_p4, src-cmd",
        "ps_sweep_p4, src-cmd",
        "ps_sweep_p4, post-src-cmd",
        "ps_vector, param-sweep",
    ]


def test_limits_bursts_and_parameters(tmp_path: Path) -> None:
    jobs, _, plan = import_fixture(tmp_path, "pscheduler_netem.ini")
    limits = jobs["ps_limits"]
    assert limits["limit_packets_count"] == [100, 500, 2000]
    assert (limits["rtt_ms"], limits["omit_s"], limits["duration_s"]) == (10, 2, 30)
    assert limits["instruments"] == {"ss_interval_s": None}
    assert limits["loss"] == {
        "model": "gilbert-elliott",
        "enter_bad_pct": 0.001,
        "leave_bad_pct": 99.999,
        "bad_loss_pct": 100,
        "good_loss_pct": 0,
    }
    assert limits["extra_arguments"] == ["-b", "1000000000", "-Z"]
    # The harness counts elements from 1, campaigns from 0.
    sweep = {"name": "tcp_bbr2.pacing_gain", "values": [128, 192, 256], "vector_element": 0}
    assert jobs["ps_vector"]["parameter_sweep"] == sweep
    vector = [run.module_parameters for run in plan.runs if run.job == "ps_vector"]
    assert vector[0] == {"tcp_bbr2.pacing_gain[0]": "128"}
    assert jobs["ps_increment"]["parameter_sweep"] == {"name": "tcp_cubic.beta", "values": [600, 700, 800]}


def test_hosts_of_a_list_and_scaled_rates(tmp_path: Path) -> None:
    jobs, text, plan = import_fixture(
        tmp_path, "iperf3_list.ini", hostlist=str(INIS / "hosts.csv"), scale_rates_by=0.005
    )
    # 24 Gbit/s x 0.005 = 120 Mbit/s for each flow's socket, 15 Gbit/s: 75 Mbit/s of the queue; lines of 100: 500.
    paced = jobs["cubic_paced"]
    assert (paced["flow_pacing_mbps"], paced["pacing_by"], paced["sender_mbps"]) == (120, "socket", 500)
    queued = jobs["pscheduler_paced"]
    assert (queued["flow_pacing_mbps"], queued["flows_count"], "pacing_by" in queued) == (75, 8, False)
    assert jobs["bbr_one"]["destinations"] == [
        {"alias": "near.example.org", "rtt_ms": 5},
        {"alias": "far.example.org", "rtt_ms": 100},
    ]
    assert "# Rates are 0.005 times those of the INI file" in text
    # 3 sections x 10 iterations x 2 hosts, which are measured one after another.
    assert len(plan.runs) == 60
    assert {route.rtt_ms for run in plan.runs for route in run.routes} == {5, 100}


def test_what_a_machine_of_its_own_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs, text, _ = import_fixture(tmp_path, "tuning.ini", default_rtt_ms=30)
    assert list(jobs) == ["default_cubic", "skip_copy_BBR"]
    assert jobs["skip_copy_BBR"]["commands"] == {
        "before_source": ["sysctl -w net.core.optmem_max=1048576"],
        "after_source": ["sysctl -w net.core.optmem_max=20480"],
    }
    assert jobs["default_cubic"]["destinations"] == [{"alias": "receiver", "rtt_ms": 30}]
    problems = capsys.readouterr().err
    for section, key, what in (
        ("default_cubic", "pre-src-cmd", "/home/someone/defaults.sh"),
        ("default_cubic", "src-cmd", "--affinity 5,5"),
        ("default_cubic", "netem-lat", "RTT of receiver is not known: 30 ms"),
        ("skip,copy,BBR", "src-cmd", "--zerocopy=z"),
        ("skip,copy,BBR", "src-cmd", "--skip-rx-copy"),
        ("skip,copy,BBR", "statexec", "statexec"),
    ):
        assert f"tuning.ini: {section}, {key}: {what}" in problems
        assert f"# TODO {section}, {key}: {what}" in text
    # A section that is off stays in the file, as a comment that is YAML once its marks are taken away.
    commented = re.search(r"^      # - name: off_for_now\n(?:      #   .*\n)+", text, re.MULTILINE)
    assert commented is not None
    (off,) = yaml.safe_load(commented[0].replace("      # ", ""))
    assert off == {"name": "off_for_now", "congestion_control": "cubic", "flows_count": 8}


def test_a_profile_beside_the_ini_file_is_a_bottleneck(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs, _, plan = import_fixture(tmp_path, "profiles.ini")
    # [DEFAULT] gives all sections their iterations; the section without a command is not a job.
    assert list(jobs) == ["through_a_profile"]
    job = jobs["through_a_profile"]
    assert job["destinations"] == [{"alias": "hostA", "rtt_ms": 80, "loss_pct": 0.01, "limit_packets_count": 10000}]
    # 10,000 packets of 1500 bytes
    assert (job["iterations_count"], job["bottleneck_mbps"], job["buffer_bytes"]) == (4, 500, 15_000_000)
    assert len(plan.runs) == 4
    problems = capsys.readouterr().err
    assert "through_a_profile, pacing: dynamic # 1Gbit, 100mbit: not a rate" in problems
    assert "control, src-cmd: missing" in problems
    assert "control, profile-control-url: https://agent.example.org:5000/tc: not a key" in problems


def test_hosts_of_different_rates_become_jobs_of_their_own(tmp_path: Path) -> None:
    jobs, _, _ = import_fixture(
        tmp_path,
        "profiles.ini",
        hostlist=str(INIS / "loopback_hosts.csv"),
        profiles=str(INIS / "profiles.yml"),
    )
    first, second = jobs["through_a_profile_paths1"], jobs["through_a_profile_paths2"]
    assert [destination["alias"] for destination in first["destinations"]] == ["hostA", "hostC"]
    assert second["destinations"] == [{"alias": "hostB", "rtt_ms": 30}]
    assert "bottleneck_mbps" in first
    assert "bottleneck_mbps" not in second


def test_a_real_host_gets_a_declared_rtt_and_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs, text, _ = import_fixture(tmp_path, "single.ini")
    assert jobs["one"]["destinations"] == [{"alias": "far.example.org", "rtt_ms": 20}]
    assert "single.ini: one, dst: RTT of far.example.org is not known: 20 ms" in capsys.readouterr().err
    back = jobs["volume_back"]
    # 100 MiB of four flows: 25 MiB of each.
    assert (back["volume_bytes"], back["flows_count"], back["reverse"], back["omit_s"]) == (26_214_400, 4, True, 2)
    assert back["report_interval_s"] == 0.5
    assert "duration_s" not in back
    assert "TODO volume_back, src-cmd: --foo 3: passed on without being understood" in text
    assert back["extra_arguments"] == [
        *("-b", "2000000000", "-w", "4M", "-l", "128K", "-M", "1400", "--cport", "4000", "--foo", "3")
    ]


@pytest.mark.parametrize(
    ("command", "facts", "extra"),
    [
        ("iperf3 -c {dst} -t30 -P4 -JZ", {"flows_count": 4, "duration_s": 30.0}, ("-Z",)),
        ("iperf3 -c {dst}", {"flows_count": 1, "duration_s": 10.0}, ()),
        (
            "iperf3 -c x --congestion=bbr --fq-rate=2.5g -b 1G/16",
            {"flows_count": 1, "duration_s": 10.0, "congestion_control": "bbr", "flow_rate_bps": 1_250_000_000},
            ("-b", "500000000"),
        ),
        (
            "pscheduler task throughput -t PT1M30S -P 2 --reverse --mss 1400 --ip-tos 32 --dest x",
            {"flows_count": 2, "duration_s": 90.0, "is_reverse": True},
            ("-M", "1400", "-S", "32"),
        ),
    ],
)
def test_source_commands(command: str, facts: dict[str, Any], extra: tuple[str, ...]) -> None:
    parsed = parse_source_command(command, scale_rates_by=0.5)
    assert (parsed.facts, parsed.extra_arguments, parsed.lost) == (facts, extra, ())


def test_a_number_of_blocks_is_lost() -> None:
    parsed = parse_source_command("iperf3 -c {dst} -k 50 -N")
    assert (parsed.extra_arguments, parsed.lost) == (("-N",), ("--blockcount 50: tests end by time or bytes",))


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("netperf -H {dst}", "neither iperf3 nor pscheduler"),
        ("iperf3 -u -b 1G -c x", "UDP"),
        ("pscheduler task rtt --dest x", "throughput"),
        ("iperf3 -c x -t long", "invalid _parse_seconds"),
        ("iperf3 -c 'x", "No closing quotation"),
        ("iperf3 -c x > file", "shell"),
    ],
)
def test_commands_that_are_no_tcp_throughput_test(command: str, fault: str) -> None:
    with pytest.raises(UnitError, match=fault):
        parse_source_command(command)


def test_what_zero_stands_for_is_said() -> None:
    endless = parse_source_command("iperf3 -c x -t 0 -i 0")
    assert endless.facts == {"flows_count": 1, "duration_s": 10, "interval_s": 0}
    assert endless.lost == ("a test without end: 10 s stand for it",)


def test_losses_delays_and_parameters() -> None:
    assert parse_loss("0.5%") == {"model": "random", "loss_pct": 0.5}
    # p 1, r 9, 1-h 50, 1-k 10: a tenth of the time in the bad state, 0.1 x 50 + 0.9 x 10 = 14.
    burst = parse_loss("gemodel 1 9 50 10")
    assert burst["loss_pct"] == pytest.approx(14)
    for text in ("", "0.1 25%", "101", "gemodel 0", "gemodel 1 2 3 4 5", "a lot"):
        with pytest.raises(UnitError):
            parse_loss(text)
    assert parse_rtts("0.3, 5ms,100us") == [0.6, 10, 0.2]
    assert parse_tc_rate("15gbit") == 15e9
    for text in ("15gbps", "0"):
        with pytest.raises(UnitError):
            parse_tc_rate(text)
    assert parse_parameter_sweep("tcp_bbr2/parameters/x, sys-module-increment,2,6,2") == ParameterSweep(
        "tcp_bbr2", "x", (2, 4, 6)
    )
    assert parse_parameter_sweep("tcp_bbr2/parameters/x,sys-module-list, 5,1").values == (5, 1)
    for text in (
        "x",
        "tcp/parameters/x, sys-module-increment,2,6,0",
        "tcp/parameters/x, other, 1",
        "../x,sys-module-list,1",
    ):
        with pytest.raises(UnitError):
            parse_parameter_sweep(text)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("iterations = 1\n", "no INI file"),
        ("", "no section"),
        ("[a]\nx = %(gone)s\n", "no INI file"),
        ("[a]\nsrc-cmd = ssh there iperf\n", "no section is left"),
        ("[a]\n[a]\n", "already exists"),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: str, fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.ini").write_text(content, encoding="utf-8")
    campaign = tmp_path / "x.yaml"
    assert main(["import_harness_ini", str(tmp_path / "x.ini"), "--campaign", str(campaign)]) == 1
    assert fault in capsys.readouterr().err
    assert not campaign.exists()


def test_no_campaign_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("edited by hand", encoding="utf-8")
    with pytest.raises(InputError, match=r"mine\.yaml exists"):
        import_harness_ini(INIS / "single.ini", campaign=tmp_path / "mine.yaml")
    assert (tmp_path / "mine.yaml").read_text(encoding="utf-8") == "edited by hand"


KEYS = (
    *("type", "enabled", "iterations", "iters", "src", "dst", "alias", "src-cmd", "dst-cmd", "pre-src-cmd", "ss"),
    *("post-dst-cmd", "tcpdump", "tcpdump-filt", "mpstat", "statexec", "netem-lat", "netem-loss", "netem-limit"),
    *("lat-sweep", "limit-sweep", "param-sweep", "pacing", "profile", "profile-file", "hostlist", "nic"),
)
VALUES = st.one_of(
    st.sampled_from(
        [
            *(
                "true",
                "no",
                "0",
                "1,2",
                "5",
                "0.1 gemodel",
                "10gbit",
                "1e999",
                "tcp_cubic/parameters/beta,sys-module-list,1",
            ),
            *(
                "iperf3 -c {dst} -t 5 -P 2",
                "iperf3 -c x -P 0 -t 0 -C {dst} -O 99999 -i 0",
                "-s x 'a",
                "",
                "%",
                "5ms,,1",
            ),
            *(
                "pscheduler task throughput -t PT5S --frob=1 -P 99999",
                "iperf3 -c x -n 0 -P -3",
                "a/../b.csv",
                "127.0.0.1",
            ),
        ]
    ),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.text("abc[]{}-., é", min_size=1, max_size=6),
        st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8),
        min_size=1,
        max_size=3,
    )
)
def test_any_file_is_a_campaign_or_a_clear_refusal(tmp_path: Path, sections: dict[str, dict[str, str]]) -> None:
    ini, campaign = tmp_path / "any.ini", tmp_path / "any.yaml"
    lines = [
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in own.items()) for name, own in sections.items()
    ]
    ini.write_text("".join(lines), encoding="utf-8")
    campaign.unlink(missing_ok=True)
    try:
        import_harness_ini(ini, campaign=campaign)
    except InputError:
        return
    assert plan_campaign(load_campaign(campaign), "any").runs
