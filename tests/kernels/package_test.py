# SPDX-License-Identifier: GPL-2.0-only
"""
Debian's package, as tests/kernels/package_root has built it, in a Debian 12 of nothing but its base: apt
installs it with what it depends on, it works, it starts nothing, and a purge leaves nothing behind: in this
order. This kernel is the machine's own.
"""
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
KERNELS = pathlib.Path(os.environ["CORRELATOR_BUILD"]) / "kernels"
BASE = KERNELS / "base.tar"
ROOT = KERNELS / "installed"
PACKAGES = KERNELS / "package"
GOLDEN = SOURCE / "fixtures/golden"
RECORDING = "fixtures/golden/shop.rec"
DEADLINE_SECONDS = 300
# In place of a systemd that runs.
SYSTEMCTL = '#!/bin/sh\necho "$*" >>/run/told_systemd\n'
SYSTEMD_LOG = ROOT / "run/told_systemd"
# Kept by apt and dpkg for any package, and by groupadd for any group.
OF_APT = re.compile(r"/(var/(lib/(apt|dpkg)|cache|log)|run|tmp|mnt|proc|sys|dev)/|"
                    r"/etc/(ld\.so\.cache|g(roup|shadow)-)$")
UNIT = "usr/lib/systemd/system/correlator.service"
CONFIGURATION = "etc/correlator/record.conf"
# What the administrator and the service add.
ADDED = ["etc/correlator/shared-key", "var/lib/correlator/spool/lock",
         "etc/systemd/system/correlator.service.d/override.conf"]
ENABLED = "etc/systemd/system/multi-user.target.wants/correlator.service"


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=DEADLINE_SECONDS, **options)


def inside(script):
    """Runs a script of the shell there: the tree is /mnt/source, the package is in /mnt/build."""
    return run(SOURCE / "tests/matrix/in_root", ROOT, PACKAGES, "sh", "-c",
               f"export DEBIAN_FRONTEND=noninteractive; mount -t sysfs sys /sys; {script}")


def succeed(script):
    result = inside(script)
    assert result.returncode == 0, f"{script}: {result.stdout}{result.stderr}"
    return result.stdout


def told_systemd():
    """What systemd was told since the last time, without what it is told it about."""
    words = [line.split() for line in SYSTEMD_LOG.read_text().splitlines()]
    SYSTEMD_LOG.write_text("")
    return [next(word for word in line if not word.startswith("-")) for line in words]


def files():
    names = (f"/{path.relative_to(ROOT)}" for path in ROOT.rglob("*"))
    return {name for name in names if not OF_APT.match(name)}


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        packages = list(PACKAGES.glob("correlator_*.deb"))
        if len(packages) != 1 or not BASE.exists():
            sys.exit(f"there is no {BASE}, or not one package in {PACKAGES}: tests/run fresh makes "
                     "them, or says why not in package.log")
        for command in (["rm", "-rf", "--one-file-system", ROOT], ["mkdir", ROOT],
                        ["tar", "-C", ROOT, "--numeric-owner", "-xf", BASE]):
            run(*command, check=True)
        (ROOT / "usr/sbin/policy-rc.d").unlink()
        (ROOT / "usr/bin/systemctl").write_text(SYSTEMCTL)
        (ROOT / "usr/bin/systemctl").chmod(0o755)
        (ROOT / "run/systemd/system").mkdir(parents=True)
        SYSTEMD_LOG.touch()
        succeed("apt-get -qq -o Acquire::Retries=5 update")
        cls.before = files()
        succeed("apt-get -qq -y -o Acquire::Retries=5 --no-install-recommends install "
                f"/mnt/build/{packages[0].name}")

    def installed(self, name):
        return ROOT / name

    def test_a_tool_runs(self):
        self.assertRegex(succeed("correlator --version"), r"^correlator \d")
        self.assertIn("record", succeed("correlator --help"))

    def test_b_report_says_what_the_golden_recording_holds(self):
        said = succeed(f"correlator report --format json /mnt/source/{RECORDING}")
        golden = json.loads((GOLDEN / "shop.json").read_text())
        self.assertEqual(["GET /orders", "POST /cart/été"], [row["key"] for row in golden["rows"]])
        self.assertEqual([golden["rows"], golden["books"]], [json.loads(said)[name] for name in ("rows", "books")])

    def test_c_doctor_says_what_it_says_outside(self):
        outside = run(pathlib.Path(os.environ["CORRELATOR_BUILD"]) / "bin/correlator", "doctor")
        there = inside("correlator doctor")
        self.assertIn(there.returncode, (0, 3), there.stdout + there.stderr)
        self.assertEqual(outside.returncode, there.returncode, there.stdout + there.stderr)

    def test_d_each_page_of_the_manual_is_there(self):
        pages = [*(SOURCE / "correlator/command/manual").glob("*.1"),
                 *(SOURCE / "correlator/record").glob("*.5"), *(SOURCE / "ruby").glob("*.7")]
        self.assertLessEqual(8, len(pages))
        for page in pages:
            path = self.installed(f"usr/share/man/man{page.suffix[1:]}/{page.name}.gz")
            text = gzip.decompress(path.read_bytes()).decode()
            self.assertIn(f"\n.Nm {page.stem}\n", text)
            self.assertNotIn("@", text)

    def test_e_bash_completes_it(self):
        script = (". /usr/share/bash-completion/completions/correlator; "
                  'COMP_WORDS=(correlator re) COMP_CWORD=1; _correlator; echo "${COMPREPLY[@]}"')
        self.assertEqual("record report\n", succeed(f"bash -c '{script}'"))

    def test_f_the_unit_starts_the_tool_but_is_neither_started_nor_enabled(self):
        self.assertEqual(["daemon-reload"], told_systemd())
        unit = self.installed(UNIT).read_text()
        self.assertEqual(["/usr/bin/correlator"], re.findall(r"^ExecStart=(\S+)", unit, re.M))
        self.assertEqual([], [str(path) for path in (ROOT / "etc/systemd").rglob("correlator*")])

    def test_g_the_rest_is_there(self):
        self.assertEqual(1, len(list((ROOT / "usr/share/correlator").glob("correlator-*.gem"))))
        for name in ("correlator/collectors/fluentd.conf", "doc/correlator/copyright",
                     "doc/correlator/README.md"):
            self.assertTrue(self.installed(f"usr/share/{name}").is_file(), name)
        self.assertEqual([CONFIGURATION], re.findall(r"^ /(\S+) [0-9a-f]{32}$", succeed(
            "dpkg-query -W -f '${Conffiles}' correlator"), re.M))
        unit = self.installed(UNIT).read_text()
        self.assertEqual([f"/{CONFIGURATION}"], re.findall(r"--config (\S+)", unit))
        self.assertEqual("", succeed("dpkg --verify correlator"))

    def test_h_an_upgrade_restarts_what_runs_and_keeps_what_it_has(self):
        for name in ADDED:
            self.installed(name).parent.mkdir(parents=True, exist_ok=True)
            self.installed(name).touch()
        with self.installed(CONFIGURATION).open("a") as file:
            file.write("# changed\n")
        self.installed(ENABLED).parent.mkdir(exist_ok=True)
        self.installed(ENABLED).symlink_to(f"/{UNIT}")
        succeed("dpkg -i /mnt/build/correlator_*.deb")
        self.assertEqual({"daemon-reload", "try-restart"}, set(told_systemd()))
        self.assertEqual([], [name for name in ADDED if not self.installed(name).exists()])
        self.assertIn("# changed\n", self.installed(CONFIGURATION).read_text())

    def test_i_a_removal_stops_it_and_a_purge_leaves_nothing(self):
        succeed("apt-get -qq -y remove correlator")
        self.assertEqual(["stop", "daemon-reload"], told_systemd())
        self.assertFalse(self.installed("usr/bin/correlator").exists())
        self.assertEqual([], [name for name in ADDED if not self.installed(name).exists()])
        succeed("apt-get -qq -y --autoremove purge correlator")
        self.assertEqual(set(), files() - self.before)
        self.assertEqual(set(), self.before - files())
        self.assertNotEqual(0, inside("dpkg-query -W correlator").returncode)


if __name__ == "__main__":
    unittest.main()
