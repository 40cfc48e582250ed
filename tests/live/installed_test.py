# SPDX-License-Identifier: GPL-2.0-only
"""What `cmake --install` puts into a DESTDIR, used from there: tool, gem, unit, documents."""
import os
import re
import subprocess

import harness
import records
from harness import Recording, Workload

PREFIX = "usr"
WHAT_IS_INSTALLED = [
    "bin/correlator", "lib/systemd/system/correlator.service",
    "share/bash-completion/completions/correlator", "share/man/man1/correlator-record.1.gz",
    "share/man/man5/correlator-records.5.gz", "share/man/man7/correlator-gem.7.gz",
    "share/correlator/collectors/clickhouse.sql", "share/correlator/collectors/fluentd.conf",
    "share/doc/correlator/README.md", "share/doc/correlator/LICENSE",
    "share/doc/correlator/correlator/record/README.md", "share/doc/correlator/ruby/README.md",
    "share/doc/correlator/correlator/reader/report/README.md", "share/doc/correlator/correlator/reader/report/flames.png",
]


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True,
                          timeout=harness.DEADLINE_SECONDS, env={**os.environ, **environment}).stdout


class InstalledWorkload(Workload):
    """With the gem that `gem install` made of the installed package, and no other."""

    gems = None

    def command(self, script, *arguments):
        return ["ruby", "-I", harness.BUILD / "fixtures", harness.FIXTURES / script, *arguments]

    def environment(self, changes):
        return {**super().environment(changes), "GEM_PATH": str(self.gems), "RUBYLIB": ""}


class InstalledTest(harness.LiveTest):
    @classmethod
    def setUpClass(cls):
        cls.root = harness.BUILD / "installed"
        run("rm", "-rf", cls.root)
        run("cmake", "--install", harness.BUILD, "--prefix", f"/{PREFIX}", DESTDIR=str(cls.root))
        cls.prefix = cls.root / PREFIX
        [package] = (cls.prefix / "share/correlator").glob("*.gem")
        InstalledWorkload.gems = cls.root / "gems"
        run("gem", "install", "--local", "--no-document", "--install-dir", InstalledWorkload.gems,
            package)

    def test_everything_is_in_its_usual_place(self):
        self.assertEqual([], [name for name in WHAT_IS_INSTALLED
                              if not (self.prefix / name).is_file()])

    def test_the_unit_starts_the_installed_binary(self):
        unit = (self.prefix / "lib/systemd/system/correlator.service").read_text()
        self.assertEqual([f"/{PREFIX}/bin/correlator"],
                         re.findall(r"^ExecStart=(\S+)", unit, re.M))

    def test_the_configuration_that_the_unit_names_is_there_and_stays_as_it_was_changed(self):
        unit = (self.prefix / "lib/systemd/system/correlator.service").read_text()
        [name] = re.findall(r"--config (\S+)", unit)
        path = self.root / name.lstrip("/")
        path.write_text(path.read_text() + "# mine\n")
        run("cmake", "--install", harness.BUILD, "--prefix", f"/{PREFIX}", DESTDIR=str(self.root))
        self.assertIn("# mine\n", path.read_text())

    def test_no_file_names_the_folder_it_was_built_in(self):
        for path in self.prefix.rglob("*"):
            if path.is_file() and path.name != "correlator":
                self.assertNotIn(str(harness.BUILD).encode(), path.read_bytes(), path)

    def test_with_bundler_it_is_installed_as_its_documents_say(self):
        """The first three pieces of code below that heading, in order; the others are of a container and of a server."""
        text = (self.prefix / "share/doc/correlator/ruby/README.md").read_text()
        section = re.search(r"^## Bundler and containers\n(.*?)^## ", text, re.M | re.S)[1]
        unpack, gemfile, build = re.findall(r"^```\w+\n(.*?)^```", section, re.M | re.S)[:3]
        version, = re.findall(r'gem "correlator", "([\d.]+)"', gemfile)
        [package] = (self.prefix / "share/correlator").glob("*.gem")
        self.assertEqual(f"correlator-{version}.gem", package.name)
        (self.folder / "Gemfile").write_text(gemfile)
        for script in (unpack.replace("/usr/share", str(self.prefix / "share")), build, "bundle install --local"):
            run("sh", "-euc", f"cd {self.folder}; {script}")
        said = run("sh", "-c", f"cd {self.folder}; bundle exec ruby -e 'require \"correlator\"; p Correlator.publishing?'",
                   RUBYLIB="", GEM_PATH="")
        self.assertEqual("true\n", said)

    def test_the_installed_tool_records_the_installed_gem(self):
        harness.CORRELATOR, built = self.prefix / "bin/correlator", harness.CORRELATOR
        self.addCleanup(setattr, harness, "CORRELATOR", built)
        self.assertRegex(run(harness.CORRELATOR, "--version"), r"^correlator \d")
        with InstalledWorkload("sequential.rb", 12) as workload, \
                Recording(self.output, "-p", workload.pid) as recording:
            truth = workload.run()
            self.assert_ended_well(recording, recording.stop())
        found = recording.records()
        self.assertEqual([], records.wrong_requests(truth, records.totals_by(found), found))
        self.assertIn("request_id", run(harness.CORRELATOR, "report", self.output))


if __name__ == "__main__":
    harness.main()
