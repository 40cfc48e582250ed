# SPDX-License-Identifier: GPL-2.0-only
"""
What the page itself counts of a selection: a span of windows, a group, or both. Its own script says it, in node.

A span is the wall times of its first and its last window's end. The page lends anew in it, among its cpu records alone;
with --where a record has the values that it has in the whole recording. A selected group is one of these values.

What is not said anywhere, and how it is here:

* Where nothing is selected each cost is 0. With a group there is no row of what is unattributed.
* A time in which no record tells how long its window was is none to the page: no rate counts it, and what is before the
  first window is shown where that begins. Of such recordings it is not asked, nor of those with sums beyond 2^53.
* The largest residual is of one balance record, of several the first by time.
"""
import copy
import dataclasses
import json
import pathlib
import subprocess

import books
import rows
import rule
from figures import shown
from page import key_of, lend_among_cells
from page_code import expect_code

SCRIPT = pathlib.Path(__file__).parent / "page.mjs"
PATIENCE_SECONDS = 20
NOT_SHOWN = {"slices", "switches", "ambiguous_ns", "migrations", "split_error_ns", "gvl_waits", "gc_runs"}
COSTS = [cost for cost in rule.COSTS if cost not in NOT_SHOWN]
NAMES = {"requests_per_second": "rate", "share_percent": "share"}
DISTRIBUTIONS = {f"{what}_{which}" for what in ("cpu", "wall", "parked")
                 for which in ("mean", "p50", "p90", "p99", "max")}
EXACT_MOST = 2 ** 46  # sixty of these are exact in a script


def is_countable(recording):
    """Whether a script has all sums exactly, and each record tells how long its window was."""
    return all(record.count("window_ns") for record in recording.timed()) and \
        all(cost < EXACT_MOST for record in recording.of_kind("cpu") for cost in rule.Costs(record).sums.values())


def page_name(name):
    return NAMES.get(name, name.removesuffix("_ns"))


FIELDS = {page_name(cost) for cost in COSTS} | {"requests", "rate", "share", "syscalls_mean"} | DISTRIBUTIONS


def page_figures(kind, label, figures):
    """By the names that the page has for them."""
    return {(kind, label, page_name(name)): value for name, value in figures.items()
            if page_name(name) in FIELDS and value is not None}


class Selected:
    """The records that are selected, with the values that the page has them with."""

    def __init__(self, recording, chosen, question):
        self.key, self.group = key_of(question), question.group
        self.recording = copy.copy(recording)
        self.recording.records = [record for record in recording.records if is_in_span(record, question.span)]
        records = [record for record in chosen.records if is_in_span(record, question.span)]
        self.in_span = rule.Selection(self.recording, records)
        if not question.where:
            self.in_span = self.lend_anew()
        self.chosen = self.in_span
        if self.group is not None:
            self.chosen = rule.Selection(self.recording, [record for record in self.in_span.records
                                                          if self.place(record) == (self.group,)])

    def lend_anew(self):
        lent = lend_among_cells(self.in_span, self.key)
        records = []
        for record in self.in_span.records:
            value = lent.get(record) if record.request else None
            if record.request:
                values = {key: old for key, old in record.values.items() if key != self.key}
                record = dataclasses.replace(record, values=values | ({self.key: value} if value else {}))
            records.append(record)
        return rule.Selection(self.recording, records)

    def place(self, record):
        return self.in_span.place(record, (self.key,))


def is_in_span(record, span):
    return span is None or span[0] <= record.wall_ns <= span[1]


def label_of(place):
    return tuple(map(shown, place)) if isinstance(place, tuple) else ()


def expect_selection(recording, chosen, question):
    selected = Selected(recording, chosen, question)
    figures = expect_rows(selected) | expect_requests(selected) | expect_threads(selected)
    return figures | expect_books(selected.recording) | expect_code(chosen, selected, question)


def expect_rows(selected):
    described = rows.Rows(selected.recording, selected.chosen, (selected.key,))
    figures = {}
    for kind, label, row in described.kinds():
        if kind == rule.UNATTRIBUTED and selected.group is not None:
            continue
        figures |= page_figures(kind, label, described.describe(kind, row))
        if not selected.chosen.cpu:
            figures |= page_figures(kind, label, dict.fromkeys(COSTS, 0))
    return figures


def expect_requests(selected):
    figures, places = {}, {}
    for record in selected.chosen.cpu:
        places[record.request] = "".join(label_of(selected.place(record)))
    for request, costs in selected.chosen.requests.items():
        label = (shown(request),)
        figures |= page_figures("request", label, costs.known()) | {("request", label, "place"): places[request]}
        if costs.wall_ns() is not None:
            times = {"wall": costs.wall_ns(), "parked": costs.parked_ns(), "first": costs.first_ns}
            figures |= {("request", label, name): ns for name, ns in times.items() if ns is not None}
    return figures


def expect_threads(selected):
    """Of what is unattributed, by the name that a thread had then."""
    threads = {}
    for record in selected.chosen.cpu:
        if selected.place(record) == rule.UNATTRIBUTED:
            name = shown(record.values.get("thread_name", ""))
            threads.setdefault(name, rule.Costs()).add(rule.Costs(record))
    return {path: value for name, costs in threads.items()
            for path, value in page_figures("thread", (name,), costs.known()).items()}


def expect_books(recording):
    balances = sorted(recording.of_kind("balance"), key=lambda balance: balance.wall_ns)
    sums = books.add_up(balances, books.SUMS + books.LOSSES)
    figures = {name.removesuffix("_ns"): value for name, value in sums.items()}
    figures |= {"balances": len(balances), "residual": books.residual_ns(sums),
                "worst": books.find_worst(balances)[0] if balances else 0}
    return {("books", (), name): value for name, value in figures.items()}


def script_command(question):
    """The command that asks a page."""
    asked = {"compared": True}
    if question.view != "compare":
        asked = {"span": question.span and [str(ns) for ns in question.span],
                 "group": None if question.group is None else shown(question.group)}
    return ["node", str(SCRIPT), json.dumps(asked, ensure_ascii=False)]


def ask_page(output, question):
    result = subprocess.run(script_command(question), input=output, capture_output=True, timeout=PATIENCE_SECONDS,
                            check=False)
    if result.returncode:
        raise ValueError(result.stderr.decode("utf-8", "replace")[-300:])
    return json.loads(result.stdout)


def read(kind, label, figures):
    return {(kind, label, name): value for name, value in figures.items() if value is not None}


def parse_selection(output, question):
    answer, figures = ask_page(output, question), {}
    for row in answer["rows"]:
        figures |= read(row["kind"], (row["label"],) if row["kind"] == "group" else (), row["figures"])
    for request in answer["requests"]:
        request["figures"]["first"] = int(request["figures"].get("first", 0)) or None
        figures |= read("request", (request["id"],), request["figures"])
    for thread in answer["threads"]:
        figures |= read("thread", (thread["name"],), thread["figures"])
    for measure, code in enumerate(answer["code"] or ()):
        figures |= read("code", (measure,), code)
    names = {*(name.removesuffix("_ns") for name in books.SUMS), *books.LOSSES, "balances", "residual", "worst"}
    return figures | {("books", (), name): value for name, value in answer["books"].items() if name in names}
