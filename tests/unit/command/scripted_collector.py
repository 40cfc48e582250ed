# SPDX-License-Identifier: GPL-2.0-only
"""A collector that does what a test tells it to, over a real socket: good or bad, byte by byte.

It knows the Fluent Forward protocol by itself, through Python's msgpack, hashlib and ssl alone.
"""
import contextlib
import gzip
import hashlib
import socket
import ssl
import threading
import time

import msgpack

DEADLINE_SECONDS = 60
NONCE = b"\xf0nonce\x00of sixteen"[:16]
AUTH_SALT = b"\xffsalt"


def digest(*parts):
    return hashlib.sha512(b"".join(part if isinstance(part, bytes) else part.encode()
                                   for part in parts)).hexdigest()


class Message:
    """One request: what came, and its payload as bytes."""

    def __init__(self, value):
        self.tag, payload, self.option = value
        assert isinstance(payload, bytes), "the payload is not bin"
        self.id = self.option.get("chunk")
        self.payload = payload
        if self.option.get("compressed") == "gzip":
            self.payload = gzip.decompress(payload)
        self.entries = list(entries(self.payload))
        assert self.option["size"] == len(self.entries), "size is not the number of entries"


def entries(payload):
    """Each entry's own bytes."""
    unpacker = msgpack.Unpacker(raw=True, strict_map_key=False, max_buffer_size=1 << 26)
    unpacker.feed(payload)
    start = 0
    while start < len(payload):
        unpacker.skip()
        yield payload[start:unpacker.tell()]
        start = unpacker.tell()


class Connection:
    """One connection, as a script sees it."""

    def __init__(self, stream):
        self.stream = stream
        self.unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, max_buffer_size=1 << 26,
                                         unicode_errors="surrogateescape")
        self.chunks = []  # what each recv gave

    def send(self, data):
        self.stream.sendall(data)

    def say(self, value):
        self.send(msgpack.packb(value))

    def value(self):
        """The next msgpack value; None at the end."""
        while True:
            with contextlib.suppress(msgpack.OutOfData):
                return self.unpacker.unpack()
            data = self.stream.recv(1 << 16)
            if not data:
                return None
            self.chunks.append(data)
            self.unpacker.feed(data)

    def message(self):
        value = self.value()
        return None if value is None else Message(value)

    def ack(self, message):
        self.say({"ack": message.id})

    def reset(self):
        """Closes so that the peer gets a reset, not an end."""
        self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.stream.close()

    def linger(self):
        """Until the peer closes."""
        with contextlib.suppress(OSError):
            while self.stream.recv(1 << 16):
                pass


class Collector(contextlib.AbstractContextManager):
    """Runs script(connection) for each connection; collects the messages that it returns or
    yields. An exception of a script is the test's, when the `with` block ends."""

    def __init__(self, script, path=None, tls=None):
        self.script = script
        self.tls = tls
        self.messages = []
        self.connections = 0
        self.error = None
        self.ended = False
        if path:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(path)
            self.listener.listen()
            self.url = f"unix:{path}"
        else:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.port = self.listener.getsockname()[1]
            self.url = f"{'tls' if tls else 'tcp'}://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.ended:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            if self.ended:
                stream.close()
                return
            self.connections += 1
            with contextlib.suppress(ConnectionError, BrokenPipeError, ssl.SSLError):
                self.converse(stream)

    def converse(self, stream):
        stream.settimeout(DEADLINE_SECONDS)
        with contextlib.closing(stream):
            if self.tls:
                stream = self.tls.wrap_socket(stream, server_side=True)
            with contextlib.closing(stream):
                try:
                    for message in self.script(Connection(stream)) or ():
                        self.messages.append(message)
                except (AssertionError, TypeError, ValueError) as error:
                    self.error = error

    def __exit__(self, *_):
        self.ended = True
        with contextlib.suppress(OSError):
            # Wakes up accept.
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(DEADLINE_SECONDS)
        if self.error:
            raise self.error

    @property
    def payload(self):
        return b"".join(message.payload for message in self.messages)


def take_all(connection):
    """A good collector."""
    while message := connection.message():
        connection.ack(message)
        yield message


def handshake(connection, key, users=None, keepalive=True, name="collector.example"):
    """HELO, PING, PONG as a server with that key; True when the client passed."""
    connection.say(["HELO", {"nonce": NONCE, "auth": AUTH_SALT, "keepalive": keepalive}])
    ping = connection.value()
    if ping is None:
        return False
    assert len(connection.chunks) == 1, "the PING came in pieces"
    assert [type(part) for part in ping] == [str] * 6 and ping[0] == "PING", ping
    _, client, salt, key_digest, user, password = ping
    reason = ""
    if key_digest != digest(salt, client, NONCE, key):
        reason = "shared_key mismatch"
    elif users and password != digest(AUTH_SALT, user, users.get(user, "")):
        reason = "username/password mismatch"
    elif not users:
        assert (user, password) == ("", ""), "credentials for a server without users"
    connection.say(["PONG", not reason, reason, name, digest(salt, name, NONCE, key)])
    return not reason


def wait_until(condition):
    end = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)
