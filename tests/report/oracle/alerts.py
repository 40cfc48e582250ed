# SPDX-License-Identifier: GPL-2.0-only
"""
When alerts fire over a recording, and when they are over.

A recorder's records of one time are a window, which is as long as the first of them says. A gap belongs to the window
before it.

A request is what the records of one request_id have until it has ended. It has the value of the key that it had last.
What was used has the value that its record has, for nothing is lent to it. A record or a request that lacks a figure
counts in no measure of that. Nothing used is 0; where all that was used lacks the figure, it was not measured.

Without a key an alert looks at each window; a value of the key is looked at from the first window that has something of
it until it neither fires nor is about to.
"""
import dataclasses

import generator
import rule
from expressions import FIGURES, MILLION, OF_LAST_WINDOWS, PERCENTS
from figures import HISTOGRAM_PART

SECOND_NS = 10 ** 9
QUIET_NS = 3 * SECOND_NS
SILENCE_NS = 30 * SECOND_NS
# Counters of what comes with forks, execs and new threads.
NO_LOSSES = ("switches_unseen", "contexts_inherited", "pointers_unreadable")
LOSSES = tuple(counter for counter in generator.COUNTERS if counter not in NO_LOSSES)


class Window:
    def __init__(self, first, early):
        self.end_ns = first.wall_ns
        self.start_ns = max(first.wall_ns - (first.count("window_ns") or 0), 0)
        self.set_ns = first.fields.get("clock_set_ns", 0)
        self.records = early

    def length_ns(self):
        return self.end_ns - self.start_ns

    def of_kind(self, kind):
        return [record for record in self.records if record.kind == kind]

    def sum(self, kind, name):
        return min(sum(abs(record.fields.get(name, 0)) for record in self.of_kind(kind)), rule.MOST)


def windows_by_recorder(recording):
    """{host: its windows}; each host has one recorder."""
    found, early = {}, {}
    for record in recording.records:
        host = record.fields["host_name"]
        windows = found.setdefault(host, [])
        if record.kind in ("cpu", "balance", "self") and (not windows or windows[-1].end_ns != record.wall_ns):
            windows.append(Window(record, early.pop(host, [])))
        if record.kind in ("cpu", "balance", "self", "gap"):
            (windows[-1].records if windows else early.setdefault(host, [])).append(record)
    return found


class Request:
    def __init__(self):
        self.costs, self.value, self.last = rule.Costs(), "", 0


def ended_requests(windows, key):
    """(the window in which it is told, the one that they ended in, the requests, whether it is at the end) of each."""
    requests, begins, now_ns, told = {}, [], 0, 0

    def take():
        return [requests.pop(identity) for identity in list(requests) if requests[identity].last == told]

    for number, window in enumerate(windows):
        for record in window.of_kind("cpu"):
            if record.request:
                request = requests.setdefault(record.request, Request())
                request.costs.add(rule.Costs(record))
                request.last, request.value = number, rule.keys_of(record).get(key) or request.value
        passed_ns = max(window.end_ns - (windows[number - 1].end_ns if number else window.start_ns), 0)
        now_ns += passed_ns
        begins.append(now_ns - min(window.length_ns() or passed_ns, passed_ns))
        while has_ended(now_ns - begins[told], number + 1 - told):
            yield window, windows[told], take(), False
            told += 1
    for told in range(told, len(windows)):
        yield windows[-1], windows[told], take(), True


def has_ended(quiet_ns, count):
    """Since a window began: count windows have ended, of which half of one may be lacking."""
    return count > 1 and quiet_ns + quiet_ns // (2 * count) >= QUIET_NS


def figure_of(costs, name):
    return costs.wall_ns() if name == "wall" else costs.get(FIGURES[name])


def looks(expression, windows):
    """(window in which it is told, window, {value of the key: figures}) for each window that is looked at."""
    if expression.is_of_requests():
        for told, window, requests, is_last in ended_requests(windows, expression.key):
            if not is_last or expression.function in OF_LAST_WINDOWS:
                yield told, window, group((request.value, 0 if expression.subject == "requests" else
                                           figure_of(request.costs, expression.subject)) for request in requests)
    else:
        for window in windows:
            used = [record for record in window.of_kind("cpu") if record.attribution in rule.KNOWN]
            yield window, window, group((rule.keys_of(record).get(expression.key) or "",
                                         figure_of(rule.Costs(record), expression.subject)) for record in used) \
                if expression.function else {}


def group(pairs):
    """Of what lacks the figure there is none in the list."""
    groups = {}
    for value, figure in pairs:
        groups.setdefault(value, []).extend([] if figure is None else [figure])
    return groups


def measure(expression, window, figures):
    """None: nothing was measured. Figures are None where nothing was used, and no request ended."""
    function, sum_ns = expression.function, min(sum(figures or ()), rule.MOST)
    if not function:
        return measure_books(expression, window)
    if figures == [] or (function in OF_LAST_WINDOWS and not figures):
        return None
    if function in OF_LAST_WINDOWS:
        return rule.mean(figures) if function == "mean" else \
            rule.percentile(sorted(figures), PERCENTS.get(function, 100))
    if function == "rate":
        return a_second(len(figures or ()) * SECOND_NS if expression.subject == "requests" else sum_ns, window)
    return len(figures or ()) if function == "count" else sum_ns


def a_second(amount, window):
    return min(amount * MILLION // window.length_ns(), rule.MOST) if window.length_ns() > 0 else None


def measure_books(expression, window):
    subject, has_own, has_books = expression.subject, window.of_kind("self"), window.of_kind("balance")
    is_share = expression.unit == "millionths"
    if subject == "own_cpu":
        own_ns = window.sum("self", "own_cpu_ns")
        return None if not has_own else a_second(own_ns, window) if is_share else own_ns
    if not has_books and not (has_own and subject == "lost"):
        return None
    if subject == "lost":
        lost = sum(window.sum("balance", counter) for counter in LOSSES) + window.sum("gap", "dropped_records")
        return min(lost, rule.MOST)
    value = window.sum("balance", subject if subject in generator.COUNTERS else f"{subject}_ns")
    exec_ns = window.sum("balance", "exec_ns")
    return value if not is_share else min(value * MILLION // exec_ns, rule.MOST) if exec_ns else None


@dataclasses.dataclass
class State:
    """Of one value of the key."""
    is_firing: bool = False
    since_ns: int | None = None  # since then it holds while it is quiet, or does not while it fires,
    held_ns: int = 0  # and last in the window that ended then
    measured_ns: int = 0

    def follow(self, expression, window, value):
        """Whether it changes in the window."""
        may_lack_ns = window.length_ns() // 8
        if value is not None:
            self.measured_ns = window.end_ns
        elif self.is_firing and expression.is_of_requests():
            return self.change(window.end_ns - self.measured_ns >= max(expression.for_ns, SILENCE_NS))
        elif self.since_ns is not None and not self.is_firing \
                and window.end_ns - self.held_ns <= expression.for_ns + may_lack_ns:
            return False
        if (value is not None and expression.is_met(value)) == self.is_firing:
            self.since_ns = None
            return False
        if self.since_ns is None:
            self.since_ns = window.start_ns
        self.held_ns = window.end_ns
        return self.change(window.end_ns - self.since_ns + may_lack_ns >= expression.for_ns)

    def change(self, does):
        if does:
            self.is_firing, self.since_ns = not self.is_firing, None
        return does


def is_behind_a_hole(window, before):
    return before and (window.end_ns <= before.end_ns or window.start_ns > before.end_ns + window.length_ns())


def changes(expression, windows):
    """[(value of the key, wall time, "firing" or "resolved", value)], and the values of the key that are open."""
    states, found, is_open, before = {} if expression.key else {"": State()}, [], set(), None
    for told, window, groups in looks(expression, windows):
        for key in list(states | groups):
            state, figures = states.setdefault(key, State()), groups.get(key)
            if is_behind_a_hole(window, before):
                state.since_ns = None
            value = measure(expression, window, figures)
            if is_near(expression, figures, value):
                is_open.add(key)
            if state.follow(expression, window, value):
                found.append((key, told.end_ns + told.set_ns, "firing" if state.is_firing else "resolved", value))
            if expression.key and not state.is_firing and state.since_ns is None:
                del states[key]
        before = window
    return found, is_open


def is_near(expression, figures, value):
    """A percentile between the least and the largest value is not exact: it may be on either side of the limit."""
    if expression.function not in PERCENTS or value is None:
        return False
    rank = max(-(-PERCENTS[expression.function] * len(figures) // 100), 1)
    return 1 < rank < len(figures) and abs(value - expression.limit) <= HISTOGRAM_PART * value + 1
