# SPDX-License-Identifier: GPL-2.0-only
"""The processes of a benchmark: the one that is measured, and whoever observes it."""
import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FOLDER = SOURCE / "tests" / "bench"
BUILD = pathlib.Path(os.environ.get("CORRELATOR_BUILD", SOURCE / "build"))
PROGRAMS = BUILD / "tests" / "bench"
CORRELATOR = pathlib.Path(os.environ.get("CORRELATOR", BUILD / "bin" / "correlator"))
GEM_FILE = BUILD / "ruby" / "lib" / "correlator" / "correlator.so"
RUBY = ["ruby", "-I", str(BUILD / "ruby" / "lib"), "-I", str(PROGRAMS)]
STOP_SECONDS = 20
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)

# The measured process has the last CPU for itself; all else stays on the others, if there are any.
CPUS = sorted(os.sched_getaffinity(0))
TARGET_CPUS = {CPUS[-1]}
OTHER_CPUS = set(CPUS[:-1]) or TARGET_CPUS


def cpu_ns(pid):
    """What the living threads of a process have run, by the scheduler's own figure (schedstat)."""
    return sum(int((thread / "schedstat").read_text().split()[0])
               for thread in pathlib.Path(f"/proc/{pid}/task").iterdir())


def prepare_child(cpus):
    """Ctrl-C is for us alone, who stop the children in order; should we be killed, they end too."""
    os.sched_setaffinity(0, cpus)
    os.setsid()
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Process(contextlib.AbstractContextManager):
    """A child that is told to stop, or killed, when its `with` block ends."""

    def __init__(self, command, cpus=frozenset(OTHER_CPUS), **options):
        self.process = subprocess.Popen(
            [str(word) for word in command], text=True, stdin=subprocess.PIPE,
            preexec_fn=lambda: prepare_child(cpus), **options)
        self.pid = self.process.pid

    def await_line(self, stream, text):
        """The line."""
        said = ""
        for line in stream:
            if text in line:
                return line
            said += line
        self.process.kill()
        raise RuntimeError(f"{self.process.args[0]} ended, and did not say `{text}` but:\n{said}")

    def __exit__(self, *_):
        self.process.stdin.close()
        self.stop()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def stop(self):
        try:
            self.process.wait(STOP_SECONDS)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise


class Target(Process):
    """target.rb: runs a loop when asked to."""

    def __init__(self, contexts=2, threads=0, children=0):
        super().__init__([*RUBY, FOLDER / "target.rb", contexts, threads, children],
                         cpus=frozenset(TARGET_CPUS), stdout=subprocess.PIPE)
        self.await_line(self.process.stdout, "ready")

    def best_ns(self, loop, operations, batches):
        """Nanoseconds per operation in the best batch."""
        self.process.stdin.write(f"{loop} {operations} {batches}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


class Attached(Process):
    """The floor or the five maps, by bench_attach."""

    def __init__(self, name, pid, *options):
        super().__init__([PROGRAMS / "bench_attach", PROGRAMS / f"{name}.bpf.o", pid, *options],
                         stdout=subprocess.PIPE)
        self.await_line(self.process.stdout, "ready")


class Signalled(Process):
    """What SIGINT ends."""

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        super().stop()


class Bpftrace(Signalled):
    """The five maps as a bpftrace script."""

    def __init__(self, pid):
        super().__init__(["bpftrace", FOLDER / "five_maps.bt", pid], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
        self.await_line(self.process.stdout, "ready")

    @staticmethod
    def is_installed():
        return shutil.which("bpftrace") is not None


class Correlator(Signalled):
    """correlator record, of one or more processes."""

    def __init__(self, pids, *options, output=os.devnull):
        pids = [pids] if isinstance(pids, int) else pids
        super().__init__([CORRELATOR, "record", "-o", output,
                          *(word for pid in pids for word in ("-p", pid)), *options],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in pids:
            self.await_line(self.process.stderr, "correlator: observing")
