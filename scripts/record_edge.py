"""One server and many clients in two namespaces, with a network of several distances between them; see record_edge.sh.

The server sends a file of 100 kB to 6 MB to each client and logs it as nginx would; every few seconds `ss -neit` and
`nstat` are asked, which see connections at work, idle ones and those that just opened. Client addresses 10.9.<path>.<n>
choose a path: delay, loss and rate. Every fourth client of a path has a small receive buffer.
"""

import ctypes
import fcntl
import heapq
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

# One-way delay (s), loss of data packets, rate (bit/s) of each path.
PATHS = [(0.002, 0.0, 200e6), (0.01, 0.001, 50e6), (0.03, 0.01, 20e6), (0.075, 0.002, 50e6)]
SERVER, PORT = "10.8.0.1", 443
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
AT_ONCE = 40
ASK = 16
DUMP_EVERY_S = 4
# How long a client that has its file stays connected, at most.
IDLE_S = 6
SMALL_BUFFER_BYTES = 32768
# A client that lost its way is not waited for.
TIME_LIMIT_S = 60
RANDOM = random.Random(1)  # noqa: S311


def open_tun(name: str) -> int:
    """Open a tun device of this name in the namespace of the process."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return tun


def run(*command: str) -> str:
    """Run a command and return what it printed."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


def relay(server: int, clients: int) -> None:
    """Carry packets between both devices for ever, each after its path's delay; data may be lost or wait."""
    waiting: list[tuple[float, int, int, bytes]] = []
    free = [0.0] * len(PATHS)
    number = 0
    while True:
        now = time.monotonic()
        timeout = max(waiting[0][0] - now, 0) if waiting else None
        for tun in select.select([server, clients], [], [], timeout)[0]:
            for _ in range(64):
                try:
                    packet = os.read(tun, 2048)
                except BlockingIOError:
                    break
                if packet[0] >> 4 != 4:
                    continue
                address = packet[16:20] if tun == server else packet[12:16]
                path = address[2]
                delay, loss, rate = PATHS[path]
                now = time.monotonic()
                if tun == server:
                    queued = max(free[path] - now, 0)
                    # A queue of 50 ms at the path's rate.
                    if RANDOM.random() < loss or queued > 0.05:
                        continue
                    free[path] = now + queued + len(packet) * 8 / rate
                    delay += queued
                number += 1
                heapq.heappush(waiting, (now + delay, number, clients if tun == server else server, packet))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            os.write(waiting[0][2], waiting[0][3])
            heapq.heappop(waiting)


def serve(cc: str, log: Path) -> None:
    """Answer each connection with as many bytes as it asks for, and log it once the client has all."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    listener.bind((SERVER, PORT))
    listener.listen(1024)
    lock = threading.Lock()
    with log.open("w") as stream:

        def answer(connection: socket.socket, address: str) -> None:
            size = int(connection.recv(ASK, socket.MSG_WAITALL))
            start = time.monotonic()
            connection.sendall(bytes(size))
            # The client says that it has all, and later leaves.
            connection.recv(1)
            seconds = time.monotonic() - start
            when = datetime.now(UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
            line = f'{address} - - [{when}] "GET /{size} HTTP/1.1" 200 {size} "-" "record_edge" {seconds:.3f}\n'
            with lock:
                stream.write(line)
                stream.flush()
            connection.recv(1)
            connection.close()

        while True:
            connection, (address, _) = listener.accept()
            threading.Thread(target=answer, args=(connection, address), daemon=True).start()


def fetch(path: int, number: int, size: int, idle_s: float, gate: threading.Semaphore, finished: list[int]) -> None:
    """Fetch a file as one client, and stay connected for a while."""
    with gate:
        connection = socket.socket()
        if number % 4 == 0:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER_BYTES)
        connection.bind((f"10.9.{path}.{number}", 0))
        connection.connect((SERVER, PORT))
        connection.sendall(str(size).zfill(ASK).encode())
        left = size
        while left:
            left -= len(connection.recv(min(left, 65536)))
        connection.sendall(b"!")
    time.sleep(idle_s)
    connection.close()
    finished.append(number)


def leave_namespace() -> None:
    """Go into a new network namespace; os.unshare is there from Python 3.12 on."""
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):
        raise OSError(ctypes.get_errno(), "unshare")


def be_clients(server_tun: int, cc: str, count: int, done: int, stop: int) -> None:
    """Be network and clients in a new namespace: close `done` when all have their files, end when `stop` closes."""
    leave_namespace()
    tun = open_tun("clients")
    # One of three machines meets clients that ask for ECN.
    Path("/proc/sys/net/ipv4/tcp_ecn").write_text("1" if cc == "reno" else "0")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "set", "clients", "up")
    run("ip", "route", "add", "10.8.0.0/24", "dev", "clients")
    run("ip", "route", "add", "local", "10.9.0.0/16", "dev", "lo")
    network = os.fork()
    if not network:
        # Else the pipe would stay open when its other end closes.
        os.close(done)
        relay(server_tun, tun)
    gate = threading.Semaphore(AT_ONCE)
    finished = []
    for i in range(count):
        size = int(10 ** RANDOM.uniform(5, 6.8))
        idle_s = RANDOM.uniform(0, IDLE_S)
        arguments = (i % len(PATHS), 1 + i // len(PATHS), size, idle_s, gate, finished)
        threading.Thread(target=fetch, args=arguments, daemon=True).start()
    last = time.monotonic() + TIME_LIMIT_S
    while len(finished) < count and time.monotonic() < last:
        time.sleep(0.1)
    os.close(done)
    os.read(stop, 1)
    os.kill(network, signal.SIGTERM)
    os._exit(0)


def snapshot(folder: Path) -> None:
    """Write what ss and nstat print now."""
    now = int(time.time())
    (folder / f"ss-neit:{now}").write_text(run("ss", "-neit"))
    (folder / f"nstat:{now}").write_text(run("nstat", "-az"))


def main() -> None:
    """Record one algorithm."""
    cc, folder, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    tun = open_tun("server")
    run("ip", "link", "set", "lo", "up")
    run("ip", "address", "add", f"{SERVER}/24", "dev", "server")
    run("ip", "link", "set", "server", "up")
    run("ip", "route", "add", "10.9.0.0/16", "dev", "server")
    is_done, done = os.pipe()
    is_stopped, stopped = os.pipe()
    child = os.fork()
    if not child:
        os.close(is_done)
        os.close(stopped)
        time.sleep(1)
        be_clients(tun, cc, count, done, is_stopped)
    os.close(done)
    os.close(tun)
    threading.Thread(target=serve, args=(cc, folder / "access.log"), daemon=True).start()
    while not select.select([is_done], [], [], DUMP_EVERY_S)[0]:
        snapshot(folder)
    snapshot(folder)
    os.close(stopped)
    os.waitpid(child, 0)
    # Threads that still wait for a client hold nothing.
    os._exit(0)


if __name__ == "__main__":
    main()
