# SPDX-License-Identifier: GPL-2.0-only
"""What makes a run pass or fail, and what it says: with tests of ctest that fail as they are told."""
import dataclasses
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import history
import parts
import run
import stages
import trials
from trials import Result

BUILD = pathlib.Path("build")


def result(name, status="failed", output="", labels=(), seconds=1.0):
    return Result(BUILD, name, status, seconds, output, labels)


class Script:
    """In place of ctest: the results of each call in turn."""

    def __init__(self, *calls):
        self.calls = list(calls)
        self.asked = []
        self.environments = []

    def __call__(self, _build, *arguments, environment=(), **_options):
        self.asked.append(arguments)
        self.environments.append(environment)
        return self.calls.pop(0)


class TrialsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.kept = pathlib.Path(folder.name) / "unsteady"

    def judge(self, *calls):
        self.script = Script(*calls)
        judged = trials.Trials(self.kept, run=self.script)
        judged.run(BUILD)
        judged.try_again()
        return judged

    def measured(self, name="live.a", status="failed", output=""):
        return result(name, status, output, ("kernel", "timing"))

    def test_all_passed_is_passed(self):
        judged = self.judge([result("a", "passed"), self.measured(status="passed")])
        self.assertTrue(judged.passed())
        self.assertEqual(["2 tests: 2 passed at once, 0 unsteady, 0 skipped, 0 failed"], judged.verdict())

    def test_a_pure_test_has_one_chance(self):
        judged = self.judge([result("unit.a"), self.measured(status="passed")])
        self.assertFalse(judged.passed())
        self.assertEqual(1, len(self.script.asked))
        self.assertIn("  FAILED: unit.a (build)", judged.verdict())

    def test_what_failed_is_shown_by_the_end_of_its_output(self):
        judged = self.judge([result("unit.a", output="\n".join(f"line {number}" for number in range(100))),
                             result("unit.b", "passed", "fine")])
        shown = judged.ends_of_output()
        self.assertEqual(["== unit.a ended with", "line 60", "line 99"], [shown[0], shown[1], shown[-1]])
        self.assertEqual(1 + trials.SHOWN_LINES, len(shown))

    def test_one_that_measures_is_run_again_alone_and_named(self):
        judged = self.judge([self.measured(output="658 us")], [self.measured(status="passed")])
        self.assertTrue(judged.passed())
        self.assertEqual(("-R", "^live\\.a$"), self.script.asked[1])
        self.assertEqual({"live.a": 1}, judged.unsteady)
        self.assertEqual("658 us", (self.kept / "live.a.1.log").read_text())
        self.assertIn("1 unsteady", judged.verdict()[0])
        self.assertIn("live.a failed 1 of 2", judged.verdict()[1])

    def test_it_is_run_again_in_the_same_environment(self):
        environment = (("CORRELATOR_LONG", "1"),)
        self.judge([dataclasses.replace(self.measured(), environment=environment)], [self.measured(status="passed")])
        self.assertEqual([(), environment], self.script.environments)

    def test_it_has_two_more_chances_and_no_third(self):
        passed = self.judge([self.measured()], [self.measured()], [self.measured(status="passed")])
        self.assertTrue(passed.passed())
        self.assertEqual({"live.a": 2}, passed.unsteady)
        failed = self.judge([self.measured()], [self.measured()], [self.measured()])
        self.assertFalse(failed.passed())
        self.assertEqual(["live.a"], [one.name for one in failed.failed])
        self.assertEqual({}, failed.unsteady)

    def test_what_a_sanitizer_says_is_final(self):
        for output in ("==7==ERROR: AddressSanitizer: heap-use-after-free", "WARNING: ThreadSanitizer: data race",
                       "a.c:12:3: runtime error: signed integer overflow"):
            judged = self.judge([self.measured(output=output)])
            self.assertFalse(judged.passed(), output)
            self.assertEqual(1, len(self.script.asked))

    def test_a_sanitizers_word_at_a_later_chance_is_final_too(self):
        judged = self.judge([self.measured()], [self.measured(output="SUMMARY: AddressSanitizer: leak")])
        self.assertFalse(judged.passed())
        self.assertEqual(2, len(self.script.asked))

    def test_more_than_eight_unsteady_ones_fail_the_run(self):
        names = [f"live.{number}" for number in range(9)]
        for count, passed in ((8, True), (9, False)):
            judged = self.judge([self.measured(name) for name in names[:count]],
                                *([self.measured(name, "passed")] for name in names[:count]))
            self.assertEqual(passed, judged.passed())
            self.assertEqual(not passed, "  FAILED: more than 8 tests are unsteady" in judged.verdict())

    def test_one_that_is_gone_at_its_second_chance_has_failed(self):
        self.assertFalse(self.judge([self.measured()], [], []).passed())

    def test_what_is_no_test_can_fail(self):
        judged = self.judge([])
        judged.fail(BUILD, "fuzz")
        self.assertFalse(judged.passed())

    def test_the_longest_come_first(self):
        judged = self.judge([result(str(seconds), "passed", seconds=seconds) for seconds in range(30)])
        self.assertEqual(["    29.0  29", "    28.0  28"], judged.longest()[:2])
        self.assertEqual(20, len(judged.longest()))


class CtestTest(unittest.TestCase):
    """Of ctest itself: what it says of each kind of end."""

    PROJECT = """cmake_minimum_required(VERSION 3.22)
project(tests NONE)
enable_testing()
add_test(NAME passes COMMAND true)
add_test(NAME fails COMMAND sh -c "printf 'a\\\\001b'; exit 1")
add_test(NAME skips COMMAND sh -c "exit 77")
add_test(NAME is_not_there COMMAND no_such_program)
add_test(NAME hangs COMMAND sleep 60)
set_tests_properties(fails PROPERTIES LABELS "kernel;timing")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(hangs PROPERTIES TIMEOUT 1)
"""

    def test_each_kind_of_end(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder)
            (source / "CMakeLists.txt").write_text(self.PROJECT)
            subprocess.run(["cmake", "-S", source, "-B", source / "build"], check=True, capture_output=True)
            # ctest's own output would be taken for this test's.
            command = [sys.executable, "-B", "-c",
                       "import sys, trials; print(*trials.run_ctest(sys.argv[1], jobs=2), sep='\\n')",
                       source / "build"]
            said = subprocess.run(command, check=True, text=True, capture_output=True,
                                  cwd=pathlib.Path(__file__).parent).stdout
        for name, status in (("passes", "passed"), ("fails", "failed"), ("skips", "skipped"),
                             ("is_not_there", "failed"), ("hangs", "failed")):
            self.assertRegex(said, f"name='{name}', status='{status}'")
        self.assertRegex(said, "name='fails'.*labels=\\('kernel', 'timing'\\)")


class StagesTest(unittest.TestCase):
    def test_it_says_what_each_took_now_and_last_time(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "build" / "stages.json"
            for expected in (["== unit: pure code (0:05 since the start)", "-- unit took 1:35"],
                             ["== unit: pure code (0:05 since the start, 1:35 last time)", "-- unit took 1:35"]):
                said, times = [], iter((0, 5, 5, 100, 200))
                clock = stages.Stages(file, show=said.append, clock=lambda: next(times))
                with clock.stage("unit", "pure code"):
                    pass
                self.assertEqual(expected, said)
                self.assertEqual(["    1:35  unit", "    3:20  in all"], clock.summary())
                clock.save()


class HistoryTest(unittest.TestCase):
    """In a repository of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        self.document = self.tree / "README.md"
        self.document.write_text(f"before\n{history.BEGIN}{history.HEADER}{history.END}after\n")
        self.git("init", "-q")
        self.commit(1)

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words], cwd=self.tree,
                       check=True, capture_output=True)

    def commit(self, count):
        for _ in range(count):
            self.git("commit", "-q", "--allow-empty", "-m", "one")

    def ages(self, *parts):
        return list(history.ages(self.document, self.tree, parts))

    def test_a_row_is_written_and_ages(self):
        self.assertEqual(["  soak: never recorded"], self.ages("soak"))
        history.record(self.document, self.tree, {"soak": "2 tests, passed"})
        self.assertRegex(self.ages("soak")[0], r"^  soak: 0 commits ago \([0-9-]+\), 2 tests, passed$")
        self.commit(2)
        history.record(self.document, self.tree, {"fuzz": "done, passed"})
        self.assertRegex(self.ages("soak")[0], "^  soak: 2 commits ago")
        self.assertRegex(self.ages("fuzz")[0], "^  fuzz: 0 commits ago")
        text = self.document.read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith(f"{history.END}after\n"), text)

    def test_an_old_one_is_warned_of(self):
        history.record(self.document, self.tree, {"soak": "done, passed"})
        with unittest.mock.patch.object(history, "WARN_COMMITS", 2):
            self.commit(2)
            self.assertNotIn("WARNING", self.ages("soak")[0])
            self.commit(1)
            self.assertIn("WARNING: more than 2", self.ages("soak")[0])

    def test_a_commit_that_is_not_here_is_said_so(self):
        row = history.Row("soak", "0123456", "2026-01-01", "passed")
        self.document.write_text(history.BEGIN + history.HEADER + row.line() + history.END)
        self.assertEqual(["  soak: at 0123456, which is no commit here"], self.ages("soak"))


class ArgumentsTest(unittest.TestCase):
    def test_without_any_it_is_the_gate(self):
        self.assertEqual([("gate", None)], run.read_arguments([]).parts)

    def test_everything_is_each_part(self):
        self.assertEqual(list(parts.PARTS), [name for name, _ in run.read_arguments(["--all"]).parts])

    def test_a_part_takes_its_values(self):
        self.assertEqual([("kernels", ["6.1", "newest"]), ("soak", 7), ("rubies", parts.RUBIES)],
                         run.read_arguments(["kernels=6.1,newest", "soak=7", "rubies"]).parts)

    def test_a_wrong_one_is_refused(self):
        for word in ("nothing", "kernels=4.4", "soak=", "soak=x", "gate=1"):
            with self.assertRaises(SystemExit, msg=word), self.quiet():
                run.read_arguments([word])

    def quiet(self):
        return unittest.mock.patch("sys.stderr")

    def test_each_has_its_turn(self):
        self.assertEqual(parts.KERNELS, sorted((name for count in range(100, 100 + len(parts.KERNELS))
                                              for name in parts.take_turn(parts.KERNELS, count)),
                                             key=parts.KERNELS.index))
        self.assertEqual([], parts.take_turn([], 100))

    def test_beside_a_name_it_is_the_turn_of_another(self):
        for count in range(len(parts.KERNELS)):
            with unittest.mock.patch("history.git", return_value=str(count)):
                named, turn = parts.PARTS["kernels"].read("kernels", "5.10,turn")
            self.assertEqual("5.10", named)
            self.assertNotEqual("5.10", turn)


if __name__ == "__main__":
    unittest.main()
