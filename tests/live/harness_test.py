# SPDX-License-Identifier: GPL-2.0-only
"""The rule about skips: allowed with a reason, but a failure in CI."""
import os
import subprocess
import sys
import unittest

import harness


class SkipTest(unittest.TestCase):
    def run_where_nothing_is_built(self, ci):
        return subprocess.run(
            [sys.executable, "-c", "import harness; harness.main()"], text=True,
            capture_output=True, cwd=harness.SOURCE / "tests" / "live",
            env={**os.environ, "CI": ci, "CORRELATOR_BUILD": "/nonexistent"})

    def test_where_tests_cannot_run_they_skip_with_a_reason(self):
        result = self.run_where_nothing_is_built("")
        self.assertEqual(harness.EXIT_SKIPPED, result.returncode)
        self.assertRegex(result.stdout, "SKIP: .+")

    def test_in_ci_a_skip_is_a_failure(self):
        result = self.run_where_nothing_is_built("true")
        self.assertEqual(harness.EXIT_FAILURE, result.returncode)


if __name__ == "__main__":
    unittest.main(verbosity=2)
