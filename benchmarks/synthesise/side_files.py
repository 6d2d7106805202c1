"""The files beside a measurement: `jobmeta.json`, `<host>-meta.json`, `pre-netem` and mpstat's JSON."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from .draws import Run
from .iperf3_output import KERNEL, SENDER_HOST
from .plan import LAT_SWEEP, LIMIT_SWEEP, PARAMETER, PARAMETER_SWEEP, Job

CORES: Final = 2
# The harness leaves out the first four and the last; fewer than these are not a measurement.
CPU_SAMPLES: Final = 8
COUNTED: Final = range(4, CPU_SAMPLES - 1)
# Versions of sysstat: some call the mean over all CPUs -1.
MEAN_NAMES: Final = ("all", "-1")


def print_jobmeta(job: Job, duration_s: int, iterations_count: int) -> str:
    """Return the harness's attributes of a job, one line."""
    one_way = [f"{point.rtt_ms / 2:g}" for point in job.points]
    tool = "pscheduler task --format=json throughput --dest {dst} --congestion=" + job.cc
    if job.client.tool == "iperf3":
        stream = " --json-stream" if job.client.is_stream else ""
        tool = f"iperf3 -c {{dst}} -p 5201 -J{stream} -t {duration_s} -P {job.flows_count} -C {job.cc}"
    facts: dict[str, Any] = {
        "uuid": f"00000000-0000-4000-8000-{job.number:012x}",
        "name": job.name,
        "user": None,
        "type": job.client.tool,
        "enabled": True,
        "instrument": True,
        "iters": iterations_count,
        "src": "localhost",
        "dst": job.destination.name,
        "alias": None,
        "src_cmd": tool,
        "dst_cmd": None,
        "ss": True,
        "tcptrace": False,
        "tcpdump": False,
        "mpstat": "ALL",
        "loss": f"{job.points[0].loss_pct:g}" if job.has_netem and job.points[0].loss_pct else None,
        "lat": one_way[0] if job.has_netem and job.path != LAT_SWEEP else None,
        "limit": None,
        "pacing": None,
        "lat_sweep": ",".join(one_way) if job.path == LAT_SWEEP else None,
        "limit_sweep": None,
        "param_sweep": None,
        "profile_file": None,
        "profile": None,
        "nic": "eth0",
        "hostname": SENDER_HOST,
        "start_time": job.session,
        "hosts": [{"hostname": job.destination.name, "profile": None, "alias": None}],
        "parent": None,
        "NIC": "eth0",
        "MTU": str(job.mss_bytes + 52),
        "NIC_speed": f"{job.line_rate_bps // 10**6}Mb/s",
        "kernel": KERNEL,
    }
    if job.path == LAT_SWEEP:
        facts["lat_val_list"] = one_way
    if job.path == LIMIT_SWEEP:
        limits = [str(point.limit) for point in job.points]
        facts |= {"limit_sweep": ",".join(limits), "limit_val_list": limits}
    if job.path == PARAMETER_SWEEP:
        values = [point.parameter_value for point in job.points]
        facts |= {"param_sweep": f"{PARAMETER}:{','.join(map(str, values))}", "param_name": PARAMETER}
        facts["param_val_list"] = [int(str(value)) for value in values]
    return json.dumps(facts)


def ping_ms(job: Job) -> int:
    """Return the ping that the harness wrote down: whole ms, so 0 below one."""
    return int(job.points[0].rtt_ms)


def print_host_meta(job: Job) -> str:
    """Return what the harness notes of a destination."""
    facts: dict[str, Any] = {"iter_uuids": [], "parent": f"00000000-0000-4000-8000-{job.number:012x}"}
    facts |= {"hostname": job.destination.address, "profile": None, "alias": None, "profile_settings": {}}
    return json.dumps(facts | {"rtt": ping_ms(job)})


def print_netem(job: Job, run: Run) -> str:
    """Return what set up the path prints: half of the delay each way and the loss one way; nothing on a real path."""
    if not job.has_netem:
        return ""
    one_way, loss = f"{run.point.rtt_ms / 2:g}ms", f"{run.point.loss_pct:g}"
    sent = " Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n"
    lines = [f"setting latency to {one_way}\n", "qdisc noqueue 0: dev lo root refcnt 2 \n", sent]
    back = f"qdisc netem 802d: dev r0 root refcnt 2 limit 200000 delay {one_way}\n"
    there = f"qdisc netem 802c: dev r1 root refcnt 2 limit {run.point.limit or 10_000} delay {one_way}"
    loss_text = f" loss {loss}%" if run.point.loss_pct else ""
    return "".join([*lines, back, sent, f"{there}{loss_text}\n", sent])


def print_mpstat(job: Job, run: Run) -> str:
    """Return the CPUs of the sender: idle as chosen in the samples that count, wholly in those that do not."""
    start = datetime.fromtimestamp(run.start_us // 1_000_000, UTC)
    mean_name = MEAN_NAMES[job.number % len(MEAN_NAMES)]
    samples = []
    for number in range(CPU_SAMPLES):
        idle = run.cpu_idle_pct if number in COUNTED else 100.0
        # All cores are as busy as their mean.
        loads = ",\n".join(_print_load(name, idle) for name in (mean_name, *map(str, range(CORES))))
        time = f"{start + timedelta(seconds=number):%H:%M:%S}"
        head = f'\t\t\t\t{{\n\t\t\t\t\t"timestamp": "{time}",\n\t\t\t\t\t"cpu-load": [\n'
        samples.append(f"{head}{loads}\n\t\t\t\t\t]\n\t\t\t\t}}")
    host = (
        f'\t\t\t"nodename": "{SENDER_HOST}",\n\t\t\t"sysname": "Linux",\n\t\t\t"release": "{KERNEL}",\n'
        f'\t\t\t"machine": "x86_64",\n\t\t\t"number-of-cpus": {CORES},\n\t\t\t"date": "{start:%m/%d/%y}",\n'
    )
    text = ",\n".join(samples)
    return f'{{"sysstat": {{\n\t"hosts": [\n\t\t{{\n{host}\t\t\t"statistics": [\n{text}\n\t\t\t]\n\t\t}}\n\t]\n}}}}\n'


def _print_load(name: str, idle: float) -> str:
    system = 100 - idle
    loads = f'"usr": 0.00, "nice": 0.00, "sys": {system:.2f}, "iowait": 0.00, "irq": 0.00, "soft": 0.00'
    return f'\t\t\t\t\t\t{{"cpu": "{name}", {loads}, "steal": 0.00, "guest": 0.00, "gnice": 0.00, "idle": {idle:.2f}}}'
