# SPDX-License-Identifier: GPL-2.0-only
"""What the tool may be asked of a recording: a view, what it groups by, and what it chooses."""
import dataclasses
import time

import expressions

ROWS = ("json", "csv", "ndjson", "table")
OVER_TIME = ("over time json", "over time csv", "over time ndjson", "over time table")
EXPORTS = ("export csv", "export ndjson", "folded", "speedscope", "pprof", "otlp", "perfetto")
SLOWEST = ("slowest", "stacks slowest")
# Views that are asked without --by, too.
BY_DEFAULT = ("json", "csv", "ndjson")
DIFFS = ("diff json", "diff csv", "diff ndjson", "diff table")
STACKS_DIFFS = ("stacks diff json", "stacks diff csv", "off-cpu diff json")
BY_SCRIPT = ("page selection", "compare")  # the page's script counts
ONE_KEY = ("openmetrics", "syscalls json", "syscalls csv", "syscalls ndjson", "syscalls table", "io json", "io csv",
           "io ndjson", "stalls json", "stalls csv", "stalls ndjson", "html", "top", *BY_SCRIPT)
# How often each is asked; top takes a second.
VIEWS = {"json": 12, "csv": 3, "ndjson": 2, "table": 3, "over time json": 5, "over time csv": 2, "openmetrics": 3,
         "over time ndjson": 1, "slowest": 2, "stacks slowest": 1, "syscalls ndjson": 1, "off-cpu folded": 1,
         "off-cpu pprof": 1,
         "off-cpu speedscope": 1, "perfetto": 1,
         "export csv": 2, "export ndjson": 2, "folded": 1, "speedscope": 2, "pprof": 2, "otlp": 1,
         "stacks json": 1, "stacks csv": 1, "off-cpu json": 1, "syscalls json": 2, "syscalls csv": 1,
         "io json": 2, "io csv": 0.5, "io ndjson": 0.5, "stalls json": 3, "stalls csv": 0.5, "stalls ndjson": 0.5,
         "request": 3, "html": 1, "top": 0.3,
         "diff json": 2, "diff csv": 1, "diff ndjson": 0.5, "diff table": 1,
         "stacks diff json": 1, "stacks diff csv": 0.5, "off-cpu diff json": 0.5,
         "over time table": 1, "syscalls table": 1, "stacks table": 1, "off-cpu table": 0.5,
         "alert": 2.5, "page selection": 2, "compare": 1.5}


@dataclasses.dataclass(frozen=True)
class Question:
    view: str
    by: tuple = ()
    where: tuple = ()
    since: tuple | None = None  # ("relative" or "absolute", ns)
    until: tuple | None = None
    step_ns: int | None = None
    top: int = 0  # how many groups are shown; 0: all
    request: str | None = None
    other: int | None = None  # seed of the recording that this one is compared with
    slowest: str = ""  # how many requests; or, with %, above which percentile of their endpoint's
    sort: str = ""
    alerts: tuple = ()
    span: tuple | None = None  # the ends of the first and of the last window that are selected in a page, in ns
    group: str | None = None  # that is selected in it

    @property
    def is_of_waits(self):
        return self.view.startswith("off-cpu")

    def arguments(self):
        """Those that choose, of the tool's command line."""
        words = [word for condition in self.where for word in ("--where", condition)]
        for name in ("since", "until"):
            if getattr(self, name):
                words += [f"--{name}", write_time(*getattr(self, name))]
        if self.slowest:
            words += [f"--slowest={self.slowest}"]
        return words + (["--sort", self.sort] if self.sort else [])

    def simpler(self):
        """Questions that ask for less."""
        for number in range(len(self.where)):
            yield dataclasses.replace(self, where=self.where[:number] + self.where[number + 1:])
        for name, less in (("since", None), ("until", None), ("step_ns", None), ("top", 0), ("span", None),
                           ("group", None)):
            if getattr(self, name) != less:
                yield dataclasses.replace(self, **{name: less})
        for fewer in expressions.simpler(self.alerts):
            yield dataclasses.replace(self, alerts=fewer)
        for number in range(len(self.by) if len(self.by) > 1 else 0):
            yield dataclasses.replace(self, by=self.by[:number] + self.by[number + 1:])


def write_time(kind, ns):
    if kind == "relative":
        return f"{ns}ns"
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // 10 ** 9)) + f".{ns % 10 ** 9:09}Z"
