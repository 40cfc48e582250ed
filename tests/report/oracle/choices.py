# SPDX-License-Identifier: GPL-2.0-only
"""Draws a question that a recording can answer, mostly."""
import dataclasses

import alerts
import expressions
import generator
import page
import page_selection
import pairs
import rule
from questions import (BY_DEFAULT, BY_SCRIPT, DIFFS, ONE_KEY, OVER_TIME, ROWS, SLOWEST, STACKS_DIFFS, VIEWS,
                       Question)

NAMED_IN_FILTERS = ("pid", "tid", "comm", "thread_name", "host_name")
# Fields that views of one key take beside keys.
WHAT_RAN = {"openmetrics": ("pid", "comm", "thread_name", "host_name"), "top": ("pid", "thread_name", "host_name")}
STEPS_NS = (100_000_000, 700_000_000, 1_000_000_000, 2_000_000_000)
HOW_SLOW = ("1000", "1", "3", "10", "50%", "90%", "0.5%", "33.3%")


def choose(random, recording):
    view = choose_view(random, recording)
    keys = recording.keys or ["request_id"]
    since, until = choose_span(random, recording) if view != "top" and random.random() < 0.3 else (None, None)
    if view == "alert":
        return Question(view, since=since, until=until, alerts=choose_alerts(random, recording))
    where = choose_conditions(random, recording, keys)
    if view == "top":  # a process has its last name there
        where = tuple(condition for condition in where if not condition.startswith("comm"))[:1]
    question = Question(view, choose_by(random, keys, view), where, since, until)
    return dataclasses.replace(question, **choose_more(random, recording, question))


def choose_view(random, recording):
    view = random.choices(list(VIEWS), list(VIEWS.values()))[0]
    return "html" if view in BY_SCRIPT and not page_selection.is_countable(recording) else view


def choose_by(random, keys, view):
    if view in BY_DEFAULT and random.random() < 0.1:
        return ()
    if view in ROWS + OVER_TIME + DIFFS:
        by = choose_keys(random, keys)
        return ("tid",) if by == ("request_id",) and view in DIFFS else by
    if view in ONE_KEY:
        return (random.choice([*keys, *WHAT_RAN.get(view, ())]),)
    return ("request_id",) if view == "slowest" else ()


def choose_more(random, recording, question):
    """Whatever only some views take."""
    view = question.view
    if view in OVER_TIME:
        has_step = view == "over time table" or random.random() < 0.5  # else a table has steps that fit
        return {"step_ns": random.choice(STEPS_NS) if has_step else None}
    if view in ROWS:
        return {"top": random.randint(1, 3) if random.random() < 0.2 else 0}
    if view in SLOWEST:
        return {"slowest": random.choice(HOW_SLOW), "sort": random.choice(("", "cpu"))}
    if view == "request":
        requests = sorted({record.request for record in recording.activity if record.request})
        return {"request": random.choice(requests) if requests else "none"}
    if view in DIFFS + STACKS_DIFFS:
        return {"other": choose_other(random)}
    if view == "compare":
        return {"other": choose_countable(random)}
    return choose_selection(random, recording, question) if view == "page selection" else {}


def choose_other(random):
    """A seed, rather of a recording with enough requests for a test."""
    seeds = [random.randrange(2 ** 32) for _ in range(6)]
    return next((seed for seed in seeds if generator.Generator(seed).has("crowd")), seeds[0])


def choose_alerts(random, recording):
    chosen = []
    for _ in range(random.randint(1, 3)):
        measure = expressions.choose_measure(random, recording.keys, generator.COUNTERS)
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
    return {"where": question.where if random.random() < 0.3 else (), "span": span, "group": group}


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
        ns = max(random.choice(ends) + random.choice((-1, 0, 0, 1, 10 ** 8)), 0)  # none before 1970
        is_relative = ns > begin_ns and random.random() < 0.5
        limits.append(("relative", ns - begin_ns) if is_relative else ("absolute", ns))
    limits.sort(key=lambda limit: limit[1] + (begin_ns if limit[0] == "relative" else 0))
    return random.choice(((limits[0], None), (None, limits[1]), (limits[0], limits[1])))
