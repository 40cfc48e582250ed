# SPDX-License-Identifier: GPL-2.0-only
"""The rows of a report, as JSON, CSV and ndjson."""
import books
import rule
from figures import (HISTOGRAM_PART, NAMES, SHARES_HOLD, Near, billionths, check_shares, csv_rows, csv_text, each_line,
                     load, read_row, shown_label, shown_name)

PERCENTS = ("50", "90", "99")
FRACTIONS = ("requests_per_second", "syscalls_mean", "usable_threads")
FIGURES = {*rule.COSTS, "requests", "share_percent", "children_cpu_ns", "requests_per_second", "syscalls_mean",
           "first_ns", "last_ns", "cpu_percent", "machine_percent", "io_percent", "usable_threads", "wall_ns",
           "parked_ns", "groups", *NAMES,
           *(f"{figure}_{what}_ns" for figure in ("cpu", "wall", "parked")
             for what in ("mean", "p50", "p90", "p99", "max"))}


def describe_costs(costs):
    figures = costs.known()
    if costs.children_ns:
        figures["children_cpu_ns"] = costs.children_ns
    return figures


def describe_io(costs):
    io_ns, cpu_ns = costs.io_ns(), costs.get("cpu_ns")
    if None in (io_ns, cpu_ns):
        return {}
    figures = {"io_percent": billionths(100 * io_ns / (io_ns + cpu_ns))} if io_ns + cpu_ns else {}
    return figures | ({"usable_threads": billionths((io_ns + cpu_ns) / cpu_ns)} if cpu_ns else {})


def describe_distribution(row):
    """Of a figure that one request lacks the row has none."""
    figures = {}
    for figure in ("cpu", "wall", "parked"):
        values = row.distribution(figure)
        if not values or len(values) != len(row.requests):
            continue
        figures |= {f"{figure}_mean_ns": rule.mean(values), f"{figure}_max_ns": values[-1]}
        figures |= {f"{figure}_p{percent}_ns": Near(rule.percentile(values, int(percent)), HISTOGRAM_PART, 0)
                    for percent in PERCENTS}
    return figures


def share(costs, total):
    part, whole = costs.get("cpu_ns"), total.get("cpu_ns")
    return Near(100 * part / whole) if part is not None and whole else None


class Rows:
    """Describes the rows of a report."""

    def __init__(self, recording, chosen, by, top=0):
        self.recording, self.chosen, self.by, self.top = recording, chosen, by, top
        self.table = chosen.table(by)
        self.is_by_request = by == ("request_id",)
        self.of_all_time = rule.is_of_all_time(by)
        self.duration_ns = recording.duration_ns()

    def kinds(self):
        """(kind, label, row) of each."""
        shown, hidden = self.part()
        for place, row in shown:
            yield "group", shown_label(place, self.by), row
        if hidden:
            yield "hidden", (), self.sum_up([row for _, row in hidden])
        others = [kind for kind in (rule.WITHOUT_KEY, rule.OVERFLOW) if self.table.other(kind)]
        for kind in others + [rule.UNATTRIBUTED] * (not self.of_all_time):
            yield kind, (), self.table.other(kind) or rule.Row()
        yield "total", (), self.table.total

    def part(self):
        """The groups that are shown, and the others."""
        groups = self.ranked()
        return (groups[:self.top], groups[self.top:]) if self.top else (groups, [])

    def ranked(self):
        """Those that used most first."""
        def key(group):
            cpu_ns = group[1].costs.get("cpu_ns")
            label = [(part or "").encode("utf-8", "surrogateescape") for part in group[0]]
            return 1 if cpu_ns is None else -cpu_ns, label
        return sorted(self.table.groups().items(), key=key)

    def sum_up(self, rows):
        whole = rule.Row()
        for row in rows:
            whole.costs.add(row.costs)
            whole.requests += row.requests if not self.is_by_request else []
        return whole

    def describe(self, kind, row):
        costs, total = row.costs, self.table.total.costs
        figures = describe_costs(costs)
        if not costs.record_count:
            figures = dict.fromkeys(total.known(), 0) if total.record_count else {}
            costs = None
        if costs:
            figures["share_percent"] = share(costs, total)
            figures |= describe_io(costs)
        elif total.get("cpu_ns"):
            figures["share_percent"] = 0
        figures |= self.describe_requests(kind, row)
        if kind == "group":
            figures |= self.describe_group(row)
        if self.of_all_time and self.duration_ns and "cpu_ns" in figures:
            percent = 100 * figures["cpu_ns"] / self.duration_ns
            figures["cpu_percent"] = billionths(percent)
            if self.recording.cpu_count():
                figures["machine_percent"] = billionths(percent / self.recording.cpu_count())
        return figures

    def describe_requests(self, kind, row):
        count = len(row.requests)
        if not count:
            return {}
        figures = {"requests": count}
        is_one = self.is_by_request and kind == "group"
        if is_one:
            figures |= {"wall_ns": row.costs.wall_ns(), "parked_ns": row.costs.parked_ns()}
        else:
            figures |= describe_distribution(row)
            if self.duration_ns:
                figures["requests_per_second"] = billionths(count * 1e9 / self.duration_ns)
        if row.costs.get("syscalls") is not None:
            figures["syscalls_mean"] = billionths(row.costs.sums["syscalls"] / count)
        return figures

    def describe_group(self, row):
        figures = {}
        if not row.costs.lacks_span:
            figures = {"first_ns": row.costs.first_ns, "last_ns": row.costs.last_ns}
        names = {"thread": "thread_name"} if "tid" in self.by else {}
        if {"tid", "pid"} & set(self.by):
            names["comm"] = "comm"
        if self.is_by_request:
            names["endpoint"] = "endpoint"
        return figures | {name: shown_name(row.names[of]) for name, of in names.items() if of in row.names}

    def figures(self):
        return {(kind, label, name): value for kind, label, row in self.kinds()
                for name, value in self.describe(kind, row).items() if value is not None}


def expect_rows(recording, chosen, question):
    return count_rows(Rows(recording, chosen, question.by, question.top))


def count_rows(rows):
    shown, hidden = rows.part()
    figures = rows.figures() | {("rows", (), "order"): [shown_label(place, rows.by) for place, _ in shown]}
    figures[SHARES_HOLD] = True
    return figures | ({("hidden", (), "groups"): len(hidden)} if hidden else {})


def expect_json(recording, chosen, question):
    return expect_rows(recording, chosen, question) | expect_rest(recording, chosen, question)


def expect_rest(recording, chosen, question):
    """What JSON has behind the rows."""
    figures = {("books", (), name): value for name, value in books.describe(recording).items()}
    inherited = [record for record in chosen.cpu if record.attribution == "inherited"]
    if inherited:
        costs = rule.Costs()
        for record in inherited:
            costs.add(rule.Costs(record))
        requests = {record.request for record in inherited if record.request}
        figures |= {("inherited", (), "requests"): len(requests), ("inherited", (), "cpu_ns"): costs.get("cpu_ns")}
    by = ("thread_name", "attribution")
    nobody = [record for record in chosen.cpu if record.attribution in ("no context", "unknown")]
    threads = rule.Selection(recording, nobody).table(by)
    for place, row in threads.groups().items():
        figures |= {("thread", shown_label(place, by), name): value for name, value in row.costs.known().items()}
    if recording.end_ns():
        figures |= {("meta", (), "start_ns"): recording.start_ns(), ("meta", (), "end_ns"): recording.end_ns(),
                    ("meta", (), "duration_ns"): recording.duration_ns()}
    known = {"cpu_count": recording.cpu_count(True), "double_records": recording.double_count}
    return figures | {("meta", (), name): value for name, value in known.items() if value}


def label_of(row, by):
    if len(by) == 1:
        return (row.get("key"),)
    return tuple(row.get("keys", {}).get(key) for key in by)


def parse_rows(report, by):
    figures = {("rows", (), "order"): [label_of(row, by) for row in report["rows"]]}
    for row in report["rows"]:
        figures |= read_row("group", label_of(row, by), row, FIGURES)
    others = {kind: report.get(kind, {}) for kind in ("hidden", rule.WITHOUT_KEY, rule.UNATTRIBUTED, rule.OVERFLOW,
                                                      "total")}
    for kind, row in others.items():
        figures |= read_row(kind, (), row, FIGURES)
    return figures | check_shares([*report["rows"], *others.values()])


def parse_json(output, question):
    report = load(output)
    return parse_rows(report, question.by) | parse_rest(report)


def parse_rest(report):
    found = report["books"] | report["books"]["losses"]
    figures = read_row("books", (), found, {*books.SUMS, *books.LOSSES, *books.GAPS, "residual_ns",
                                            "worst_residual_ns", "worst_exec_ns"})
    figures |= read_row("inherited", (), report.get("inherited", {}), {"requests", "cpu_ns"})
    for row in report["unattributed_threads"]:
        figures |= read_row("thread", label_of(row, ("thread_name", "attribution")), row, set(rule.COSTS))
    return figures | read_row("meta", (), report["meta"], {"start_ns", "end_ns", "duration_ns", "cpu_count",
                                                           "double_records"})


def parse_ndjson(output, question):
    figures, order = check_shares(each_line(output)), []
    for row in each_line(output):
        label = label_of(row, question.by) if row["row"] == "group" else ()
        order += [label] * (row["row"] == "group")
        figures |= read_row(row["row"], label, row, FIGURES)
    return figures | {("rows", (), "order"): order}


def csv_value(name, cell):
    if name in NAMES:
        return csv_text(cell)
    return float(cell) if "percent" in name or name in FRACTIONS else int(cell)


def parse_csv(output, question):
    heading, rows = csv_rows(output)
    figures = check_shares([dict(zip(heading, row)) for row in rows])
    count, order = len(question.by), []
    for row in rows:
        label = tuple(csv_text(cell) or None for cell in row[1:1 + count]) if row[0] == "group" else ()
        cells = {name: csv_value(name, cell) for name, cell in zip(heading[1 + count:], row[1 + count:])
                 if cell and name in FIGURES}
        figures |= read_row(row[0], label, cells, FIGURES)
        order += [label] * (row[0] == "group")
    return figures | {("rows", (), "order"): order}
