# SPDX-License-Identifier: GPL-2.0-only
"""
Random recordings, as `record` might write them on a bad day. A seed gives the same recording always.

A recording is a list of files. A file is a list of entries (wall_ns, fields).
"""
import collections
import random

import msgpack

START_NS = 1_700_000_000_000_000_000
MOST = 2 ** 63 - 1
ACTIVITY_MAX = 60
KEYS_MOST = 64  # of a recording
RECORDED_KEYS_MOST = 8  # by one recorder
ENDPOINTS = ["GET /a", "GET /a/:id", "POST /b", "DELETE /c", "GET /home", "a;b", "=1+1", "-x", "@y,z",
             "say \"hi\"", "</script><!--", "back\\slash", "日本 /ü", "e\u0301te\u0301", "\u202eabc\u2066", "🙂🙂",
             "a\u2028b", "line\u00adsoft", "x" * 128, "ü" * 63 + "…#0123456789abcdef", "GET /very/" + "long/" * 40, "[x]*?"]
TENANTS = ["1", "2", "acme", "other", "日本", "total", "unattributed", "(no tenant)", "t" * 140]
QUEUES = ["slow", "fast", "0"]
# Names of the third key; some are names that a view uses itself.
THIRD_KEYS = ["queue"] * 4 + ["otel.http.route", "row", "requests", "quantile", "keys", "total", "thread"]
THREAD_NAMES = ["web", "worker 1", "worker 2", "puma srv tp 001", "日本", "-"]
COMMS = ["puma", "ruby", "sidekiq 7", "convert", "sh", "ümlaut"]
# Kind of file, peer, and whether the connection was accepted.
ENDS = [("file", None, False), ("pipe", None, False), ("tcp", "10.0.0.1:5432", False), ("tcp", "10.0.0.1:5432", True),
        ("tcp", "[2001:db8::1]:443", False), ("dns", "127.0.0.53:53", False), ("unix", "/run/\x1b[1m,ü\".sock", False),
        ("unix", None, False), ("invalid", "?", False)]
CALLS = ["read", "write", "futex", "ppoll", "invalid", "syscall_999"]
REASONS = ("disk", "network", "poll", "pipe", "futex", "sleep", "child", "fault", "other")
FRAMES = ["A#a", "B#b", "block in C#c", "Integer#times", "a;b", "日本#x"]
KINDS = ("ruby", "ruby", "ruby", "c", "gc", "native", "kernel")
WAITED_ON = ["/var/lib/db/\x1b[1m,ü\".db", "10.0.0.1:5432", "pipe:[4711]", "/long" * 60]
ENDERS = ["thread"] * 5 + ["timer", "network", "disk", "interrupt"]
COUNTERS = ("boundaries_busy", "switches_unseen", "events_lost", "slices_lost", "samples_lost", "syscalls_lost",
            "stalls_lost")
# How likely a recording has each of these.
TRAITS = {
    "two_hosts": 0.3, "two_files": 0.3, "third_key": 0.3, "stacks": 0.3, "off_cpu": 0.3, "calls": 0.3, "stalls": 0.4,
    "slices": 0.25, "disorder": 0.3, "doubles": 0.3, "extremes": 0.08, "old": 0.15, "holes": 0.15, "odd_texts": 0.4,
    "no_split": 0.1, "several_values": 0.6, "children": 0.3, "clock_set": 0.05, "empty_keys": 0.15,
    "ids_are_long": 0.05, "no_request_id": 0.05, "split_hairs": 0.1, "vm": 0.2, "no_meta_keys": 0.1,
    "calm": 0.3, "by_thread": 0.3, "crowd": 0.15, "patchy": 0.3, "many_keys": 0.05,
    "no_endpoint": 0.07, "in_step": 0.6, "slow": 0.15, "own": 0.3, "gaps": 0.2, "pause": 0.15,
}


def pack(entries):
    """The bytes of a file."""
    data = bytearray()
    for wall_ns, fields in entries:
        stamp = (wall_ns // 10 ** 9).to_bytes(4, "big") + (wall_ns % 10 ** 9).to_bytes(4, "big")
        data += b"\x92\xd7\x00" + stamp + msgpack.packb(fields, unicode_errors="surrogateescape")
    return bytes(data)


class Process:
    """One life of a pid."""

    def __init__(self, host, pid, comm, windows, is_child):
        self.host, self.pid, self.comm, self.windows, self.is_child = host, pid, comm, windows, is_child
        self.parent = 1
        self.threads = []


class Thread:
    def __init__(self, tid, name, named_from):
        self.tid, self.name, self.named_from = tid, name, named_from


class Request:
    """Where it works, and what its keys are: by key a function of the window and the thread."""

    def __init__(self, identity, keys, homes):
        self.identity, self.keys, self.homes = identity, keys, homes

    def values(self, window, thread):
        found = {key: value_of(window, thread) for key, value_of in self.keys.items()}
        return {"request_id": self.identity} | {key: value for key, value in found.items() if value is not None}


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.traits = {name for name, likelihood in TRAITS.items() if self.random.random() < likelihood}
        if "calm" in self.traits:
            self.traits -= {"extremes", "holes", "odd_texts", "old", "disorder"}
        self.hosts = ["web-1", "web-2"][:1 + ("two_hosts" in self.traits)]
        self.interval_ns = self.random.choice((250_000_000, 500_000_000, 1_000_000_000, 870_000_000, 2_000_000_000))
        if self.has("slow"):
            self.interval_ns = 10_000_000_000
        self.window_count = self.random.randint(4, 12) if self.has("slow") else self.random.randint(1, 6)
        self.numbers = collections.Counter()
        self.spans = {}  # (length, end) by host and window
        # From that window on all are later: between them nothing was recorded.
        self.pause = self.random.randrange(self.window_count), self.random.choice((2, 5, 40)) * 10 ** 9
        self.activity_count = 0
        self.activity_max = ACTIVITY_MAX if self.has("crowd") else self.random.randint(5, ACTIVITY_MAX)
        self.keys = ["endpoint"] * (not self.has("no_endpoint")) + ["tenant"]
        self.keys += [self.random.choice(THIRD_KEYS)] * self.has("third_key")
        if self.has("many_keys"):
            self.keys += [f"key_{number:02}" for number in range(self.random.randint(30, KEYS_MOST - 4))]
        self.texts = {key: self.choose_texts(key) for key in self.keys}

    def has(self, trait):
        return trait in self.traits

    def maybe(self, likelihood):
        return self.random.random() < likelihood

    def choose_texts(self, key):
        texts = {"endpoint": ENDPOINTS, "tenant": TENANTS}.get(key, QUEUES)
        if not self.has("odd_texts"):
            texts = texts[:3]
        return self.random.sample(texts, min(len(texts), self.random.randint(1, 4)))

    # Processes, threads and requests.

    def processes(self):
        lives = []
        for number, host in enumerate(self.hosts):
            for pid in range(100, 100 + self.random.randint(1, 3)):
                lives += self.lives(host, pid + (1000 * number if self.maybe(0.3) else 0))
        for process in lives:
            for number in range(self.random.randint(1, 3)):
                name = self.random.choice(THREAD_NAMES) if self.maybe(0.7) else None
                named_from = self.random.choice((0, 0, 1, 2))
                process.threads.append(Thread(process.pid + 10 * number, name, named_from))
        return lives

    def lives(self, host, pid):
        """A pid may come again as another process."""
        windows = range(self.window_count)
        is_child = self.has("children") and self.maybe(0.4)
        if self.window_count < 2 or self.maybe(0.7):
            return [Process(host, pid, self.random.choice(COMMS), windows, is_child)]
        cut = self.random.randint(1, self.window_count - 1)
        return [Process(host, pid, self.random.choice(COMMS), windows[:cut], is_child),
                Process(host, pid, self.random.choice(COMMS), windows[cut:], False)]

    def requests(self, lives):
        requests = []
        for number in range(self.random.randint(20, 40) if self.has("crowd") else self.random.randint(1, 6)):
            identity = f"req-{number}" + ("y" * 130 if self.has("ids_are_long") else "")
            keys = {key: self.schedule(key) for key in self.keys}
            process = self.random.choice(lives)
            homes = {self.random.choice(process.threads) for _ in range(self.random.randint(1, 3))}
            if self.maybe(0.3):
                homes |= set(self.random.choice(lives).threads)
            windows = set(self.random.sample(range(self.window_count), self.random.randint(1, self.window_count)))
            requests.append((Request(identity, keys, homes), windows))
        return requests

    def schedule(self, key):
        """What a request's value of the key is, when; None: it has none."""
        texts, begin = self.texts[key], self.random.randrange(self.window_count)
        order = [self.random.choice(texts) for _ in range(self.window_count)]
        styles = ["always", "late", "never", "once"]
        if self.has("several_values"):
            styles += ["several", "late several", "with holes", "with gaps", "with gaps", "with gaps"]
        if self.has("by_thread"):
            styles += ["by thread", "on one thread"]
        odd = "" if self.has("empty_keys") else None
        return {
            "always": lambda window, thread: texts[0],
            "late": lambda window, thread: texts[0] if window >= begin else odd,
            "never": lambda window, thread: odd,
            "once": lambda window, thread: texts[-1] if window == begin else odd,
            "several": lambda window, thread: order[window],
            "late several": lambda window, thread: order[window] if window >= begin else odd,
            "with holes": lambda window, thread: order[window] if window % 2 else odd,
            "with gaps": lambda window, thread: order[window] if (window + thread.tid // 10) % 3 else odd,
            "by thread": lambda window, thread: order[thread.tid // 10 % self.window_count],
            "on one thread": lambda window, thread: texts[0] if thread.tid % 20 < 10 else odd,
        }[self.random.choice(styles)]

    # Their costs.

    def number(self, most):
        if self.has("extremes") and self.maybe(0.02):
            return self.random.choice((0, MOST, MOST - 1, MOST // 2, 2 ** 53 + 1))
        style = self.random.random()
        return 0 if style < 0.1 else self.random.randrange(10) if style < 0.2 else self.random.randrange(most + 1)

    def figures(self, end_ns, window_ns):
        room_ns = window_ns // 8
        user, kernel, blocked = (self.number(room_ns) for _ in range(3))
        begin_ns = end_ns - window_ns + self.random.randrange(window_ns // 2)
        fields = {
            "window_ns": window_ns, "cpu_ns": min(user + kernel, MOST), "user_ns": user, "kernel_ns": kernel,
            "split_error_ns": self.number(min(user, 10 ** 6)), "run_queue_ns": self.number(room_ns),
            "blocked_ns": blocked, "uninterruptible_ns": self.random.randrange(blocked + 1),
            **self.reasons(blocked), "stolen_ns": self.number(1000), "ambiguous_ns": self.number(1000),
            "slices": self.number(50), "switches_voluntary": self.number(50),
            "switches_involuntary": self.number(50), "migrations": self.number(5), "syscalls": self.number(500),
            "gvl_ns": self.number(1000), "gvl_waits": self.number(9), "gc_ns": self.number(1000),
            "gc_runs": self.number(3), "first_ns": begin_ns, "last_ns": self.random.randint(begin_ns, end_ns),
        }
        return {name: value for name, value in fields.items() if name not in self.not_measured()}

    def reasons(self, blocked_ns):
        one, other = self.random.sample(REASONS, 2)
        part_ns = self.random.randrange(blocked_ns + 1)
        parts = {f"blocked_{one}_ns": part_ns, f"blocked_{other}_ns": blocked_ns - part_ns}
        return {name: ns for name, ns in parts.items() if ns}

    def not_measured(self):
        names = set()
        if not self.has("vm"):
            names |= {"gvl_ns", "gvl_waits", "gc_ns", "gc_runs"}
        if self.has("no_split"):
            names |= {"user_ns", "kernel_ns", "split_error_ns"}
        if self.has("old"):
            names |= {"uninterruptible_ns", "stolen_ns"} | {f"blocked_{reason}_ns" for reason in REASONS}
        if self.has("holes") and self.maybe(0.1):
            names |= self.random.choice(({"user_ns", "kernel_ns", "split_error_ns"}, {"first_ns", "last_ns"},
                                         {"syscalls"}, {"cpu_ns"}, {"cpu_ns", "user_ns"}, {"blocked_ns"},
                                         {"window_ns"}, {"switches_voluntary"}))
        return names

    # The records.

    def entry(self, kind, wall_ns, host, pid, **fields):
        self.numbers[host] += 1
        common = {"schema": 1, "kind": kind, "record_id": f"boot-{host}:7:1:{self.numbers[host]}",
                  "host_name": host, "pid": pid}
        if self.has("clock_set") and wall_ns > START_NS + self.interval_ns:
            common["clock_set_ns"] = 3_000_000_000
            wall_ns += 3_000_000_000
            for name in ("first_ns", "last_ns", "start_ns", "end_ns"):
                if name in fields and kind in ("cpu", "slice", "stall"):
                    fields[name] += 3_000_000_000
        return wall_ns, common | fields

    def meta(self, host):
        keys = [] if self.has("no_request_id") else ["request_id"]
        children = {"children": True} if self.has("children") else {}
        return self.entry("meta", START_NS, host, 9000, tool_version="0.1.0", kernel_release="6.1.0",
                          machine="x86_64", boot_id="b", cpu_count=self.random.choice((1, 4)), mode="exact",
                          kernel_split=not self.has("no_split"), blocked_reasons=not self.has("old"), **children,
                          interval_ns=self.interval_ns, **self.modules(),
                          keys=[] if self.has("no_meta_keys") else keys + self.keys)

    def modules(self):
        names = ["syscalls", "io"] * self.has("calls") + ["stall"] * self.has("stalls")
        return {"modules": names} if names else {}

    def process_event(self, process, event, wall_ns):
        more = {"end_ns": wall_ns} if event == "exit" else {}
        return self.entry("process", wall_ns, process.host, process.pid, event=event, ppid=process.parent,
                          comm=process.comm, mode="exact", **more)

    def contexts(self, process, thread, window, requests):
        """The values and flags that a thread has in a window, one after the other."""
        found = [(request.values(window, thread), []) for request, windows in requests
                 if thread in request.homes and window in windows]
        self.random.shuffle(found)
        for keys, flags in found:
            if self.has("no_request_id"):
                del keys["request_id"]
            if process.is_child and self.maybe(0.8):
                flags += self.random.choice((["inherited_by_exec"], ["inherited", "inherited_by_exec"]))
            elif self.maybe(0.1):
                flags.append("inherited")
        if self.maybe(0.3):
            values = {key: self.random.choice(self.texts[key]) for key in self.keys if self.maybe(0.6)}
            found.append((values, ["inherited"] if self.maybe(0.2) else []))
        if self.maybe(0.3):
            none = dict.fromkeys(["request_id"] * (not self.has("no_request_id")) + self.keys, "")
            found.append((none, ["unknown"] if self.maybe(0.3) else []))
        return found

    def span(self, host, window):
        """How long a window is, and when it ends: where all are in step, for all processes of a recorder."""
        if (host, window) in self.spans:
            return self.spans[host, window]
        length_ns = self.interval_ns + self.random.randrange(-10 ** 6, 10 ** 6)
        end_ns = START_NS + (window + 1) * self.interval_ns + self.random.randrange(10 ** 6)
        if self.has("pause") and window >= self.pause[0]:
            end_ns += self.pause[1]
        if self.maybe(0.1):
            length_ns = min(2 * length_ns, max(length_ns, 10 ** 9))
        if self.has("in_step"):
            self.spans[host, window] = length_ns, end_ns
        return length_ns, end_ns

    def window(self, process, window, requests):
        """All records of a process in a window, as they are written."""
        length_ns, end_ns = self.span(process.host, window)
        accounts = []
        for thread in process.threads:
            for keys, flags in self.contexts(process, thread, window, requests):
                if self.activity_count < self.activity_max:
                    accounts.append(self.account(process, thread, window, end_ns, length_ns, self.patch(keys), flags))
        if self.maybe(0.1):
            none = dict.fromkeys(["request_id"] * (not self.has("no_request_id")) + self.keys, "")
            accounts.append(self.account(process, Thread(0, None, 0), window, end_ns, length_ns, none, ["overflow"]))
        entries = [self.entry("cpu", end_ns, process.host, process.pid, **head, **figures, **flags)
                   for head, figures, flags in accounts]
        entries += self.beside(process, end_ns, accounts)
        if not self.has("old") or self.maybe(0.5):
            entries.append(self.balance(process, end_ns, length_ns, accounts))
        if self.has("gaps") and self.maybe(0.2):
            entries.append(self.gap(process, end_ns))
        return entries

    def own(self, host, window):
        """What watching cost, also in a window in which no process was."""
        length_ns, end_ns = self.span(host, window)
        return self.entry("self", end_ns, host, 9000, window_ns=length_ns, own_cpu_ns=self.number(length_ns // 50),
                          own_rss_bytes=10 ** 7)

    def gap(self, process, end_ns):
        count = self.random.randint(1, 5)
        return self.entry("gap", end_ns, process.host, process.pid, dropped_records=count, total_dropped_records=count,
                          dropped_segments=0, first_ns=end_ns, last_ns=end_ns, reason="spool full")

    def account(self, process, thread, window, end_ns, length_ns, keys, flags):
        self.activity_count += 1
        head = {"tid": thread.tid}
        if thread.name and window >= thread.named_from:
            head["thread_name"] = thread.name
        return head | keys, self.figures(end_ns, length_ns), {"flags": flags} if flags else {}

    def beside(self, process, end_ns, accounts):
        """The slices, samples and calls that tell of accounts."""
        entries = []
        for head, figures, flags in accounts:
            if self.has("slices") and self.maybe(0.6):
                entries += self.slices(process, end_ns, self.patch(head), figures, flags)
        if self.has("split_hairs"):
            self.random.shuffle(entries)
        for head, figures, flags in accounts:
            if self.has("stacks"):
                entries += self.samples(process, end_ns, self.patch(head), figures, flags)
        for head, figures, flags in accounts:
            if self.has("calls"):
                entries += self.calls(process, end_ns, self.patch(head), figures, flags)
                entries += self.io(process, end_ns, self.patch(head), flags)
        for head, figures, flags in accounts:
            if self.has("stalls"):
                entries += self.stalls(process, end_ns, self.patch(head), flags, accounts)
        return entries

    def patch(self, head):
        """Some records of a request have fewer of its keys."""
        if not self.has("patchy") or not head.get("request_id"):
            return head
        return {name: value for name, value in head.items() if name not in self.keys or self.maybe(0.5)}

    def slices(self, process, end_ns, head, figures, flags):
        begin_ns = end_ns - figures.get("window_ns", self.interval_ns)
        middle_ns = self.random.randint(begin_ns, end_ns)
        self.activity_count += 2
        return [self.entry("slice", end_ns, process.host, process.pid, **head, state="running", start_ns=begin_ns,
                           end_ns=middle_ns, cpu_number=1, cpu_ns=middle_ns - begin_ns, **flags),
                self.entry("slice", end_ns, process.host, process.pid, **head, state="blocked", start_ns=middle_ns,
                           end_ns=end_ns, **flags)]

    def frames(self, host, pid):
        entries = []
        for number in range(8):
            parent = {"parent_id": f"s{self.random.randrange(number)}"} if number and self.maybe(0.7) else {}
            place = {"file": "app/x.rb", "line": number + 1, "first_line": 1} if self.maybe(0.7) else {}
            if self.maybe(0.9):
                entries.append(self.entry("stack", START_NS, host, pid, stack_id=f"s{number}", **parent,
                                          name=self.random.choice(FRAMES), **place,
                                          frame_kind=self.random.choice(KINDS)))
        return entries

    def samples(self, process, end_ns, head, figures, flags):
        entries = []
        for _ in range(self.random.choice((0, 1, 1, 2))):
            if self.has("off_cpu") and self.maybe(0.5):
                what = {"waits": self.random.randrange(3), "blocked_ns": figures.get("blocked_ns", 0) // 3}
                what = {name: value for name, value in what.items() if value}
            else:
                what = {"samples": self.random.randint(1, 5), "period_ns": 10_101_010}
            self.activity_count += 1
            entries.append(self.entry("sample", end_ns, process.host, process.pid, **head, **what,
                                      window_ns=self.interval_ns, stack_id=f"s{self.random.randrange(8)}", **flags))
        return entries

    def calls(self, process, end_ns, head, figures, flags):
        entries, left = [], figures.get("syscalls", 0)
        while left and len(entries) < 3:
            count = left if len(entries) == 2 else self.random.randint(1, left)
            left -= count
            abi = {"syscall_abi": "i386"} if self.maybe(0.1) else {}
            self.activity_count += 1
            entries.append(self.entry("syscall", end_ns, process.host, process.pid, **head, window_ns=self.interval_ns,
                                      syscall=self.random.choice(CALLS), syscall_number=1, **abi, syscalls=count,
                                      inside_ns=self.number(10 ** 6), **flags))
        return entries

    def io(self, process, end_ns, head, flags):
        entries = []
        for on, peer, is_accepted in self.random.sample(ENDS, self.random.choice((0, 0, 1, 2))):
            end = {"io_on": on} | ({"peer": peer} if peer else {}) | ({"accepted": True} if is_accepted else {})
            end |= {"connects": self.number(5), "connect_ns": self.number(10 ** 6)} if self.maybe(0.3) else {}
            end |= {"answers": self.number(5), "answer_ns": self.number(10 ** 6)} if on == "dns" else {}
            self.activity_count += 1
            entries.append(self.entry("io", end_ns, process.host, process.pid, **head, window_ns=self.interval_ns,
                                      **end, io_calls=self.number(100), in_bytes=self.number(10 ** 6),
                                      out_bytes=self.number(10 ** 6), **flags))
        return entries

    def stalls(self, process, end_ns, head, flags, accounts):
        entries = []
        for _ in range(self.random.choice((0, 1, 2))):
            start_ns = end_ns - self.random.randint(1, 2 * self.interval_ns)
            fields = {"start_ns": start_ns, "end_ns": self.random.randint(start_ns, end_ns),
                      "blocked_ns": self.number(self.interval_ns), "run_queue_ns": self.number(self.interval_ns // 2)}
            fields |= {"hog": True, "cpu_ns": self.number(10 ** 9)} if self.maybe(0.4) else self.wait(accounts)
            if self.has("holes") and self.maybe(0.05):
                del fields[self.random.choice(list(fields))]
            self.activity_count += 1
            entries.append(self.entry("stall", end_ns, process.host, process.pid, **head, **fields, **flags))
        return entries

    def wait(self, accounts):
        """What it was on, and what ended it: often a thread in some context."""
        fields = {"blocked_on": self.random.choice(REASONS)} if self.maybe(0.8) else {}
        fields |= {"syscall": self.random.choice(CALLS)} if self.maybe(0.7) else {}
        fields |= {"gvl_ns": self.number(self.interval_ns)} if self.maybe(0.3) else {}
        fields |= {"waited_on": self.random.choice(WAITED_ON)} if self.maybe(0.5) else {}
        fields |= {"woken_by": self.random.choice(ENDERS)} if self.maybe(0.9) else {}
        if fields.get("woken_by") == "thread":
            head, _, _ = self.random.choice(accounts)
            names = ["tid", "thread_name"] + ["request_id", *self.keys[:RECORDED_KEYS_MOST - 1]] * self.maybe(0.7)
            fields |= {f"woken_by_{name}": head[name] for name in names if head.get(name)} | {"woken_by_pid": 7}
        if self.maybe(0.5):
            fields |= {"ran_instead_pid": 8, "ran_instead_tid": self.random.choice((0, 9)),
                       "ran_instead_thread_name": self.random.choice(THREAD_NAMES)}
        return fields

    def balance(self, process, end_ns, length_ns, accounts):
        """They balance, in most windows."""
        parts = collections.Counter()
        for head, figures, flags in accounts:
            keys = [head[key] for key in ("request_id", *self.keys) if key in head]
            is_none = "unknown" in flags.get("flags", ()) or (keys and not any(keys))
            part = "overflow_ns" if "overflow" in flags.get("flags", ()) else \
                "unattributed_ns" if is_none else "attributed_ns"
            parts[part] += figures.get("cpu_ns", 0)
        parts = {name: min(parts[name], MOST) for name in ("attributed_ns", "unattributed_ns", "overflow_ns")}
        residual_ns = 0 if self.maybe(0.8) else self.random.randrange(-9, 10)
        charged_ns = min(sum(parts.values()), MOST)
        exec_ns = 0 if self.maybe(0.03) else min(max(charged_ns + residual_ns, 0), MOST)
        losses = {name: 0 if self.maybe(0.9) else self.random.randrange(9) for name in COUNTERS}
        return self.entry("balance", end_ns, process.host, process.pid, window_ns=length_ns, exec_ns=exec_ns, **parts,
                          residual_ns=exec_ns - charged_ns, **losses, own_cpu_ns=self.random.randrange(10 ** 6))

    def blocks(self):
        """Lists of entries that stand together, by the time at which they are written."""
        lives = self.processes()
        requests = self.requests(lives)
        blocks = [(-1, host, [self.meta(host)]) for host in self.hosts]
        if self.has("stacks"):
            blocks.append((-1, self.hosts[0], self.frames(self.hosts[0], lives[0].pid)))
        for process in lives:
            first, last = process.windows[0], process.windows[-1]
            late = self.random.choice((0, 0, 0, 0, 0.5, 1.5))
            event = "found" if first == 0 else "fork"
            if self.maybe(0.93):
                begin_ns = START_NS + int((first + late) * self.interval_ns)
                blocks.append((first - 0.5 + late, process.host, [self.process_event(process, event, begin_ns)]))
            blocks += [(window, process.host, self.window(process, window, requests)) for window in process.windows]
            if last < self.window_count - 1 or self.maybe(0.3):
                end_ns = START_NS + (last + 1) * self.interval_ns
                blocks.append((last + 0.3, process.host, [self.process_event(process, "exit", end_ns)]))
        if self.has("own"):
            blocks += [(window + 0.2, host, [self.own(host, window)]) for host in self.hosts
                       for window in range(self.window_count) if self.maybe(0.9)]
        return sorted(blocks, key=lambda block: block[0])

    def disorder(self, blocks):
        for _ in range(self.random.randint(1, 3)):
            one, other = (self.random.randrange(len(blocks)) for _ in range(2))
            if blocks[one][0] >= 0 and blocks[other][0] >= 0:
                blocks[one], blocks[other] = blocks[other], blocks[one]

    def files(self):
        blocks = self.blocks()
        if self.has("disorder"):
            self.disorder(blocks)
        files = [[entry for _, _, entries in blocks for entry in entries]]
        if self.has("two_files") and self.has("two_hosts"):
            files = [[entry for _, of, entries in blocks if of == host for entry in entries] for host in self.hosts]
        elif self.has("two_files"):
            cut = self.random.randint(1, len(files[0]))
            files = [files[0][:cut], files[0][cut:]]
        if self.has("doubles"):
            self.repeat(files)
        return [entries for entries in files if entries]

    def repeat(self, files):
        """Some entries come again, somewhere behind."""
        for entries in files:
            for number in sorted(self.random.sample(range(len(entries)), min(3, len(entries))), reverse=True):
                to = self.random.choice(files[files.index(entries):])
                at = self.random.randint(number + 1, len(to)) if to is entries else self.random.randint(0, len(to))
                to.insert(at, entries[number])


def make(seed):
    """The files of the recording of that seed."""
    return Generator(seed).files()
