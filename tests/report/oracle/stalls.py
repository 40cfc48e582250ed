# SPDX-License-Identifier: GPL-2.0-only
"""Long waits, what ended them, and hogs: `report --stalls`."""
import collections

import rule
from figures import csv_rows, csv_text, each_line, load, shown

TEXT_BYTES_MAX = 256
ENDERS = "timer", "network", "disk", "interrupt"
# Columns behind the key, but for the method, which report --stacks is asked for.
TEXTS = ("ended_by", "ender", "thread_name", "request_id", "blocked_on", "syscall", "waited_on", "ender_request_id")
NUMBERS = ("stalls", "blocked_ns", "run_queue_ns", "gvl_ns", "longest_ns", "stalls_lost", "start_ns", "end_ns", "pid", "tid",
           "ender_pid", "ender_tid", "hogs", "kept_ns", "cpu_ns", "held_requests", "held_ns")
METHOD = "method", "file", "line"
PARTS = {"ended_by": "ended_by", "stalls": "stall", "hog_sums": "hog_sum", "hogs": "hog"}  # of JSON; and its rows
BESIDE = {"row", "by", *TEXTS, *NUMBERS, *METHOD}
IN_ORDER = ("law", (), "the longest waits come first")


def cut(text):
    return (text or "").encode("utf-8", "surrogateescape")[:TEXT_BYTES_MAX].decode("utf-8", "surrogateescape")


def saturated(numbers):
    return min(sum(numbers), rule.MOST)


class Wait:
    """A stall record, by the key that rows are by."""

    def __init__(self, record, by):
        self.record = record
        self.thread = record.fields.get("host_name", ""), record.fields["pid"], record.count("tid") or 0
        self.start_ns, self.end_ns = record.count("start_ns"), record.count("end_ns")
        self.texts = {"key": cut(record.values.get(by)), "ender": cut(record.text(f"woken_by_{by}")),
                      **{name: cut(record.text(name)) for name in TEXTS[2:-1]},
                      "ender_request_id": cut(record.text("woken_by_request_id"))}
        self.find_ender()

    def is_whole(self):
        return None not in (self.start_ns, self.end_ns, *map(self.record.count, ("blocked_ns", "run_queue_ns"))) and \
            self.start_ns <= self.end_ns

    def count(self, name):
        return self.record.count(name) or 0

    def length_ns(self):
        return self.end_ns - self.start_ns

    def find_ender(self):
        ender = self.texts["ended_by"] = self.ended_by()
        before = "ran_instead" if ender == "cpu" else "woken_by"
        self.ender = self.count(f"{before}_pid"), self.count(f"{before}_tid")
        if ender in ("cpu", "thread"):
            self.texts["ender"] = cut(self.record.text(f"{before}_thread_name"))

    def ended_by(self):
        woken_by, ending = self.record.text("woken_by"), self.texts["ender_request_id"]
        if self.count("run_queue_ns") > self.count("blocked_ns"):
            return "cpu"
        if woken_by in ENDERS or not woken_by:
            return woken_by or "unknown"
        if ending and ending == self.texts["request_id"]:
            return "itself"
        return "request" if ending or self.texts["ender"] else "thread"

    def figures(self):
        """What a row has of it; what is not known is not there."""
        found = {name: self.texts[name] for name in ("key", "thread_name", "request_id") if self.texts[name]}
        found |= {"blocked_ns": self.count("blocked_ns"), "run_queue_ns": self.count("run_queue_ns"),
                  "start_ns": self.start_ns, "end_ns": self.end_ns}
        return found | ({"pid": self.thread[1], "tid": self.thread[2]} if self.thread[2] else {})

    def figures_of_wait(self):
        ender = {"ender_pid": self.ender[0], "ender_tid": self.ender[1]} if self.ender[1] else {}
        return self.figures() | gvl_of([self]) | {name: self.texts[name] for name in TEXTS if self.texts[name]} | ender


def gvl_of(waits):
    """None is not told from not known."""
    gvl_ns = saturated(wait.count("gvl_ns") for wait in waits)
    return {"gvl_ns": gvl_ns} if gvl_ns else {}


def lives_of(chosen):
    """Of each request its thread, its beginning and its end, by its chosen cpu records."""
    lives = {}
    for record in chosen.cpu:
        first_ns, last_ns = record.count("first_ns"), record.count("last_ns")
        if not record.request or None in (first_ns, last_ns):
            continue
        thread = record.fields.get("host_name", ""), record.fields["pid"], record.count("tid") or 0
        known = lives.get(record.request)
        if not known or first_ns < known[1]:
            lives[record.request] = thread, first_ns, max(last_ns, known[2] if known else 0)
        else:
            lives[record.request] = *known[:2], max(last_ns, known[2])
    return lives


def held_by(hog, lives):
    """How long each request was under way, on the thread that the hog kept."""
    held = [min(end_ns, hog.end_ns) - max(start_ns, hog.start_ns)
            for request, (thread, start_ns, end_ns) in lives.items()
            if thread == hog.thread and cut(request) != hog.texts["request_id"]]
    return [ns for ns in held if ns > 0]


def path_of(kind, wait):
    """A thread 0 is no thread, and not shown."""
    return kind, (wait.start_ns, *(wait.thread[1:] if wait.thread[2] else (0, 0)))


def named(path, figures):
    return {(*path, name): shown(value) if isinstance(value, str) else value for name, value in figures.items()}


def expect_stalls(recording, chosen, question):
    by, = question.by
    wanted = set(map(id, chosen.records))
    all_waits = [Wait(record, by) for record in recording.activity if record.kind == "stall"]
    all_waits = [wait for wait in all_waits if wait.is_whole()]
    waits = [wait for wait in all_waits if id(wait.record) in wanted and "hog" not in wait.record.fields]
    figures = expect_waits(waits) | expect_hogs([wait for wait in all_waits if "hog" in wait.record.fields],
                                                lives_of(chosen), wanted)
    if question.view == "stalls json":
        figures |= named(("total", ()), {
            "stalls": len(waits), "blocked_ns": saturated(wait.count("blocked_ns") for wait in waits),
            "run_queue_ns": saturated(wait.count("run_queue_ns") for wait in waits), **gvl_of(waits),
            "stalls_lost": saturated(record.count("stalls_lost") or 0 for record in recording.of_kind("balance"))})
    return figures | {IN_ORDER: True}


def expect_waits(waits):
    figures, pairs = {}, collections.defaultdict(list)
    for wait in waits:
        figures |= named(path_of("stall", wait), wait.figures_of_wait())
        pairs[wait.texts["key"], wait.texts["ended_by"], wait.texts["ender"]].append(wait)
    for (key, *_), group in pairs.items():
        texts = {name: group[0].texts[name] for name in ("key", "ended_by", "ender") if group[0].texts[name]}
        figures |= named(("ended_by", tuple(shown(group[0].texts[name]) for name in ("key", "ended_by", "ender"))), {
            **texts, "stalls": len(group), "blocked_ns": saturated(wait.count("blocked_ns") for wait in group),
            "run_queue_ns": saturated(wait.count("run_queue_ns") for wait in group), **gvl_of(group),
            "longest_ns": max(map(Wait.length_ns, group))})
    return figures


def expect_hogs(hogs, lives, wanted):
    figures, sums = {}, collections.defaultdict(list)
    for hog in hogs:
        held = held_by(hog, lives)
        if id(hog.record) not in wanted and not held:
            continue
        figures |= named(path_of("hog", hog), hog.figures() | {
            "cpu_ns": hog.count("cpu_ns"), "held_requests": len(held), "held_ns": saturated(held)})
        sums[hog.texts["key"]].append((hog, held))
    for key, group in sums.items():
        figures |= named(("hog_sum", (shown(key),)), {
            **({"key": key} if key else {}), "hogs": len(group),
            "longest_ns": max(hog.length_ns() for hog, _ in group),
            "kept_ns": saturated(hog.length_ns() for hog, _ in group),
            "cpu_ns": saturated(hog.count("cpu_ns") for hog, _ in group),
            "held_requests": sum(len(held) for _, held in group),
            "held_ns": saturated(saturated(held) for _, held in group)})
    return figures


def read_line(row):
    """Of a row with the names of its columns, the value under "key"."""
    kind = row["row"]
    figures = {name: row[name] for name in ("key", *TEXTS, *NUMBERS) if row.get(name) is not None}
    label = {"total": (), "hog_sum": (row.get("key") or "",),
             "ended_by": tuple(row.get(name) or "" for name in ("key", "ended_by", "ender"))}.get(kind)
    if label is None:
        label = row["start_ns"], row.get("pid", 0), row.get("tid", 0)
    return {(kind, label, name): value for name, value in figures.items()}


def read_lines(rows):
    figures = {}
    for row in rows:
        figures |= read_line(row)
    lengths = [row["end_ns"] - row["start_ns"] for row in rows if row["row"] == "stall"]
    return figures | {IN_ORDER: lengths == sorted(lengths, reverse=True)}


def under_key(row, by):
    """The row with the value of the key under "key", where it is, too, if a column has the key's name."""
    return {"key" if name == by and by not in BESIDE else name: value for name, value in row.items()}


def parse_stalls_json(output, question):
    report = load(output)
    rows = [{"row": kind} | row for part, kind in PARTS.items() for row in report[part]]
    rows.append({"row": "total"} | report["total"])
    return read_lines([under_key(row, question.by[0]) for row in rows])


def parse_stalls_ndjson(output, question):
    return read_lines([under_key(row, question.by[0]) for row in each_line(output)])


def parse_stalls_csv(output, question):
    heading, rows = csv_rows(output)
    heading[1] = "key"
    found = []
    for cells in rows:
        row = {name: int(cell) if name in NUMBERS else csv_text(cell) for name, cell in zip(heading, cells) if cell}
        found.append(row)
    return read_lines(found)
