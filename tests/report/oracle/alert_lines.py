# SPDX-License-Identifier: GPL-2.0-only
"""The lines of `report --alert`: one for each time that an alert begins to fire, or is over."""
import time

import alerts
from expressions import MILLION, PERCENTS
from figures import HISTOGRAM_PART, Near, shown

ROUNDING_PART = 5e-4  # a line has four digits
SCALES = {"ns": 1, "us": 1000, "ms": 10 ** 6, "s": alerts.SECOND_NS}
NOTHING = "nothing is measured any more"
EXIT_FIRED = 5
EXIT = ("exit", (), "")


def expect_alerts(recording, chosen, question):
    figures, has_fired, is_open = {}, False, False
    for host, windows in alerts.windows_by_recorder(recording).items():
        for expression in question.alerts:
            found, open_keys = alerts.changes(expression, windows)
            is_open |= bool(open_keys)
            numbers = {}
            for key, wall_ns, state, value in found:
                has_fired |= state == "firing" and key not in open_keys
                number = numbers[key] = numbers.get(key, -1) + 1
                label = host, expression.text(), shown(key), number
                figures[("change", label, "time")] = write_time(wall_ns)
                figures[("change", label, "state")] = state
                figures[("change", label, "value")] = expect_value(expression, value)
            figures |= {("change", (host, expression.text(), shown(key)), "open"): True for key in open_keys}
    if has_fired or not is_open:
        figures[EXIT] = EXIT_FIRED if has_fired else 0
    return figures


def forget_what_is_open(expected, found):
    """Of a percentile near the limit it is not said whether it holds."""
    is_open = {path[1] for path in expected if path[2] == "open"}
    for figures in (expected, found):
        for path in [path for path in figures if path[1][:3] in is_open]:
            del figures[path]
    if EXIT not in expected:
        found.pop(EXIT)


def expect_value(expression, value):
    if value is None:
        return NOTHING
    if expression.function in PERCENTS:
        return Near(value, part=HISTOGRAM_PART + ROUNDING_PART)
    return write_value(expression.unit, value)


def write_value(unit, value):
    if unit == "ns":
        name = next((name for name in ("ns", "us", "ms") if value // 1000 < SCALES[name]), "s")
        return f"{value} ns" if name == "ns" else f"{value / SCALES[name]:.4g} {name}"
    return {"count": f"{value}", "millionths": f"{value / 10 ** 4:.4g} %",
            "millionths_per_second": f"{value / MILLION:.4g} a second"}[unit]


def write_time(ns):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // alerts.SECOND_NS)) + f".{ns // MILLION % 1000:03}Z"


def parse_alerts(output, question):
    figures, numbers = {}, {}
    for line in output.decode("utf-8", "surrogateescape").split("\n")[:-1]:
        when, host, state, rest = line.split(" ", 3)
        expression = next(one for one in question.alerts if rest.startswith(one.text() + ": "))
        rest, _, value = rest[len(expression.text()) + 2:].rpartition("is at ") if not rest.endswith(NOTHING) else \
            (rest[len(expression.text()) + 2:-len(NOTHING)], "", NOTHING)
        key = rest[len(expression.key) + 1:-2] if expression.key else rest
        series = host, expression.text(), key
        number = numbers[series] = numbers.get(series, -1) + 1
        figures[("change", (*series, number), "time")] = when
        figures[("change", (*series, number), "state")] = state.removesuffix(":")
        figures[("change", (*series, number), "value")] = read_value(expression, value)
    return figures


def read_value(expression, value):
    if expression.function not in PERCENTS or value == NOTHING:
        return value
    number, unit = value.split()
    return float(number) * SCALES[unit]
