# SPDX-License-Identifier: GPL-2.0-only
"""Reads recordings with python3-msgpack, which shares no code with the tool, and adds them up."""
import collections
import struct

import msgpack

TIMES = ("cpu_ns", "user_ns", "kernel_ns", "run_queue_ns", "blocked_ns", "stolen_ns", "syscalls",
         "split_error_ns", "ambiguous_ns")
# "" is the time under no request; a request's figures are right within the larger of these two.
NOBODY = ""
TOLERANCE_NS = 100_000
TOLERANCE_PART = 0.01
# A quarter of a tick at 250 Hz.
UNSEEN_NS = 1_000_000
# Of the sum, and of the books' residual.
BALANCE_PART = 0.001

# System calls of a request of fixtures/bare.rb. A few of the interpreter's own may fall into one: a
# timer's, a GC's.
REQUEST_CALLS = range(2000, 2020)


def is_record(entry):
    """No check, which stands between them (correlator/record/check.h)."""
    return entry[1]["kind"] != "check"


def each_entry(data):
    """The complete entries, checks among them, and where each begins and ends."""
    unpacker = msgpack.Unpacker(raw=False, strict_map_key=True, max_buffer_size=len(data) or 1)
    unpacker.feed(data)
    begin = 0
    for entry in unpacker:
        yield entry, begin, unpacker.tell()
        begin = unpacker.tell()


def unpack_entries(data):
    """The complete entries that are records, and the number of bytes that they and their checks take up."""
    entries, size = [], 0
    for entry, _, size in each_entry(data):
        if is_record(entry):
            entries.append(entry)
    return entries, size


def without_checks(data):
    """The bytes of a recording that a collector gets."""
    return b"".join(data[begin:end] for entry, begin, end in each_entry(data) if is_record(entry))


def read_records(path):
    """The entries [EventTime, map] of a file, which must end with a complete one."""
    data = path.read_bytes()
    entries, size = unpack_entries(data)
    if size != len(data):
        raise ValueError(f"{path}: an incomplete entry at byte {size} of {len(data)}")
    return entries


def wall_ns(event_time):
    """Of an entry: seconds and nanoseconds, each four bytes in network order."""
    seconds, nanoseconds = struct.unpack(">II", event_time.data)
    return seconds * 1_000_000_000 + nanoseconds


def calls_of(records, prefix):
    """{request_id: system calls}"""
    calls = {}
    for record in of_kind(records, "cpu"):
        if record.get("request_id", "").startswith(prefix):
            calls[record["request_id"]] = calls.get(record["request_id"], 0) + record["syscalls"]
    return calls


def of_kind(records, kind):
    return [record for record in records if record["kind"] == kind]


def totals_by(records, key="request_id", pid=None):
    """{value of the key: {field: sum}} over the cpu records (of one process)."""
    totals = collections.defaultdict(collections.Counter)
    for record in of_kind(records, "cpu"):
        if pid in (None, record["pid"]):
            totals[record.get(key)].update({name: record.get(name, 0) for name in TIMES})
    return totals


def known_sums_by_request(records, *fields):
    """{request_id: {field: sum}} of the fields that any cpu record of it has: what was not measured is absent."""
    sums = {}
    for record in of_kind(records, "cpu"):
        into = sums.setdefault(record["request_id"], {})
        for field in fields:
            if field in record:
                into[field] = into.get(field, 0) + record[field]
    return sums


def stolen_ns(records, request_id):
    """Time that the hypervisor and interrupts took from the threads of a request, in any context: theft is told up to a
    tick late, so it may be in the record of the next one."""
    found = of_kind(records, "cpu")
    tids = {record["tid"] for record in found if record.get("request_id") == request_id}
    return sum(record["stolen_ns"] for record in found if record["tid"] in tids)


def books(records, pid=None):
    """The sums of the balance records (of one process)."""
    sums = collections.Counter()
    for record in of_kind(records, "balance"):
        if pid in (None, record["pid"]):
            sums.update({name: value for name, value in record.items() if isinstance(value, int)})
    return sums


class Figure(int):
    """CPU time by the workload's own measurement, and how much of it may belong to a neighbour."""

    def __new__(cls, cpu_ns, uncertain_ns=0):
        figure = super().__new__(cls, cpu_ns)
        figure.uncertain_ns = uncertain_ns
        return figure


def unbalanced(records, allowance_ns=0):
    """Text about each balance, of a process and window, whose residual is beyond what is promised and the allowance."""
    return [f"record {balance['record_id']}: pid {balance['pid']} ran {balance['exec_ns']} ns,"
            f" residual {balance['residual_ns']:+}, {balance['switches_unseen']} switches unseen"
            for balance in of_kind(records, "balance")
            if abs(balance["residual_ns"]) > BALANCE_PART * balance["exec_ns"] + allowance_ns]


def is_right(got_ns, truth_ns, late_ns=0):
    """late_ns: of theft that may have been told too late."""
    uncertain_ns = getattr(truth_ns, "uncertain_ns", 0)
    return abs(got_ns - truth_ns) <= max(TOLERANCE_NS, TOLERANCE_PART * truth_ns) + uncertain_ns + late_ns


def wrong_requests(truth, totals, found=()):
    """
    Text about every request whose CPU differs from the truth, and every one that never was.

    A switch that the kernel did not report (switches_unseen in the books of `found`) is made up from
    exec runtime: for each of them the two requests at its sides may be off by what no figure of the
    kernel tells, a fraction of a tick. So may any be beside theft, which is told late.
    """
    def late_ns(request_id):
        return min(UNSEEN_NS, stolen_ns(found, request_id))

    wrong = [f"{request_id}: truth {truth_ns} ns, got {totals[request_id]['cpu_ns']} ns"
             f" ({totals[request_id]['cpu_ns'] - truth_ns:+}),"
             f" stolen {totals[request_id]['stolen_ns']}"
             for request_id, truth_ns in truth.items()
             if request_id != NOBODY and not is_right(totals[request_id]["cpu_ns"], truth_ns, late_ns(request_id))]
    worst_ns = max((abs(totals[request_id]["cpu_ns"] - truth_ns)
                    for request_id, truth_ns in truth.items() if request_id != NOBODY), default=0)
    if len(wrong) <= 2 * books(found)["switches_unseen"] and worst_ns <= UNSEEN_NS:
        wrong = []
    return wrong + [f"{request_id!r} never existed, got {total['cpu_ns']} ns"
                    for request_id, total in totals.items()
                    if request_id not in truth and request_id != NOBODY]
