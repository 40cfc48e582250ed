# SPDX-License-Identifier: GPL-2.0-only
"""
Known answers, values of every kind and GC stress with another Debian's Ruby and libc, in a container:
the live tests, with their workloads moved there. CORRELATOR_ROOT names the root.
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "live"))

import container
import harness
import known_answers_test
import values_test
from known_answers_test import KnownAnswersTest
from values_test import ContextTest, ValuesTest

ROOT = pathlib.Path(os.environ["CORRELATOR_ROOT"]).resolve()
GEM = ROOT.with_name(ROOT.name + ".gem")


class MatrixWorkload(container.ContainedWorkload):
    def __init__(self, script, *arguments, environment=None):
        super().__init__(script, *arguments, environment=environment, root=ROOT,
                         library=[GEM / "lib"])


for module in known_answers_test, values_test:
    module.Workload = MatrixWorkload


class RootTest(harness.LiveTest):
    def test_it_is_another_ruby_and_libc_without_symbols_in_namespaces_of_its_own(self):
        with MatrixWorkload("driven.rb") as workload:
            version = workload.evaluate("RUBY_VERSION")
            doctor = harness.run_correlator("doctor", "-p", workload.pid)
            maps = pathlib.Path(f"/proc/{workload.pid}/maps").read_text()
            for kind in "pid", "mnt", "user":
                self.assertNotEqual(container.namespace("self", kind),
                                    container.namespace(workload.pid, kind))
        self.assertEqual(harness.EXIT_OK, doctor.returncode, doctor.stdout)
        print(doctor.stdout.partition("Process")[2])
        self.assertRegex(doctor.stdout, rf"ok +Ruby +{version} in /usr/lib/")
        self.assertRegex(doctor.stdout, r"ok +thread-local +.* in /srv/correlator/correlator\.so")
        library = ROOT / next(word for word in maps.split() if "/libruby" in word)[1:]
        sections = subprocess.run(["readelf", "--section-headers", "--wide", library], text=True,
                                  capture_output=True, check=True).stdout
        self.assertIn(".dynsym", sections)
        self.assertNotIn(".symtab", sections)


if __name__ == "__main__":
    harness.main()
