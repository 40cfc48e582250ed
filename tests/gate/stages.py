# SPDX-License-Identifier: GPL-2.0-only
"""Names the stages of a run, times them, and remembers how long each took."""
import contextlib
import json
import time


def clock_text(seconds):
    """90.4 -> "1:30"."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Stages:
    """Prints a line before and after each stage. The times of the last run are kept in a file."""

    def __init__(self, file, show=lambda line: print(line, flush=True), clock=time.monotonic):
        self.file = file
        self.show = show
        self.clock = clock
        self.start = clock()
        self.took = {}
        try:
            self.last = json.loads(file.read_text())
        except (FileNotFoundError, ValueError):
            self.last = {}

    @contextlib.contextmanager
    def stage(self, name, what):
        """what: one line about what the stage does."""
        last = f", {clock_text(self.last[name])} last time" if name in self.last else ""
        self.show(f"== {name}: {what} ({clock_text(self.clock() - self.start)} since the start{last})")
        start = self.clock()
        try:
            yield
        finally:
            self.took[name] = self.took.get(name, 0) + self.clock() - start
            self.show(f"-- {name} took {clock_text(self.took[name])}")

    def total_seconds(self):
        return self.clock() - self.start

    def save(self):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps({**self.last, **self.took}, indent=1) + "\n")

    def summary(self):
        """A line for each stage, and the sum."""
        rows = [*self.took.items(), ("in all", self.total_seconds())]
        return [f"  {clock_text(seconds):>6}  {name}" for name, seconds in rows]
