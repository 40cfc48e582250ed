# SPDX-License-Identifier: GPL-2.0-only
"""What has arrived of a recorder's records, each of them once, and added up as it comes."""
import collections
import threading

import msgpack

import soak_path  # noqa: F401
import records


# As law.kills: what a thread runs between two readings of a clock at its end, which may be a window's.
ENDING_NS = 20_000


class Ledger:
    """Takes the entries of any number of collectors, from any thread.

    With keeps_ids it knows a record that comes twice.
    """

    def __init__(self, keeps_ids=True):
        self.keeps_ids = keeps_ids
        self.lock = threading.Lock()
        self.seen = set()
        self.cpu_ns = collections.Counter()  # by request_id
        self.calls = collections.Counter()  # the same
        self.flags = collections.Counter()  # of requests
        self.events = collections.Counter()  # of processes
        self.kinds = collections.Counter()
        self.unbalanced = []
        self.worst_part = 0
        self.doubles = 0
        self.unseen = 0  # switches
        self.dropped = 0
        self.own = []  # self records

    def take(self, entries):
        unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, max_buffer_size=1 << 28)
        unpacker.feed(entries)
        self.take_from(unpacker)

    def take_from(self, unpacker):
        with self.lock:
            for _, record in unpacker:
                if record["kind"] != "check":
                    self.take_record(record)

    def take_record(self, record):
        if self.keeps_ids:
            if record["record_id"] in self.seen:
                self.doubles += 1
                return
            self.seen.add(record["record_id"])
        self.kinds[record["kind"]] += 1
        take = getattr(self, f"take_{record['kind']}", None)
        if take:
            take(record)

    def take_cpu(self, record):
        self.cpu_ns[record.get("request_id")] += record["cpu_ns"]
        self.calls[record.get("request_id")] += record["syscalls"]
        if record.get("request_id"):
            self.flags.update(record.get("flags", ()))

    def take_balance(self, record):
        self.unseen += record["switches_unseen"]
        exec_ns, residual_ns = record["exec_ns"], abs(record["residual_ns"])
        if residual_ns > records.BALANCE_PART * exec_ns + ENDING_NS:
            self.unbalanced.append(record)
        if exec_ns:
            self.worst_part = max(self.worst_part, residual_ns / exec_ns)

    def take_process(self, record):
        self.events[record["event"]] += 1

    def take_gap(self, record):
        self.dropped += record["dropped_records"]

    def take_self(self, record):
        self.own.append(record)

    def has(self, request_ids):
        with self.lock:
            return all(request_id in self.cpu_ns for request_id in request_ids)
