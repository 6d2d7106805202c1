"""Declarations of sweeps: what is filled in, what replaces what, and what is refused with which words."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archives import ROOT

from ccreport.collect.collect import blame_setting
from ccreport.collect.declare import sysctls
from ccreport.collect.declare.campaign import Campaign, CampaignError, load_campaign, read_campaign
from ccreport.collect.declare.checks import check_algorithms, check_engine, list_small_volumes
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.slots import RefusedSettingError
from ccreport.core import algorithms
from ccreport.core.declarations import load_yaml
from ccreport.core.declared_files import DeclarationError

RPC = {"request_bytes": 1, "response_bytes": 100}

# A key that ends in a unit says it in words too.
QUANTITY = r"_(s|ms|us|mbps|bytes|mib|pct|count)$"
SCHEMA = load_yaml(ROOT / "schemas/campaign.schema.yaml")


def declare(*jobs: dict[str, Any], defaults: dict[str, Any] | None = None, **session: Any) -> dict[str, Any]:
    return {
        "title": "A sweep",
        "defaults": {"duration_s": 5} if defaults is None else defaults,
        "sessions": [{"label": "one", "jobs": list(jobs), **session}],
    }


def read_job(job: dict[str, Any], **others: Any) -> dict[str, Any]:
    (read,) = read_campaign(declare({"name": "a"} | job, **others)).sessions[0].jobs
    return read


def walk(schema: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, declared in schema.get("properties", {}).items():
        yield f"{path}.{name}", declared
        yield from walk(declared, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from walk(schema["items"], f"{path}[]")


def test_every_leaf_of_the_schema_has_unit_default_and_bounds() -> None:
    leaves = dict(walk(SCHEMA, ""))
    assert len(leaves) > 150
    for path, leaf in leaves.items():
        assert leaf["description"], path
        if "properties" in leaf:
            assert leaf["additionalProperties"] is False, path
            continue
        if "object" not in str(leaf.get("type")) and "items" not in leaf:
            assert not re.search(QUANTITY, path) or re.search(r"; in [^;]+\.$", leaf["description"]), path
        types = leaf.get("type", [])
        if "number" in types or "integer" in types:
            assert {"minimum", "exclusiveMinimum"} & set(leaf), path
            assert "maximum" in leaf, path
    required = {"title", "sessions", "label", "jobs", "name", "alias", "at_s", "model"}
    required |= {"enter_bad_pct", "leave_bad_pct", "request_bytes", "response_bytes", "values"}
    assert {path.rpartition(".")[2] for path, leaf in leaves.items() if "default" not in leaf} <= required


def test_defaults_come_from_the_schema_and_units_stand_in_names() -> None:
    job = read_job({})
    settings = SCHEMA["properties"]["defaults"]["properties"]
    assert set(job) == {*settings, "name"}
    assert job["duration_s"] == 5
    assert {key: job[key] for key in ("iterations_count", "rtt_ms", "mtu_bytes", "offloads", "loss")} == {
        "iterations_count": 1,
        "rtt_ms": None,
        "mtu_bytes": 1500,
        "offloads": False,
        "loss": None,
    }
    assert job["instruments"]["ss_flags"] == "-tinm"
    assert job["queue"] == {"discipline": "fifo", "ecn": False}


def test_an_inner_level_replaces_what_excludes_it() -> None:
    job = read_job({"volume_bytes": 1000})
    assert (job["duration_s"], job["volume_bytes"]) == (None, 1000)
    job = read_job(
        {"loss": {"model": "gilbert-elliott", "enter_bad_pct": 1, "leave_bad_pct": 20}}, defaults={"loss_pct": 1}
    )
    assert job["loss_pct"] is None
    assert job["loss"]["bad_loss_pct"] == 100
    # Null takes away, and of a nested setting the other keys stay.
    outer = {"sender_mbps": 20, "instruments": {"ss_interval_s": 1, "ss_flags": "-ti"}}
    job = read_job({"sender_mbps": None, "instruments": {"ss_interval_s": 2}}, defaults=outer)
    assert job["sender_mbps"] is None
    assert (job["instruments"]["ss_interval_s"], job["instruments"]["ss_flags"]) == (2, "-ti")


@pytest.mark.parametrize("key", SCHEMA["properties"]["defaults"]["properties"])
def test_null_takes_any_setting_away_that_an_outer_level_has(key: str) -> None:
    plain = read_job({})
    # Of settings without a value of their own any stands for all.
    given = {"sysctls": {"net.ipv4.tcp_sack": 0}, "module_parameters": {"tcp_cubic.beta": 1}, "mtu_bytes": 9000}
    given |= {"flows_count": 4, "limit_packets_count": 7, "queue": {"discipline": "red"}, "jitter_ms": 1}
    defaults = {"duration_s": 5, key: given.get(key, plain[key])}
    own = {key: None} | ({"volume_bytes": 9} if key == "duration_s" else {})
    job = read_job(own, defaults=defaults)
    assert job == plain | ({"volume_bytes": 9, "duration_s": None} if key == "duration_s" else {})
    assert plan_campaign(read_campaign(declare({"name": "a"} | own, defaults=defaults)), "test").runs


def test_null_takes_single_settings_of_the_kernel_away() -> None:
    sysctls, parameters = {"net.ipv4.tcp_sack": 0, "net.ipv4.tcp_ecn": 1}, {"tcp_cubic.beta": 512}
    outer = {"duration_s": 5, "sysctls": sysctls, "module_parameters": parameters}
    inner = {"sysctls": {"net.ipv4.tcp_sack": None}, "module_parameters": {"tcp_cubic.beta": None}}
    job = read_job(inner, defaults=outer)
    assert (job["sysctls"], job["module_parameters"]) == ({"net.ipv4.tcp_ecn": 1}, {})


def test_what_every_case_has_of_its_own_is_not_given_beside_them() -> None:
    cases = [{"name": name, "congestion_control": name} for name in ("cubic", "bbr")]
    job = {"name": "{cc}", "for_each": {"cc": cases}, "congestion_control": "reno"}
    with pytest.raises(CampaignError, match="every case of for_each has a `congestion_control` of its own; leave this"):
        read_campaign(declare(job))
    # One that only some cases have is what the others get.
    job["for_each"] = {"cc": [cases[0], {"name": "reno", "rtt_ms": 5}]}
    found = [job["congestion_control"] for job in read_campaign(declare(job)).sessions[0].jobs]
    assert found == ["cubic", "reno"]


def test_a_session_stands_between_campaign_and_job() -> None:
    outer = {"duration_s": 5, "rtt_ms": 10, "sender_mbps": 1}
    job = read_job({"rtt_ms": 30}, defaults=outer)
    assert (job["duration_s"], job["rtt_ms"]) == (5, 30)
    content = declare({"name": "a", "rtt_ms": 30}, defaults=outer)
    content["sessions"][0]["defaults"] = {"duration_s": 7, "rtt_ms": 20}
    (job,) = read_campaign(content).sessions[0].jobs
    assert (job["duration_s"], job["rtt_ms"], job["sender_mbps"]) == (7, 30, 1)


def test_for_each_makes_a_job_of_each_combination() -> None:
    declared = {
        "name": "{mix}_p{flows_count}_loss{loss_pct}",
        "for_each": {
            "mix": [
                {"name": "cubic", "congestion_control": "cubic"},
                {"name": "both", "congestion_control": ["cubic", "bbr"]},
            ],
            "flows_count": [16],
            "loss_pct": [None, 0.001],
        },
    }
    jobs = read_campaign(declare(declared)).sessions[0].jobs
    assert [job["name"] for job in jobs] == [
        "cubic_p16_lossnone",
        "cubic_p16_loss0.001",
        "both_p16_lossnone",
        "both_p16_loss0.001",
    ]
    assert [job["loss_pct"] for job in jobs] == [None, 0.001, None, 0.001]
    assert jobs[2]["congestion_control"] == ["cubic", "bbr"]


def test_a_case_goes_before_the_job() -> None:
    sizes = [{"name": "s", "buffer_bytes": 1000}, {"name": "b", "buffer_bdp": 2}]
    declared = {"name": "{size}", "for_each": {"size": sizes}, "buffer_bytes": 5, "bottleneck_mbps": 1, "rtt_ms": 1}
    jobs = read_campaign(declare(declared)).sessions[0].jobs
    assert [(job["buffer_bytes"], job["buffer_bdp"]) for job in jobs] == [(1000, None), (None, 2)]


BOTTLENECK = {"bottleneck_mbps": 10, "buffer_bytes": 10_000}


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"rtt_mss": 1}, r"session one, job a: `rtt_mss` is not a key; did you mean `rtt_ms`\?"),
        (
            {"instruments": {"ss_interval": 1}},
            r"job a, instruments: `ss_interval` is not a key; did you mean `ss_interval_s`\?",
        ),
        ({"rtt_ms": -1}, r"session one, job a, rtt_ms: `-1` is out of range; write a number from 0 up to 10000"),
        ({"volume_bytes": 1, "duration_s": 1}, r"job a: duration_s and volume_bytes exclude each other"),
        ({"name": "a/b"}, r"job a/b, name: `a/b` is not allowed here: Folder, of letters"),
        ({"name": "{x}"}, r"job \{x\}, name: for_each has no `x`"),
        ({"for_each": {"mixed": ["a"]}}, r"for_each\.mixed: `mixed` is not a setting"),
        ({"for_each": {"cc": ["reno"]}}, r"such as `\{name: reno, congestion_control: reno\}`$"),
        ({"for_each": {"x": [{"name": "1", "rtt": 3}]}}, r"job a: `rtt` is not a key"),
        ({"for_each": {"x": [{"name": "1", "rt_ms": None}]}}, r"job a: `rt_ms` is not a key; did you mean `rtt_ms`\?"),
        (
            {"for_each": {"x": [{"name": "1", "congestion_control": "cubic", "reno": None, "bbr": None}]}},
            r"job a: `bbr` is not a key; write `congestion_control: \[cubic, reno, bbr\]`$",
        ),
        ({"rtt_ms": 10, "20": None}, r"job a: `20` is not a key; write `rtt_ms: \[10, 20\]`$"),
        ({"for_each": {"rtt_ms": [1, 2]}}, r"session one: two jobs are called a"),
        (
            {"destinations": [{"alias": "a:b"}]},
            r"destinations\.0\.alias: `a:b` is not allowed here: Name in file names",
        ),
        ({"destinations": [{"alias": "x"}, {"alias": "x"}]}, r"job a, destinations: x is there twice"),
        ({"destinations": [{"alias": "x", "rtt_ms": 5}], "rtt_ms": [1, 2]}, r"rtt_ms: a sweep, but some destinations"),
        ({"duration_s": None}, r"duration_s: neither this nor volume_bytes"),
        ({"rtt_ms": [10, 20, 10]}, r"rtt_ms: 10 is there twice"),
        ({"rtt_ms": [10, 20], "limit_packets_count": [1, 2]}, r"limit_packets_count: file names have room for one"),
        ({"jitter_ms": 1}, r"jitter_ms: netem needs a delay"),
        ({"bottleneck_mbps": 10}, r"bottleneck_mbps: its buffer is not declared"),
        ({"buffer_bytes": 10}, r"buffer_bytes: there is no bottleneck_mbps"),
        ({"bottleneck_mbps": 10, "buffer_bdp": 1}, r"buffer_bdp: a bandwidth-delay product needs one rtt_ms"),
        (
            {"bottleneck_mbps": 10, "buffer_bdp": 1, "rtt_ms": [1, 2]},
            r"needs one rtt_ms above 0; for a job each, write `for_each",
        ),
        (
            {"bottleneck_mbps": 10, "buffer_bdp": 1, "rtt_ms": 5, "stages": [{"at_s": 1, "rtt_ms": 9}]},
            r"buffer_bdp: stages change",
        ),
        ({"queue": {"discipline": "red"}}, r"queue\.discipline: there is no bottleneck"),
        (BOTTLENECK | {"queue": {"discipline": "cake"}, "ecn": True}, r"queue\.ecn: cake marks whatever"),
        (BOTTLENECK | {"queue": {"ecn": True}}, r"queue\.ecn: fifo marks no packets"),
        ({"stages": [{"at_s": 1, "bottleneck_mbps": 5}]}, r"stages: there is no bottleneck_mbps"),
        (BOTTLENECK | {"stages": [{"at_s": 9, "bottleneck_mbps": 5}]}, r"stages: 9 s is after the end of the run"),
        ({"instruments": {"dumps_at_s": [5]}}, r"instruments\.dumps_at_s: 5 s is after the end"),
        ({"congestion_control": ["cubic", "bbr"]}, r"flows_count: 1 cannot be divided between 2 algorithms"),
        ({"congestion_control": ["bbr", "bbr"], "flows_count": 2}, r"congestion_control: bbr is there twice"),
        ({"congestion_control": ["bbr", "cubic"], "clients": [{}]}, r"congestion_control: a list divides"),
        ({"flows_count": 2, "clients": [{}]}, r"flows_count and clients exclude each other"),
        (
            {"congestion_control": ["cubic", "bbr"], "clients": [{"congestion_control": "bbr"}]},
            r"clients replace; each client has its own, so take it away in this job: `congestion_control: null`$",
        ),
        (
            {"congestion_control": ["cubic", "bbr"], "clients": [{}]},
            r"clients replace; give each client its own, and take it away in this job: `congestion_control: null`$",
        ),
        ({"flows_count": 129}, r"flows_count: a client has at most 128"),
        ({"clients": [{"destination": "x"}]}, r"clients: x is none of the destinations \(there are none\)"),
        (
            {"clients": [{"destination": "x"}], "destinations": [{"alias": "x"}]},
            r"clients: a destination can be chosen only where destinations_per_run is all",
        ),
        ({"clients": [{"duration_s": 1, "volume_bytes": 1}]}, r"clients: duration_s and volume_bytes exclude"),
        ({"clients": [{"count": 3, "stagger_s": 3}]}, r"duration_s: a client starts only after 6 s"),
        ({"clients": [{"program": "netperf"}]}, r"clients\.0\.program: netperf needs rpc"),
        (
            {"clients": [{"program": "iperf3", "rpc": RPC}]},
            r"clients\.0\.program: iperf3 has no rpc; leave program out",
        ),
        ({"rpc": RPC, "reverse": True}, r"reverse: netperf's requests and answers go both ways; leave it out"),
        ({"sysctls": ["net.ipv4.tcp_sack=0"]}, r"; write `sysctls: \{net\.ipv4\.tcp_sack: 0\}`$"),
        (
            {"instruments": {"ss_flags": "-tinK"}},
            r"ss_flags: `-tinK` is not allowed here: Its flags, of those that take no .*; leave out `K`$",
        ),
        ({"instruments": {"capture": True}}, r"; write \{\}, which takes each key's default$"),
        (
            {"parameter_sweep": {"name": "tcp_cubic.beta", "values": [1]}, "module_parameters": {"tcp_cubic.beta": 2}},
            r"parameter_sweep\.name: module_parameters set tcp_cubic\.beta",
        ),
        ({"sysctls": {"kernel.panic": 1}}, r"sysctls: `?'?kernel.panic"),
        ({"sysctls": {"tcp_ecn": 1}}, r"sysctls: `tcp_ecn` is not allowed here; did you mean `net\.ipv4\.tcp_ecn`\?$"),
        ({"sysctls": {"rmem_default": 1}}, r"; did you mean `net\.core\.rmem_default`\?$"),
    ],
)
def test_what_contradicts_itself_is_refused_by_job_and_key(job: dict[str, Any], message: str) -> None:
    with pytest.raises(CampaignError, match=message):
        plan_campaign(read_campaign(declare({"name": "a"} | job)), "x")


def test_names_are_there_once_and_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="session one: two jobs are called a"):
        read_campaign(declare({"name": "a"}, {"name": "a"}))
    content = declare({"name": "a"})
    content["sessions"] *= 2
    with pytest.raises(CampaignError, match="two sessions are called one"):
        read_campaign(content)
    path = tmp_path / "own.yaml"
    path.write_text("title: [", encoding="utf-8")
    with pytest.raises(DeclarationError, match=r"own\.yaml:1: not YAML: "):
        load_campaign(path)
    path.write_text("title: x", encoding="utf-8")
    with pytest.raises(DeclarationError, match=r"own\.yaml: `sessions` is missing: Parts of the sweep"):
        load_campaign(path)
    path.write_text("- x", encoding="utf-8")
    with pytest.raises(DeclarationError, match=r"own\.yaml: a list is not a group of keys$"):
        load_campaign(path)
    with pytest.raises(DeclarationError, match=r"none\.yaml does not exist"):
        load_campaign(tmp_path / "none.yaml")


LINES = """\
title: A sweep
defaults: {duration_s: 5}
sessions:
- label: one
  jobs:
  - name: a
    bottleneck_mbps: 10
  - name: b_{rtt_ms}
    for_each: {rtt_ms: [1, 2]}
    queue: {ecn: true}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: a", "nmae: a", r":6: session one, job 1: `nmae` is not a key; did you mean `name`\?$"),
        ("label: one", "label: a b", r":4: session a b, label: `a b` is not allowed here: "),
        (
            "{rtt_ms: [",
            "{rtt: [",
            r":9: session one, job b_\{rtt_ms\}, for_each.rtt: `rtt` is not a setting, .* `rtt_ms`\?$",
        ),
        (
            "name: b_{rtt_ms}",
            "name: b",
            r':8: session one: two jobs are called b; name what differs: `name: "b_\{rtt_ms\}"`$',
        ),
        ("name: b_{rtt_ms}", 'name: "b_{rtt_ms"', r':8: .*; name what differs: `name: "b_\{rtt_ms\}"`$'),
        ("name: b_{rtt_ms}", 'name: "b_{}"', r":8: .*, name: nothing between its braces; .* as `\{rtt_ms\}`$"),
        ("name: b_{rtt_ms}", "name: {rtt_ms}", r':8: .*; a name that begins with a brace is in quotes: "\{rtt_ms\}"$'),
        (
            "{rtt_ms: [1, 2]}",
            "[1, 2]",
            r":9: .*; write, for example, `for_each: \{rtt_ms: \[10, 20\]\}`, and \{rtt_ms\} in",
        ),
        ("{rtt_ms: [1, 2]}", "{rtt_ms: 1}", r":9: .*, for_each.rtt_ms: `1` is not a list; put it in brackets: \[1\]$"),
        (
            "{rtt_ms: [1, 2]}",
            "{path: [{rtt_ms: 1}]}",
            r":9: .*: write `\{name: short, rtt_ms: 1\}` and \{path\} in the",
        ),
        ("name: b_{rtt_ms}", "name: b_{rtt}", r":8: .*: for_each has no `rtt`; did you mean `rtt_ms`\?$"),
        ("{ecn: true}", "{ecn: ye}", r":10: session one, job b_\{rtt_ms\}, queue.ecn: `ye` is not true or false$"),
        (
            "[1, 2]",
            "[1, x]",
            r":9: session one, job b_x, rtt_ms: `x` is not a number or a list or null; write digits, such as 10$",
        ),
        (
            "bottleneck_mbps: 10",
            "loss_pct: 100",
            r":7: session one, job a, loss_pct: lets no packet through, so nothing can be measured; write less than",
        ),
        (
            "bottleneck_mbps: 10",
            "destinations: [{alias: near}, {alias: far, loss_pct: 100}]",
            r":7: session one, job a, destinations.1.loss_pct: lets no packet through, ",
        ),
        (
            "bottleneck_mbps: 10",
            "loss: {enter_bad_pct: 1, leave_bad_pct: 2, good_loss_pct: 100}",
            r":7: session one, job a, loss: lets no packet through, ",
        ),
        # Those of a case name its line, not the job's.
        (
            "for_each: {rtt_ms: [1, 2]}",
            "for_each:\n      rtt_ms:\n      - 1\n      - {name: y, rtt: 3}",
            r":12: session one, job b_y: `rtt` is not a key; did you mean `rtt_ms`\?$",
        ),
        (
            "for_each: {rtt_ms: [1, 2]}",
            "for_each:\n      rtt_ms:\n      - {name: x, loss_pct: 1, loss: {}}",
            r":11: session one, job b_\{rtt_ms\}: loss_pct and loss exclude each other$",
        ),
        (
            "bottleneck_mbps: 10",
            'congestion_control: "{cc}"',
            r":7: .*, congestion_control: `\{cc\}` is filled in only in a job's name; for a job each, ",
        ),
        (
            "{rtt_ms: [1, 2]}",
            "{algorithm: [{nam: x, rtt_ms: 1}]}",
            r":9: .*a case of several keys needs a `name`; did you mean `name` in place of `nam`\?$",
        ),
        (
            "{ecn: true}",
            "codle",
            (
                r":10: .*: `codle` is not a group of keys or null; write \{discipline: fq_codel\}, where there are "
                "fifo, fq"
            ),
        ),
        (
            "name: a\n    bottleneck_mbps: 10",
            "name: a\n    congestion_control: BBR",
            r":7: .*: `BBR` is not allowed here; did you mean `bbr`\?$",
        ),
        (
            "name: a\n    bottleneck_mbps: 10",
            "name: a\n    congestion_control: TCP BBR",
            r":7: .*: `TCP BBR` is not allowed here: Algorithm by the kernel's name \(bbr, cubic, dctcp\); null takes",
        ),
        ("{rtt_ms: [1, 2]}", "{algorithm: [bbr]}", r":9: .*, such as `\{name: bbr, congestion_control: bbr\}`$"),
        # What would be several jobs.
        (
            "bottleneck_mbps: 10",
            "bottleneck_mbps: [10, 20]",
            r":7: .*: a list is not a number or null; for a job each, write `for_each: \{bottleneck_mbps: ",
        ),
        (
            "bottleneck_mbps: 10",
            "sysctls: {net.ipv4.tcp_ecn: [0, 1]}",
            r":7: .*; for a job each, write `for_each: \{tcp_ecn: \[\{name: 0, sysctls: \{net.ipv4.tcp_ecn: 0\}\}, ",
        ),
        # A value is told before the name that it makes.
        (
            "{rtt_ms: [1, 2]}",
            "{rtt_ms: [5 ms, 10]}",
            r":9: .*, rtt_ms: `5 ms` is not a number or a list or null; write 5, in the unit of `rtt_ms`",
        ),
        ("{rtt_ms: [1, 2]}", "{rtt_ms: [1, 1]}", r":9: .*, for_each.rtt_ms: `1` is listed twice$"),
        ("{rtt_ms: [1, 2]}", "{a: [{name: x}, {name: x}]}", r":9: .*, for_each.a: `x` is listed twice$"),
        ("duration_s: 5", "duration_s: 2.5", r":2: .* whole number or null; write 3: iperf3 counts whole seconds$"),
        ("title: A sweep", "title: A sweep\ntitle: B", r":2: `title` is also in line 1; delete one of them$"),
        (
            "duration_s: 5",
            "duration_s: five",
            r":2: defaults.duration_s: `five` is not a whole number or null; write digits, such as 10$",
        ),
        # Near in its letters, far in its meaning: background_udp_mbps.
        (
            "bottleneck_mbps",
            "bandwidth_mbps",
            r":7: .*, job a: `bandwidth_mbps` is not a key; .* `bottleneck_mbps` \(of",
        ),
        ("title", "titel", r":1: `titel` is not a key; did you mean `title`\?$"),
        # What contradicts itself is found in what is planned.
        ("", "", r":7: session one, job a, bottleneck_mbps: its buffer is not declared; add buffer_bytes or"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(LINES.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DeclarationError, match=rf"own\.yaml{message}") as caught:
        plan_campaign(load_campaign(path), "own")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("net.ipv4.tcp_rmem", "4096 lots", "takes 3 integers, not `4096 lots`; write net.ipv4.tcp_rmem: 4096 131072 "),
        ("net.ipv4.tcp_rmem", "6291456", "takes 3 integers, not `6291456`"),
        ("net.ipv4.tcp_wmem", "4096 0x4000 4194304", None),
        ("net.ipv4.tcp_congestion_control", "1", "takes a name, not `1`; write net.ipv4.tcp_congestion_control: cubic"),
        ("net.ipv4.tcp_congestion_control", "cubik", "`cubik`; did you mean `cubic`?"),
        ("net.ipv4.tcp_sack", "yes", "takes an integer, not `yes`; write net.ipv4.tcp_sack: 1"),
        ("net.ipv4.tcp_sack", "0", None),
        # Nothing is known of settings that are not here, or have no value that shows their form.
        ("net.ipv4.tcp_of_mine", "any thing", None),
        ("net.ipv4.tcp_fastopen_key", "0-0-0-1", None),
        ("net.core.rps_default_mask", "ff", None),
    ],
)
def test_a_sysctl_takes_a_value_of_its_form(
    name: str, value: str, problem: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysctls, "SYSCTLS", tmp_path)
    present = {"ipv4/tcp_sack": "1", "ipv4/tcp_fastopen_key": "0-0-0-0", "core/rps_default_mask": "0"}
    for key, shown in present.items():
        file = tmp_path / "net" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{shown}\n")
    path = tmp_path / "own.yaml"
    path.write_text(LINES.replace("bottleneck_mbps: 10", f"sysctls: {{{name}: '{value}'}}"), encoding="utf-8")
    if problem is None:
        sysctls.check_sysctls(load_campaign(path))
        return
    with pytest.raises(DeclarationError) as caught:
        sysctls.check_sysctls(load_campaign(path))
    assert str(caught.value).startswith(f"{path}:7: session one, job a, sysctls: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize("setting", ["congestion_control: [bbr, cubik]", "clients: [{congestion_control: cubik}]"])
def test_an_algorithm_nearly_called_as_one_of_linux_is_refused(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(LINES.replace("bottleneck_mbps: 10", setting), encoding="utf-8")
    with pytest.raises(DeclarationError, match=r"own\.yaml:7: session one, job a, .* `cubik`; did you mean `cubic`\?$"):
        check_algorithms(load_campaign(path))
    # People give algorithms of their own kernels any name.
    check_algorithms(load_campaign(path, {"kernel": "linux"}))
    loaded = tmp_path / "available"
    loaded.write_text("reno cubik\n", encoding="ascii")
    monkeypatch.setattr(algorithms, "AVAILABLE", loaded)
    check_algorithms(load_campaign(path))


@pytest.mark.parametrize(
    ("setting", "line", "volume"),
    [
        ("volume_bytes: 131071", 7, "131,071"),
        ("clients:\n    - {volume_bytes: 20000000}\n    - {volume_bytes: 10000}", 9, "10,000"),
        ("clients:\n    - {volume_bytes: 20000000}\n    - {duration_s: 4}", None, ""),
        ("volume_bytes: 20000000", None, ""),
    ],
)
def test_a_volume_that_iperf3_writes_at_once_is_told_with_its_line(
    setting: str, line: int | None, volume: str, tmp_path: Path
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(LINES.replace("bottleneck_mbps: 10", setting), encoding="utf-8")
    told = list_small_volumes(load_campaign(path))
    assert len(told) == (line is not None)
    assert all(
        f"own.yaml:{line}: session one, job a, volume_bytes: " in one and f"than {volume}," in one for one in told
    )


@pytest.mark.parametrize(
    ("volume_bytes", "unsent", "told"),
    [
        (500_000, None, "; write `sysctls: {net.ipv4.tcp_notsent_lowat: 16384}` and take at least 1,474,560 bytes$"),
        (
            19_999_999,
            None,
            "of which megabytes may wait there unsent .*; write `sysctls: {net.ipv4.tcp_notsent_lowat: 16384}`$",
        ),
        (
            1_474_559,
            16384,
            "131,072 bytes and those of net.ipv4.tcp_notsent_lowat may .*; take at least 1,474,560 bytes$",
        ),
        (2_000_000, "0x20000", "; take at least 2,621,440 bytes$"),
        (1_474_560, 16384, None),
        (20_000_000, 4294967295, None),
    ],
)
def test_a_volume_much_of_which_may_be_unsent_is_told(
    volume_bytes: int, unsent: int | str | None, told: str | None
) -> None:
    job = {"name": "a", "volume_bytes": volume_bytes, "sysctls": {"net.ipv4.tcp_notsent_lowat": unsent}}
    found = list_small_volumes(read_campaign(declare(job)))
    assert len(found) == (told is not None)
    assert all(re.search(f"volume_bytes: iperf3 ends .*{told}", text) for text in found)
    for other in ({"reverse": True}, {"extra_arguments": ["-u", "-b", "10M"]}):
        assert not list_small_volumes(read_campaign(declare(job | other)))


@pytest.mark.parametrize("setting", ["congestion_control: candidate", "default_congestion_control: candidate"])
@pytest.mark.parametrize("testbed", [{}, {"kernel": "linux"}])
def test_a_campaign_of_compare_kernels_is_said_to_be_one(setting: str, testbed: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(LINES.replace("bottleneck_mbps: 10", setting), encoding="utf-8")
    told = (
        rf"own\.yaml:7: session one, job a, {setting.partition(':')[0]}: `candidate` stands for .* cubic bbr --campaign"
    )
    with pytest.raises(DeclarationError, match=told):
        check_algorithms(load_campaign(path, testbed))


@pytest.mark.parametrize(
    ("testbed", "message"),
    [
        ("{engine: namespaces, clock: virtual}", r":1: testbed: clock: virtual needs a user-mode kernel, and engine"),
        (
            "{engine: namespaces}",
            r":8: session one, job a, congestion_control: this machine's kernel has not loaded `own`",
        ),
    ],
)
def test_what_namespaces_cannot_do_is_said_with_file_and_line(testbed: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    declared = LINES.replace("bottleneck_mbps: 10", "congestion_control: own")
    path.write_text(f"testbed: {testbed}\n{declared}", encoding="utf-8")
    with pytest.raises(DeclarationError, match=rf"own\.yaml{message}"):
        check_engine(load_campaign(path))
    check_engine(load_campaign(path, {"engine": "auto"}))


def test_a_setting_that_a_kernel_refuses_is_told_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    written = LINES.replace("bottleneck_mbps: 10", "sysctls: {net.ipv4.tcp_ecn: 7}").replace("{ecn: true}", "{}")
    path.write_text(written, encoding="utf-8")
    declared = load_campaign(path)
    run = plan_campaign(declared, "own").runs[0]
    refused = RefusedSettingError(run, "the kernel refuses net.ipv4.tcp_ecn = 7: Invalid argument")
    told = f"{path}:7: session one, job a, sysctls: the kernel refuses net.ipv4.tcp_ecn = 7: Invalid argument"
    assert str(blame_setting(declared, refused)) == told


def test_a_command_that_is_not_found_is_told_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    written = LINES.replace("bottleneck_mbps: 10", "commands:\n      before_source: [x]").replace("{ecn: true}", "{}")
    path.write_text(written, encoding="utf-8")
    declared = load_campaign(path)
    problem = "commands.before_source: `x` ended with 127: sh: 1: x: not found; the sweep ends here"
    refused = RefusedSettingError(plan_campaign(declared, "own").runs[0], problem)
    assert str(blame_setting(declared, refused)) == f"{path}:8: session one, job a: {problem}"


def test_an_empty_campaign_is_said_to_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("# Nothing yet.\n")
    with pytest.raises(DeclarationError, match=r"own\.yaml is empty$"):
        load_campaign(path, {"clock": "virtual"})


def test_reading_twice_gives_the_same() -> None:
    content = declare({"name": "a", "clients": [{"count": 2}]})
    first: Campaign = read_campaign(content)
    assert read_campaign(content) == first
    assert content == declare({"name": "a", "clients": [{"count": 2}]})
