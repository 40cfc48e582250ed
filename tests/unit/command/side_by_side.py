# SPDX-License-Identifier: GPL-2.0-only
"""Runs tests that mostly wait side by side: each by itself, but what a class has set up together."""
import concurrent.futures
import sys
import unittest

WORKERS = 8


def parts(suite):
    """Single tests, and the classes that are set up as a whole."""
    shared, single = {}, []
    for test in flat(suite):
        if "setUpClass" in vars(type(test)):
            shared.setdefault(type(test), unittest.TestSuite()).addTest(test)
        else:
            single.append(unittest.TestSuite([test]))
    # These take longest.
    return [*shared.values(), *single]


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def run(part):
    result = unittest.TestResult()
    part.run(result)
    return result


def main():
    loader, module = unittest.defaultTestLoader, sys.modules["__main__"]
    suite = loader.loadTestsFromNames(sys.argv[1:], module) if sys.argv[1:] else \
        loader.loadTestsFromModule(module)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
        results = list(workers.map(run, parts(suite)))
    for result in results:
        for test, reason in result.skipped:
            print(f"{test}: skipped: {reason}", file=sys.stderr)
        for test, text in result.errors + result.failures:
            print(f"{test}\n{text}", file=sys.stderr)
    count = sum(result.testsRun for result in results)
    failed = sum(not result.wasSuccessful() for result in results)
    print(f"{count} tests, {failed} failed", file=sys.stderr)
    sys.exit(failed > 0 or count == 0)
