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
        threads.setdefault(thread_of(record.fields), rule.Costs()).add(rule.Costs(record))
    for thread, sums in threads.items():
        figures |= {("thread", thread, name): value for name, value in describe_story(sums).items()}
    slices = [record for record in chosen.records if record.kind == "slice" and record.request == question.request]
    figures[("windows", (), "each")] = sorted([*thread_of(record.fields), record.wall_ns, *window_of(record)]
                                              for record in own)
    figures[("slices", (), "each")] = sorted(slice_of(record.fields) for record in slices)
    return figures


def thread_of(fields):
    return fields["host_name"], fields["pid"], fields.get("tid", 0)


def window_of(record):
    costs = rule.Costs(record)
    return costs.get("cpu_ns") or 0, costs.get("run_queue_ns") or 0, costs.get("blocked_ns") or 0


def slice_of(fields):
    return [*thread_of(fields), *(fields[name] for name in ("state", "start_ns", "end_ns")), fields.get("cpu_ns", 0)]


def keys_but_id(record):
    return [key for key in record.values if key not in rule.WHAT_RAN and key != "request_id"
            and key not in rule.OWN_TEXTS]


def parse_request(output, question):
    story = load(output)
    names = {*rule.COSTS, "children_cpu_ns", "wall_ns", "parked_ns", "first_ns", "last_ns"}
    figures = read_row("request", (), story["request"], names | {"share_percent", "inherited"})
    if not question.where:
        figures |= {("key", (key,), ""): value for key, value in story["request"].get("keys", {}).items()}
    for thread in story["threads"]:
        figures |= read_row("thread", (thread["host_name"], thread["pid"], thread["tid"]), thread, names)
    windows = [[*thread_of(window), window["window_end_ns"],
                *(window.get(name, 0) for name in ("cpu_ns", "run_queue_ns", "blocked_ns"))]
               for window in story["windows"]]
    return figures | {("windows", (), "each"): sorted(windows),
                      ("slices", (), "each"): sorted(map(slice_of, story["slices"]))}
