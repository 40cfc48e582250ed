# SPDX-License-Identifier: GPL-2.0-only
"""What was spent in stacks and in the bars of a trace: only its sums, of all and of each endpoint."""
import collections
import gzip
import math

import rule
import spread
from figures import SHARES_HOLD, Near, check_shares, csv_rows, csv_text, load, shown_label
from protobuf import first_of, numbers_of, read_message

EXACT_MOST = 2 ** 53
ROUNDED_MOST_NS = 10 ** 7
SHARES = ("share_percent", "self_percent")


def costs_of(question):
    return ("blocked_ns", "run_queue_ns") if question.is_of_waits else ("cpu_ns",)


def slack_of(recording, chosen, question):
    """Each stack's time is rounded; where a sum has ended at its bound no part of it is right. And a key that no meta
    record tells of is not lent to the samples before the first record that has it."""
    is_exact = chosen.spent_ns(costs_of(question)) < EXACT_MOST and recording.keys == recording.told_keys()
    return len(chosen.records) + 8 if is_exact else math.inf


def expect_each(recording, chosen, question, name_of):
    """The time in each stack. What is rounded to nothing need not be there."""
    slack = slack_of(recording, chosen, question)
    stacks = spread.stacks_of(recording, chosen, question.is_of_waits, name_of)
    if slack == math.inf:
        stacks |= dict.fromkeys([spread.nowhere(question.is_of_waits), (name_of(spread.UNKNOWN),)], 0)
    return {("stack", names, "ns"): Near(float(ns), 0, slack, ns < 2 or slack == math.inf)
            for names, ns in stacks.items()}


def expect_stacks(recording, chosen, question):
    spent_ns = chosen.spent_ns(costs_of(question))
    found = spread.Spread(chosen, question.is_of_waits)
    slack = slack_of(recording, chosen, question)
    samples = found.samples if slack < math.inf else Near(found.samples, 0, math.inf)
    figures = {("all", (), "spent"): spent_ns, ("all", (), "of its parts"): spent_ns,
               ("methods", (), "are in order"): True, SHARES_HOLD: True,
               ("all", (), "samples"): samples, ("all", (), "in no stack"): Near(found.unknown_ns, 0, slack)}
    for method, sums in spread.methods_of(recording, found, question.is_of_waits).items():
        for name, ns in zip(("self", "total"), sums):
            figures["method", method, f"{name}_ns"] = Near(float(ns), 0, slack)
            if not question.is_of_waits:
                figures["method", method, f"{name}_error"] = error_of(found, ns, slack)
    return figures


def error_of(found, ns, slack):
    """Of few nanoseconds their rounding is a part of the error."""
    is_rounded = slack == math.inf or found.sampled_ns < ROUNDED_MOST_NS
    return Near(0 if is_rounded else found.error_percent(ns), 0, math.inf if is_rounded else 0.001)


def describe_method(name, file, first_line, kind, row):
    method = name, file or None, int(first_line) if first_line else None, kind
    figures = {("method", method, of): int(row[of]) for of in ("self_ns", "total_ns")}
    for name, of in (("self_error", "self_error_percent"), ("total_error", "error_percent")):
        if row.get(of) not in (None, ""):
            figures["method", method, name] = float(row[of])
    return figures


def parse_stacks_json(output, question):
    report = load(output)
    names = ("off_cpu_ns", "off_cpu_in_none_ns") if question.view == "off-cpu json" else \
        ("cpu_ns", "not_sampled_cpu_ns")
    parts_ns = sum(branch["self_ns"] for branch in report["branches"]) + report["all"][names[1]]
    figures = {("all", (), "spent"): report["all"][names[0]], ("all", (), "of its parts"): min(parts_ns, rule.MOST)}
    if question.view == "stacks slowest":
        return figures
    for row in report["methods"]:
        figures |= describe_method(row["name"], row.get("file"), row.get("first_line"), row["frame_kind"], row)
    sums = [(-row["self_ns"], -row["total_ns"]) for row in report["methods"]]
    figures["methods", (), "are in order"] = sums == sorted(sums)
    figures |= check_shares([*report["branches"], *report["methods"]], SHARES)
    return figures | {("all", (), "samples"): report["all"]["waits" if "off" in names[0] else "samples"],
                      ("all", (), "in no stack"): report["all"][names[1]]}


def parse_stacks_csv(output, question):
    heading, rows = csv_rows(output)
    at = heading.index("self_ns"), heading.index("total_ns")
    parts_ns = sum(int(row[at[0]]) for row in rows if row[0] == "branch")
    sums = {row[0]: int(row[at[1]]) for row in rows if row[0] in ("all", "not_sampled")}
    figures = {("all", (), "spent"): sums["all"], ("all", (), "in no stack"): sums["not_sampled"],
               ("all", (), "of its parts"): min(parts_ns + sums["not_sampled"], rule.MOST)}
    figures |= check_shares([dict(zip(heading, row)) for row in rows], SHARES)
    sums = [(-int(row[at[0]]), -int(row[at[1]])) for row in rows if row[0] == "method"]
    figures["methods", (), "are in order"] = sums == sorted(sums)
    for row in [dict(zip(heading, row)) for row in rows]:
        if row["row"] == "method":
            figures |= describe_method(csv_text(row["name"]), row["file"], row["first_line"], row["frame_kind"], row)
        if row["row"] == "all":
            figures["all", (), "samples"] = int(row["samples"])
    return figures


def folded_name(method):
    name, file, first_line, kind = method
    place = f" {file}:{first_line}" if kind == "ruby" and file else ""
    return name.replace(";", ":") + ("_[k]" if kind == "kernel" else "") + place


def expect_folded(recording, chosen, question):
    return expect_each(recording, chosen, question, folded_name) | {
        ("all", (), "of its parts"): chosen.spent_ns(costs_of(question))}


def parse_folded(output, question):
    lines = [line.rsplit(" ", 1) for line in output.decode("utf-8", "surrogateescape").split("\n")[:-1]]
    stacks = sum_stacks((tuple(names.split(";")), int(ns)) for names, ns in lines)
    return stacks | {("all", (), "of its parts"): min(sum(stacks.values()), rule.MOST)}


def sum_stacks(stacks):
    sums = collections.Counter()
    for names, ns in stacks:
        sums["stack", names, "ns"] += ns
    return {path: ns for path, ns in sums.items() if ns}


def expect_named(recording, chosen, question):
    return expect_by_endpoint(recording, chosen, question) | expect_each(recording, chosen, question,
                                                                         lambda method: method[0])


def expect_by_endpoint(recording, chosen, question):
    figures = {("all", (), "of its parts"): chosen.spent_ns(costs_of(question))}
    for place in chosen.table(("endpoint",)).groups():
        spent_ns = chosen.spent_ns(costs_of(question), place, ("endpoint",))
        if spent_ns:
            figures["endpoint", shown_label(place, ("endpoint",)), "of its parts"] = spent_ns
    return figures


def parse_speedscope(output, question):
    report = load(output)
    profiles, names = report["profiles"], [frame["name"] for frame in report["shared"]["frames"]]
    figures = sum_stacks((tuple(names[number] for number in numbers), ns)
                         for numbers, ns in zip(profiles[0]["samples"], profiles[0]["weights"]))
    for number, profile in enumerate(profiles):
        parts_ns = min(sum(profile["weights"]), rule.MOST)
        path = ("all", ()) if number == 0 else ("endpoint", (profile["name"],))
        figures[*path, "of its parts"] = parts_ns
        if parts_ns != profile["endValue"]:
            figures[*path, "endValue"] = profile["endValue"]
    return figures


def sum_by_endpoint(parts):
    """Of (endpoint or None, ns)."""
    figures = {("all", (), "of its parts"): min(sum(ns for _, ns in parts), rule.MOST)}
    for endpoint in {endpoint for endpoint, ns in parts if endpoint is not None and ns}:
        sum_ns = sum(ns for of, ns in parts if of == endpoint)
        figures["endpoint", (endpoint,), "of its parts"] = min(sum_ns, rule.MOST)
    return figures


def parse_pprof(output, question):
    profile = read_message(gzip.decompress(output))
    texts = [value.decode("utf-8", "surrogateescape") for number, value in profile if number == 6]
    functions = {first_of(function, 1): texts[first_of(function, 2)]
                 for function in [read_message(value) for number, value in profile if number == 5]}
    places = {first_of(place, 1): functions[first_of(read_message(first_of(place, 4)), 1)]
              for place in [read_message(value) for number, value in profile if number == 4]}
    parts, stacks = [], []
    for sample in [read_message(value) for number, value in profile if number == 2]:
        stacks.append((tuple(places[number] for number in numbers_of(sample, 1)[::-1]), numbers_of(sample, 2)[1]))
        labels = [read_message(value) for number, value in sample if number == 3]
        named = {texts[first_of(label, 1)]: texts[first_of(label, 2)] for label in labels if first_of(label, 2)}
        parts.append((named.get("endpoint"), numbers_of(sample, 2)[1]))
    return sum_by_endpoint(parts) | sum_stacks(stacks)


def parse_otlp(output, question):
    data = read_message(output)
    dictionary = [field for number, value in data if number == 2 for field in read_message(value)]
    texts = [value.decode("utf-8", "surrogateescape") for number, value in dictionary if number == 5]
    attributes = []
    for pair in [read_message(value) for number, value in dictionary if number == 6]:
        value = first_of(read_message(first_of(pair, 2, b"")), 1, b"")
        attributes.append((texts[first_of(pair, 1)], value))
    scope = read_message(first_of(read_message(first_of(data, 1)), 2))
    profile = read_message(first_of(scope, 2))
    parts = []
    for sample in [read_message(value) for number, value in profile if number == 2]:
        named = dict(attributes[number] for number in numbers_of(sample, 2))
        endpoint = named.get("endpoint")
        parts.append((endpoint and endpoint.decode("utf-8", "surrogateescape"), sum(numbers_of(sample, 4))))
    return sum_by_endpoint(parts)


def expect_perfetto(recording, chosen, question):
    return {("all", (), "of its parts"): min(sum(record.count("cpu_ns") or 0 for record in chosen.cpu), rule.MOST),
            ("window", (), "count"): len(chosen.cpu),
            ("thread", (), "count"): sum(record.kind == "slice" for record in chosen.records)}


def parse_perfetto(output, question):
    """Each bar has its record's figures as annotations; that of a window is of a cpu record."""
    packets = [read_message(value) for number, value in read_message(output) if number == 1]
    bars = {b"window": [], b"thread": []}
    for event in [read_message(first_of(packet, 11)) for packet in packets if first_of(packet, 11)]:
        if first_of(event, 22) in bars:
            bars[first_of(event, 22)].append(event)
    spent_ns = 0
    for event in bars[b"window"]:
        notes = [read_message(value) for number, value in event if number == 4]
        spent_ns += sum(first_of(note, 4) for note in notes if first_of(note, 10) == b"cpu_ns")
    return {("all", (), "of its parts"): min(spent_ns, rule.MOST), ("window", (), "count"): len(bars[b"window"]),
            ("thread", (), "count"): len(bars[b"thread"])}
