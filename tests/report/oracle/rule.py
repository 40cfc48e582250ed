# SPDX-License-Identifier: GPL-2.0-only
"""
What the figures of a recording are, by the rule. Slow and plain: it holds all records in memory.

A request lends its values of keys to its own records that have none. A filter chooses records by the
values that they have then. The time of a record belongs to the row of its values. A request counts once,
with all that was chosen of it, in the row of its last chosen cpu record.

Texts are str; what is no UTF-8 is in them as surrogates (surrogateescape).

What is not said anywhere, and how it is here:

* Sums end at 2^63-1. A cost that one record of a row lacks the row lacks. A record without times takes the
  first and the last of its row, and its request's wall time; one whose last is before its first, too.
* A request is one over all hosts.
* A thread 0 is no thread: a row by tid has none, and no filter by tid finds it.
* Slices, samples and calls lend and borrow like cpu records, in the order in which they are read.
* The name of a process is what was told last before a record, whatever the span of time is. `top` has the
  last one of all.
* A row without one of its keys has the names of its threads and processes like any other row.
* A share of one request (--request) is of what --where chose, like that of its row.
* A filter by attribution is not tried.
* Over time, rows have what is attributed, whatever they are by.
"""
import collections
import dataclasses
import fnmatch

import msgpack

MOST = 2 ** 63 - 1
ACTIVITY = ("cpu", "slice", "sample", "syscall", "io", "stall")
# Kinds without a window: they count outside the span of time, too.
TIMELESS = ("meta", "process", "stack")
WHAT_RAN = ("pid", "tid", "comm", "thread_name", "host_name", "attribution")
KNOWN = ("attributed", "inherited")
# The texts of records that are no values of keys.
OWN_TEXTS = {"kind", "record_id", "host_name", "thread_name"}
OWN_TEXTS_OF = {"slice": {"state", "blocked_on"}, "sample": {"stack_id"}, "syscall": {"syscall", "syscall_abi"},
                "io": {"io_on", "peer"},
                "stall": {"blocked_on", "syscall", "syscall_abi", "waited_on", "stack_id", "woken_by",
                          "ran_instead_thread_name"}}
# Before the names of the keys of another context, that of the thread that ended the wait.
OTHERS_PREFIX = {"stall": "woken_by_"}
WALL_FIELDS = {"cpu": ("first_ns", "last_ns"), "slice": ("start_ns", "end_ns"), "stall": ("start_ns", "end_ns")}

# In the order of enum io_number.
IO_NUMBERS = ("io_calls", "in_bytes", "out_bytes", "connects", "connect_ns", "answers", "answer_ns")
REASONS = tuple(f"blocked_{reason}_ns" for reason in
                ("disk", "network", "poll", "pipe", "futex", "sleep", "child", "fault", "other"))
# In the order of enum cost, by the names that JSON and CSV have.
COSTS = ("cpu_ns", "user_ns", "kernel_ns", "run_queue_ns", "blocked_ns", "slices", "switches", "ambiguous_ns",
         "migrations", "stolen_ns", "split_error_ns", "uninterruptible_ns", "syscalls", *REASONS,
         "gvl_ns", "gvl_waits", "gc_ns", "gc_runs")
PARTS = {"cpu_ns": ("user_ns", "kernel_ns"), "switches": ("switches_voluntary", "switches_involuntary")}
ON_THREAD = ("cpu_ns", "run_queue_ns", "blocked_ns", "stolen_ns")

# Rows that are no group.
WITHOUT_KEY, UNATTRIBUTED, OVERFLOW = "without_key", "unattributed", "overflow"


@dataclasses.dataclass(eq=False)
class Record:
    """One entry; of an activity also what it is of."""
    wall_ns: int
    fields: dict
    attribution: str = ""
    request: str | None = None
    values: dict = dataclasses.field(default_factory=dict)  # by key, none of them empty

    @property
    def kind(self):
        return self.fields["kind"]

    def count(self, name):
        """None: it is not there, or no number of things."""
        value = self.fields.get(name)
        return min(value, MOST) if type(value) is int and value >= 0 else None

    def text(self, name):
        value = self.fields.get(name)
        return value if isinstance(value, str) and value else None


def unpack(data):
    """The entries of a file, as (wall_ns, fields)."""
    unpacker = msgpack.Unpacker(raw=False, unicode_errors="surrogateescape", max_buffer_size=len(data) or 1)
    unpacker.feed(data)
    for (stamp, fields) in unpacker:
        seconds, ns = int.from_bytes(stamp.data[:4], "big"), int.from_bytes(stamp.data[4:], "big")
        if fields["kind"] != "check":
            yield seconds * 10 ** 9 + ns, fields


def steady(record):
    """Its times, as by a clock that was never set."""
    set_ns = record.fields.get("clock_set_ns", 0)
    if not set_ns:
        return
    record.wall_ns = max(record.wall_ns - set_ns, 0)
    record.fields = dict(record.fields)
    for name in WALL_FIELDS.get(record.kind, ()):
        if record.count(name) is not None:
            record.fields[name] = min(max(record.fields[name] - set_ns, 0), MOST)


def keys_of(record):
    """Its own values of keys by their names, the empty ones among them."""
    own, prefix = OWN_TEXTS | OWN_TEXTS_OF.get(record.kind, set()), OTHERS_PREFIX.get(record.kind)
    return {name: value for name, value in record.fields.items()
            if isinstance(value, str) and name not in own and not (prefix and name.startswith(prefix))}


def attribute(record):
    flags = record.fields.get("flags", ())
    keys = keys_of(record).values()
    if "overflow" in flags:
        return "overflow"
    if "unknown" in flags:
        return "unknown"
    if keys and not any(keys):
        return "no context"
    return "inherited" if "inherited" in flags and "inherited_by_exec" not in flags else "attributed"


class Costs:
    """What cpu records add up to. A cost that one of them lacks is not known of all."""

    def __init__(self, record=None):
        self.sums = dict.fromkeys(COSTS, 0)
        self.missing = set()
        self.record_count = self.children_ns = 0
        self.lacks_span = False
        self.first_ns = self.last_ns = None
        if record:
            self.take(record)

    def take(self, record):
        self.record_count = 1
        for cost in COSTS:
            value = read_cost(record, cost)
            if value is None:
                self.missing.add(cost)
            else:
                self.sums[cost] = value
        self.settle_reasons()
        if "inherited_by_exec" in record.fields.get("flags", ()):
            self.children_ns = self.sums["cpu_ns"]
        self.first_ns, self.last_ns = record.count("first_ns"), record.count("last_ns")
        self.lacks_span = None in (self.first_ns, self.last_ns) or self.last_ns < self.first_ns

    def settle_reasons(self):
        """A reason that is left out is 0 where others are there, or where nothing was to be told."""
        reasons = set(REASONS)
        if "blocked_ns" in self.missing:
            self.missing |= reasons
        elif self.sums["blocked_ns"] == 0 or not reasons <= self.missing:
            self.missing -= reasons

    def add(self, other):
        for cost, value in other.sums.items():
            self.sums[cost] = min(self.sums[cost] + value, MOST)
        self.children_ns = min(self.children_ns + other.children_ns, MOST)
        self.missing |= other.missing
        self.lacks_span |= other.lacks_span
        self.first_ns = min((ns for ns in (self.first_ns, other.first_ns) if ns is not None), default=None)
        self.last_ns = max((ns for ns in (self.last_ns, other.last_ns) if ns is not None), default=None)
        self.record_count += other.record_count

    def get(self, cost):
        """None: it is not known."""
        return None if cost in self.missing else self.sums[cost]

    def known(self):
        return {cost: value for cost, value in self.sums.items() if cost not in self.missing}

    def wall_ns(self):
        return None if self.lacks_span or not self.record_count else self.last_ns - self.first_ns

    def io_ns(self):
        """Blocked on anything but a lock."""
        blocked_ns, lock_ns = self.get("blocked_ns"), self.get("blocked_futex_ns")
        return None if lock_ns is None else max(blocked_ns - lock_ns, 0)

    def parked_ns(self):
        wall_ns = self.wall_ns()
        if wall_ns is None or self.missing & set(ON_THREAD):
            return None
        return max(wall_ns - min(sum(self.sums[cost] for cost in ON_THREAD), MOST), 0)


def read_cost(record, cost):
    """The field, or else the sum of both parts. Switches are a sum alone."""
    value = None if cost == "switches" else record.count(cost)
    if value is not None or cost not in PARTS:
        return value
    parts = [record.count(part) for part in PARTS[cost]]
    return None if None in parts else min(sum(parts), MOST)


class Row:
    """The time of some records, and the requests whose last record is among them."""

    def __init__(self):
        self.costs = Costs()
        self.requests = []  # the Costs of each as a whole
        self.names = {}  # the last thread_name, comm and endpoint of its records

    def add(self, record):
        self.costs.add(Costs(record))
        for name in ("thread_name", "comm", "endpoint"):
            if record.values.get(name):
                self.names[name] = record.values[name]

    def distribution(self, figure):
        """A figure of each request, in order; None: not all of them have it."""
        of_one = {"cpu": lambda costs: costs.get("cpu_ns"), "wall": Costs.wall_ns, "parked": Costs.parked_ns}[figure]
        values = [of_one(costs) for costs in self.requests]
        return sorted(value for value in values if value is not None)


def percentile(values, percent):
    """The least of the sorted values that this percentage of them do not exceed."""
    return values[max(-(-percent * len(values) // 100), 1) - 1]


def mean(values):
    return min(sum(values), MOST) // len(values)


class Table:
    """Rows by their place: the values of the keys, or one of the rows that are no group."""

    def __init__(self):
        self.rows = collections.defaultdict(Row)
        self.total = Row()

    def groups(self):
        return {place: row for place, row in self.rows.items() if isinstance(place, tuple)}

    def other(self, place):
        return self.rows[place] if place in self.rows else None


class Recording:
    """The records that files have in a span of time, each once, with the values that were found."""

    def __init__(self, files, since=None, until=None, as_written=False):
        records = [Record(wall_ns, fields) for entries in files for wall_ns, fields in entries]
        if not as_written:
            for record in records:
                steady(record)
        begin_ns = records[0].wall_ns if records else 0
        records = [record for record in records
                   if record.kind in TIMELESS or is_in_time(record, begin_ns, since, until)]
        self.records = without_doubles(records)
        self.double_count = len(records) - len(self.records)
        self.activity = [record for record in self.records if record.kind in ACTIVITY]
        self.has_several_hosts = len({record.fields.get("host_name", "") for record in self.records}) > 1
        self.keys = self.find_keys()
        self.find_values()
        self.lend()

    def of_kind(self, kind):
        return [record for record in self.records if record.kind == kind]

    def find_keys(self):
        """Those that are told of, and those that cpu records have."""
        of_records = [key for record in self.of_kind("cpu") for key in keys_of(record)]
        return list(dict.fromkeys(self.told_keys() + of_records))

    def told_keys(self):
        return list(dict.fromkeys(key for record in self.of_kind("meta") for key in record.fields.get("keys", ())))

    def find_values(self):
        """Of each record its own; the name of its process is the one that was told last before."""
        names, ended = {}, set()
        for record in self.records:
            process = record.fields.get("host_name", ""), record.fields["pid"]
            if record.kind == "process":
                name_process(names, ended, process, record)
            if record.kind not in ACTIVITY:
                continue
            record.attribution = attribute(record)
            record.values = {key: value for key, value in keys_of(record).items() if value}
            record.values |= {"pid": str(record.fields["pid"]), "attribution": record.attribution}
            for name in ("tid", "thread_name", "host_name"):
                value = record.fields.get(name)
                if value:
                    record.values[name] = str(value)
            if names.get(process):
                record.values["comm"] = names[process]
            if record.attribution in KNOWN:
                record.request = record.text("request_id")

    def lend(self):
        """Of each request to its own records, each key by itself: what it had last before, or first."""
        own = OWN_TEXTS | set(WHAT_RAN) | {"request_id"}
        requests = collections.defaultdict(list)
        for record in self.activity:
            if record.request:
                requests[record.request].append(record)
        for records in requests.values():
            keys = {key for record in records for key in record.values} - own
            for key in keys:
                last = next(record.values[key] for record in records if key in record.values)
                for record in records:
                    last = record.values.setdefault(key, last)

    def duration_ns(self):
        return self.end_ns() - self.start_ns()

    def timed(self):
        return [record for record in self.records if record.kind in ("cpu", "balance")]

    def start_ns(self):
        return min((max(record.wall_ns - (record.count("window_ns") or 0), 0) for record in self.timed()), default=0)

    def end_ns(self):
        return max((record.wall_ns for record in self.timed()), default=0)

    def cpu_count(self, of_hosts=False):
        """0: not known, or not the same everywhere; or of several hosts, but where that is asked for."""
        counts = {record.count("cpu_count") or 0 for record in self.of_kind("meta")}
        return counts.pop() if len(counts) == 1 and (of_hosts or not self.has_several_hosts) else 0

    def has_children(self):
        metas = self.of_kind("meta")
        return bool(metas) and all(meta.fields.get("children") is True for meta in metas)

    def label(self, record, key, with_host):
        """What a row is called by that key; None: the record has no such value."""
        value = record.values.get(key)
        if value and key == "tid":
            value = f"{record.fields['pid']}/{value}"
        if value and key in ("pid", "tid") and with_host:
            value = f"{record.fields.get('host_name', '')}:{value}"
        return value

    def select(self, conditions=()):
        return Selection(self, [record for record in self.activity
                                if all(does_match(record, condition) for condition in conditions)])


def default_by(recording, chosen):
    """The keys that rows are by where none is asked for: of those that are known when the first activity comes,
    endpoint or else the request; that, too, where no request has an endpoint."""
    known = []
    for record in recording.records:
        known += record.fields.get("keys", ()) if record.kind == "meta" else ()
        known += keys_of(record) if record.kind == "cpu" else ()
        if known and record.kind in ACTIVITY:
            break
    candidates = [key for key in ("endpoint", "request_id") if key in known]
    if "request_id" not in known:
        candidates += [key for key in known if key != "endpoint"][:1]
    if candidates[1:] == ["request_id"] and not chosen.table(("endpoint",)).groups():
        return ("request_id",) if chosen.requests else ("endpoint",)
    return (candidates or ["endpoint"])[0],


def without_doubles(records):
    seen, unique = set(), []
    for record in records:
        known = record.fields.get("record_id")
        if known is None or known not in seen:
            unique.append(record)
        seen.add(known)
    return unique


def is_in_time(record, begin_ns, since, until):
    """A limit is ("relative" or "absolute", ns)."""
    limits = [limit and limit[1] + (begin_ns if limit[0] == "relative" else 0) for limit in (since, until)]
    return (limits[0] is None or record.wall_ns > limits[0]) and (limits[1] is None or record.wall_ns <= limits[1])


def name_process(names, ended, process, record):
    """A pid that comes again after its exit is another process."""
    if process in ended:
        names.pop(process, None)
        ended.discard(process)
    if record.text("comm"):
        names[process] = record.text("comm")
    if record.count("end_ns"):
        ended.add(process)


def split_condition(condition):
    """KEY=VALUE or KEY~PATTERN: the key, = or ~, and the rest."""
    at = min(at for at in (condition.find("="), condition.find("~")) if at >= 0)
    return condition[:at], condition[at], condition[at + 1:]


def does_match(record, condition):
    key, operator, wanted = split_condition(condition)
    value = record.values.get(key)
    if not value:
        return False
    return value == wanted if operator == "=" else fnmatch.fnmatchcase(value, wanted)


def is_of_all_time(by):
    return all(key in WHAT_RAN for key in by) or "attribution" in by


class Selection:
    """The chosen records of a recording."""

    def __init__(self, recording, records):
        self.recording = recording
        self.records = records
        self.cpu = [record for record in records if record.kind == "cpu"]
        self.requests = {}
        for record in self.cpu:
            if record.request:
                self.requests.setdefault(record.request, Costs()).add(Costs(record))

    def place(self, record, by, of_all_time=None, with_host=None):
        """Which row the record's time is in."""
        of_all_time = is_of_all_time(by) if of_all_time is None else of_all_time
        with_host = self.recording.has_several_hosts if with_host is None else with_host
        if not of_all_time and record.attribution == "overflow":
            return OVERFLOW
        if not of_all_time and record.attribution not in KNOWN:
            return UNATTRIBUTED
        parts = tuple(self.recording.label(record, key, with_host) for key in by)
        return parts if any(parts) else WITHOUT_KEY

    def table(self, by, with_host=None):
        table = Table()
        last = {}
        for record in self.cpu:
            place = self.place(record, by, with_host=with_host)
            table.rows[place].add(record)
            table.total.add(record)
            if record.request:
                last[record.request] = place
        for request, place in last.items():
            table.rows[place].requests.append(self.requests[request])
            table.total.requests.append(self.requests[request])
        return table

    def steps(self, by, step_ns=None):
        """{(start, end): Table} of each window, or of each step; and the Table of all of them."""
        steps, lines, last = collections.defaultdict(Table), Table(), {}
        for record in self.cpu:
            span = span_of(record, step_ns)
            place = self.place(record, by, of_all_time=False)
            for table in (steps[span], lines):
                table.rows[place].add(record)
                table.total.add(record)
            if record.request:
                last[record.request] = span, place
        for request, (span, place) in last.items():
            for table in (steps[span], lines):
                table.rows[place].requests.append(self.requests[request])
                table.total.requests.append(self.requests[request])
        return steps, lines

    def syscalls(self, by):
        """{place: {"requests", "account_syscalls", call: [count, inside_ns]}} and such of all."""
        groups = collections.defaultdict(lambda: {"requests": 0, "account_syscalls": 0, "calls": {}})
        for record in self.records:
            if record.kind == "cpu":
                groups[self.place(record, by)]["account_syscalls"] += record.count("syscalls") or 0
            if record.kind == "syscall":
                call = groups[self.place(record, by)]["calls"].setdefault(call_name(record), [0, 0])
                call[0] += record.count("syscalls") or 0
                call[1] += record.count("inside_ns") or 0
        for place, row in self.table(by).rows.items():
            groups[place]["requests"] = len(row.requests)
        return groups

    def io(self, by):
        """{place: {"requests", "ends": {(kind of file, peer, whether accepted): numbers}}}, IO_NUMBERS of each."""
        groups = collections.defaultdict(lambda: {"requests": 0, "ends": {}})
        for record in self.records:
            if record.kind == "cpu":
                groups[self.place(record, by)]  # It is a group, also without io.
            if record.kind == "io":
                on = record.text("io_on")
                end = "?" if on is None else on, record.text("peer"), record.fields.get("accepted", False)
                numbers = groups[self.place(record, by)]["ends"].setdefault(end, [0] * len(IO_NUMBERS))
                for index, name in enumerate(IO_NUMBERS):
                    numbers[index] += record.count(name) or 0
        for place, row in self.table(by).rows.items():
            groups[place]["requests"] = len(row.requests)
        return groups

    def spent_ns(self, costs=("cpu_ns",), place=None, by=()):
        """Of all that is chosen, or of what is in a row; what lacks a cost counts for none."""
        records = [record for record in self.cpu if place is None or self.place(record, by) == place]
        return min(sum(Costs(record).sums[cost] for record in records for cost in costs), MOST)


def call_name(record):
    abi = record.text("syscall_abi")
    return f"{abi} {record.text('syscall')}" if abi else record.text("syscall")


def span_of(record, step_ns):
    window_ns = record.count("window_ns") or 0
    start_ns = record.wall_ns - window_ns if window_ns < record.wall_ns else 0
    if not step_ns:
        return start_ns, record.wall_ns
    middle_ns = start_ns + (record.wall_ns - start_ns) // 2
    return middle_ns - middle_ns % step_ns, middle_ns - middle_ns % step_ns + step_ns
