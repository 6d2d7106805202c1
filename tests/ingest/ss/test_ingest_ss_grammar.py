from pathlib import Path

import polars as pl
import pytest
from ss_inputs import ADDRESSES, END, LINE, STAMP, ingest_information, ingest_text

INFORMATION = f"\t cubic wscale:7,7 rto:204 rtt:1.5/0.5 mss:1448 cwnd:10 {END}"


@pytest.mark.parametrize(
    "text",
    [
        f"ESTAB 0 5 {ADDRESSES}\n{INFORMATION}",
        f"0 5 {ADDRESSES}\n{INFORMATION}",
        f"tcp ESTAB 0 5 {ADDRESSES}\n{INFORMATION}",
        f"tcp   ESTAB      0      5          10.0.0.1:43802     10.0.0.2:5201     \n{INFORMATION}",
        f"ESTAB 0 5 {ADDRESSES}{INFORMATION}",
        f"ESTAB 0 5 {ADDRESSES}  {INFORMATION.strip()}\n",
        f"ESTAB 0 5 {ADDRESSES}\n{INFORMATION.strip()}\n",
        f"  ESTAB 0 5 {ADDRESSES}\n  {INFORMATION.strip()}\n",
        f"ESTAB 0 5 {ADDRESSES}\n{INFORMATION.rstrip()}{' ' * 300}\n",
        f"ESTAB 0 5 {ADDRESSES}\n{INFORMATION}".replace("\n", "\r\n"),
        f"ESTAB 0 5 {ADDRESSES}\n{INFORMATION.replace(' mss', chr(10) + chr(9) + ' mss')}",
        f"State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess   \nESTAB 0 5 {ADDRESSES}\n{INFORMATION}",
        f"Netid State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\nESTAB 0 5 {ADDRESSES}\n{INFORMATION}",
        f"Recv-Q Send-Q Local Address:Port Peer Address:Port\nESTAB 0 5 {ADDRESSES}\n{INFORMATION}",
    ],
)
def test_layouts_of_a_socket(text: str, tmp_path: Path) -> None:
    tables = ingest_text(STAMP + text, tmp_path)
    expected = {
        "recv_q_bytes": 0,
        "send_q_bytes": 5,
        "local_address": "10.0.0.1",
        "remote_port": 5201,
        "cc": "cubic",
        "wscale_snd_count": 7,
        "rtt_ms": 1.5,
        "mss_bytes": 1448,
        "cwnd_segments_count": 10,
        "snd_wnd_bytes": 124928,
        "is_partial": False,
        "extra": [],
    }
    assert {name: tables.sample[name] for name in expected} == expected
    assert tables.sample["tcp_state"] == (None if text.startswith("0 ") else "ESTAB")
    assert tables.rejects.is_empty()


def test_sockets_without_samples(tmp_path: Path) -> None:
    text = (
        "tcp LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n\t skmem:(r0,rb131072) bbr cwnd:10\n"
        "LISTEN 0 128 [::]:22 [::]:*\n\t cubic cwnd:10\n"
        "0 128 *:22 *:*\n\t cubic cwnd:10\n"
        "TIME-WAIT 0 0 10.0.0.1:1 10.0.0.2:5201\n\t\n"
        "TIME-WAIT 0 0 10.0.0.1:2 10.0.0.2:5201 timer:(timewait,59sec,0)\n"
        "udp UNCONN 0 0 127.0.0.1:323 0.0.0.0:*\n\t skmem:(r0,rb212992)\n"
        "udp ESTAB 0 0 10.0.0.1:68 10.0.0.3:67\n\t skmem:(r0,rb212992)\n"
        "nl UNCONN 768 0 rtnl:kernel *\n\t skmem:(r0,rb212992)\n"
        "u_str ESTAB 0 0 * 21034 * 21035\n"
        f"ESTAB 0 0 {ADDRESSES}\n\t \n"
        f"ESTAB 0 0 {ADDRESSES}\n\t cubic {END}"
    )
    tables = ingest_text(STAMP + text, tmp_path)
    assert tables.sample["cc"] == "cubic"
    assert tables.rejects.is_empty()


def test_tails_and_options(tmp_path: Path) -> None:
    tail = 'timer:(on,204ms,0) users:(("my iperf3",pid=1,fd=4)) uid:1000 ino:5 sk:1a cgroup:/ v6only:0 <->'
    text = f"{STAMP}ESTAB 0 0 {ADDRESSES} {tail}\n\t ts sack ecn ecnseen fastopen cubic wscale:7,8 {END}"
    tables = ingest_text(text, tmp_path)
    assert tables.extra == {
        "timer": "(on,204ms,0)",
        "users": '(("my iperf3",pid=1,fd=4))',
        "uid": "1000",
        "ino": "5",
        "sk": "1a",
        "cgroup": "/",
        "v6only": "0",
        "<->": "",
    }
    flags = ["has_ts", "has_sack", "has_ecn", "has_ecnseen", "has_fastopen"]
    assert [tables.sample[flag] for flag in flags] == [True] * 5
    assert tables.sample["cc"] == "cubic"


def test_options_are_false_where_others_are_shown(tmp_path: Path) -> None:
    sample = ingest_information(f"ts sack cubic {END}", tmp_path).sample
    assert [sample[flag] for flag in ("has_ts", "has_sack", "has_ecn")] == [True, True, False]
    assert sample["is_bidir"] is None


def test_every_other_token(tmp_path: Path) -> None:
    line = (
        "mem:(r1,w2,f3,t4) dctcp wscale:1,2 rto:204 backoff:3 rtt:1/0.5 ato:40 qack:5 bidir mss:1448 cwnd:10"
        " bytes_acked:6 segs_in:7 data_segs_in:8dctcp:(ce_state:0,alpha:9,ab_ecn:10,ab_tot:11)"
        " rwnd_limited:12ms(13.5%) sndbuf_limited:14ms(15%) unacked:16 retrans:17/18 lost:19 sacked:20 dsack_dups:21"
        " fackets:22 reordering:23 reord_seen:24 rcv_rtt:25.5 rcv_space:26 rcv_ssthresh:27 notsent:28 minrtt:0.029"
        " rcv_ooopack:30 snd_wnd:31 rcv_wnd:32 rehash:33 delivered_ce:34 tcp-ulp-tls tos:0x0 class_id:0x1"
    )
    tables = ingest_information(line, tmp_path)
    expected = {
        "cc": "dctcp",
        "skmem_rmem_bytes": 1,
        "skmem_wmem_queued_bytes": 2,
        "skmem_fwd_bytes": 3,
        "skmem_wmem_bytes": 4,
        "skmem_drops_count": None,
        "backoff_count": 3,
        "ato_ms": 40.0,
        "quick_acks_count": 5,
        "is_bidir": True,
        "data_segments_in_count": 8,
        "rwnd_limited_ms": 12,
        "rwnd_limited_pct": 13.5,
        "sndbuf_limited_ms": 14,
        "sndbuf_limited_pct": 15.0,
        "unacked_count": 16,
        "retransmits_in_flight_count": 17,
        "retransmits_ss_count": 18,
        "lost_count": 19,
        "sacked_count": 20,
        "dsack_dups_count": 21,
        "fackets_count": 22,
        "reordering_count": 23,
        "reord_seen_count": 24,
        "rcv_rtt_ms": 25.5,
        "not_sent_bytes": 28,
        "rcv_ooopack_count": 30,
        "rcv_wnd_bytes": 32,
        "rehash_count": 33,
        "delivered_ce_count": 34,
    }
    assert {name: tables.sample[name] for name in expected} == expected
    assert tables.extra == {
        "dctcp.ce_state": "0",
        "dctcp.alpha": "9",
        "dctcp.ab_ecn": "10",
        "dctcp.ab_tot": "11",
        "tcp-ulp-tls": "",
        "tos": "0x0",
        "class_id": "0x1",
    }
    assert tables.rejects.is_empty()


def test_blanks_of_copies_from_pdf(tmp_path: Path) -> None:
    line = (
        "skmem: (r0, rb131072) bbr cwnd:10 bbr: (bw :99.5Mbps, mrtt: 23.4,pacing_gain : 1.25 ,cwnd_gain:2)"
        f" busy:3020ms rwnd_limited:2072ms (68.6%) {END}"
    )
    tables = ingest_information(line, tmp_path)
    expected = {
        "cc": "bbr",
        "skmem_rcvbuf_bytes": 131072,
        "bbr_bw_bps": 99.5e6,
        "bbr_rtt_min_ms": 23.4,
        "bbr_pacing_gain_ratio": 1.25,
        "bbr_cwnd_gain_ratio": 2.0,
        "busy_ms": 3020,
        "rwnd_limited_ms": 2072,
        "rwnd_limited_pct": 68.6,
        "extra": [],
    }
    assert {name: tables.sample[name] for name in expected} == expected
    assert tables.rejects.is_empty()


def test_unknown_tokens_are_kept_and_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    line = (
        "bbr3 cwnd:10 newtoken:5 hurry bbr:(bw:1bps,mrtt:2,mode:3,bw_hi:4Mbps) new:(a:1,b2:x) odd:(on,204ms)"
        f" inet-sockopt:( recverr transparent) dctcp:fallback_mode q:\u00b5 {END}"
    )
    tables = ingest_information(line, tmp_path)
    assert tables.sample["cc"] == "bbr3"
    assert tables.sample["bbr_bw_bps"] == 1.0
    assert tables.extra == {
        "newtoken": "5",
        "hurry": "",
        "bbr.mode": "3",
        "bbr.bw_hi": "4Mbps",
        "new.a": "1",
        "new.b2": "x",
        "odd": "(on,204ms)",
        "inet-sockopt": "( recverr transparent)",
        "dctcp": "fallback_mode",
        "q": "\u00b5",
    }
    assert tables.rejects.is_empty()
    told = "ss: 8 unknown tokens, kept in `extra`: bbr.bw_hi, bbr.mode, hurry, new.a, new.b2, newtoken, odd, q\n"
    assert capfd.readouterr().err == told


def test_what_is_missing_is_zero_only_where_it_would_be_shown(tmp_path: Path) -> None:
    # An ss of 4.20 or newer on an old kernel: pmtu proves the ss, nothing the kernel.
    first = ingest_information("cubic mss:1448 pmtu:1500 cwnd:10 rcv_ssthresh:64088", tmp_path / "1").sample
    assert [first[name] for name in ("lost_count", "segments_out_count", "delivered_count")] == [0, None, None]
    # Any later field proves all earlier ones, wherever in the file it stands.
    text = f"{STAMP}{LINE}\t cubic cwnd:10\n# 1795211352.0\n{LINE}\t cubic cwnd:10 rehash:1\n"
    later = ingest_text(text, tmp_path / "2").samples
    names = ["segments_out_count", "busy_ms", "delivered_count", "rcv_ooopack_count", "rehash_count"]
    assert later.select(names).rows() == [(0, 0, 0, 0, 0), (0, 0, 0, 0, 1)]
    # With -m and without -i nothing of TCP is shown.
    memory = ingest_information("skmem:(r0,rb131072)", tmp_path / "3").sample
    assert [memory[name] for name in ("skmem_rcvbuf_bytes", "lost_count", "last_send_ms")] == [131072, None, None]


def test_a_port_that_is_used_again_is_another_connection(tmp_path: Path) -> None:
    counts = [(100, 5), (200, 9), (50, 2), (60, 3)]
    text = "".join(
        f"# {1795211351 + number}.5\n{LINE}\t cubic cwnd:10 bytes_sent:{sent} segs_out:{segments} {END}"
        for number, (sent, segments) in enumerate(counts)
    )
    samples = ingest_text(text, tmp_path / "1").samples
    assert samples["connection_number"].to_list() == [0, 0, 1, 1]
    assert samples["flow_id"].n_unique() == 1
    # A 32-bit counter that wraps goes down without that.
    wrapped = text.replace("segs_out:9", "segs_out:4294967290").replace("bytes_sent:50", "bytes_sent:500")
    wrapped = wrapped.replace("bytes_sent:60", "bytes_sent:600")
    assert ingest_text(wrapped, tmp_path / "2").samples["connection_number"].to_list() == [0, 0, 0, 0]


def test_ports_by_name(tmp_path: Path) -> None:
    line = f"ESTAB 0 0 10.0.0.1:43802 10.0.0.2:{{}}\n\t cubic {END}"
    tables = ingest_text(STAMP + line.format("targus-getdata1") + line.format("no-such-name"), tmp_path)
    assert tables.sample["remote_port"] == 5201
    assert tables.reasons == [("malformed_record", False)]
    assert "10.0.0.2" in tables.rejects["message"][0]
    assert "ss -n" in tables.rejects["message"][0]


def test_more_flows_than_there_is_room_for_at_first(tmp_path: Path) -> None:
    sockets = "".join(f"ESTAB 0 0 10.0.0.1:{port} 10.0.0.2:5201\n\t cubic {END}" for port in range(1, 3001))
    samples = ingest_text(f"{STAMP}{sockets}# 1795211352.5\n{sockets}", tmp_path).samples
    assert samples["local_port"].to_list() == [*range(1, 3001)] * 2
    assert samples["connection_number"].max() == 0
    assert samples["flow_id"].n_unique() == 3000
    assert samples.group_by("flow_id").len()["len"].unique().to_list() == [2]
    assert samples["time_utc"].is_sorted()
    assert samples.select(pl.col("is_partial").any()).item() is False
