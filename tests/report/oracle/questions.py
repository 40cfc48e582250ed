# SPDX-License-Identifier: GPL-2.0-only
"""What the tool may be asked of a recording: a view, what it groups by, and what it chooses."""
import dataclasses
import time

import alerts
import expressions
import generator
import page
import page_selection
import pairs
import rule

NAMED_IN_FILTERS = ("pid", "tid", "comm", "thread_name", "host_name")
ROWS = ("json", "csv", "ndjson", "table")
OVER_TIME = ("over time json", "over time csv", "over time ndjson")
EXPORTS = ("export csv", "export ndjson", "folded", "speedscope", "pprof", "otlp", "perfetto")
SLOWEST = ("slowest", "stacks slowest")
# Of these the tool chooses the key, too.
BY_DEFAULT = ("json", "csv", "ndjson")
DIFFS = ("diff json", "diff csv", "diff ndjson", "diff table")
STACKS_DIFFS = ("stacks diff json", "stacks diff csv", "off-cpu diff json")
BY_SCRIPT = ("page selection", "compare")  # the page's script counts
ONE_KEY = ("openmetrics", "syscalls json", "syscalls csv", "syscalls ndjson", "html", "top", *BY_SCRIPT)
# How often each is asked; top takes a second.
VIEWS = {"json": 12, "csv": 3, "ndjson": 2, "table": 3, "over time json": 5, "over time csv": 2, "openmetrics": 3,
         "over time ndjson": 1, "slowest": 2, "stacks slowest": 1, "syscalls ndjson": 1, "off-cpu folded": 1, "off-cpu pprof": 1,
         "off-cpu speedscope": 1, "perfetto": 1,
         "export csv": 2, "export ndjson": 2, "folded": 1, "speedscope": 2, "pprof": 2, "otlp": 1,
         "stacks json": 1, "stacks csv": 1, "off-cpu json": 1, "syscalls json": 2, "syscalls csv": 1,
         "request": 3, "html": 1, "top": 0.3,
         "diff json": 2, "diff csv": 1, "diff ndjson": 0.5, "diff table": 1,
         "stacks diff json": 1, "stacks diff csv": 0.5, "off-cpu diff json": 0.5,
         "alert": 2.5, "page selection": 2, "compare": 1.5}


@dataclasses.dataclass(frozen=True)
class Question:
    view: str
    by: tuple = ()
    where: tuple = ()
    since: tuple | None = None  # ("relative" or "absolute", ns)
    until: tuple | None = None
    step_ns: int | None = None
    top: int = 0  # so many groups are shown; 0: all
    request: str | None = None
    other: int | None = None  # seed of the recording that this one is compared with
    slowest: str = ""  # so many requests, or, with %, those above that percentile of their endpoint
    sort: str = ""
    alerts: tuple = ()
    span: tuple | None = None  # the ends of the first and of the last window that are selected in a page, in ns
    group: str | None = None  # that is selected in it

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


def choose(random, recording):
    """A question that the recording can answer, mostly."""
    view = random.choices(list(VIEWS), list(VIEWS.values()))[0]
    if view in BY_SCRIPT and not page_selection.is_countable(recording):
        view = "html"
    keys = recording.keys or ["request_id"]
    since, until = choose_span(random, recording) if view != "top" and random.random() < 0.3 else (None, None)
    if view == "alert":
        return Question(view, since=since, until=until, alerts=choose_alerts(random, recording))
    where = choose_conditions(random, recording, keys)
    if view == "top":  # a process has its last name there
        where = tuple(condition for condition in where if not condition.startswith("comm"))[:1]
    by, step_ns, top, request = (), None, 0, None
    if view in ROWS + OVER_TIME + DIFFS:
        by = choose_keys(random, keys)
    if by == ("request_id",) and view in DIFFS:
        by = ("tid",)
    if view in BY_DEFAULT and random.random() < 0.1:
        by = ()
    elif view in ONE_KEY:
        what_ran = {"openmetrics": ["pid", "comm", "thread_name", "host_name"], "top": ["pid", "thread_name", "host_name"]}
        by = (random.choice(keys + what_ran.get(view, [])),)
    if view in OVER_TIME and random.random() < 0.5:
        step_ns = random.choice((100_000_000, 700_000_000, 1_000_000_000, 2_000_000_000))
    if view in ROWS and random.random() < 0.2:
        top = random.randint(1, 3)
    slowest, sort = "", ""
    if view == "slowest":
        by = ("request_id",)
    if view in SLOWEST:
        slowest, sort = random.choice(("1000", "1", "3", "10", "50%", "90%", "0.5%", "33.3%")), random.choice(("", "cpu"))
    if view == "request":
        requests = sorted({record.request for record in recording.activity if record.request})
        request = random.choice(requests) if requests else "none"
    other = choose_other(random) if view in DIFFS + STACKS_DIFFS else None
    question = Question(view, by, where, since, until, step_ns, top, request, other, slowest, sort)
    if view == "page selection":
        return choose_selection(random, recording, question)
    return dataclasses.replace(question, other=choose_countable(random)) if view == "compare" else question


def choose_other(random):
    """A seed, rather of a recording with enough requests for a test."""
    seeds = [random.randrange(2 ** 32) for _ in range(6)]
    return next((seed for seed in seeds if generator.Generator(seed).has("crowd")), seeds[0])


def choose_alerts(random, recording):
    chosen = []
    for _ in range(random.randint(1, 3)):
        measure = expressions.choose_measure(random, recording.keys, alerts.COUNTERS)
        chosen.append(expressions.complete(random, measure, *values_of(measure, recording)))
    return expressions.unique(chosen)


def values_of(measure, recording):
    """What it is at in all windows of all recorders, and how long these are."""
    values, lengths = [], []
    for windows in alerts.windows_by_recorder(recording).values():
        lengths += [window.length_ns() for window in windows]
        for _, window, groups in alerts.looks(measure, windows):
            values += [alerts.measure(measure, window, figures) for figures in groups.values() or [None]]
    return [value for value in values if value is not None], lengths


def choose_selection(random, recording, question):
    """Mostly without conditions: with them the page lends nothing."""
    key = page.key_of(question)
    ends = sorted({record.wall_ns for record in recording.timed()})
    values = sorted({record.values[key] for record in recording.activity if key in record.values})
    span = tuple(sorted(random.choice(ends) for _ in range(2))) if ends and random.random() < 0.75 else None
    group = random.choice(values) if values and random.random() < 0.5 else None
    where = question.where if random.random() < 0.3 else ()
    return dataclasses.replace(question, where=where, span=span, group=group)


def choose_countable(random):
    """The seed of a recording that a page can count."""
    while True:
        seed = random.randrange(2 ** 32)
        if page_selection.is_countable(rule.Recording(pairs.merge(generator.make(seed)))):
            return seed


def choose_keys(random, keys):
    names = keys + list(rule.WHAT_RAN)
    count = min(random.choice((1, 1, 1, 2, 2, 3, 4)), len(names))
    chosen = [random.choice(keys if random.random() < 0.5 else names)]
    while len(chosen) < count:
        chosen.append(random.choice([name for name in names if name not in chosen]))
    random.shuffle(chosen)
    return tuple(chosen)


def choose_conditions(random, recording, keys):
    count = random.choice((0, 0, 1, 1, 1, 2, 3))
    return tuple(choose_condition(random, recording, keys) for _ in range(count))


def choose_condition(random, recording, keys):
    key = random.choice(keys if random.random() < 0.6 else list(NAMED_IN_FILTERS))
    values = sorted({record.values[key] for record in recording.activity if key in record.values})
    if not values or random.random() < 0.05:
        return f"{key}=nobody"
    value = random.choice(values)
    if random.random() < 0.65:
        return f"{key}={value}"
    at = random.randrange(len(value))
    # Whether 0 is the thread of what is of no thread is not said: no pattern may be of that, too.
    if key == "tid":
        return f"{key}~{value[:1]}*"
    return f"{key}~" + random.choice((value[:at] + "*", "*" + value[at:], value[:at] + "?" + value[at + 1:],
                                      "*", f"[{value[0]}z]*", "*" + value[at] + "*"))


def choose_span(random, recording):
    """Limits at, before and behind the ends of windows."""
    ends = sorted({record.wall_ns for record in recording.activity}) or [0]
    begin_ns = recording.records[0].wall_ns if recording.records else 0
    limits = []
    for _ in range(2):
        ns = random.choice(ends) + random.choice((-1, 0, 0, 1, 10 ** 8))
        is_relative = ns > begin_ns and random.random() < 0.5
        limits.append(("relative", ns - begin_ns) if is_relative else ("absolute", ns))
    limits.sort(key=lambda limit: limit[1] + (begin_ns if limit[0] == "relative" else 0))
    return random.choice(((limits[0], None), (None, limits[1]), (limits[0], limits[1])))
