"""Servers on loopback: nginx and a proxy that breaks transfers, versitygw (S3), rclone (WebDAV)."""

import os
import re
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
S3_SERVER = shutil.which("versitygw", path=f"{Path(__file__).parents[2] / '.venv/s3'}{os.pathsep}{os.environ['PATH']}")
RCLONE = shutil.which("rclone")

CONFIGURATION = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log {folder}/access.log; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
  fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  types {{ text/html html; }} default_type application/octet-stream;
  limit_req_zone $binary_remote_addr zone=slow:1m rate=2r/s;
  server {{
    listen 127.0.0.1:{port}; root {root}; autoindex on; autoindex_exact_size on;
    client_max_body_size 100m;
    location /json/ {{ alias {root}/; autoindex_format json; }}
    location /rounded/ {{ alias {root}/; autoindex_exact_size off; }}
    location /slow/ {{
      alias {root}/; limit_req zone=slow burst=1 nodelay; limit_req_status 429; error_page 429 @slow;
    }}
    location @slow {{ internal; add_header Retry-After 1 always; return 429; }}
    location /private/ {{ return 403; }}
    location /elsewhere/ {{ return 302 http://127.0.0.2:1/; }}
    location /unprotected.tar {{ return 302 http://192.0.2.1/a.tar; }}
    location /kept/ {{ return 302 http://localhost:{port}/a.tar.gz?signature=1; }}
  }}
}}
"""


def find_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the server does not answer")


@contextmanager
def run_server(command: list[str], port: int, **variables: str) -> Iterator[None]:
    process = subprocess.Popen(
        command,
        env=os.environ | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    try:
        wait_for(port, process)
        yield
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def run_nginx(root: Path, folder: Path) -> Iterator[int]:
    """Serve a folder with indexes; yield the port. /json/, /rounded/ and /slow/ are the same in other manners."""
    folder.mkdir(parents=True)
    # The worker is another user where the tests are root's.
    for path in (root, folder, *folder.parents):
        if path.stat().st_uid == os.getuid():
            path.chmod(path.stat().st_mode | 0o755)
    port = find_port()
    configuration = folder / "nginx.conf"
    user = f"user {os.environ.get('USER', 'root')};" if os.getuid() == 0 else ""
    configuration.write_text(user + CONFIGURATION.format(folder=folder, root=root, port=port))
    with run_server([str(NGINX), "-c", str(configuration), "-p", str(folder), "-e", str(folder / "error.log")], port):
        yield port


def list_requests(folder: Path) -> list[str]:
    """Return what nginx answered so far, as `GET /path 206`."""
    lines = (folder / "access.log").read_text().splitlines()
    return [f"{found[1]} {found[2]}" for line in lines if (found := re.search(r'"(\w+ \S+) HTTP[^"]*" (\d+)', line))]


@contextmanager
def run_plain(root: Path) -> Iterator[str]:
    """Serve a folder with Python's own server, whose indexes have names only; yield the address."""
    port = find_port()
    with run_server([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "-d", str(root), str(port)], port):
        yield f"http://127.0.0.1:{port}/"


@contextmanager
def run_s3(folder: Path) -> Iterator[dict[str, str]]:
    """Run an S3-compatible server over a folder, whose folders are buckets; yield the environment of its users."""
    facts = folder.with_name("facts-of-s3")
    for path in (folder, facts):
        path.mkdir(parents=True, exist_ok=True)
    port = find_port()
    # What S3 knows of an object beside its bytes: in files, since not every file system takes it as attributes.
    command = [str(S3_SERVER), "--port", f"127.0.0.1:{port}", "posix", "--sidecar", str(facts), str(folder)]
    secrets = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "of-this-test-only"}
    keys = dict(zip(("ROOT_ACCESS_KEY", "ROOT_SECRET_KEY"), secrets.values(), strict=True))
    with run_server(command, port, **keys):
        yield secrets | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_REGION": "us-east-1"}


@contextmanager
def run_webdav(folder: Path) -> Iterator[str]:
    """Serve a folder by WebDAV; yield the address."""
    folder.mkdir(parents=True, exist_ok=True)
    port = find_port()
    command = [str(RCLONE), "serve", "webdav", "--addr", f"127.0.0.1:{port}", "--config", os.devnull, str(folder)]
    with run_server(command, port):
        yield f"http://127.0.0.1:{port}"


Fault = Callable[[bytes, bytes], bytes]


def cut(after: int) -> Fault:
    """Drop the connection after so many bytes of the body."""
    return lambda head, body: head + body[:after]


def busy(status: int, wait: int | str | None) -> Fault:
    """Answer that the server is busy; `wait` is what it asks for, in seconds or in words that nobody understands."""
    header = f"Retry-After: {wait}\r\n" if wait is not None else ""
    return lambda _head, _body: f"HTTP/1.1 {status} Busy\r\n{header}Content-Length: 0\r\n\r\n".encode()


def refuse(status: int) -> Fault:
    """Answer that this is not to be had."""
    return lambda _head, _body: f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n".encode()


def damage() -> Fault:
    """Change one byte of the body."""
    return lambda head, body: head + bytes([body[0] ^ 1]) + body[1:]


def shorten(length: int) -> Fault:
    """Send a shorter body and say that it is the whole."""
    return lambda head, body: re.sub(rb"Content-Length: \d+", b"Content-Length: %d" % length, head) + body[:length]


def promise(length: int) -> Fault:
    """Say that the body is of another length than it is."""
    return lambda head, body: re.sub(rb"Content-Length: \d+", b"Content-Length: %d" % length, head) + body


def declare(header: str) -> Fault:
    """Add a header."""
    return lambda head, body: head[:-2] + header.encode() + b"\r\n\r\n" + body


class FaultyProxy(socketserver.ThreadingTCPServer):
    """Passes requests on, one for each connection, and answers as the faults of their path say, in order."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, upstream: int) -> None:
        super().__init__(("127.0.0.1", 0), _Pass)
        self.upstream = upstream
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self.requests: list[tuple[str, str | None]] = []
        self.open_count = self.open_most = 0
        self.lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Pass(socketserver.BaseRequestHandler):
    server: FaultyProxy

    def handle(self) -> None:
        head = self._read_head()
        if not head:
            return
        path = head.split(b" ")[1].decode()
        asked = re.search(rb"Range: bytes=(\d+-)", head)
        with self.server.lock:
            self.server.requests.append((path, asked[1].decode() if asked else None))
            self.server.open_count += 1
            self.server.open_most = max(self.server.open_most, self.server.open_count)
            fault = self.server.faults[path].pop(0) if self.server.faults[path] else None
        # Else the server waits for another request.
        head = re.sub(rb"(?i)\r\nconnection: [^\r]*", b"", head).replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
        answer = self._pass_on(head)
        first, _, body = answer.partition(b"\r\n\r\n")
        if fault is not None:
            answer = fault(first + b"\r\n\r\n", body)
        with self.server.lock:
            self.server.open_count -= 1
        self.request.sendall(answer)

    def _read_head(self) -> bytes:
        head = b""
        while b"\r\n\r\n" not in head:
            block = self.request.recv(65536)
            if not block:
                return b""
            head += block
        return head

    def _pass_on(self, head: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.server.upstream)) as upstream:
            upstream.sendall(head)
            return b"".join(iter(lambda: upstream.recv(2**20), b""))


@contextmanager
def run_proxy(upstream: int) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy(upstream)
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()
