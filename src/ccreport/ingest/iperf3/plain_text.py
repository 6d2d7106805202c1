"""Say what an output without usable JSON is: the text form of iperf3, pscheduler or iperf2, or nothing known."""

import re
from typing import Final

from ccreport.archive.raw_file import RawFileError
from ccreport.ingest.json_values import quote

# [  3] local 10.0.2.4 port 50338 connected with 10.0.2.15 port 5001
# Client connecting to 10.0.2.15, TCP port 5001 · Server listening on TCP port 5001
IPERF2: Final = re.compile(
    r"^(?:\[ *\d+\] local \S+ port \d+ connected with |(?:Client connecting to \S+,|Server listening on) \w+ port)",
    re.MULTILINE,
)
# [  5] local 172.31.27.77 port 5201 connected to 172.31.31.28 port 46790
# [ ID] Interval           Transfer     Bitrate
IPERF3: Final = re.compile(
    r"^\[ *\d+\] local \S+ port \d+ connected to |^\[ ID\]|^Connecting to host |^Server listening on \d+", re.MULTILINE
)
# Task URL: · Submitting task...
PSCHEDULER: Final = re.compile(r"^(?:Submitting task|Task URL:|Running with tool )", re.MULTILINE)
# iperf3: error - unable to connect to server: Connection refused
ERROR: Final = re.compile(r"^iperf3: (?:\S+ )?(?:error|interrupt) - .*$", re.MULTILINE)


def explain_text(text: str) -> RawFileError | None:
    """Return the error for an output that is text of a known tool or none at all, None where it might be JSON."""
    if not text.strip("\ufeff \t\r\n\0"):
        return RawFileError("empty", "the file is empty: the tool was killed or never ran; rerun the test")
    if IPERF2.search(text):
        return RawFileError("iperf2", "this is output of iperf2, which is not read; measure with iperf3 -J")
    if IPERF3.search(text):
        return RawFileError("plain_text", "this is iperf3's text output; run it with -J and keep the JSON")
    if PSCHEDULER.search(text):
        return RawFileError("plain_text", "this is pscheduler's text output; run it with --format=json")
    if error := ERROR.search(text):
        return RawFileError("error_only", f"the tool reports: {quote(error[0])}; nothing was measured, rerun the test")
    if "{" in text:
        return None
    if any("\ud800" <= char <= "\udfff" or char == "\0" for char in text):
        return RawFileError("not_text", "this is binary data, not output of iperf3 or pscheduler")
    return RawFileError("not_json", f"no JSON in it ({quote(text)!r}); run iperf3 with -J and keep its output")
