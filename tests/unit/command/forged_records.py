# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of which every figure is known."""
import msgpack

START = 1_700_000_000 * 10 ** 9


class Records:
    def __init__(self):
        self.data = b""
        self.number = 0

    def add(self, kind, wall=START + 10 ** 9, **fields):
        self.number += 1
        stamp = (wall // 10 ** 9).to_bytes(4, "big") + (wall % 10 ** 9).to_bytes(4, "big")
        self.data += b"\x92\xd7\x00" + stamp + msgpack.packb({
            "schema": 1, "kind": kind, "record_id": f"b:1:1:{self.number}", "host_name": "web",
            "pid": 7, **fields})
        return self


def stacks():
    """A long request, two short ones of an endpoint, of which one is in no sample, one of an endpoint
    without any, one that used nothing, and what ran in none."""
    records = Records().add("process", comm="puma", event="found", mode="exact")
    for number, (parent, name, line, first) in enumerate(
            ((None, "main", 1, 1), (1, "Order#total", 12, 10), (1, "Order#total", 14, 10), (3, "esc\x1b[1m", 0, 0)), 1):
        records.add("stack", stack_id=str(number), name=name, line=line, first_line=first, frame_kind="ruby",
                    file=f"/app/{'order' if number > 1 else 'main'}.rb", **({"parent_id": str(parent)} if parent else {}))
    for request, endpoint, cpu_ns, samples in (
            ("r-1", "GET /a", 1_000_000_007, [(11, "2", 30), (11, "3", 20), (12, "4", 50)]),
            ("r-2", "GET /b", 13, [(11, "2", 1), (11, "3", 2)]), ("r-3", "GET /b", 5, []), ("r-4", "GET /c", 6, []),
            ("r-5", "GET /d", 0, []), ("", "", 70, [(11, "1", 1)])):
        own = {"request_id": request, "endpoint": endpoint}
        records.add("cpu", **own, tid=11, window_ns=10 ** 9, cpu_ns=cpu_ns)
        for tid, stack, count in samples:
            records.add("sample", **own, tid=tid, stack_id=stack, samples=count, period_ns=10101010, window_ns=10 ** 9)
    return records.data


STACKS_CPU = 1_000_000_007 + 13 + 5 + 6 + 70


def waits():
    """Two requests that waited, of which one is in no stack, and what waited in none."""
    records = Records()
    for number, (parent, name, kind) in enumerate(((None, "main", "ruby"), (1, "nap", "ruby"), (2, "__schedule", "kernel")), 1):
        records.add("stack", stack_id=str(number), name=name, frame_kind=kind, **({"parent_id": str(parent)} if parent else {}))
    for request, blocked_ns, run_queue_ns, stacks_waited in (
            ("r-1", 800, 30, [("3", 2, 700, 30), ("1", 1, 100, 0)]), ("r-2", 40, 0, []), ("", 9, 0, [("2", 0, 9, 0)])):
        records.add("cpu", request_id=request, tid=11, window_ns=10 ** 9, cpu_ns=5, blocked_ns=blocked_ns, run_queue_ns=run_queue_ns)
        for stack, count, blocked, run_queue in stacks_waited:
            records.add("sample", request_id=request, tid=11, stack_id=stack, waits=count, blocked_ns=blocked, run_queue_ns=run_queue,
                        window_ns=10 ** 9)
    return records.data


def too_deep():
    """A stack of 4,095 frames, of which as many as ever are kept: m1 called m2, and so on."""
    records = Records()
    for number in range(1, 4096):
        parent = {"parent_id": str(number - 1)} if number > 1 else {}
        records.add("stack", stack_id=str(number), name=f"m{number}", frame_kind="ruby", **parent)
    records.add("cpu", tid=11, request_id="r", cpu_ns=5)
    return records.add("sample", tid=11, request_id="r", stack_id="4095", samples=1, period_ns=1).data


def syscalls():
    """Two requests of one endpoint and one of another, one that called nothing, and what ran in none."""
    records = Records().add("meta", keys=["request_id", "endpoint"]).add("process", comm="puma", event="found", mode="exact")
    for request, endpoint, calls in (
            ("r-1", "GET /audit", {"stat": (640, 6400), "read": (160, 3200)}), ("r-2", "GET /audit", {"stat": (3, 30)}),
            ("r-3", "GET /b", {"futex": (1, 10 ** 9)}), ("r-4", "GET /b", {}), ("", "", {"read": (2, 7)})):
        own = {"request_id": request, "endpoint": endpoint, "tid": 11, "window_ns": 10 ** 9}
        records.add("cpu", **own, cpu_ns=5, syscalls=sum(count for count, _ in calls.values()))
        for name, (count, inside_ns) in calls.items():
            records.add("syscall", **own, syscall=name, syscall_number=1, syscalls=count, inside_ns=inside_ns)
    return records.data


def io():
    """Two requests of one endpoint, one of another with an escape in the name of a peer, one that read nothing, and
    what was read in none."""
    records = Records().add("meta", keys=["request_id", "endpoint"])
    records.add("process", comm="puma", event="found", mode="exact")
    clients = {"io_on": "tcp", "peer": "0.0.0.0:3000", "accepted": True}
    database, cache = ({"io_on": "tcp", "peer": peer} for peer in ("10.0.0.5:5432", "10.0.0.9:6379"))
    names = {"io_on": "dns", "peer": "10.0.0.2:53", "answers": 2, "answer_ns": 900_000}
    local, odd = ({"io_on": "unix", "peer": peer} for peer in ("/run/pg/.s.PGSQL.5432", "/run/\x1b[1m"))
    for request, endpoint, ends in (
            ("r-1", "GET /audit", [
                (clients, 2, 600, 90_000), ({**database, "connects": 1, "connect_ns": 2_000_000}, 40, 2_300_000, 8_000),
                (cache, 6, 1_536, 200), (names, 4, 120, 60), ({"io_on": "file"}, 3, 4_096, 0)]),
            ("r-2", "GET /audit", [
                (clients, 2, 620, 90_000),
                ({**database, "connects": 2, "connect_ns": 4_600_000}, 60, 3_500_000, 12_000)]),
            ("r-3", "GET /b", [(local, 8, 5_000, 700), (odd, 1, 9, 1), ({"io_on": "pipe"}, 2, 1, 1)]),
            ("r-4", "GET /b", []), ("", "", [({"io_on": "other"}, 5, 40, 0)])):
        own = {"request_id": request, "endpoint": endpoint, "tid": 11, "window_ns": 10 ** 9}
        records.add("cpu", **own, cpu_ns=5)
        for end, calls, in_bytes, out_bytes in ends:
            records.add("io", **own, **end, io_calls=calls, in_bytes=in_bytes, out_bytes=out_bytes)
    return records.add("balance", window_ns=10 ** 9, exec_ns=25, attributed_ns=20, unattributed_ns=5, overflow_ns=0,
                       residual_ns=0, io_lost=7).data
