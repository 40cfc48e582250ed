# SPDX-License-Identifier: GPL-2.0-only
"""What counts as a fault, and that the equivalents still name some."""
import importlib.machinery
import importlib.util
import os
import pathlib
import stat
import subprocess
import sys
import types
import unittest
from unittest import mock

import faults
import trial

HERE = pathlib.Path(__file__).resolve().parent


def load_run():
    loader = importlib.machinery.SourceFileLoader("mutation_run", str(HERE / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


run = load_run()


def planted(body):
    """{(kind, the body with it)}"""
    source = f"static int name(void)\n{{\n{body}\n}}\n"
    begin, end = source.index(body), len(source) - source.index(body) - len(body)
    found = set()
    for fault in faults.find_faults("name.c", source):
        text = fault.plant(source)
        found.add((fault.kind, text[begin:len(text) - end]))
    return found


class FaultsTest(unittest.TestCase):
    def test_a_comparison_is_turned_round_and_its_bound_moved(self):
        self.assertEqual({("comparison", "if (a >= b) c();"), ("boundary", "if (a <= b) c();"),
                          ("statement", "if (a < b) ;")}, planted("if (a < b) c();"))
        self.assertEqual({("comparison", "if (a) c();"), ("statement", "if (!a) ;")},
                         planted("if (!a) c();"))

    def test_the_bound_of_a_clamp_changes_nothing(self):
        for clamp in ("x = a < b ? a : b;", "if (a->x > b[0].y) a->x = b[0].y;"):
            self.assertNotIn("boundary", {kind for kind, _ in planted(clamp)}, clamp)
        self.assertIn("boundary", {kind for kind, _ in planted("x = a < b ? a : c;")})
        self.assertIn("boundary", {kind for kind, _ in planted("if (a > b) a = c;")})

    def test_arithmetic_and_logic(self):
        self.assertEqual({("arithmetic", "a += b - c;"), ("arithmetic", "a -= b + c;"),
                          ("statement", ";")}, planted("a += b + c;"))
        self.assertIn(("logic", "return a || b;"), planted("return a && b;"))

    def test_signs_of_one_operand_are_none_of_two(self):
        for body in ("f(-a);", "*a = b;", "f(&a);", "struct a *b = c;", "f((char *)a);"):
            self.assertFalse({kind for kind, _ in planted(body)} & {"arithmetic"}, body)

    def test_constants_move_by_one_but_what_may_be_true_becomes_false(self):
        self.assertIn(("constant", "a = 1;"), planted("a = 0;"))
        self.assertIn(("constant", "a = 0;"), planted("a = 1;"))
        self.assertIn(("constant", "a = b + 9u;"), planted("a = b + 8u;"))
        for body in ("char text[24];", "f(sizeof(a[0]));", "struct a b = { 0 };"):
            self.assertFalse({kind for kind, _ in planted(body)} & {"constant"}, body)

    def test_arguments_change_places_where_that_makes_a_difference(self):
        for body in ("f(a, b);", "return strcmp(a, b);"):
            self.assertIn("swap", {kind for kind, _ in planted(body)}, body)
        for body in ("return strcmp(a, b) == 0;", "if (!memcmp(a, b, 8)) c();", "f(a, a);"):
            self.assertNotIn("swap", {kind for kind, _ in planted(body)}, body)

    def test_statements_but_no_declarations_are_dropped(self):
        self.assertEqual({("statement", "if (a) { ; d(); }"), ("statement", "if (a) { c(); ; }")},
                         planted("if (a) { c(); d(); }"))
        self.assertIn(("statement", "else ;"), planted("else c(a);"))
        for body in ("int a = b;", "struct a *b;", "a_t b = { .c = d };", "a_t *b = c;",
                     "assert(a);"):
            self.assertNotIn("statement", {kind for kind, _ in planted(body)}, body)

    def test_the_last_return_is_no_early_one(self):
        self.assertEqual({("early return", "if (a) ;\nreturn b;")},
                         planted("if (a) return c;\nreturn b;"))
        self.assertIn(("early return", "switch (a) { case b: c(); ; }"),
                      planted("switch (a) { case b: c(); break; }"))

    def test_neighbours_change_places(self):
        self.assertIn(("swap", "f(b->c, a, &d);"), planted("f(a, b->c, &d);"))
        self.assertIn(("swap", "f(a, &d, b->c);"), planted("f(a, b->c, &d);"))
        self.assertNotIn("swap", {kind for kind, _ in planted("f(a, a, g(b));")})

    def test_what_no_function_runs_has_no_faults(self):
        for source in ("#define A(x) ((x) < 4)\n", "/* a < b */", "enum { A = 1 + 2 };",
                       "static const int a[] = { 1, 2 + 3 };", "_Static_assert(1 < 2, \"a\");"):
            self.assertEqual([], faults.find_faults("name.c", source), source)

    def test_what_is_for_other_machines_has_no_faults(self):
        source = ("int f(int a)\n{\n#ifdef __TARGET_ARCH_arm64\n\treturn a < 4;\n#else\n"
                  "\treturn a > 6;\n#endif\n}\n"
                  "int g(int a)\n{\n#if defined(__x86_64__)\n\ta++;\n#elif defined(__aarch64__)\n"
                  "\ta--;\n#else\n\ta = 8;\n#endif\n#ifndef __aarch64__\n\ta = 2;\n#endif\n"
                  "#ifdef __bpf__\n\ta = 3;\n#else\n\ta = 5;\n#endif\n\treturn a;\n}\n")
        both = {"a = 3", "a = 5"}
        for machine, own in (("x86_64", {"a > 6", "a++", "a = 2"}), ("aarch64", {"a < 4", "a--"})):
            found = {fault.line for fault in faults.find_faults("name.c", source, machine)}
            lines = source.split("\n")
            self.assertEqual(own | both,
                             {lines[line - 1].strip("\t;").removeprefix("return ") for line in found},
                             machine)

    def test_names_lead_to_the_place(self):
        source = "int f(int a)\n{\n\treturn a < 4;\n}\n"
        self.assertIn("name.c:3:11:comparison",
                      [fault.name for fault in faults.find_faults("name.c", source)])

    def test_each_equivalent_is_a_fault_that_can_be_planted(self):
        listed = subprocess.run([sys.executable, "-B", HERE / "run", "--list"],
                                capture_output=True, text=True)
        self.assertEqual("", listed.stderr)
        self.assertEqual(0, listed.returncode)


class VerdictTest(unittest.TestCase):
    """What is said of a fault in "area/file.c", and that the rate is of what was judged."""

    def bench(self, outcome, is_built=True):
        """One with a test that says so of the fault, if that is built into it; None: it is skipped."""
        test = trial.Test("unit.area.test_file", (outcome,), (), "test_file")
        bench = run.Bench.__new__(run.Bench)
        bench.copy, bench.build, bench.checked = mock.Mock(), mock.Mock(), {}
        bench.lock = mock.MagicMock()
        bench.build.test_names.return_value = [test.name]
        bench.build.tests.return_value = {test.name: test}
        bench.build.make.side_effect = [None, None if is_built else trial.NO_WORK]
        return bench

    def verdict(self, native, whole=None, is_native=False):
        """By these two benches; of the second one the area knows a test only if there is one."""
        area = run.Area("area/", 90, False, ("unit.area.",), ("unit.area.",) if whole else ())
        fault = types.SimpleNamespace(file="area/file.c")
        planted = run.Round([fault], {}, 0, types.SimpleNamespace(native=is_native, verbose=False))

        def run_test(test, seconds_without_fault=None):
            outcome, = test.command
            return True if outcome is False and seconds_without_fault is None else outcome

        with mock.patch.object(trial, "run_test", run_test):
            return planted.try_fault(fault, area, native,
                                     types.SimpleNamespace(whole=lambda: whole))[0]

    def test_a_test_that_fails_catches_it(self):
        self.assertEqual("caught", self.verdict(self.bench(False)))
        self.assertEqual("caught", self.verdict(self.bench(True), self.bench(False)))

    def test_what_passes_all_of_them_survives(self):
        self.assertEqual("survived", self.verdict(self.bench(True)))
        self.assertEqual("survived", self.verdict(self.bench(True), self.bench(True)))
        self.assertEqual("survived", self.verdict(self.bench(True), self.bench(False), is_native=True))

    def test_what_only_a_test_that_is_not_run_is_built_from_is_not_judged(self):
        self.assertEqual("unjudged", self.verdict(self.bench(True, is_built=False),
                                                  self.bench(False), is_native=True))
        self.assertEqual("caught", self.verdict(self.bench(True, is_built=False), self.bench(False)))

    def test_what_no_test_at_all_is_built_from_survives(self):
        self.assertEqual("survived", self.verdict(self.bench(True, is_built=False)))

    def test_what_a_test_may_notice_that_is_skipped_is_not_judged(self):
        self.assertEqual("unjudged", self.verdict(self.bench(None)))


@unittest.skipIf(os.geteuid(), "only root's tests can break what is the machine's")
class RunTest(unittest.TestCase):
    def passes(self, script):
        return trial.run_test(trial.Test("unit.area.test_file", ("sh", "-ec", script), (), "test_file"))

    def test_the_devices_that_it_breaks_are_its_own(self):
        before = sorted(os.listdir("/dev"))
        self.assertTrue(self.passes("rm /dev/full; chmod 0 /dev/zero; >/dev/shm/mutant; test ! -e /dev/full"))
        self.assertEqual(before, sorted(os.listdir("/dev")))
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))
        self.assertTrue(stat.S_IMODE(os.stat("/dev/zero").st_mode))
        self.assertFalse(os.path.exists("/dev/shm/mutant"))

    def test_the_devices_that_tests_need_are_there(self):
        self.assertTrue(self.passes("head -c 1 /dev/zero >/dev/null; ! echo >/dev/full; "
                                    "head -c 1 /dev/urandom >/dev/stdout; script -qec true /dev/null"))

    def test_it_runs_where_it_was_started(self):
        self.assertTrue(self.passes(f"test {os.getcwd()} = \"$PWD\""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
