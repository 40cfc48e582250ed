# SPDX-License-Identifier: GPL-2.0-only
"""What `report --request` has of one request."""
import rule
from figures import load, read_row, shown
from rows import describe_costs, share


def describe_story(costs):
    figures = describe_costs(costs)
    if not costs.lacks_span:
        figures |= {"wall_ns": costs.wall_ns(), "parked_ns": costs.parked_ns(), "first_ns": costs.first_ns,
                    "last_ns": costs.last_ns}
    return figures


def expect_request(recording, chosen, question):
    own = [record for record in chosen.cpu if record.request == question.request]
    costs = chosen.requests[question.request]
    total = chosen.table(("request_id",)).total.costs
    figures = {("request", (), name): value for name, value in describe_story(costs).items()}
    figures[("request", (), "share_percent")] = share(costs, total)
    figures[("request", (), "inherited")] = any(record.attribution == "inherited" for record in own)
    if not question.where:
        figures |= {("key", (key,), ""): shown(own[-1].values[key]) for key in keys_but_id(own[-1])}
    threads = {}
    for record in own:
        thread = record.fields["host_name"], record.fields["pid"], record.fields.get("tid", 0)
        threads.setdefault(thread, rule.Costs()).add(rule.Costs(record))
    for thread, sums in threads.items():
        figures |= {("thread", thread, name): value for name, value in describe_story(sums).items()}
    slices = [record for record in chosen.records if record.kind == "slice" and record.request == question.request]
    return figures | {("windows", (), "count"): len(own), ("slices", (), "count"): len(slices)}


def keys_but_id(record):
    return [key for key in record.values if key not in rule.WHAT_RAN and key != "request_id"
            and key not in rule.OWN_TEXTS]


def parse_request(output, question):
    story = load(output)
    names = {*rule.COSTS, "children_cpu_ns", "wall_ns", "parked_ns", "first_ns", "last_ns"}
    figures = read_row("request", (), story["request"], names | {"share_percent", "inherited"})
    if not question.where:
        figures |= {("key", (key,), ""): value for key, value in story["request"]["keys"].items()}
    for thread in story["threads"]:
        figures |= read_row("thread", (thread["host_name"], thread["pid"], thread["tid"]), thread, names)
    counts = {("windows", (), "count"): len(story["windows"]), ("slices", (), "count"): len(story["slices"])}
    return figures | counts
