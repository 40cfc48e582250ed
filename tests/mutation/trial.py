# SPDX-License-Identifier: GPL-2.0-only
"""A copy of the tree in which faults are planted, one at a time, and what its tests say of each."""
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess

TREE = pathlib.Path(__file__).resolve().parents[2]
# A test that takes so much longer than without a fault hangs; the machine may be busy.
PATIENCE = 20
PATIENCE_SECONDS = 20
# A fault may ask for more and more.
MEMORY_MIB = 2048
FILE_BYTES = 4 << 30
SKIPPED = 77
NO_WORK = "ninja: no work to do."
# Devices, links and folders of its own, and then the test: what a fault removes there is not the machine's.
OWN_DEVICES = """
mount -t tmpfs none /dev
cd /dev
mknod -m 666 null c 1 3
mknod -m 666 zero c 1 5
mknod -m 666 full c 1 7
mknod -m 666 random c 1 8
mknod -m 666 urandom c 1 9
mknod -m 666 tty c 5 0
ln -s /proc/self/fd fd
ln -s fd/0 stdin
ln -s fd/1 stdout
ln -s fd/2 stderr
mkdir pts
mkdir -m 1777 shm
mount -t devpts -o newinstance,ptmxmode=666 none pts
ln -s pts/ptmx ptmx
cd "$OLDPWD"
exec "$@"
"""


class BaseFailed(Exception):
    """The copy does not build, or a test of it fails, without a fault."""


@dataclasses.dataclass(frozen=True)
class Test:
    name: str
    command: tuple
    environment: tuple
    target: str


class Build:
    """One build folder of a copy."""

    def __init__(self, copy, *options):
        self.folder = copy / "build"
        launcher = shutil.which("ccache")
        command = ["cmake", "-G", "Ninja", "-S", copy, "-B", self.folder,
                   "-DCMAKE_SUPPRESS_REGENERATION=ON", "-DCORRELATOR_TESTS=ON", *options]
        if launcher:
            command.append(f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}")
        configured = subprocess.run(command, capture_output=True, text=True)
        if configured.returncode:
            raise BaseFailed(configured.stderr)

    def make(self, *targets):
        """What it says if it cannot, or had nothing to do (NO_WORK); None: it has built."""
        made = subprocess.run(["ninja", "-C", self.folder, "-j1", *targets],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return made.stdout if made.returncode or NO_WORK in made.stdout else None

    def test_names(self):
        return [test["name"] for test in self.ask_ctest()]

    def tests(self):
        """{name: Test}, of those whose executable is there: of others ctest does not say it."""
        return {test["name"]: describe(test) for test in self.ask_ctest() if "command" in test}

    def ask_ctest(self):
        shown = subprocess.run(["ctest", "--test-dir", self.folder, "--show-only=json-v1"],
                               capture_output=True, text=True, check=True)
        return json.loads(shown.stdout)["tests"]


def target_of(name):
    """What builds what a test needs: it, or the tool."""
    last = name.rpartition(".")[2]
    return last if last.startswith("test_") else "correlator"


def describe(test):
    environment = next((entry["value"] for entry in test.get("properties", ())
                        if entry["name"] == "ENVIRONMENT"), ())
    target = target_of(test["name"])
    if target != "correlator":
        # Several tests may share a program: ninja builds the program, not the test.
        target = pathlib.Path(test["command"][0]).name
    return Test(test["name"], tuple(test["command"]), tuple(environment), target)


class Copy:
    """The tree's files as they are now, not as they were committed."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", TREE, "ls-files", "-coz",
                                 "--exclude-standard"],
                                capture_output=True, text=True, check=True).stdout
        files = {file for file in listed.split("\0") if file and (TREE / file).is_file()}
        for file in files:
            self.restore(file)
        for path in folder.rglob("*"):
            file = str(path.relative_to(folder))
            if path.is_file() and not file.startswith("build") and file not in files:
                path.unlink()

    def restore(self, file):
        source, target = TREE / file, self.folder / file
        if target.is_file() and target.read_bytes() == source.read_bytes():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)

    def plant(self, fault):
        path = self.folder / fault.file
        path.write_text(fault.plant(path.read_text()))


def run_test(test, usual_seconds=60):
    """True, False, or None: it was skipped. What it starts ends with it."""
    # Whoever started us in the background may have had SIGINT ignored, for all that we start.
    command = ("env", "--default-signal", "prlimit", f"--fsize={FILE_BYTES}", *test.command)
    if os.geteuid() == 0:
        # A fault may kill whatever it can name, and remove it.
        command = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                   "sh", "-ec", OWN_DEVICES, "sh", *command)
    environment = {**os.environ, "ASAN_OPTIONS": f"hard_rss_limit_mb={MEMORY_MIB}",
                   **dict(entry.split("=", 1) for entry in test.environment)}
    try:
        code = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=PATIENCE_SECONDS + PATIENCE * usual_seconds).returncode
    except subprocess.TimeoutExpired:
        return False
    return None if code == SKIPPED else code == 0


def nearness(test, file):
    """Its own test first, then what has its name in its own."""
    noun = re.sub(r"\.bpf$", "", pathlib.Path(file).stem)
    tested = test.name.rpartition("test_")[2]
    return tested != noun, noun not in tested
