# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of random figures, window by window, as `record` writes them."""
import random

import msgpack

START_NS = 1_700_000_000_000_000_000
WINDOW_NS = 500_000_000
COSTS = ("user_ns", "kernel_ns", "run_queue_ns", "blocked_ns", "slices", "switches_voluntary",
         "switches_involuntary", "ambiguous_ns", "migrations", "stolen_ns", "split_error_ns",
         "uninterruptible_ns", "syscalls")
HOSTILE = ["</script><script>window.pwned = 1</script>", "<img src=x onerror='window.pwned = 1'>",
           "<!-- <script>", "a\u2028b & \"quoted\" 'too'", "{{data}}", "javascript:pwned=1",
           "\\u003c/script>", "GET /füß/日本", "$&", "__proto__"]
ENDPOINTS = ["GET /orders/:id", "POST /orders", "GET /cart", *HOSTILE]


class Story:
    def __init__(self, seed, windows=12, requests=120, timeline=False, holes=False, fibers=0):
        self.random = random.Random(seed)
        self.data = bytearray()
        self.number = 0
        self.ends = []
        self.timeline = timeline
        self.holes = holes
        self.fibers = fibers  # of each thread: so many of its three slices have one of their own
        self.write("meta", 9, START_NS, tool_version="0.1.0", kernel_release="6.1.0", machine="x86_64",
                   boot_id="b", cpu_count=4, mode="exact", kernel_split=True, interval_ns=WINDOW_NS,
                   transition_ns=70, keys=["request_id", "endpoint"])
        self.write("process", 7, START_NS, event="found", ppid=1, comm="puma</script>", mode="exact")
        # Some requests know their endpoint late, some never, and some live for several windows.
        self.requests = [{"id": self.name_request(number), "from": self.random.randrange(windows),
                          "for": self.random.choice((1, 1, 1, 2, 3)),
                          "late": self.random.random() < 0.2,
                          "endpoint": self.random.choice((None, *ENDPOINTS))}
                         for number in range(requests)]
        for window in range(windows):
            self.window(window)

    def name_request(self, number):
        return f"req-{number:05}" if number % 10 else f"<b>req-{number:05}</b>&amp;"

    def write(self, kind, pid, wall_ns, **fields):
        self.number += 1
        stamp = (wall_ns // 10 ** 9).to_bytes(4, "big") + (wall_ns % 10 ** 9).to_bytes(4, "big")
        self.data += b"\x92\xd7\x00" + stamp + msgpack.packb({
            "schema": 1, "kind": kind, "record_id": f"b:1:1:{self.number}", "host_name": "web",
            "pid": pid, **fields})

    def cpu(self, window, tid, cost_max, **fields):
        figures = {name: self.random.randrange(cost_max) for name in COSTS}
        figures["cpu_ns"] = figures["user_ns"] + figures["kernel_ns"]
        figures["blocked_ns"] += figures["uninterruptible_ns"] + 1
        figures["syscalls"] %= 1000
        begin = START_NS + window * WINDOW_NS + self.random.randrange(WINDOW_NS // 2)
        end = begin + self.random.randrange(WINDOW_NS // 2)
        record = {**figures, "first_ns": begin, "last_ns": end}
        for name in self.not_measured(fields.get("endpoint")):
            del record[name]
        self.write("cpu", 7, self.end_ns, tid=tid, thread_name=f"worker <{tid}>", window_ns=WINDOW_NS,
                   **fields, **record)
        if self.timeline and fields.get("request_id"):
            self.slices(tid, begin, end, fields)
        return figures["cpu_ns"]

    def not_measured(self, endpoint):
        """Of some records of two endpoints; and of one beside them."""
        if not self.holes or endpoint not in ENDPOINTS[:3] or self.random.random() < 0.7:
            return ()
        return {ENDPOINTS[0]: ("user_ns", "kernel_ns", "split_error_ns"), ENDPOINTS[1]: ("first_ns", "last_ns"),
                ENDPOINTS[2]: ("syscalls", "uninterruptible_ns")}[endpoint]

    def slices(self, tid, begin, end, fields):
        cut = sorted(self.random.randrange(begin, end + 1) for _ in range(2))
        for number, (state, start, stop) in enumerate((("running", begin, cut[0]), ("blocked", *cut),
                                                       ("run_queue", cut[1], end))):
            more = {"cpu_number": 3, "cpu_ns": stop - start} if state == "running" else {}
            if number < self.fibers:
                more["fiber"] = 40 + number
            self.write("slice", 7, self.end_ns, tid=tid, thread_name=f"worker <{tid}>", state=state,
                       start_ns=start, end_ns=stop, **fields, **more)

    def window(self, window):
        # Windows are not all of one length.
        self.end_ns = START_NS + (window + 1) * WINDOW_NS + self.random.randrange(1_000_000)
        self.ends.append(self.end_ns)
        attributed = sum(self.part_of(request, window) for request in self.requests)
        unattributed = sum(self.cpu(window, tid, 10 ** 6, request_id="", endpoint="")
                           for tid in range(1, 5))
        overflow = self.cpu(window, 0, 10 ** 5, request_id="", endpoint="",
                            flags=["overflow"]) if window % 4 == 1 else 0
        residual = self.random.randrange(-9, 10)
        self.write("balance", 7, self.end_ns, window_ns=WINDOW_NS, attributed_ns=attributed,
                   unattributed_ns=unattributed, overflow_ns=overflow, residual_ns=residual,
                   exec_ns=attributed + unattributed + overflow + residual,
                   events_lost=window % 3, own_cpu_ns=5)
        self.write("self", 9, self.end_ns, window_ns=WINDOW_NS, own_cpu_ns=self.random.randrange(10 ** 6))

    def many_requests(self, count):
        """Small ones, evenly over the windows that there are."""
        for number in range(count):
            self.end_ns = self.ends[number * len(self.ends) // count]
            figures = {name: self.random.randrange(10 ** 6) for name in COSTS}
            first = self.end_ns - self.random.randrange(WINDOW_NS)
            self.write("cpu", 7, self.end_ns, tid=1, window_ns=WINDOW_NS, request_id=str(number),
                       endpoint=self.random.choice(ENDPOINTS[:3]), first_ns=first,
                       last_ns=self.random.randrange(first, self.end_ns + 1),
                       cpu_ns=figures["user_ns"] + figures["kernel_ns"], **figures)

    def part_of(self, request, window):
        age = window - request["from"]
        if not 0 <= age < request["for"]:
            return 0
        fields = {"request_id": request["id"]}
        if request["endpoint"] and not (request["late"] and age == 0):
            fields["endpoint"] = request["endpoint"]
        # Now and then on two threads.
        return sum(self.cpu(window, tid, 10 ** 8, **fields)
                   for tid in self.random.sample(range(1, 5), self.random.choice((1, 1, 2))))
