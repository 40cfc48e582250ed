# SPDX-License-Identifier: GPL-2.0-only
"""Recording to collectors: what arrives is what was recorded, and one that is gone costs nothing."""
import socket
import sys

import harness
import records
from harness import Recording, Workload, run_correlator

sys.path.insert(0, str(harness.SOURCE / "tests" / "unit" / "command"))

from scripted_collector import Collector, take_all  # noqa: E402

QUICK = ("--retry-max", "50ms", "-i", "100ms")
NOBODY_LISTENS = "tcp://127.0.0.1:1"


class StreamOnly(Recording):
    """A recording that goes to collectors alone."""

    def command(self, _path, *arguments):
        return [harness.CORRELATOR, "record", *arguments]


class ForwardTest(harness.LiveTest):
    def run_requests(self, recording_class, *arguments, until=None):
        """Runs requests under a recording; (recording, its exit code, truth, growth of CPU)."""
        with Workload("sequential.rb", 24) as workload:
            before_ns = workload.cpu_ns()
            with recording_class(self.output, "-p", workload.pid, *QUICK, *arguments) as recording:
                truth = workload.run()
                growth_ns = workload.cpu_ns() - before_ns
                if until:
                    harness.await_true(lambda: any(map(until, self.selves_so_far())), "the ack")
                code = recording.stop()
        return recording, code, truth, growth_ns

    def selves_so_far(self):
        return [record for _, record in records.unpack_entries(self.output.read_bytes())[0]
                if record["kind"] == "self"]

    def check_books(self, found, truth, growth_ns):
        self.assertEqual([], records.wrong_requests(truth, records.totals_by(found), found))
        self.assertEqual(growth_ns, records.books(found)["exec_ns"])

    def received(self, peer):
        return [record for _, record in records.unpack_entries(peer.payload)[0]]

    def test_a_collector_gets_the_bytes_of_the_file_but_its_checks(self):
        with Collector(take_all) as peer:
            recording, code, truth, growth_ns = self.run_requests(
                Recording, "--forward", peer.url,
                until=lambda status: status["forward_acked_records"])
        self.assert_ended_well(recording, code)
        self.assertEqual(records.without_checks(self.output.read_bytes()), peer.payload)
        self.check_books(recording.records(), truth, growth_ns)
        self.assertEqual(0, self.selves_so_far()[-1]["forward_dropped_records"])

    def test_alone_it_needs_no_file(self):
        with Collector(take_all) as peer:
            recording, code, truth, growth_ns = self.run_requests(StreamOnly, "--forward", peer.url)
        self.assert_ended_well(recording, code)
        self.assertRegex(recording.messages, r"delivered [1-9]\d* records, ")
        self.assertRegex(recording.messages, r"correlator: made \d+ records of [\d.]+ s CPU, ")
        self.assertFalse(self.output.exists())
        self.check_books(self.received(peer), truth, growth_ns)

    def test_a_dead_collector_costs_no_record_of_the_file(self):
        recording, code, truth, growth_ns = self.run_requests(
            Recording, "--forward", NOBODY_LISTENS,
            until=lambda status: "Connection refused" in status.get("forward_last_error", ""))
        self.assert_ended_well(recording, code)
        self.check_books(recording.records(), truth, growth_ns)
        self.assertEqual(1, recording.messages.count(f"warning: {NOBODY_LISTENS}"),
                         recording.messages)
        self.assertIn("records were not delivered", recording.messages)

    def test_measuring_does_not_wait_for_one_that_takes_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            recording, code, truth, growth_ns = self.run_requests(
                Recording, "--forward", f"tcp://127.0.0.1:{listener.getsockname()[1]}")
        self.assert_ended_well(recording, code)
        found = recording.records()
        self.check_books(found, truth, growth_ns)
        # The ack is never waited for between windows: of 100 ms each, on a busy machine a few
        # times that; waiting for an ack would be 30 s.
        for balance in records.of_kind(found, "balance"):
            self.assertLess(balance["window_ns"], 3_000_000_000)

    def test_what_is_nowhere_is_a_failure(self):
        recording, code, *_ = self.run_requests(StreamOnly, "--forward", NOBODY_LISTENS)
        self.assertEqual(harness.EXIT_FAILURE, code, recording.messages)
        self.assertIn("records were not delivered", recording.messages)
        self.assertIn("delivered 0 records, ", recording.messages)
        self.assertNotIn("wrote", recording.messages)

    def test_a_spool_is_sent_later(self):
        spool = self.folder / "spool"
        recording, code, truth, growth_ns = self.run_requests(
            StreamOnly, "--forward", NOBODY_LISTENS, "--spool", spool)
        self.assert_ended_well(recording, code)
        self.assertIn(f"correlator forward {spool} --to URL", recording.messages)
        with Collector(take_all) as peer:
            result = run_correlator("forward", spool, "--to", peer.url)
            self.assertEqual(harness.EXIT_OK, result.returncode, result.stderr)
            again = run_correlator("forward", spool, "--to", peer.url)
            self.assertIn("0 records acknowledged", again.stderr)
        self.check_books(self.received(peer), truth, growth_ns)

    def test_with_a_good_collector_the_spool_ends_empty(self):
        spool = self.folder / "spool"
        with Collector(take_all) as peer:
            recording, code, truth, growth_ns = self.run_requests(
                StreamOnly, "--forward", peer.url, "--spool", spool)
        self.assert_ended_well(recording, code)
        self.assertNotIn("records wait in", recording.messages)
        self.assertEqual([], [*spool.glob("*.chunks"), *spool.glob("*.part")])
        self.check_books(self.received(peer), truth, growth_ns)

    def test_what_the_spool_drops_is_a_gap_in_the_stream_and_not_in_the_file(self):
        spool = self.folder / "spool"
        count = 4000
        with Workload("driven.rb") as workload:
            with Recording(self.output, "-p", workload.pid, *QUICK, "--forward", NOBODY_LISTENS,
                           "--spool", spool, "--spool-max", "1M") as recording:
                for _ in range(2):
                    workload.evaluate(f"{count}.times {{ |i| Correlator.with(request_id: i.to_s) "
                                      "{ i.hash } }.to_s")
                recording.await_message(
                    rf"warning: records for {NOBODY_LISTENS} are lost \(spool full\): \d+ so far")
                recording.stop()
        self.assertRegex(recording.messages, rf"wrote \d+ records of [\d.]+ s CPU to {self.output},")
        self.assertEqual([], records.of_kind(recording.records(), "gap"))
        with Collector(take_all) as peer:
            run_correlator("forward", spool, "--to", peer.url)
        received = self.received(peer)
        gaps = records.of_kind(received, "gap")
        self.assertTrue(gaps)
        # Records are numbered, gap records too, and those may be dropped as well.
        numbers = {int(record["record_id"].rpartition(":")[2]) for record in received}
        self.assertEqual(len(received), len(numbers))
        self.assertEqual(max(numbers) - len(numbers),
                         max(gap["total_dropped_records"] for gap in gaps))

    def test_who_makes_little_loses_nothing_beside_who_makes_much(self):
        spool = self.folder / "spool"
        quiet_names = set()
        with Workload("driven.rb") as loud, Workload("driven.rb") as quiet:
            with Recording(self.output, "-p", loud.pid, "-p", quiet.pid, *QUICK, "--forward", NOBODY_LISTENS,
                           "--spool", spool, "--spool-max", "4M") as recording:

                def is_enough():
                    quiet_names.add(quiet.evaluate(
                        f"Correlator.with(request_id: 'quiet-{len(quiet_names)}') {{ |i| 'quiet-{len(quiet_names)}' }}"))
                    loud.evaluate("2000.times { |i| Correlator.with(request_id: i.to_s) { i.hash } }.to_s")
                    dropped = self.selves_so_far()[-1:]
                    return dropped and dropped[0]["forward_dropped_records"] > 20000

                harness.await_true(is_enough, "records to be dropped", harness.ENOUGH_SECONDS)
                recording.stop()
        with Collector(take_all) as peer:
            run_correlator("forward", spool, "--to", peer.url)
        received = self.received(peer)
        self.assertEqual(quiet_names, {record["request_id"] for record in records.of_kind(received, "cpu")
                                       if record["pid"] == quiet.pid and record.get("request_id")})
        gaps = records.of_kind(received, "gap")
        self.assertEqual({loud.pid}, {gap["pid"] for gap in gaps})
        self.assertEqual(max(gap["total_dropped_records"] for gap in gaps),
                         max(gap["process_dropped_records"] for gap in gaps))

    def test_a_command_does_not_inherit_our_secrets(self):
        seen = self.folder / "environment"
        result = run_correlator("record", "--forward", NOBODY_LISTENS, "-o", self.output, "--",
                                "sh", "-c", f"env > {seen}",
                                env={"PATH": "/usr/bin:/bin", "CORRELATOR_SHARED_KEY": "secret",
                                     "CORRELATOR_PASSWORD": "too"})
        self.assertTrue(seen.exists(), result.stderr)
        self.assertNotIn("secret", seen.read_text())
        self.assertNotIn("CORRELATOR", seen.read_text())

    def test_options_that_need_a_collector(self):
        for arguments in (("--spool", "x"), ("--spool-max", "1M"), ("--compress", "gzip"),
                          ("--forward", "ftp://x"),
                          ("--forward", "tcp://x", "--spool", "x", "--spool-max", "1")):
            result = run_correlator("record", "-p", "1", *arguments)
            self.assertEqual(harness.EXIT_USAGE, result.returncode, result.stderr)
            self.assertIn(arguments[-2], result.stderr.replace("`ftp", "--forward"))


if __name__ == "__main__":
    harness.main()
