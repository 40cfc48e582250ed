# SPDX-License-Identifier: GPL-2.0-only
"""Whether anybody else observes this machine: their programs would be measured with ours."""
import json
import os
import shutil
import subprocess
import time

TRACING_TYPES = {"kprobe", "perf_event", "raw_tracepoint", "raw_tracepoint_writable", "tracepoint",
                 "tracing"}
PATIENCE_SECONDS = 10
POLL_SECONDS = 0.5
# bpftool is in sbin, which is not in every PATH.
BPFTOOL = shutil.which("bpftool", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def foreign_programs():
    """Tracing programs that are loaded; call it only while none of ours are."""
    if not BPFTOOL:
        return []
    listed = subprocess.run([BPFTOOL, "-j", "prog", "show"], stdout=subprocess.PIPE, check=True)
    return [program for program in json.loads(listed.stdout)
            if program["type"] in TRACING_TYPES]


def await_quiet(progress):
    """Waits a while for others to finish; whether they have."""
    end = time.monotonic() + PATIENCE_SECONDS
    while programs := foreign_programs():
        if time.monotonic() > end:
            progress(f"measuring along with {len(programs)} tracing programs of others")
            return False
        time.sleep(POLL_SECONDS)
    return True
