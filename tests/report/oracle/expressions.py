# SPDX-License-Identifier: GPL-2.0-only
"""What an alert may be about: a measure, a comparison, a limit, how long it has to hold, and by which key."""
import dataclasses
import itertools

FIGURES = {"cpu": "cpu_ns", "wall": "wall_ns", "user": "user_ns", "kernel": "kernel_ns", "run_queue": "run_queue_ns",
           "blocked": "blocked_ns"}
PERCENTS = {"p50": 50, "p90": 90, "p99": 99}
# Functions of the requests that ended in a window. "rate" and "sum" of anything but wall time are of its records.
OF_REQUESTS = (*PERCENTS, "mean", "max", "count")
# Functions that also look at requests which the end of the recording ends.
OF_LAST_WINDOWS = (*PERCENTS, "mean", "max")
BOOKS = ("exec", "attributed", "unattributed", "overflow", "residual", "own_cpu")
MILLION = 10 ** 6
COMPARISONS = (">", ">=", "<", "<=")


@dataclasses.dataclass(frozen=True)
class Expression:
    function: str  # "": the subject is of the books
    subject: str  # a figure, requests, or what the books have
    comparison: str = ">"
    limit: int = 0  # in the unit in which values are told
    limit_text: str = ""
    unit: str = "ns"  # or "count", "millionths", "millionths_per_second"
    for_ns: int = 0
    key: str = ""

    def text(self):
        measure = f"{self.function}({self.subject})" if self.function else self.subject
        rest = f" for {self.for_ns}ns" if self.for_ns else ""
        return f"{measure} {self.comparison} {self.limit_text}{rest}" + (f" by {self.key}" if self.key else "")

    def is_of_requests(self):
        return self.function in OF_REQUESTS or (self.function != "" and self.subject in ("requests", "wall"))

    def is_met(self, value):
        return {">": value > self.limit, ">=": value >= self.limit, "<": value < self.limit,
                "<=": value <= self.limit}[self.comparison]

    def simpler(self):
        if self.for_ns:
            yield dataclasses.replace(self, for_ns=0)
        if self.key:
            yield dataclasses.replace(self, key="")


def choose_measure(random, keys, counters):
    """Without a limit."""
    kind = random.choice(("of requests", "of requests", "count", "use", "use", "books", "lost"))
    key = random.choice(keys) if keys and random.random() < 0.5 else ""
    figure = random.choice(list(FIGURES))
    if kind == "of requests":
        return Expression(random.choice(OF_LAST_WINDOWS), figure, key=key)
    if kind == "count":
        function = random.choice(("count", "rate"))
        return Expression(function, "requests", key=key,
                          unit="count" if function == "count" else "millionths_per_second")
    if kind == "use":
        function = random.choice(("sum", "rate"))
        return Expression(function, figure, key=key, unit="ns" if function == "sum" else "millionths")
    if kind == "books":
        subject = random.choice(BOOKS)
        is_share = subject != "exec" and random.random() < 0.5
        return Expression("", subject, unit="millionths" if is_share else "ns")
    return Expression("", random.choice(("lost", "lost", "lost", *counters)), unit="count")


def write_limit(random, expression, limit):
    """As a user may write it."""
    whole, part = divmod(limit, MILLION)
    if expression.unit == "count":
        return str(limit)
    if expression.unit == "ns":
        return random.choice((f"{limit}ns", f"{limit} ns", f"{whole}.{part:06}ms"))
    if expression.unit == "millionths" and (expression.function == "" or random.random() < 0.5):
        return f"{limit // 10 ** 4}.{limit % 10 ** 4:04}%"
    return f"{whole}.{part:06}"


def choose_limit(random, values):
    """One near values that occur."""
    if not values or random.random() < 0.05:
        return random.choice((0, 1, MILLION))
    value = random.choice(values)
    limit = random.choice((value, value, value + 1, value - 1, (value + random.choice(values)) // 2,
                           int(value * random.uniform(0.5, 1.5))))
    return min(max(limit, 0), 10 ** 15)


def choose_duration(random, lengths):
    """None, or near a few windows; for some longer than all silence."""
    if not lengths or random.random() < 0.4:
        return 0
    length_ns = random.choice(lengths) or 1
    for_ns = length_ns * random.choice((1, 1, 2, 2, 3, 4)) + random.choice((0, 0, length_ns // 8, -length_ns // 8, 1))
    return for_ns if random.random() < 0.9 else 5 * for_ns


def complete(random, measure, values, lengths):
    limit = choose_limit(random, values)
    return dataclasses.replace(measure, comparison=random.choice(COMPARISONS), limit=limit,
                               limit_text=write_limit(random, measure, limit),
                               for_ns=choose_duration(random, lengths))


def simpler(expressions):
    """Fewer of them, or such as ask for less."""
    for number, expression in enumerate(expressions):
        before, behind = expressions[:number], expressions[number + 1:]
        if len(expressions) > 1:
            yield before + behind
        for less in expression.simpler():
            yield before + (less,) + behind


def unique(expressions):
    return tuple(next(same) for _, same in itertools.groupby(sorted(expressions, key=Expression.text), Expression.text))
