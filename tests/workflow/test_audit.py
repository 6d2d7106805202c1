"""The audit of the lock, with a vulnerability service on this machine that knows what the test says."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from archives import ROOT

pytest.importorskip("pip_audit", reason="pip-audit is not installed; it is one of the development dependencies")
ADVISORY = {
    "id": "PYSEC-2026-1",
    "summary": "Bad.",
    "affected": [
        {
            "package": {"name": "badpkg", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.1"}]}],
            "versions": ["1.0"],
        }
    ],
}


@contextmanager
def serve_advisories(asked: list[str]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(f"{query['package']['name']} {query['version']}")
            answer = json.dumps({"vulns": [ADVISORY]} if query["package"]["name"] == "badpkg" else {}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
        server.shutdown()
        thread.join()


def audit(lock: Path, url: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts/audit.py", "--lock", lock, "--osv-url", url]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def write_lock(folder: Path, *packages: str) -> Path:
    lock = folder / "requirements.lock"
    lock.write_text("".join(f"{package} \\\n    --hash=sha256:{'0' * 64}\n" for package in packages))
    return lock


def test_a_package_with_a_known_vulnerability_is_named(tmp_path: Path) -> None:
    asked: list[str] = []
    with serve_advisories(asked) as url:
        done = audit(write_lock(tmp_path, "badpkg==1.0", "goodpkg==2.0"), url)
    assert sorted(asked) == ["badpkg 1.0", "goodpkg 2.0"]
    assert done.returncode == 1, done.stderr
    assert "badpkg 1.0: PYSEC-2026-1, mended in 1.1" in done.stdout


def test_packages_without_one_are_well(tmp_path: Path) -> None:
    with serve_advisories([]) as url:
        done = audit(write_lock(tmp_path, "goodpkg==2.0"), url)
    assert (done.returncode, done.stdout) == (0, "1 packages asked about, 0 known vulnerabilities\n"), done.stderr


def test_a_service_that_cannot_be_asked_is_no_verdict(tmp_path: Path) -> None:
    done = audit(write_lock(tmp_path, "goodpkg==2.0"), "http://127.0.0.1:9/v1/query")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "NOT AUDITED" in done.stderr
