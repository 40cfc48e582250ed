#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A link between two network namespaces, with losses and delays: link.py A B SEED, as root.

A TUN device in each, and this process is the cable: it needs nothing of the kernel but TUN, where
netem may be missing. A has 10.213.0.1, B 10.213.0.2. Reads lines: `loss PERCENT`, `delay MS`,
`cut`, `join`; answers each with `ok` once it holds.
"""
import ctypes
import fcntl
import heapq
import os
import random
import selectors
import struct
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
PACKET_BYTES = 65536
DEVICE = "correlator0"

libc = ctypes.CDLL(None, use_errno=True)


def open_end(namespace, address, other):
    """A TUN device in a namespace; what goes in and out of it is read and written here."""
    with open(f"/run/netns/{namespace}") as handle:
        if libc.setns(handle.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
    for command in (f"addr add {address} peer {other} dev {DEVICE}", f"link set {DEVICE} up"):
        subprocess.run(["ip", *command.split()], check=True)
    return tun


class Link:
    def __init__(self, ends, seed):
        self.ends = ends
        self.random = random.Random(seed)
        self.loss = self.delay_seconds = 0
        self.is_cut = False
        self.waiting = []  # (when, number, to, packet)
        self.number = 0

    def obey(self, line):
        word, *values = line.split()
        if word == "loss":
            self.loss = float(values[0]) / 100
        elif word == "delay":
            self.delay_seconds = float(values[0]) / 1000
        else:
            self.is_cut = {"cut": True, "join": False}[word]
        print("ok", flush=True)

    def take(self, end):
        packet = os.read(end, PACKET_BYTES)
        if self.is_cut or self.random.random() < self.loss:
            return
        other = self.ends[1 - self.ends.index(end)]
        self.number += 1
        # With a delay that varies, packets overtake each other.
        when = time.monotonic() + self.delay_seconds * self.random.uniform(0.5, 1.5)
        heapq.heappush(self.waiting, (when, self.number, other, packet))

    def deliver(self):
        """Seconds until the next packet is due; None: there is none."""
        while self.waiting:
            left = self.waiting[0][0] - time.monotonic()
            if left > 0:
                return left
            _, _, end, packet = heapq.heappop(self.waiting)
            try:
                os.write(end, packet)
            except BlockingIOError:
                pass  # its queue is full: lost, as on any link
        return None


def main():
    first, second, seed = sys.argv[1:4]
    link = Link([open_end(first, "10.213.0.1", "10.213.0.2"),
                 open_end(second, "10.213.0.2", "10.213.0.1")], int(seed))
    selector = selectors.DefaultSelector()
    for file in (*link.ends, sys.stdin):
        selector.register(file, selectors.EVENT_READ)
    print("ok", flush=True)
    while True:
        for key, _ in selector.select(link.deliver()):
            if key.fileobj is not sys.stdin:
                link.take(key.fileobj)
            elif line := sys.stdin.readline():
                link.obey(line)
            else:
                return


if __name__ == "__main__":
    main()
