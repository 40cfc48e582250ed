# SPDX-License-Identifier: GPL-2.0-only
"""Recordings of random figures, window by window, as `record` writes them."""
import random

import msgpack

START_NS = 1_700_000_000_000_000_000
WINDOW_NS = 500_000_000
COSTS = ("user_ns", "kernel_ns", "run_queue_ns", "blocked_ns", "slices", "switches_voluntary",
         "switches_involuntary", "ambiguous_ns", "migrations", "stolen_ns", "split_error_ns",
         "uninterruptible_ns", "syscalls")
REASONS = ("disk", "network", "poll", "pipe", "futex", "sleep", "child", "fault", "other")
HOSTILE = ["</script><script>window.pwned = 1</script>", "<img src=x onerror='window.pwned = 1'>",
           "<!-- <script>", "a\u2028b & \"quoted\" 'too'", "{{data}}", "javascript:pwned=1",
           "\\u003c/script>", "GET /füß/日本", "$&", "__proto__"]
ENDPOINTS = ["GET /orders/:id", "POST /orders", "GET /cart", *HOSTILE]


class Story:
    def __init__(self, seed, windows=12, requests=120, timeline=False, holes=False, fibers=0, frames=0,
                 late_frames=0, waits=False, vm=False, stalls=False, calls=False):
        self.random = random.Random(seed)
        self.data = bytearray()
        self.number = 0
        self.ends = []
        self.timeline = timeline
        self.holes = holes
        self.fibers = fibers  # of each thread: so many of its three slices have one of their own
        self.frames = frames  # of all stacks
        self.waits = waits  # told by stacks, too
        self.vm = vm  # the GVL and collections are counted
        self.stalls = stalls  # long waits are told, one by one
        self.calls = calls  # system calls are told by name, and what they read and wrote
        self.write("meta", 9, START_NS, tool_version="0.1.0", kernel_release="6.1.0", machine="x86_64",
                   boot_id="b", cpu_count=4, mode="exact", kernel_split=True, interval_ns=WINDOW_NS,
                   transition_ns=70, keys=["request_id", "endpoint"],
                   modules=["stall"] * stalls + ["syscalls", "io"] * calls,
                   **({"stall_ns": 1} if stalls else {}))
        self.write("process", 7, START_NS, event="found", ppid=1, comm="puma</script>", mode="exact")
        # Some requests know their endpoint late, some never, and some live for several windows.
        self.requests = [{"id": self.name_request(number), "from": self.random.randrange(windows),
                          "for": self.random.choice((1, 1, 1, 2, 3)),
                          "late": self.random.random() < 0.2,
                          "endpoint": self.random.choice((None, *ENDPOINTS))}
                         for number in range(requests)]
        # Frames are told of before they are needed, or when all is over; and one never.
        for frame in range(frames - 1 - late_frames):
            self.frame(frame)
        for window in range(windows):
            self.window(window)
        for frame in range(frames - 1 - late_frames, frames - 1):
            self.frame(frame)

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
        figures |= self.reasons(figures["blocked_ns"])
        if self.vm:
            figures |= {"gvl_ns": self.random.randrange(cost_max), "gvl_waits": 2,
                        "gc_ns": self.random.randrange(figures["cpu_ns"] + 1), "gc_runs": 1}
        begin = START_NS + window * WINDOW_NS + self.random.randrange(WINDOW_NS // 2)
        end = begin + self.random.randrange(WINDOW_NS // 2)
        record = {**figures, "first_ns": begin, "last_ns": end}
        for name in self.not_measured(fields.get("endpoint")):
            del record[name]
        self.write("cpu", 7, self.end_ns, tid=tid, thread_name=f"worker <{tid}>", window_ns=WINDOW_NS,
                   **fields, **record)
        if self.timeline and fields.get("request_id"):
            self.slices(tid, begin, end, fields)
        for _ in range(self.random.randrange(4) if self.frames else 0):
            self.sample(tid, fields)
        if self.waits:
            self.wait(tid, fields, figures["blocked_ns"], figures["run_queue_ns"])
        if self.stalls and fields.get("request_id"):
            self.stall(tid, fields, begin, end)
        if self.calls:
            self.call(tid, fields, figures["syscalls"])
        return figures["cpu_ns"]

    def frame(self, frame):
        """Called by an earlier one; of one method there are several."""
        parent = {"parent_id": f"s{self.random.randrange(frame)}"} if frame and frame % 5 else {}
        method = self.random.randrange(6)
        self.write("stack", 7, START_NS, stack_id=f"s{frame}", name=f"{HOSTILE[method % 3]}#{method}",
                   frame_kind=self.random.choice(("ruby", "c", "gc", "native", "kernel")) if method > 3 else "ruby",
                   file=f"<app>/{method}.rb", line=frame + 1, first_line=method, **parent)

    def sample(self, tid, fields):
        self.write("sample", 7, self.end_ns, tid=tid, thread_name=f"worker <{tid}>", window_ns=WINDOW_NS,
                   stack_id=f"s{self.random.randrange(self.frames)}", samples=self.random.randrange(1, 5),
                   period_ns=10_101_010, **fields)

    def wait(self, tid, fields, blocked_ns, run_queue_ns):
        """In two stacks, which come to it; what is zero is left out."""
        parts = self.random.randrange(blocked_ns + 1), self.random.randrange(run_queue_ns + 1)
        for blocked, run_queue in (parts, (blocked_ns - parts[0], run_queue_ns - parts[1])):
            figures = {"waits": self.random.randrange(3), "blocked_ns": blocked, "run_queue_ns": run_queue}
            self.write("sample", 7, self.end_ns, tid=tid, thread_name=f"worker <{tid}>", window_ns=WINDOW_NS,
                       stack_id=f"s{self.random.randrange(self.frames)}", **fields,
                       **{name: figure for name, figure in figures.items() if figure})

    def stall(self, tid, fields, begin, end):
        """A long wait, or a hog."""
        parts = {"blocked_ns": (end - begin) // 2, "run_queue_ns": (end - begin) // 3}
        if self.random.random() < 0.2:
            more = {"hog": True, "cpu_ns": 1}
        elif self.random.random() < 0.5:
            more = {"woken_by": self.random.choice(("timer", "network", "disk", "interrupt")), "blocked_on": "sleep", "waited_on": self.random.choice(HOSTILE)}
        else:
            more = {"woken_by": "thread", "woken_by_tid": 5, "woken_by_thread_name": self.random.choice(HOSTILE),
                    "woken_by_request_id": "x", "woken_by_endpoint": self.random.choice(ENDPOINTS)}
        self.write("stall", 7, self.end_ns, tid=tid, start_ns=begin, end_ns=end, **fields, **parts, **more)

    def call(self, tid, fields, count):
        """Calls by name, and a file or a peer."""
        head = {"tid": tid, "thread_name": f"worker <{tid}>", "window_ns": WINDOW_NS, **fields}
        for name, calls in ("read", count // 2), (self.random.choice(("write", "futex")), count - count // 2):
            self.write("syscall", 7, self.end_ns, **head, syscall=name, syscall_number=1, syscalls=calls,
                       inside_ns=self.random.randrange(10 ** 6))
        end = self.random.choice(({"io_on": "file"}, {"io_on": "unix", "peer": self.random.choice(HOSTILE)},
                                  {"io_on": "tcp", "peer": "10.0.0.1:5432", "connects": 2, "connect_ns": 5000},
                                  {"io_on": "tcp", "peer": "0.0.0.0:80", "accepted": True}))
        self.write("io", 7, self.end_ns, **head, io_calls=count, in_bytes=self.random.randrange(10 ** 6),
                   out_bytes=self.random.randrange(10 ** 5), **end)

    def reasons(self, blocked_ns):
        """Two that come to it; one that is 0 is not there."""
        one, other = self.random.sample(REASONS, 2)
        part_ns = self.random.randrange(blocked_ns)
        return {f"blocked_{reason}_ns": ns for reason, ns in ((one, part_ns), (other, blocked_ns - part_ns)) if ns}

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
