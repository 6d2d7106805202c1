"""A small archive that tries everything: `python -m hostile.archive FILE` writes it, always the same bytes.

Names and values are markup, commands and queries; numbers are at their limits; files unpack to much more than they are,
claim what others claim, or name what lies outside. Each payload leaves a mark where it works: `PWNED` as a file where a
command runs, as a dialog or a variable of the page where a script does, at `ELSEWHERE` where a request is made.
"""

import gzip
import io
import json
import lzma
import re
import sys
import tarfile
from pathlib import Path
from typing import Any, Final

import zstandard
from archives import iperf3_json

PWNED: Final = "pwned_by_archive"
# Nothing listens there.
ELSEWHERE: Final = "http://127.0.0.1:9/pwned"
SESSION: Final = "2026-11-20:22:10"
SCRIPT: Final = f"<script>window.{PWNED}=1;alert(1)</script>"
# What stands in names (no slash there) and in values.
PAYLOADS: Final = {
    "shell": f"$(touch {PWNED})`touch {PWNED}`;touch {PWNED}|touch {PWNED} & 'quote\" \\ $HOME",
    "wildcard": "{experiment} {wildcards.x} {input!r} {{}} %s %(x)s {0}",
    "glob": "*[a-z]?**{a,b}!~",
    "sql": "'; DROP TABLE runs; -- \" OR 1=1 $$ $1 ?",
    "html": f'"><img src=x onerror=window.{PWNED}=1><svg onload=alert(1)><a href=javascript:alert(1)>x',
    "markdown": "[x](javascript:alert(1)) ![y](x.png) # h | cell | `code` *em* @fig-x ::: {.callout} {#id} $x$",
    "shortcode": "{{< include _quarto.yml >}} {{< var archive.name >}} {{% x %}}",
    "raw": "```{=html} <b onclick=alert(1)> ``` `<u>`{=html}",
    "yaml": "!!python/object/apply:os.system [x] &a *a : - {a: b} # --- %TAG",
    "lua": f"]]..os.execute('touch {PWNED}')..[[ --[[ return end",
    "typst": f'#read("_quarto.yml") #sys.inputs #eval("1") #link("{PWNED}") $ sum_x $ <label> @ref //c =head',
    "latex": f"\\input{{_quarto.yml}} \\write18{{touch {PWNED}}} % & # _ ^ ~",
    "spreadsheet": "=1+1;=cmd|' -C calc'!A0",
    "plus": "+1+1",
    "minus": "-1+1",
    "at": "@SUM(1)",
    "control": "tab\there new\nline \x1b[31m bell\x07 nul-free",
    "direction": "\u202egnp.exe \u2066 zero\u200bwidth \ufeff",
    "device": "CON",
    "dots": "...",
    "option": "--config=strict=True",
}
# Of values, which may have slashes.
MARKUP: Final = (
    f'{SCRIPT}<img src="{ELSEWHERE}.png"><iframe src="{ELSEWHERE}"></iframe><!-- ]]> --></td></table></style>'
)
OUTSIDE: Final = ("../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd")
# As JSON text: Python's own writer would not write some of them.
NUMBERS: Final = (
    *("1e308", "-1e308", "1e309", "5e-324", "-0", "-0.0", "NaN", "Infinity", "-Infinity", "-1", "0"),
    *("9223372036854775808", "18446744073709551616", "-9223372036854775809", '"1e308"', "true", "null", "[]", "{}"),
)
BOMB_BYTES: Final = 200_000_000
DEPTH: Final = 100_000


def list_files() -> dict[str, bytes]:
    """Return the archive's files by their paths, those that a file system takes."""
    files: dict[str, bytes] = {}
    for number, (name, payload) in enumerate(PAYLOADS.items()):
        folder, text = f"{SESSION}/{payload.replace('/', '_')}", f"{name} {payload}\n{MARKUP}"
        files |= _job(folder, payload, text, is_changing=number % 2 == 0)
    files |= _numbers(f"{SESSION}/numbers")
    files |= _rivals(f"{SESSION}/rivals")
    files |= _bombs(f"{SESSION}/bombs")
    files |= _session()
    files |= _edge()
    return files


def _job(folder: str, host: str, text: str, *, is_changing: bool) -> dict[str, bytes]:
    """Return a job that measured something, whose names and texts are a payload."""
    host = host.replace("/", "_").replace("\n", " ")[:100]
    document = json.loads(iperf3_json())
    document["title"] = text
    document["start"] |= {"version": f"iperf 3.12 {text}", "system_info": text, "cookie": text}
    document["start"]["connecting_to"]["host"] = text
    document["end"] |= {"sender_tcp_congestion": text, "receiver_tcp_congestion": text}
    meta = dict.fromkeys(("uuid", "name", "type", "hostname", "src_cmd", "pre_src_cmd", "kernel", "param_name"), text)
    meta |= {"lat": text, "loss": "0.1", "MTU": "1500", "results": OUTSIDE[0]}
    # Evaluations beside the report's own have tables of a path that changes, and of a queue of known size.
    meta |= {"stages": [{text: text}]} if is_changing else {"buffer_bytes": "250000"}
    meta["clients"] = [{"number": 1, "congestion_control": text, "host": text}]
    line = " ".join(text.split())
    ss = (
        "# 1795212600.5\nState Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n"
        f'ESTAB 0 0 10.0.0.1:4001 10.0.0.2:5201 users:(("{line}",pid=1,fd=3))\n'
        "\t cubic wscale:7,7 rto:204 rtt:10.1/0.1 mss:1448 cwnd:10 bytes_sent:1250000 segs_out:900 data_segs_out:863 "
        f"retrans:0/3 minrtt:10 {line}\n"
    )
    sample = {"timestamp": text, "cpu-load": [{"cpu": text, "usr": 1.0, "idle": 99.0}, {"cpu": "all", "idle": 99.0}]}
    mpstat = {"sysstat": {"hosts": [{"nodename": text, "statistics": [sample]}]}}
    return {
        f"{folder}/jobmeta.json": json.dumps(meta).encode(),
        f"{folder}/{host}-meta.json": json.dumps({"hostname": text, "profile": text, "rtt": 10}).encode(),
        f"{folder}/src-cmd:{host}:1": json.dumps(document).encode(),
        f"{folder}/src-cmd:{host}:2": json.dumps({"error": text}).encode(),
        f"{folder}/ss:{host}:1": ss.encode(),
        f"{folder}/mpstat-sender:{host}:1.json": json.dumps(mpstat).encode(),
        f"{folder}/pre-netem:{host}:1": f"qdisc {line[:40]} 1: dev {line}\nqdisc netem 1: dev r1 delay 5ms".encode(),
        f"{folder}/tcpdump-log:{host}:1": f"tcpdump: listening on {line}, x\n3 packets captured\n".encode(),
        f"{folder}/tcpdump:{host}:1": b"\xd4\xc3\xb2\xa1" + text.encode(),
        f"{folder}/{host[:80]}.html": MARKUP.encode(),
    }


def _numbers(folder: str) -> dict[str, bytes]:
    """Return runs in which every number of a kind is one at its limits."""
    files = {}
    keys = ("bytes", "seconds", "retransmits", "rtt", "snd_cwnd", "end", "bits_per_second", "timesecs", "duration")
    for place, number in enumerate(NUMBERS):
        whole = iperf3_json()
        for key in keys:
            whole = re.sub(rf'"{key}": [\d.]+', f'"{key}": {number}', whole)
        files[f"{folder}/src-cmd:h:{place}"] = whole.encode()
        files[f"{folder}/ss:h:{place}"] = (
            f"# 1795212600.5\nESTAB 0 0 10.0.0.1:4001 10.0.0.2:5201\n\t cubic rtt:{number}/{number} mss:{number} "
            f"cwnd:{number} bytes_sent:{number} segs_out:{number} data_segs_out:{number} retrans:0/{number}\n"
        ).encode()
        load = f'{{"cpu": "all", "usr": {number}, "idle": {number}}}'
        sample = f'{{"timestamp": {number}, "cpu-load": [{load}]}}'
        mpstat = f'{{"sysstat": {{"hosts": [{{"statistics": [{sample}]}}]}}}}'
        files[f"{folder}/mpstat-sender:h:{place}.json"] = mpstat.encode()
    return files


def _rivals(folder: str) -> dict[str, bytes]:
    """Return two files that claim one run, two runs of one cookie, and equal samples twice."""
    whole = iperf3_json().encode()
    return {
        f"{folder}/src-cmd:h:1": whole,
        f"{folder}/again/src-cmd:h:1": whole,
        f"{folder}/src-cmd:h:2": whole + whole,
        f"{folder}/src-cmd:h:01": whole,
    }


def _bombs(folder: str) -> dict[str, bytes]:
    """Return files that are small as they are and large, deep or long once they are read."""
    zeros = bytes(BOMB_BYTES)
    deep = b"[" * DEPTH + b"]" * DEPTH
    capture = b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + zeros[: BOMB_BYTES // 8]
    line = gzip.compress(b"# 1795212600.5\nESTAB " + b"a:1 " * (BOMB_BYTES // 4), 9, mtime=0)
    return {
        f"{folder}/src-cmd:h:1": gzip.compress(zeros, 9, mtime=0),
        f"{folder}/src-cmd:h:2": zstandard.compress(zeros),
        f"{folder}/ss:h:1": lzma.compress(zeros[: BOMB_BYTES // 8], preset=0),
        f"{folder}/ss:h:2": line,
        f"{folder}/src-cmd:h:3": b'{"start": ' + deep + b"}",
        f"{folder}/mpstat-sender:h:1.json": b'{"sysstat": {"statistics": [' + deep,
        f"{folder}/tcpdump:h:1": gzip.compress(capture, 9, mtime=0),
        f"{folder}/jobmeta.json": b'{"clients": ' + deep + b"}",
    }


def _session() -> dict[str, bytes]:
    """Return what `collect` writes of a session, naming what is not its own."""
    about: dict[str, Any] = dict.fromkeys(("campaign", "title", "label", "engine", "kernel", "started_utc"), MARKUP)
    about |= {"tools": {MARKUP: MARKUP, "x": OUTSIDE[1]}, "cores_count": 2**64, "memory_bytes": -1, "expected_s": 1e308}
    attempts = [
        {"run": path, "job": path, "attempt": 1, "outcome": "completed", "message": MARKUP, "fingerprint": MARKUP}
        for path in (*OUTSIDE, *PAYLOADS.values(), "", ".", "..", "a\0b")
    ]
    measured = {"quantity": "rtt", "host": MARKUP, "nominal": 1e308, "measured": -0.0, "unit": MARKUP, "method": MARKUP}
    return {
        f"{SESSION}/session.json": json.dumps(about).encode(),
        f"{SESSION}/attempts.jsonl": "\n".join(map(json.dumps, attempts)).encode(),
        f"{SESSION}/calibration.json": json.dumps({"measurements": [measured], "capacity_bps": 1e299}).encode(),
        f"{SESSION}/campaign.yaml": f"a: !!python/object/apply:os.system ['touch {PWNED}']\n{MARKUP}\n```\n".encode(),
    }


def _edge() -> dict[str, bytes]:
    """Return an access log, counters and a dump of a server with such a name."""
    place = f"{PAYLOADS['html'].replace('/', '_')[:100]}/{PAYLOADS['spreadsheet']}"
    line = '203.0.113.7 - {0} [20/Nov/2026:23:10:05 +0100] "GET {0} HTTP/1.1" 200 {1} "{0}" "{0}" {2}\n'
    return {
        f"{place}/access.log": "".join(
            line.format(MARKUP.replace('"', "'"), size, time)
            for size, time in (("1000", "0.5"), ("18446744073709551616", "1e308"), ("-1", "nan"))
        ).encode(),
        f"{place}/nstat:1795211351": b"#kernel\nTcpRetransSegs 18446744073709551616 0.0\nTcpOutSegs -1 0.0\n"
        + f"{MARKUP} 1 0.0\n".encode(),
        f"{place}/ss-neit:99999999999999999999": b"# 1795212600.5\n"
        + f"ESTAB 0 0 10.0.0.1:4001 10.0.0.2:5201 cgroup:{MARKUP}\n\t cubic rtt:1/1 {MARKUP}\n".encode(),
    }


def write_hostile(path: Path) -> Path:
    """Write the archive as a tarball with members that lead out of it, and return its path."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(list_files().items()):
            _add(archive, name, content)
        for name in (f"../{PWNED}", f"/tmp/{PWNED}", f"a/../../{PWNED}", f"{SESSION}/..", "//etc/x"):  # noqa: S108
            _add(archive, name, b"out")
        for number, (kind, target) in enumerate(
            [
                (tarfile.SYMTYPE, "/etc"),
                (tarfile.LNKTYPE, "../../etc/passwd"),
                (tarfile.CHRTYPE, ""),
                (tarfile.FIFOTYPE, ""),
            ]
        ):
            link = tarfile.TarInfo(f"{SESSION}/shell/member{number}")
            link.type, link.linkname, link.devmajor, link.devminor = kind, target, 1, 5
            archive.addfile(link)
        # A file behind a link that was to lead it out.
        _add(archive, f"{SESSION}/shell/member0/{PWNED}", b"out")
    return path


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o6777
    archive.addfile(member, io.BytesIO(content))


if __name__ == "__main__":
    write_hostile(Path(sys.argv[1]))
