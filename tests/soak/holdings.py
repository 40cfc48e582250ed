# SPDX-License-Identifier: GPL-2.0-only
"""What a process holds: memory, threads, children, files, and what it has in the kernel."""
import collections
import os
import pathlib
import re

import soak_path  # noqa: F401
from harness import await_true


class Holdings:
    """As of now. `counts` are by kind: map, prog, link, perf_event, ..., threads, children."""

    def __init__(self, pid):
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        self.rss_bytes = 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1])
        self.counts = collections.Counter(threads=int(re.search(r"Threads:\s+(\d+)", status)[1]))
        self.counts["children"] = len(children(pid))
        for file in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            try:
                self.counts[kind_of(os.readlink(file))] += 1
            except FileNotFoundError:
                pass  # it was closed meanwhile

    def __str__(self):
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        return f"{self.rss_bytes / (1 << 20):.1f} MiB, {counts}"


# What is there while records are on their way, and while the programs are timed.
ON_ITS_WAY = ("socket", "segment", "bpf-stats")


def kind_of(target):
    """Of a file descriptor, by what it links to: a file by its name, all else by its kind."""
    if re.search(r"/spool/[\w-]+\.(open|chunk)", target):
        return "segment"
    return re.sub(r"^(\w+):\[\d+\]$", r"\1", target).removeprefix("anon_inode:").strip("[]")


def children(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def await_holdings(pid, counts):
    """Waits until it holds what it did then, but for what is on its way; what it holds."""
    def relevant(all_counts):
        return {name: count for name, count in all_counts.items() if name not in ON_ITS_WAY and count}

    holdings = Holdings(pid)

    def is_as_before():
        nonlocal holdings
        holdings = Holdings(pid)
        return relevant(holdings.counts) == relevant(counts)

    try:
        await_true(is_as_before, "what it holds to be as at the beginning")
    except TimeoutError as error:
        raise AssertionError(f"began with {relevant(counts)}, holds {holdings}") from error
    return holdings
