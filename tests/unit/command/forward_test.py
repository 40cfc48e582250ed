# SPDX-License-Identifier: GPL-2.0-only
"""The forward subcommand against collectors that do what they should not. CORRELATOR names the
binary.

Each trouble is told in one line, however often it comes; only an ack ends it.
"""
import fcntl
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

import msgpack

import scripted_collector
import side_by_side
from scripted_collector import Collector, digest, entries, handshake, take_all

CORRELATOR = os.path.abspath(os.environ["CORRELATOR"])
RECORDING = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "golden" / "shop.rec"
OK, FAILURE, USAGE, INTERRUPTED = 0, 1, 2, 130
# Tries follow each other at once; only a hang lasts as long as the deadline.
QUICK = ("--retry-max", "10ms")
DEADLINE_SECONDS = 60
KEY = "the shared key"


def environment(**variables):
    return {"PATH": os.environ["PATH"], "LC_ALL": "C", **variables}


def forward(*arguments, secrets=None, quick=QUICK, **options):
    return subprocess.run([CORRELATOR, "forward", *map(str, arguments), *quick], text=True,
                          env=environment(**(secrets or {})), capture_output=True,
                          timeout=DEADLINE_SECONDS, **options)


def record(number, text="x"):
    """An entry of our own making."""
    time = b"\xd7\x00" + (1_700_000_000).to_bytes(4, "big") + number.to_bytes(4, "big")
    return b"\x92" + time + msgpack.packb({"schema": 1, "kind": "cpu", "number": number,
                                           "text": text})


class ForwardTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="correlator-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, *contents, name="test.rec"):
        path = self.folder / name
        path.write_bytes(b"".join(contents))
        return path

    def check(self, code, result, *says, warnings=None):
        """The exit code, what is said, and how many lines complain."""
        self.assertEqual(code, result.returncode, result.stderr)
        self.assertEqual("", result.stdout)
        for text in says:
            self.assertIn(text, result.stderr)
        if warnings is not None:
            self.assertEqual(warnings, result.stderr.count("warning: "), result.stderr)

    def interrupt_once(self, process, happened):
        """Its exit code and what it says when it is interrupted after that."""
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        scripted_collector.wait_until(happened)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=DEADLINE_SECONDS)
        return subprocess.CompletedProcess(process.args, process.returncode, "", error)

    def start_text(self, *arguments, secrets=None):
        return subprocess.Popen([CORRELATOR, "forward", *map(str, arguments), *QUICK], text=True,
                                env=environment(**(secrets or {})), stderr=subprocess.PIPE)

    def refuses(self, script, says, *arguments, secrets=None, warnings=1, **collector):
        """The collector never acks: it is tried again, one warning says why, and at the end that
        it was not delivered."""
        with Collector(script, **collector) as peer:
            process = self.start_text(RECORDING, "--to", peer.url, *arguments, secrets=secrets)
            result = self.interrupt_once(process, lambda: peer.connections > 1)
        self.check(INTERRUPTED, result, says, "not all of it was delivered", "--skip 0",
                   warnings=warnings)
        return peer


class DeliveryTest(ForwardTest):
    def test_what_arrives_is_the_file_byte_for_byte(self):
        with Collector(take_all) as peer:
            self.check(OK, forward(RECORDING, "--to", peer.url), "13 records acknowledged",
                       warnings=0)
        self.assertEqual(RECORDING.read_bytes(), peer.payload)
        self.assertEqual("correlator.records", peer.messages[0].tag)
        self.assertEqual(24, len(peer.messages[0].id))

    def test_large_files_go_in_chunks_that_never_split_a_record(self):
        path = self.file(*(record(number, "y" * (number % 3000)) for number in range(3000)))
        with Collector(take_all) as peer:
            self.check(OK, forward(path, "--to", peer.url), "3000 records", warnings=0)
        self.assertEqual(path.read_bytes(), peer.payload)
        self.assertEqual(1, peer.connections)
        self.assertGreater(len(peer.messages), 5)
        self.assertEqual(len(peer.messages), len({message.id for message in peer.messages}))
        for message in peer.messages:
            self.assertLessEqual(len(message.payload), 512 * 1024)

    def test_a_record_larger_than_a_chunk(self):
        path = self.file(record(1), record(2, "z" * 900_000), record(3))
        with Collector(take_all) as peer:
            self.check(OK, forward(path, "--to", peer.url), warnings=0)
        self.assertEqual(path.read_bytes(), peer.payload)

    def test_gzip(self):
        with Collector(take_all) as peer:
            self.check(OK, forward(RECORDING, "--to", peer.url, "--compress", "gzip"))
        self.assertEqual(RECORDING.read_bytes(), peer.payload)
        self.assertEqual("gzip", peer.messages[0].option["compressed"])

    def test_several_files_standard_input_and_a_tag(self):
        with Collector(take_all) as peer, open(RECORDING, "rb") as recording:
            self.check(OK, forward(RECORDING, "-", "--to", peer.url, "--tag", "a.b",
                                   stdin=recording))
        self.assertEqual(2 * RECORDING.read_bytes(), peer.payload)
        self.assertEqual({"a.b"}, {message.tag for message in peer.messages})

    def test_a_unix_socket(self):
        with Collector(take_all, path=str(self.folder / "socket")) as peer:
            self.check(OK, forward(RECORDING, "--to", peer.url), peer.url, warnings=0)
        self.assertEqual(RECORDING.read_bytes(), peer.payload)

    def test_without_acks_none_is_asked_for(self):
        def take(connection):
            while message := connection.message():
                yield message

        with Collector(take) as peer:
            result = forward(RECORDING, "--to", peer.url, "--no-ack")
            self.check(OK, result, "--no-ack", f"13 records sent, unacknowledged, to {peer.url}")
            self.assertNotIn(" acknowledged", result.stderr)
            scripted_collector.wait_until(lambda: peer.messages)
        self.assertEqual(RECORDING.read_bytes(), peer.payload)
        self.assertNotIn("chunk", peer.messages[0].option)

    def test_the_next_collector_of_the_list(self):
        with Collector(take_all) as peer:
            self.check(OK, forward(RECORDING, "--to", "tcp://127.0.0.1:1", "--to", peer.url),
                       "tcp://127.0.0.1:1: cannot connect", peer.url, warnings=1)
        self.assertEqual(RECORDING.read_bytes(), peer.payload)

    def test_an_ack_in_single_bytes_with_other_fields(self):
        def take(connection):
            while message := connection.message():
                for byte in msgpack.packb({"x": [1], "ack": message.id}):
                    connection.send(bytes([byte]))
                yield message

        with Collector(take) as peer:
            self.check(OK, forward(RECORDING, "--to", peer.url), warnings=0)
        self.assertEqual(1, len(peer.messages))

    def test_one_that_closes_after_every_chunk_is_no_trouble(self):
        def take(connection):
            message = connection.message()
            connection.ack(message)
            yield message

        path = self.file(*(record(number, "y" * 3000) for number in range(1000)))
        with Collector(take) as peer:
            self.check(OK, forward(path, "--to", peer.url), warnings=0)
        self.assertEqual(path.read_bytes(), peer.payload)
        self.assertGreater(peer.connections, 5)


class TroubleTest(ForwardTest):
    def test_a_lost_ack_sends_the_same_chunk_again(self):
        calls = []

        def take(connection):
            message = connection.message()
            calls.append(message.id)
            if len(calls) > 3:
                connection.ack(message)
            yield message

        with Collector(take) as peer:
            self.check(OK, forward(RECORDING, "--to", peer.url),
                       "it closed the connection instead of acknowledging", "delivering again",
                       warnings=1)
        self.assertEqual(4, len(calls))
        self.assertEqual(1, len(set(calls)))
        self.assertEqual(4 * RECORDING.read_bytes(), peer.payload)

    def test_a_second_outage_is_not_hidden_behind_the_end_of_the_first(self):
        """Refused once, acknowledged once, and then refused for good."""
        path = self.file(*(record(number, "y" * 300_000) for number in range(4)))
        calls = []

        def take(connection):
            while message := connection.message():
                calls.append(message.id)
                if len(calls) != 2:
                    return
                connection.ack(message)
                yield message

        with Collector(take) as peer:
            process = self.start_text(path, "--to", peer.url)
            lines = [process.stderr.readline() for _ in range(3)]
            result = self.interrupt_once(process, lambda: True)
        self.check(INTERRUPTED, result, warnings=0)
        self.assertRegex(lines[0], "closed the connection instead of acknowledging")
        self.assertRegex(lines[1], "delivering again")
        self.assertRegex(lines[2], "closed the connection instead of acknowledging")

    def test_a_reset_in_the_middle_of_a_chunk(self):
        path = self.file(*(record(number, "y" * 60_000) for number in range(200)))
        calls = []

        def take(connection):
            calls.append(connection)
            if len(calls) < 3:
                connection.stream.recv(1000)
                connection.reset()
                return
            yield from take_all(connection)

        with Collector(take) as peer:
            self.check(OK, forward(path, "--to", peer.url), "it closed the connection")
        self.assertEqual(path.read_bytes(), peer.payload)

    def test_silence(self):
        self.refuses(lambda connection: connection.linger(), "did not acknowledge it within 0.1 s",
                     "--ack-timeout", "100ms")

    def test_a_collector_that_reads_nothing(self):
        path = self.file(*(record(number, "y" * 60_000) for number in range(400)))

        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        result = forward(path, "--to", f"tcp://127.0.0.1:{listener.getsockname()[1]}",
                         "--ack-timeout", "200ms", "--give-up", "1s")
        self.check(FAILURE, result, "not all of it was delivered", "--skip 0", warnings=1)

    def test_no_is_an_answer(self):
        def refuse(connection):
            while connection.message():
                connection.say({})

        self.refuses(refuse, "it refused the chunk")

    def test_an_ack_of_another_chunk(self):
        def confuse(connection):
            while message := connection.message():
                connection.say({"ack": message.id[::-1]})

        self.refuses(confuse, "acknowledges a chunk that was not sent")

    def test_garbage(self):
        self.refuses(lambda connection: connection.send(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
                     "not the Fluent Forward protocol")

    def test_an_answer_that_never_ends(self):
        def flood(connection):
            connection.message()
            while True:
                connection.send(b"\xdb\x7f\xff\xff\xff" + b"x" * 100_000)

        self.refuses(flood, "not the Fluent Forward protocol")

    def test_values_that_claim_to_be_huge(self):
        for claim in (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\x91" * 5000):
            def lie(connection, claim=claim):
                connection.message()
                connection.send(claim)
                connection.linger()

            self.refuses(lie, "not the Fluent Forward protocol")

    def test_nobody_is_there(self):
        result = forward(RECORDING, "--to", "tcp://127.0.0.1:1", "--give-up", "300ms")
        self.check(FAILURE, result, "cannot connect: Connection refused", warnings=1)
        result = forward(RECORDING, "--to", f"unix:{self.folder}/none", "--give-up", "300ms")
        self.check(FAILURE, result, "cannot connect: No such file", warnings=1)

    def test_a_name_that_does_not_exist(self):
        result = forward(RECORDING, "--to", "tcp://no-such-host.invalid", "--give-up", "300ms")
        self.check(FAILURE, result, "the name no-such-host.invalid cannot be resolved", warnings=1)

    @unittest.skipIf(os.geteuid() != 0, "not root: no network namespace")
    def test_a_name_server_that_says_nothing_does_not_hold_up_the_end(self):
        # Its own network, where the name server reads what is asked, and keeps silent.
        (self.folder / "server").write_text(
            "import socket\ns = socket.socket(type=socket.SOCK_DGRAM)\n"
            "s.bind(('127.0.0.1', 53))\nopen('ready', 'w').close()\n"
            "while s.recv(512): open('asked', 'w').close()\n")
        # One question lasts longer than the whole command may.
        (self.folder / "resolv.conf").write_text("nameserver 127.0.0.1\n"
                                                 "options timeout:30 attempts:5\n")
        script = ("ip link set lo up && mount --bind resolv.conf /etc/resolv.conf || exit 77;"
                  "/usr/bin/python3 server 2> /dev/null & until [ -e ready ]; do sleep 0.01; done;"
                  f"exec {CORRELATOR} forward {RECORDING} --to tcp://host.test")
        process = subprocess.Popen(["unshare", "-mn", "sh", "-c", script], text=True,
                                   env=environment(), cwd=self.folder, stderr=subprocess.PIPE,
                                   start_new_session=True)
        self.addCleanup(os.killpg, process.pid, signal.SIGKILL)
        result = self.interrupt_once(process, lambda: (self.folder / "asked").exists()
                                     or process.poll() is not None)
        if result.returncode == 77 or "unshare" in result.stderr:
            self.skipTest(result.stderr)
        self.check(INTERRUPTED, result, "not all of it was delivered (interrupted)", warnings=0)

    def test_interrupted_while_a_collector_is_silent(self):
        with Collector(lambda connection: connection.linger()) as peer:
            process = self.start_text(RECORDING, "--to", peer.url)
            result = self.interrupt_once(process, lambda: peer.connections)
        self.check(INTERRUPTED, result, "(interrupted); go on with --skip 0", warnings=0)


class SpoolTest(ForwardTest):
    """Spools as a recording left them, and as a disk gave them back."""

    def spool(self, *segments):
        """Each: its bytes, and how many records its name says."""
        folder = self.folder / "spool"
        folder.mkdir(mode=0o700)
        (folder / "lock").touch()
        self.names = []
        for number, (data, records) in enumerate(segments, 1):
            self.names.append(f"{number:016}-{number:032x}-{records}-1-2.chunk")
            (folder / self.names[-1]).write_bytes(data)
        return folder

    def chunks(self, folder):
        return sorted(path.name for path in folder.glob("*.chunk"))

    def test_a_segment_with_damage_gives_the_records_around_it(self):
        records = [record(number, "y" * 100) for number in range(101)]
        size = len(records[0])
        data = bytearray(b"".join(records))
        data[9 * size + 10:9 * size + 74] = bytes(64)
        folder = self.spool((data, 101), (b"".join(records), 101))
        with Collector(take_all) as peer:
            result = forward(folder, "--to", peer.url)
        self.check(FAILURE, result, "a segment is damaged: at least 1 records are lost "
                   f"({size} bytes), the other 100 are sent",
                   "201 records acknowledged", "1 records in 1 segments are lost", warnings=1)
        whole = records[:9] + records[10:]
        self.assertEqual(b"".join(whole + records), peer.payload)
        self.assertEqual([], self.chunks(folder))
        self.assertEqual([self.names[0]], self.chunks(folder / "damaged"))
        self.assertEqual(data, (folder / "damaged" / self.names[0]).read_bytes())
        with Collector(take_all) as peer:
            self.check(OK, forward(folder, "--to", peer.url), "0 records", warnings=0)

    def test_one_that_was_cut_off_gives_the_records_around_damage_too(self):
        """As a power loss leaves it: a hole of zeros, and a torn end."""
        records = [record(number, "y" * 100) for number in range(20)]
        size = len(records[0])
        data = bytearray(b"".join(records))
        data[5 * size:6 * size] = bytes(size)
        folder = self.spool()
        (folder / f"{7:016}-{7:032x}.open").write_bytes(data[:-1])
        with Collector(take_all) as peer:
            result = forward(folder, "--to", peer.url)
        self.check(FAILURE, result, "at least 1 records are lost", "18 records acknowledged",
                   "1 records in 1 segments are lost", warnings=2)
        self.assertEqual(b"".join(records[:5] + records[6:19]), peer.payload)
        self.assertEqual(1, len(self.chunks(folder / "damaged")))

    def test_a_segment_that_cannot_be_read_is_set_aside(self):
        garbage = b"x" * 1000
        folder = self.spool((garbage, 7), (record(1), 1))
        with Collector(take_all) as peer:
            result = forward(folder, "--to", peer.url)
        self.check(FAILURE, result, "7 records are lost (1000 bytes), the other 0 are sent",
                   "1 records acknowledged",
                   "7 records in 1 segments are lost", warnings=1)
        self.assertEqual(record(1), peer.payload)
        self.assertEqual(garbage, (folder / "damaged" / self.names[0]).read_bytes())

    def test_what_is_set_aside_is_bounded_and_the_rest_stays_where_it_is(self):
        folder = self.spool((b"x", 1))
        (folder / "damaged").mkdir()
        with open(folder / "damaged" / "before", "wb") as file:
            file.truncate(64 * 1024 * 1024)
        with Collector(take_all) as peer:
            result = forward(folder, "--to", peer.url)
        self.check(FAILURE, result, "it stays where it is", warnings=2)
        self.assertEqual(self.names[:1], self.chunks(folder))
        self.assertEqual([], self.chunks(folder / "damaged"))


class StreamTest(ForwardTest):
    """Standard input that goes on and on."""

    def start(self, peer, *arguments, path="-"):
        process = subprocess.Popen([CORRELATOR, "forward", path, "--to", peer.url, *QUICK,
                                    *arguments], env=environment(), stdin=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def give(self, process, peer, data):
        """Writes it, and awaits that it arrives, with the input still open."""
        process.stdin.write(data)
        process.stdin.flush()
        scripted_collector.wait_until(lambda: peer.payload.endswith(data))

    def end(self, process, code, *says):
        _, error = process.communicate(timeout=DEADLINE_SECONDS)
        self.assertEqual(code, process.returncode, error)
        for text in says:
            self.assertIn(text, error.decode())

    def test_what_comes_is_sent_while_more_may_come(self):
        with Collector(take_all) as peer:
            process = self.start(peer, "--skip", "1")
            process.stdin.write(record(0))
            self.give(process, peer, record(1))
            # A record that comes in two parts, with a chunk in between.
            torn = record(3)
            process.stdin.write(record(2) + torn[:20])
            process.stdin.flush()
            scripted_collector.wait_until(lambda: peer.payload.endswith(record(2)))
            self.give(process, peer, torn[20:] + record(4))
            process.stdin.write(record(5))
            self.end(process, OK, "5 records acknowledged")
        self.assertEqual(b"".join(map(record, range(1, 6))), peer.payload)

    def test_much_at_once_goes_in_full_chunks(self):
        data = b"".join(record(number, "y" * 1000) for number in range(900))
        out, into = os.pipe()
        # All of it is in the pipe before anybody reads.
        fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, 1 << 20)
        with open(into, "wb") as pipe:
            pipe.write(data)
        with Collector(take_all) as peer, open(out, "rb") as stdin:
            self.check(OK, forward("-", "--to", peer.url, stdin=stdin), "900 records")
        self.assertEqual(data, peer.payload)
        self.assertGreater(len(peer.messages[0].payload), 500 * 1024)

    def test_sigterm_ends_it_while_nothing_comes(self):
        with Collector(take_all) as peer:
            process = self.start(peer)
            self.give(process, peer, record(1))
            process.send_signal(signal.SIGTERM)
            process.wait(DEADLINE_SECONDS)
            self.end(process, INTERRUPTED, "--skip 1")

    def test_and_while_nobody_has_opened_the_named_pipe(self):
        path = self.folder / "pipe"
        os.mkfifo(path)
        with Collector(take_all) as peer:
            process = self.start(peer, path=path)
            self.await_caught(process, signal.SIGTERM)
            process.send_signal(signal.SIGTERM)
            process.wait(DEADLINE_SECONDS)
            self.end(process, INTERRUPTED)

    def test_a_named_pipe_gives_all_to_its_end(self):
        path = self.folder / "pipe"
        os.mkfifo(path)
        with Collector(take_all) as peer:
            process = self.start(peer, path=path)
            path.write_bytes(record(1) + record(2))
            self.end(process, OK)
        self.assertEqual(record(1) + record(2), peer.payload)

    def await_caught(self, process, number):
        """It is ready for the signal: blocked, or caught."""
        def is_blocked():
            text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            return int(text.split("SigBlk:")[1].split()[0], 16) >> (number - 1) & 1

        scripted_collector.wait_until(is_blocked)

    def test_ctrl_c_is_for_the_writer(self):
        with Collector(take_all) as peer:
            process = self.start(peer)
            self.give(process, peer, record(1))
            process.send_signal(signal.SIGINT)
            said = process.stderr.readline() + process.stderr.readline()
            self.assertIn(b"until the writer ends", said)
            self.give(process, peer, record(2))
            self.end(process, OK)
        self.assertEqual(record(1) + record(2), peer.payload)

    def test_a_second_signal_is_for_us(self):
        with Collector(take_all) as peer:
            process = self.start(peer)
            self.give(process, peer, record(1))
            process.send_signal(signal.SIGINT)
            while b"until the writer ends" not in process.stderr.readline():
                pass
            process.send_signal(signal.SIGTERM)
            process.wait(DEADLINE_SECONDS)
            self.end(process, INTERRUPTED, "--skip 1")

    def test_that_nothing_came_is_no_silence_of_the_collector(self):
        give_up_seconds = 1

        def script(connection):
            """Acks once, then drops what comes next; a later connection is a good one."""
            message = connection.message()
            connection.ack(message)
            yield message
            if peer.connections == 1:
                connection.message()
                connection.reset()
            else:
                yield from take_all(connection)

        with Collector(script) as peer:
            process = self.start(peer, "--give-up", f"{give_up_seconds}s")
            self.give(process, peer, record(1))
            # What is tested is that this time does not count.
            time.sleep(2 * give_up_seconds)
            self.give(process, peer, record(2))
            self.end(process, OK)
        self.assertEqual(record(1) + record(2), peer.payload)


class PoisonTest(ForwardTest):
    def script(self, is_bad):
        def take(connection):
            while message := connection.message():
                if any(is_bad(msgpack.unpackb(entry, strict_map_key=False)[1]["number"])
                       for entry in message.entries):
                    return
                connection.ack(message)
                yield message
        return take

    def numbers(self, peer):
        return [msgpack.unpackb(entry, strict_map_key=False)[1]["number"]
                for message in peer.messages for entry in message.entries]

    def test_bad_records_are_found_and_the_rest_goes_through(self):
        bad = {3, 700, 701, 999}
        path = self.file(*map(record, range(1000)))
        with Collector(self.script(bad.__contains__)) as peer:
            result = forward(path, "--to", peer.url)
        self.check(FAILURE, result, "4 records were refused", "996 records acknowledged",
                   f"test.rec: record 4, of {len(record(3))} bytes, was not delivered")
        self.assertEqual(sorted(set(range(1000)) - bad), sorted(self.numbers(peer)))

    def test_one_that_refuses_everything_gets_everything_once_it_does_not(self):
        path = self.file(*map(record, range(100)))
        with Collector(self.script(lambda number: peer.connections < 120)) as peer:
            result = forward(path, "--to", peer.url)
        self.check(OK, result, "100 records acknowledged", warnings=1)
        self.assertEqual(list(range(100)), sorted(set(self.numbers(peer))))


class HandshakeTest(ForwardTest):
    def key_file(self, key=KEY):
        path = self.file(key.encode(), b"\n", name="key")
        path.chmod(0o600)
        return path

    def serve(self, *arguments, **options):
        def take(connection):
            if handshake(connection, *arguments, **options):
                yield from take_all(connection)
        return take

    def test_with_the_right_key_nothing_follows_the_ping_before_the_pong(self):
        with Collector(self.serve(KEY)) as peer:
            self.check(OK, forward(RECORDING, "--to", peer.url, "--shared-key-file",
                                   self.key_file()), warnings=0)
        self.assertEqual(RECORDING.read_bytes(), peer.payload)

    def test_key_user_and_password_from_the_environment(self):
        with Collector(self.serve(KEY, {"alice": "wonder"}, keepalive=False)) as peer:
            self.check(OK, forward(RECORDING, "--to", peer.url, "--user", "alice", secrets={
                "CORRELATOR_SHARED_KEY": KEY, "CORRELATOR_PASSWORD": "wonder"}), warnings=0)
        self.assertEqual(RECORDING.read_bytes(), peer.payload)

    def test_a_wrong_key(self):
        self.refuses(self.serve("another key"),
                     "it refuses our shared key, user or password: shared_key mismatch",
                     "--shared-key-file", self.key_file())

    def test_a_wrong_key_where_the_collector_just_closes(self):
        def close(connection):
            connection.say(["HELO", {"nonce": "n" * 16, "auth": ""}])
            connection.value()

        self.refuses(close, "a wrong shared key?", "--shared-key-file", self.key_file())

    def test_a_wrong_password(self):
        self.refuses(self.serve(KEY, {"alice": "wonder"}), "username/password mismatch",
                     "--user", "alice", secrets={"CORRELATOR_SHARED_KEY": KEY,
                                                 "CORRELATOR_PASSWORD": "land"})

    def test_a_collector_that_does_not_know_the_key_gets_no_data(self):
        def pretend(connection):
            connection.say(["HELO", {"nonce": b"n" * 16, "auth": b""}])
            if ping := connection.value():
                connection.say(["PONG", True, "", "me",
                                digest(ping[2], "me", b"n" * 16, "guess")])
            # What is sent now would be a message.
            yield from take_all(connection)

        peer = self.refuses(pretend, "does not know the shared key itself",
                            "--shared-key-file", self.key_file())
        self.assertEqual([], peer.messages)

    def test_our_own_digest_is_not_the_collectors(self):
        def reflect(connection):
            connection.say(["HELO", {"nonce": b"n" * 16, "auth": b""}])
            if ping := connection.value():
                connection.say(["PONG", True, "", ping[1], ping[3]])
            yield from take_all(connection)

        peer = self.refuses(reflect, "does not know the shared key itself",
                            "--shared-key-file", self.key_file())
        self.assertEqual([], peer.messages)

    def test_a_collector_that_wants_a_handshake_when_none_is_configured(self):
        def demand(connection):
            # As Fluent Bit does: HELO, and the end when what comes is no PING.
            connection.say(["HELO", {"nonce": "n" * 16, "auth": ""}])
            connection.stream.recv(1 << 16)

        self.refuses(demand, "it requires a shared key, and none is configured")

    def test_a_collector_that_does_not_ask_when_a_key_is_configured(self):
        self.refuses(lambda connection: connection.linger(), "it asks for no handshake",
                     "--shared-key-file", self.key_file(), "--ack-timeout", "100ms")

    def test_garbage_instead_of_a_hello(self):
        self.refuses(lambda connection: connection.send(b"SSH-2.0-OpenSSH_9.2\r\n"),
                     "not the handshake of Fluent Forward", "--shared-key-file", self.key_file())

    def test_secrets_that_cannot_be(self):
        empty = self.file(b"\n", name="empty")
        for says, *arguments in (
                ("cannot read the secret", "--shared-key-file", "/nonexistent"),
                ("is empty", "--shared-key-file", empty),
                ("more than 256", "--shared-key-file", self.file(b"k" * 300, name="long")),
                ("needs a password", "--user", "alice", "--shared-key-file", self.key_file()),
        ):
            self.check(FAILURE, forward(RECORDING, "--to", "tcp://127.0.0.1:1", *arguments), says)
        open_file = self.key_file()
        open_file.chmod(0o644)
        self.check(FAILURE, forward(RECORDING, "--to", "tcp://127.0.0.1:1", "--give-up", "100ms",
                                    "--shared-key-file", open_file), "everybody can read")


class TlsTest(ForwardTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="correlator-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.certificates = pathlib.Path(folder.name)
        cls.openssl("req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-keyout", "ca.key", "-out", "ca.pem", "-subj",
                    "/CN=test authority", "-days", "2")
        cls.certificate("good", "IP:127.0.0.1", 2)
        cls.certificate("expired", "IP:127.0.0.1", -1)
        cls.certificate("other", "DNS:other.example", 2)
        cls.certificate("client", "DNS:client.example", 2)

    @classmethod
    def openssl(cls, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], cwd=cls.certificates, check=True,
                       capture_output=True)

    @classmethod
    def certificate(cls, name, alternative, days):
        cls.openssl("req", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName={alternative}")
        cls.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                    "-CAcreateserial", "-days", days, "-copy_extensions", "copy", "-out",
                    f"{name}.pem")

    def context(self, name="good", wants_certificate=False):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificates / f"{name}.pem",
                                self.certificates / f"{name}.key")
        if wants_certificate:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.certificates / "ca.pem")
        return context

    def authority(self):
        return "--tls-ca", self.certificates / "ca.pem"

    def delivers(self, peer, *arguments):
        with peer:
            self.check(OK, forward(RECORDING, "--to", peer.url, *arguments))
        self.assertEqual(RECORDING.read_bytes(), peer.payload)

    def test_a_certificate_that_holds(self):
        self.delivers(Collector(take_all, tls=self.context()), *self.authority())

    def test_one_of_another_name_that_is_expected(self):
        self.delivers(Collector(take_all, tls=self.context("other")), *self.authority(),
                      "--tls-server-name", "other.example")

    def test_a_host_of_several_addresses_and_one_expected_by_address(self):
        # Where localhost is ::1 first, nobody listens there.
        peer = Collector(take_all, tls=self.context())
        peer.url = peer.url.replace("127.0.0.1", "localhost")
        self.delivers(peer, *self.authority(), "--tls-server-name", "127.0.0.1")

    def test_not_verified_only_when_told_so(self):
        peer = Collector(take_all, tls=self.context("expired"))
        self.delivers(peer, "--tls-insecure")

    def test_an_expired_certificate(self):
        self.refuses(take_all, "does not hold for 127.0.0.1: certificate has expired",
                     *self.authority(), tls=self.context("expired"))

    def test_a_certificate_of_another_host(self):
        self.refuses(take_all, "does not hold for 127.0.0.1: IP address mismatch",
                     *self.authority(), tls=self.context("other"))
        self.refuses(take_all, "does not hold for wrong.example: hostname mismatch",
                     *self.authority(), "--tls-server-name", "wrong.example",
                     tls=self.context("other"))

    def test_an_authority_that_is_not_known(self):
        self.refuses(take_all, "does not hold for 127.0.0.1: unable to get local issuer",
                     tls=self.context())

    def test_a_client_certificate_where_one_is_wanted(self):
        self.delivers(Collector(take_all, tls=self.context(wants_certificate=True)),
                      *self.authority(), "--tls-cert", self.certificates / "client.pem",
                      "--tls-key", self.certificates / "client.key")
        self.refuses(take_all, "certificate required", *self.authority(),
                     tls=self.context(wants_certificate=True))

    def test_tls_and_plain_text_mixed_up(self):
        plain = Collector(lambda connection: connection.send(b"\x92\xa4HELO\x80"))
        with plain:
            result = forward(RECORDING, "--to", plain.url.replace("tcp", "tls"), "--give-up",
                             "300ms")
        self.check(FAILURE, result, "does not speak TLS: use tcp://", warnings=1)
        # An alert, as a TLS server answers to what is no TLS.
        self.refuses(lambda connection: connection.send(b"\x15\x03\x01\x00\x02\x02\x46"),
                     "it speaks TLS: use tls://")

    def test_files_that_cannot_be(self):
        nothing = self.file(name="nothing.pem")
        key = self.certificates / "good.key"
        for says, *arguments in (
                ("/nonexistent: No such file", "--tls-ca", "/nonexistent"),
                ("nothing.pem as certificates of authorities", "--tls-ca", nothing),
                ("nothing.pem as our certificate", "--tls-cert", nothing),
                ("good.key as our private key: key values mismatch", "--tls-cert",
                 self.certificates / "client.pem", "--tls-key", key),
        ):
            self.check(FAILURE, forward(RECORDING, "--to", "tls://127.0.0.1:1", *arguments), says)


class FileTest(ForwardTest):
    def test_skipping_goes_on_where_it_ended(self):
        with Collector(take_all) as peer:
            self.check(OK, forward(RECORDING, "--to", peer.url, "--skip", 5), "8 records")
        self.assertEqual(b"".join(list(entries(RECORDING.read_bytes()))[5:]), peer.payload)

    def test_skipping_more_than_there_is(self):
        with Collector(take_all) as peer:
            self.check(FAILURE, forward(RECORDING, "--to", peer.url, "--skip", 500),
                       "0 records acknowledged", "there are only 13 records in it to skip")
        self.assertEqual([], peer.messages)

    def test_a_torn_tail_is_left_out(self):
        with Collector(take_all) as peer:
            result = forward(self.file(record(1), record(2)[:-1]), "--to", peer.url)
        self.check(FAILURE, result, f"the last record, at byte {len(record(1))}, is incomplete",
                   f"truncated: {len(record(2)) - 1} bytes of its last record", warnings=1)
        self.assertEqual(record(1), peer.payload)

    def test_damage_in_one_keeps_none_of_the_others(self):
        damaged = self.file(record(1), b"garbage", name="damaged")
        with Collector(take_all) as peer:
            result = forward(damaged, self.folder / "none", RECORDING, "--to", peer.url)
        self.check(FAILURE, result, "7 bytes in 1 places", "none: No such file",
                   "13 records acknowledged", warnings=1)
        self.assertEqual(record(1) + RECORDING.read_bytes(), peer.payload)

    def test_what_is_before_and_after_damage_is_sent(self):
        half = record(4)[:20]
        path = self.file(record(1), record(2), b"garbage", record(3), half, record(5))
        with Collector(take_all) as peer:
            result = forward(path, "--to", peer.url)
        self.check(FAILURE, result, f"byte {2 * len(record(1))}: damaged: no record begins here; "
                   "7 bytes are not sent", f"byte {3 * len(record(1)) + 7}: damaged: no record "
                   f"begins here; {len(half)} bytes are not sent", "4 records acknowledged",
                   "27 bytes in 2 places were not sent", warnings=2)
        self.assertNotIn("--skip", result.stderr)
        self.assertEqual(record(1) + record(2) + record(3) + record(5), peer.payload)

    def test_skipping_counts_what_is_whole(self):
        path = self.file(b"garbage", record(1), b"garbage", record(2), record(3))
        with Collector(take_all) as peer:
            self.check(FAILURE, forward(path, "--to", peer.url, "--skip", 2), "1 records ack")
        self.assertEqual(record(3), peer.payload)

    def test_damage_that_is_larger_than_what_is_read_at_once(self):
        path = self.file(record(1), bytes(5_000_000), record(2), bytes(3_000_000))
        with Collector(take_all) as peer:
            self.check(FAILURE, forward(path, "--to", peer.url), "5000000 bytes are not sent",
                       "3000000 bytes are not sent", "8000000 bytes in 2 places", warnings=2)
        self.assertEqual(record(1) + record(2), peer.payload)

    def test_many_damaged_places_are_summed_up(self):
        path = self.file(*(b"garbage" + record(number) for number in range(100)))
        with Collector(take_all) as peer:
            self.check(FAILURE, forward(path, "--to", peer.url), "100 records acknowledged",
                       "damaged in 100 places: 700 bytes are not sent in all", warnings=9)

    def test_a_file_of_something_else(self):
        for path in __file__, "/dev/zero":
            with Collector(take_all) as peer:
                self.check(FAILURE, forward(path, "--to", peer.url), "not a recording",
                           warnings=0)
            self.assertEqual([], peer.messages)

    def test_an_empty_file(self):
        self.check(FAILURE, forward(self.file(), "--to", "tcp://127.0.0.1:1"),
                   "there is no record in it: nothing was sent")

    def test_usage(self):
        for says, *arguments in (
                ("nothing to send",),
                ("no collector", RECORDING),
                ("tcp://HOST:PORT, tls://HOST:PORT or unix:PATH", RECORDING, "--to", "host:1"),
                ("brackets", RECORDING, "--to", "tcp://::1"),
                ("gzip", RECORDING, "--to", "tcp://h", "--compress", "zstd"),
                ("--tag", RECORDING, "--to", "tcp://h", "--tag", "a b"),
                ("--tls-*", RECORDING, "--to", "tcp://h", "--tls-insecure"),
                ("needs --tls-cert", RECORDING, "--to", "tls://h", "--tls-key", "k"),
                ("needs --user", RECORDING, "--to", "tcp://h", "--password-file", "k"),
                ("--ack-timeout", RECORDING, "--to", "tcp://h", "--ack-timeout", "1ms"),
                ("--skip", RECORDING, "--to", "tcp://h", "--skip", "-1"),
                ("--give-up", RECORDING, "--to", "tcp://h", "--give-up", "0"),
                ("at most 8 collectors", RECORDING, *9 * ("--to", "tcp://h")),
                ("--skip applies to files", self.folder, "--to", "tcp://h", "--skip", "1"),
        ):
            self.check(USAGE, forward(*arguments, quick=()), says)

    def test_a_folder_that_is_no_spool_stays_as_it_is(self):
        self.check(FAILURE, forward(self.folder, "--to", "tcp://127.0.0.1:1"),
                   "not the spool of a recording")
        self.assertEqual([], [*self.folder.iterdir()])

    def test_a_file_that_is_not_there(self):
        self.check(FAILURE, forward("/nonexistent", "--to", "tcp://127.0.0.1:1"),
                   "cannot open /nonexistent")


if __name__ == "__main__":
    side_by_side.main()
