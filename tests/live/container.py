# SPDX-License-Identifier: GPL-2.0-only
"""A workload as containers have it: its own root, pids, users and mounts.

What is below the root is an overlay that is thrown away, with the gem at a path that the host has
not. Inside, the workload is a user of a mapped range, and neither the first process nor the one
that the observer sees.
"""
import os
import pathlib
import shutil
import tempfile

import harness

FIRST_UID = 100_000
USER = 1000
ENTER = pathlib.Path(__file__).with_name("enter_container")


def namespace(pid, kind):
    return os.readlink(f"/proc/{pid}/ns/{kind}")


def ids_inside(path):
    """The NSpid line of a process or thread: its ids from our namespace to its own."""
    for line in path.read_text().splitlines():
        if line.startswith("NSpid:"):
            return [int(word) for word in line.split()[1:]]
    raise RuntimeError(f"{path} has no NSpid")


def descendants(pid):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [each for child in map(int, children) for each in [child, *descendants(child)]]


class ContainedWorkload(harness.Workload):
    """A workload in a container; pid is the host's, ns_pid its own."""

    def __init__(self, script, *arguments, environment=None, root="/", library=None,
                 change="pivot_root"):
        self.folder = tempfile.TemporaryDirectory(prefix="correlator-container-")
        self.library = library or harness.RUBY_PATHS
        self.install(pathlib.Path(self.folder.name))
        self.root = root
        self.change = change
        try:
            super().__init__(script, *arguments, environment=environment)
        except Exception:
            self.folder.cleanup()
            raise

    def install(self, folder):
        """What goes to /srv: the gem, and the fixtures."""
        folder.chmod(0o755)
        for path in [*self.library, harness.FIXTURES]:
            shutil.copytree(path, folder / "srv", dirs_exist_ok=True)
        (folder / "overlay").mkdir()

    def command(self, script, *arguments):
        return ["unshare", "--mount", "--propagation", "private", ENTER, self.folder.name,
                self.root, self.change, USER, "ruby", "-I", "/srv", f"/srv/{script}", *arguments]

    def environment(self, changes):
        return {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
                **(changes or {})}

    def start(self):
        """The kernel lets only a process outside of a user namespace map its users."""
        outside, own = self.process.pid, namespace("self", "user")
        harness.await_true(lambda: self.process.poll() is not None
                           or namespace(outside, "user") != own, "the user namespace")
        for name in "uid_map", "gid_map":
            pathlib.Path(f"/proc/{outside}/{name}").write_text(f"0 {FIRST_UID} 65536")
        self.say("mapped")

    def find_pid(self, said):
        self.ns_pid = int(said)
        for pid in descendants(self.process.pid):
            if ids_inside(pathlib.Path(f"/proc/{pid}/status"))[1:] == [self.ns_pid]:
                return pid
        raise RuntimeError(f"no process of the container is {self.ns_pid} inside")

    def __exit__(self, *details):
        super().__exit__(*details)
        self.folder.cleanup()
