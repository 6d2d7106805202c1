"""A Slurm cluster of one node, on loopback, for as long as a command or a test lasts.

Debian's slurmctld, slurmd and munge, with a key, a configuration, ports and a folder of state of their own: nothing of
the machine's is read or changed, and it needs no root. What real clusters have and this has not: control groups (so
memory is watched by slurmd, which ends a job some seconds after it went over), an accounting database (so finished jobs
are known for MinJobAge only, as on clusters without slurmdbd) and a second machine.

    python tests/one_node_slurm.py FOLDER COMMAND …

runs a command with `sbatch`, `srun` and `squeue` meant for such a cluster, ends all that was started with it, and
is done after LIMIT_SECONDS at the latest.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from ccreport.workflow_fixes.slurm_status import POLL_VARIABLE

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "sinfo", "setpriv")
START_SECONDS = 60
LIMIT_SECONDS = 40 * 60
# Daemons of Debian lie where an ordinary user's PATH does not lead.
SEARCHED = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])

# A job starts when it is submitted or when another ends, not at the next round. Slurm itself runs no job twice, as that
# is for Snakemake to decide. OverMemoryKill stands in for control groups.
CONFIGURATION = """\
ClusterName=ccreport
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=5
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/finished_jobs.txt
JobRequeue=0
MinJobAge=300
KillWait=2
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory_mb} State=UNKNOWN
PartitionName=loopback Nodes={host} Default=YES MaxTime=INFINITE DefMemPerCPU=500 State=UP
"""


def find_missing() -> list[str]:
    """List the programs that a cluster needs and this machine has not."""
    return [name for name in PROGRAMS if shutil.which(name, path=SEARCHED) is None]


def take_free_ports(count: int) -> list[int]:
    """Find ports on loopback that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class OneNodeSlurm:
    """A cluster whose daemons are children of this process and end with it, however it ends."""

    def __init__(self, folder: Path, cpus: int = 2) -> None:
        self.folder = folder.resolve()
        self.configuration = self.folder / "slurm.conf"
        self.job_state = self.folder / "state/job_state"
        self.commands = self.folder / "bin"
        self.environment = {
            **os.environ,
            "PATH": f"{self.commands}{os.pathsep}{os.environ['PATH']}",
            "SLURM_CONF": str(self.configuration),
            # Nobody else asks it.
            POLL_VARIABLE: "2",
        }
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        # What an earlier cluster left there would be taken for this one's jobs; nothing else is removed.
        if self.configuration.is_file():
            shutil.rmtree(self.folder)
        for name in ("bin", "state", "spool"):
            (self.folder / name).mkdir(parents=True)
        # munged takes no key and no folder for its socket that others could change.
        self.folder.chmod(0o755)
        controller_port, node_port = take_free_ports(2)
        self.configuration.write_text(
            CONFIGURATION.format(
                folder=self.folder,
                host=socket.gethostname().split(".")[0],
                user=psutil.Process().username(),
                controller_port=controller_port,
                node_port=node_port,
                cpus=cpus,
                memory_mb=psutil.virtual_memory().total * 3 // 4 // 2**20,
            )
        )
        # Inside a job Snakemake's executor calls srun without any variable SLURM_…, and so without SLURM_CONF.
        srun = self.commands / "srun"
        srun.write_text(f"#!/bin/sh\nexport SLURM_CONF='{self.configuration}'\nexec {shutil.which('srun')} \"$@\"\n")
        srun.chmod(0o755)
        self.key = self.folder / "munge.key"
        self.key.touch(0o600)
        self.key.write_bytes(secrets.token_bytes(128))

    def start(self) -> None:
        """Start all daemons; return when the node takes jobs."""
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        options = [f"--{option}={self.folder}/munge.{ending}" for option, ending in files.items()]
        self._start("munged", "--foreground", "--force", "--num-threads=2", *options)
        self._wait_for("munged", (self.folder / "munge.socket").exists)
        self.start_controller()
        self.start_node()

    def start_controller(self) -> None:
        """Start slurmctld, or start it again with the state that it left."""
        self._start("slurmctld", "-D")
        self._wait_for("slurmctld", lambda: self.ask("scontrol", "ping").count("UP") == 1)

    def start_node(self) -> None:
        """Start slurmd, or start it again beside the steps of jobs that go on."""
        self._start("slurmd", "-D")
        states = ("idle", "allocated", "mixed")
        self._wait_for("slurmd", lambda: self.ask("sinfo", "--noheader", "--format=%T").strip() in states)

    def kill(self, daemon: str) -> None:
        """Kill a daemon as a power failure would."""
        self.daemons[daemon].kill()
        self.daemons[daemon].wait()

    def ask(self, *command: str) -> str:
        """Return what a command of Slurm prints, or nothing where it fails."""
        answer = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)
        return answer.stdout if answer.returncode == 0 else ""

    def stop(self) -> None:
        """End jobs, steps and daemons."""
        # More than once, since what is being ended may just have started another.
        for _ in range(3):
            started = [process for process in psutil.process_iter() if self._belongs(process)]
            for process in started:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(started, timeout=5)
        for daemon in self.daemons.values():
            daemon.wait(timeout=10)

    def _belongs(self, process: psutil.Process) -> bool:
        """Tell whether a process is a daemon, a job, or a step, whose environment gives way to its title."""
        try:
            if process.environ().get("SLURM_CONF") == str(self.configuration):
                return True
            return process.name() == "slurmstepd" and any(
                Path(opened.path).is_relative_to(self.folder) for opened in process.open_files()
            )
        except psutil.Error:
            return False

    def _start(self, name: str, *arguments: str) -> None:
        program = shutil.which(name, path=SEARCHED)
        with (self.folder / f"{name}.out").open("ab") as output:
            self.daemons[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", program, *arguments],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def _wait_for(self, name: str, is_ready: Callable[[], bool]) -> None:
        end = time.monotonic() + START_SECONDS
        while not is_ready():
            if self.daemons[name].poll() is not None or time.monotonic() > end:
                said = (self.folder / f"{name}.out").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{name} did not start in {START_SECONDS} s; see {self.folder}:\n{said}")
            time.sleep(0.1)


@contextlib.contextmanager
def run_cluster(folder: Path) -> Iterator[OneNodeSlurm]:
    """Give a running cluster, and end it."""
    cluster = OneNodeSlurm(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def main(folder: str, *command: str) -> int:
    """Run a command beside a cluster; return its exit code."""
    if missing := find_missing():
        print(
            f"No cluster without {', '.join(missing)}: on Debian, apt-get install slurm-wlm munge util-linux",
            file=sys.stderr,
        )
        return 1
    # Ended from outside, it still ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with run_cluster(Path(folder)) as cluster:
        return subprocess.run(command, env=cluster.environment, timeout=LIMIT_SECONDS, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
