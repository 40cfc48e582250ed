# SPDX-License-Identifier: GPL-2.0-only
"""Part 8: what `top` itself uses on a terminal, beside what its recorder does, and how soon it shows
figures."""
import contextlib
import fcntl
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time

from attach import cpu_seconds
from processes import CORRELATOR, FOLDER, OTHER_CPUS, RUBY, STOP_SECONDS, TARGET_CPUS, Process
from tables import Table

RATE = 1000
SECONDS = 30
QUICK_SECONDS = 2
WIDTH, HEIGHT = 120, 40
GOAL_PERCENT = 1
GOAL_FIRST_SECONDS = 1


class Requests(Process):
    def __init__(self):
        super().__init__([*RUBY, FOLDER / "requests.rb", RATE], cpus=frozenset(TARGET_CPUS),
                         stdout=subprocess.PIPE)
        self.await_line(self.process.stdout, "ready")

    def count(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


class Top(contextlib.AbstractContextManager):
    """On a terminal, which is read as fast as it is written."""

    def __init__(self, pid):
        self.terminal, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        self.said = b""
        self.begun = time.monotonic()
        self.first = threading.Event()
        self.process = subprocess.Popen([CORRELATOR, "top", "-p", str(pid)], stdin=its, stdout=its,
                                        stderr=its, start_new_session=True,
                                        preexec_fn=lambda: os.sched_setaffinity(0, OTHER_CPUS),
                                        env={**os.environ, "TERM": "xterm-256color"})
        os.close(its)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        with contextlib.suppress(OSError):  # its end is an error, as a terminal's is
            while part := os.read(self.terminal, 1 << 16):
                # A picture after the first one is only what has changed.
                if not self.first.is_set():
                    self.said += part
                    if re.search(rb"GET /\d", self.said):
                        self.first_seconds = time.monotonic() - self.begun
                        self.first.set()

    def await_figures(self):
        if not self.first.wait(STOP_SECONDS):
            raise RuntimeError(f"top shows no figures, but: {self.said!r}")

    def cpu_seconds(self):
        """Of itself, and of its recorder."""
        pid = self.process.pid
        recorder, = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return cpu_seconds(pid), cpu_seconds(recorder)

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            os.close(self.terminal)


def run(is_quick, progress):
    seconds = QUICK_SECONDS if is_quick else SECONDS
    progress(f"top: {seconds} s of {RATE} requests a second")
    with Requests() as requests, Top(requests.pid) as top:
        top.await_figures()
        before, count, begun = top.cpu_seconds(), requests.count(), time.monotonic()
        time.sleep(seconds)  # what is measured
        after, count = top.cpu_seconds(), requests.count() - count
        passed = time.monotonic() - begun
    own, recorder = (100 * (last - first) / passed for first, last in zip(before, after))
    table = Table("top", "", f"in {passed:.0f} s", "goal")
    table.add("requests a second", "", f"{count / passed:.0f}", "")
    table.add("first figures after", "", f"{top.first_seconds:.2f} s"
              f"{Table.mark(top.first_seconds, GOAL_FIRST_SECONDS)}", f"≤ {GOAL_FIRST_SECONDS} s")
    table.add("CPU of both until then", "", f"{sum(before):.2f} s", "")
    table.add("its own CPU", "", f"{own:.2f} %{Table.mark(own, GOAL_PERCENT)}", f"≤ {GOAL_PERCENT} %")
    table.add("its recorder's", "", f"{recorder:.2f} %", "")
    return table
