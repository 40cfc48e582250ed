# SPDX-License-Identifier: GPL-2.0-only
"""A collector that keeps and acks everything, for the tests that break something else.

In a test's process, or by itself: acking.py HOST:PORT FILE appends each chunk's entries to FILE.
"""
import contextlib
import pathlib
import socket
import socketserver
import sys

import msgpack

READ_BYTES = 1 << 20


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        with contextlib.suppress(OSError):  # the sender was killed
            self.take_all()

    def take_all(self):
        unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, max_buffer_size=1 << 26)
        while data := self.request.recv(READ_BYTES):
            unpacker.feed(data)
            for tag, entries, option in unpacker:
                # Kept first, then acked: as a collector must that says it has it.
                self.server.take(tag, entries)
                self.request.sendall(msgpack.packb({"ack": option["chunk"]}))


class Collector(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """keep: called with the bytes of each chunk's entries, from any thread."""
    allow_reuse_address = True
    daemon_threads = True
    handler = Handler

    def __init__(self, address, keep):
        self.keep = keep
        super().__init__(address, self.handler)

    def take(self, _tag, entries):
        self.keep(entries)

    @property
    def url(self):
        host, port = self.server_address
        return f"tcp://{host}:{port}"


class UnixCollector(Collector):
    address_family = socket.AF_UNIX

    @property
    def url(self):
        return f"unix:{self.server_address}"


def main():
    host, _, port = sys.argv[1].rpartition(":")
    with pathlib.Path(sys.argv[2]).open("ab", buffering=0) as file:
        collector = Collector((host, int(port)), file.write)
        print("ready", flush=True)
        collector.serve_forever()


if __name__ == "__main__":
    main()
