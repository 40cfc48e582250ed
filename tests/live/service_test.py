# SPDX-License-Identifier: GPL-2.0-only
"""The command of the systemd unit, with its configuration, and others that wait for processes: what starts later is seen.

A process starts when the recording already waits. It is taken up once its record "found" has come
out of the recording; what it works from then on must come out, too, wherever the records go. It may be
found while it starts: what it ran by then is in the books when a window of it has nothing.
"""
import pathlib
import re
import signal
import subprocess
import sys
import threading

import msgpack

import harness
import records
from harness import Recording, Workload

sys.path.insert(0, str(harness.SOURCE / "tests" / "unit" / "command"))

from scripted_collector import Collector, handshake, take_all  # noqa: E402

UNIT = harness.FIXTURES / "collectors" / "correlator.service"
BINARY = "/usr/local/bin/correlator"
CONFIGURATION = UNIT.with_name("record.conf")
CONFIGURED = "/etc/correlator/record.conf"
COLLECTOR = "tcp://127.0.0.1:24224"
# Where systemd 250 and later put those of a unit (systemd.exec(5), CREDENTIALS_DIRECTORY).
CREDENTIALS = "/run/credentials/correlator.service"
KEY = "a secret of both"
# Of each of two processes.
REQUESTS = 100


def settings(path):
    """{name: value} of a unit's [Service], lines that end in a backslash joined, as systemd does."""
    text = re.sub(r"\\\n(?:[#;].*\n)*", " ", path.read_text())
    section = re.search(r"^\[Service\]\n(.*?)(?=^\[|\Z)", text, re.M | re.S)[1]
    lines = (line for line in section.splitlines() if line and line[0] not in "#;")
    return {name.strip(): value.strip() for name, _, value in (line.partition("=")
                                                               for line in lines)}


class Receiver(Collector):
    """Wants the key that the unit's credential holds."""

    def __init__(self):
        super().__init__(self.take)

    def take(self, connection):
        if handshake(connection, KEY):
            yield from take_all(connection)

    def records(self):
        return [record for _, record in records.unpack_entries(self.payload)[0]]


class LateWorkload(Workload):
    """One that a recording takes up while it starts."""
    before_ns = early_ns = after_ns = None


class Pipe:
    """What a recording has written to its standard output so far."""

    def __init__(self, stream):
        self.entries = []
        self.stream = stream
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        unpacker = msgpack.Unpacker(raw=False, strict_map_key=True)
        while data := self.stream.read1():
            unpacker.feed(data)
            self.entries.extend(filter(records.is_record, unpacker))

    def records(self):
        return [record for _, record in self.entries]


class Service(Recording):
    """The unit's own command, as systemd would run it; with a shared key as the configuration says how."""

    def __init__(self, folder, url, has_key=True):
        unit = settings(UNIT)
        # Its folders and its credential; systemd.unit(5), "Specifiers".
        state = folder / "state" / unit["StateDirectory"]
        runtime = folder / "run" / unit["RuntimeDirectory"]
        credentials = folder / "credentials"
        state.mkdir(0o700, parents=True)
        runtime.mkdir(0o755, parents=True)
        credentials.mkdir(0o700)
        credential, _, _ = unit["LoadCredential"].partition(":")
        (credentials / credential).write_text(KEY)
        (credentials / credential).chmod(0o400)
        # Words without quotes, variables or specifiers.
        assert not re.search("[%$'\"]", unit["ExecStart"])
        self.words = unit["ExecStart"].split()
        self.replace(BINARY, harness.CORRELATOR)
        self.replace(CONFIGURED, self.configure(folder / "record.conf", {
            COLLECTOR: url, f"/var/lib/{unit['StateDirectory']}/": f"{state}/",
            f"/run/{unit['RuntimeDirectory']}/": f"{runtime}/",
            **({f"# shared-key-file = {CREDENTIALS}/": f"shared-key-file = {credentials}/"} if has_key else {})}))
        self.spool = state / "spool"
        super().__init__(folder / "never", cwd=folder)

    def configure(self, path, places):
        """The unit's configuration, with what is here in place of what is on a machine of its own."""
        text = CONFIGURATION.read_text()
        for place, here in places.items():
            assert text.count(place) == 1, place
            text = text.replace(place, here)
        path.write_text(text)
        return path

    def replace(self, word, other):
        self.words[self.words.index(word)] = other

    def command(self, _path):
        return self.words


class Default(Recording):
    """A recording without -o."""

    def command(self, _path, *arguments):
        return [harness.CORRELATOR, "record", *arguments]


class LateTest(harness.LiveTest):
    def start(self, source, script, *arguments):
        """A workload that the recording has taken up, and which sleeps. before_ns: what it has used until
        then, early_ns: what of that is recorded. source: where its records come out."""
        workload = self.enter(LateWorkload(script, *arguments))
        harness.await_true(lambda: self.windows_ns(source, workload.pid),
                           f"process {workload.pid} to be found")
        # It sleeps from one reading of its CPU time to the next; between them a whole window has come.
        after_ns = workload.cpu_ns()
        while workload.early_ns is None or workload.before_ns != after_ns:
            workload.before_ns = after_ns
            known = len(self.windows_ns(source, workload.pid))
            # The first of the next ones may have begun before.
            harness.await_true(lambda: len(self.windows_ns(source, workload.pid)) > known + 1,
                               f"a window of process {workload.pid}")
            workload.early_ns = sum(self.windows_ns(source, workload.pid))
            after_ns = workload.cpu_ns()
        return workload

    def run_to_the_end(self, workload):
        """Its own measurement. after_ns: what it has used when it sleeps again."""
        truth = workload.run()
        workload.after_ns = workload.cpu_ns()
        return truth

    def windows_ns(self, source, pid):
        return [record["exec_ns"] for record in records.of_kind(source.records(), "balance")
                if record["pid"] == pid]

    def events(self, found, pid):
        return [record["event"] for record in records.of_kind(found, "process")
                if record["pid"] == pid]

    def ambiguous_ns(self, found, pid):
        """{request_id: ns}: the unit's budget makes it lean on a busy machine. Then a request may
        have too much of its own ambiguous time, and too little of what others have of it."""
        return {name: sum(record.get("ambiguous_ns", 0) for record in records.of_kind(found, "cpu")
                          if record["pid"] == pid and record.get("request_id") == name)
                for name in records.totals_by(found, pid=pid)}

    def check_requests(self, found, workload, truth):
        pid = workload.pid
        totals = records.totals_by(found, pid=pid)
        if workload.early_ns:
            early = totals.pop("warm-up", {"cpu_ns": 0})
            self.assertLessEqual(early["cpu_ns"], workload.early_ns)
        ambiguous = self.ambiguous_ns(found, pid)
        all_ns = sum(ambiguous.values())
        if not all_ns:
            self.assertEqual(set(), set(truth) - set(totals) - {records.NOBODY})
        bounds = {}
        for name, ns in truth.items():
            got_ns = totals[name]["cpu_ns"] if name in totals else 0
            spare_ns = ambiguous.get(name, 0) if got_ns > ns else all_ns
            bounds[name] = records.Figure(ns, ns.uncertain_ns + spare_ns)
        self.assertEqual([], records.wrong_requests(bounds, totals, found),
                         records.of_kind(found, "meta"))
        # By the kernel's own sum at both times, at which it slept.
        self.assertEqual(workload.after_ns - workload.before_ns,
                         records.books(found, pid)["exec_ns"] - workload.early_ns)


class ServiceTest(LateTest):
    def test_the_units_command_sends_the_requests_of_rubies_that_start_later(self):
        with Receiver() as receiver:
            service = self.enter(Service(self.folder, receiver.url))
            # Both wait at first: what one works, the other must not get.
            workloads = [self.start(receiver, "sequential.rb", REQUESTS) for _ in range(2)]
            truths = [self.run_to_the_end(workload) for workload in workloads]
            self.assert_ended_well(service, service.stop(signal.SIGTERM))
        found = receiver.records()
        for workload, truth in zip(workloads, truths):
            self.assertEqual(REQUESTS, len(set(truth) - {records.NOBODY}))
            self.check_requests(found, workload, truth)
        self.assertEqual([], [*service.spool.glob("*.chunks"), *service.spool.glob("*.part")])
        self.assertFalse(service.path.exists())

    def test_as_it_is_shipped_it_sends_without_a_shared_key(self):
        with Collector(take_all) as receiver:
            receiver.records = lambda: [record for _, record in records.unpack_entries(receiver.payload)[0]]
            service = self.enter(Service(self.folder, receiver.url, has_key=False))
            workload = self.start(receiver, "sequential.rb", 2)
            workload.run()
            self.assert_ended_well(service, service.stop(signal.SIGTERM))
        self.assertIn("found", self.events(receiver.records(), workload.pid))

    def test_children_and_programs_of_a_found_process_arrive_too(self):
        with Receiver() as receiver:
            service = self.enter(Service(self.folder, receiver.url))
            workload = self.start(receiver, "driven.rb")
            child = workload.evaluate('fork { Correlator.with(request_id: "child") '
                                      "{ Workload.spin_ms(50) } }")
            program = workload.evaluate(f"Process.wait({child}); spawn('exec sleep 0')")
            workload.evaluate(f"Process.wait({program}).to_s")
            self.assert_ended_well(service, service.stop(signal.SIGTERM))
        found = receiver.records()
        self.assertEqual(["fork", "exit"], self.events(found, child))
        self.assertEqual(["fork", "exec", "exec", "exit"], self.events(found, program))
        self.assert_burned(50, records.totals_by(found, pid=child)["child"]["cpu_ns"],
                           slack_ns=sum(self.ambiguous_ns(found, child).values()))


class OtherOutputTest(LateTest):
    def check_late(self, recording, source):
        workload = self.start(source, "sequential.rb", 8)
        truth = self.run_to_the_end(workload)
        code = recording.stop()
        if isinstance(source, Pipe):
            source.thread.join(harness.DEADLINE_SECONDS)
        self.assert_ended_well(recording, code)
        self.check_requests(source.records(), workload, truth)

    def test_into_a_pipe(self):
        recording = self.enter(Recording("-", "--all-ruby", stdout=subprocess.PIPE))
        self.check_late(recording, Pipe(recording.process.stdout.buffer))

    def test_with_metrics_alone_into_the_default_file(self):
        metrics = self.folder / "correlator.prom"
        recording = self.enter(Default("correlator.msgpack", "--all-ruby", "--metrics",
                                       f"file:{metrics}", cwd=self.folder))
        self.check_late(recording, harness.GrowingFile(self.folder / "correlator.msgpack"))
        self.assertIn("correlator_process_cpu_seconds_total", metrics.read_text())


if __name__ == "__main__":
    harness.main()
