# SPDX-License-Identifier: GPL-2.0-only
"""What compilers make of the gem: each build's variable is found, and its probes sit before the store."""
import os
import re
import unittest

import harness
from harness import Recording, Workload, run_correlator

BUILDS = harness.BUILD / "builds"
REQUESTS = 12
SITE = re.compile(r"(ok|note) +probe site +(.*): (?:[0-9a-f]{2} ){5}\((\w+)\)")
# What the build's relocations make it, and with the loader's surplus for late libraries used up.
MODELS = {"descriptor": "static (TLSDESC)", "initial_exec": "static (TPOFF64)",
          "": "dynamic (DTPMOD64+DTPOFF64)"}
NO_SURPLUS = {"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=0"}


def builds():
    return sorted(path.name for path in BUILDS.iterdir() if path.name != "embedded")


def model_of(name):
    return next(model for part, model in MODELS.items() if part in name)


class EmbeddedRuby(Workload):
    """The same by a program that Ruby and the gem are parts of."""

    def command(self, script, *arguments):
        return [BUILDS / "embedded" / "ruby", "-I", harness.SOURCE / "ruby" / "lib",
                harness.FIXTURES / script, *arguments]


@unittest.skipUnless(os.uname().machine == "x86_64", "the builds are of x86-64")
class BuildsTest(harness.LiveTest):
    def doctor(self, rubies):
        """What it says of each; it looks at the machine once."""
        pids = [word for ruby in rubies for word in ("-p", ruby.pid)]
        said = re.split(r"^Process (\d+) ", run_correlator("doctor", *pids).stdout, flags=re.M)
        of = dict(zip(map(int, said[1::2]), said[2::2]))
        return [of[ruby.pid] for ruby in rubies]

    def sites(self, said, model):
        self.assertIn(model, said)
        return SITE.findall(said)

    def check_requests(self, rubies):
        """Those of all, by name, are charged exactly: only if all sites are before the store."""
        pids = [word for ruby in rubies.values() for word in ("-p", ruby.pid)]
        with Recording(self.output, "--force", *pids) as recording:
            for name, ruby in rubies.items():
                ruby.evaluate(f'fibers("{name}:fiber", {REQUESTS})')
                ruby.evaluate(f'requests("{name}:plain", {REQUESTS})')
            self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        self.assertEqual(["exact"], [record["mode"] for record in found
                                     if record["kind"] == "meta"], recording.messages)
        for name in rubies:
            with self.subTest(name):
                self.assert_calls(found, f"{name}:fiber", REQUESTS)
                self.assert_calls(found, f"{name}:plain", REQUESTS)

    def load(self, name, environment=None):
        ruby = self.enter(Workload("bare.rb", environment=environment))
        feature = 'require "profiler_stand_in"; ' if name.startswith("upstream") else ""
        ruby.evaluate(f'$LOAD_PATH.unshift("{BUILDS / name}"); {feature}require "correlator"')
        return ruby

    def test_each_build(self):
        self.assertGreater(len(builds()), 10)
        rubies = {name: self.load(name) for name in builds()}
        self.check_requests(rubies)
        for name, said in zip(rubies, self.doctor(rubies.values())):
            with self.subTest(name):
                sites = self.sites(said, model_of(name))
                functions = " ".join(function for _, function, _ in sites)
                if name.startswith("own"):
                    self.assertIn("correlator_state_apply", functions)
                elif name.endswith("stripped"):
                    self.assertGreaterEqual(functions.count("refers to the variable"), 2)
                else:
                    self.assertIn("Ruby_Profiler_State_apply", functions)
                    self.assertIn("Ruby_Profiler_fiber_switch_callback", functions)
                self.assertEqual({"ok"}, {verdict for verdict, _, _ in sites}, sites)

    def test_a_descriptor_of_dynamic_tls(self):
        ruby = self.load("own_descriptor", NO_SURPLUS)
        self.sites(*self.doctor([ruby]), "dynamic (TLSDESC)")
        self.check_requests({"surplus": ruby})

    def test_a_variable_of_the_program_itself(self):
        ruby = self.enter(EmbeddedRuby("bare.rb"))
        ruby.evaluate('require "correlator"')
        self.sites(*self.doctor([ruby]), "static (none)")
        self.check_requests({"embedded": ruby})


if __name__ == "__main__":
    harness.main()
