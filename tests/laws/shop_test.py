# SPDX-License-Identifier: GPL-2.0-only
"""A shop as they are (fixtures/shop), beside busy loops: the report says of each endpoint what it has used, with its
pool, its threads and its programs; the books balance, nothing looks like damage, and all of it is on one screen.

The shop knows what its endpoints use between two readings of a thread's clock. What is around, Puma, Rack and Sinatra,
is what GET /plain costs, which does nothing else. Nine times that is allowed: GET /search hands on to three threads of a
pool, and is woken by each, which is dear on some machines. 2 % are for what threads do between their context and the
reading: to begin and to end, and in C for the programs.
"""
import http.client
import json
import os
import re
import subprocess
import threading

import law
from law import harness, records

import puma_test

SECONDS = 600 if harness.IS_LONG else 6
CONNECTIONS = 4
PATHS = {
    "GET /plain": "/plain",
    "GET /orders/:id": "/orders/{number}",
    "GET /search": "/search",
    "GET /mail": "/mail",
    "GET /reports/:kind": "/reports/{number}",
    "GET /log": "/log",
}
AROUND = 9  # times what GET /plain costs
SLACK_PART = 0.02
SCREEN = {"COLUMNS": "80"}
LINES_MAX = 30
# A share of 1 % on the threads of a pool brings it, and its lines are not among the LINES_MAX.
ADVICE = r"\n[\d.]+ % of the CPU was in threads of a pool,[^\n]*\n(?: [^\n]*\n)*"


class Shop(puma_test.Puma):
    APP = harness.FIXTURES / "shop"
    boots = 0  # how often each path was asked for before the recording

    def environment(self):
        return {"SHOP_TRUTH": str(self.folder / "truth")}

    def has_booted(self):
        self.boots += 1
        if self.process.poll() is not None:
            raise RuntimeError("Puma does not start")
        try:
            return len(puma_test.children(self.pid)) >= puma_test.WORKERS and all(
                self.get(path.format(number=1), "boot") == b"ok\n" for path in PATHS.values())
        except OSError:
            return False

    def truth(self):
        """{endpoint: ns} of all workers since they booted, the programs' with it."""
        used = dict.fromkeys(PATHS, 0)
        for worker in self.workers:
            said = json.loads((self.folder / f"truth.{worker}").read_text())
            for endpoint, ns in said["used"].items():
                used[endpoint] += ns
            used["GET /reports/:kind"] += said["children"]
        return used


class Customer(threading.Thread):
    """Asks for one path after the other, until it is stopped."""

    def __init__(self, port, number):
        super().__init__()
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=harness.DEADLINE_SECONDS)
        self.number = number
        self.is_over = threading.Event()
        self.error = None
        self.asked = dict.fromkeys(PATHS, 0)

    def run(self):
        try:
            while not self.is_over.is_set():
                for endpoint in PATHS:
                    self.ask(endpoint)
                self.number += CONNECTIONS
        except (OSError, http.client.HTTPException, AssertionError) as error:
            self.error = error
        self.connection.close()

    def ask(self, endpoint):
        self.connection.request("GET", PATHS[endpoint].format(number=self.number))
        answer = self.connection.getresponse().read()
        assert answer == b"ok\n", (endpoint, answer)
        self.asked[endpoint] += 1


class ShopTest(law.LawTest):
    def serve(self, seconds):
        """How many requests each endpoint had, what they used, and how many came before."""
        shop = self.enter(Shop(self.folder))
        self.enter(law.Load())
        # From here on, to the books' end.
        recording = self.enter(law.Recording(self.output, "-p", str(shop.pid)))
        customers = [Customer(shop.port, number) for number in range(CONNECTIONS)]
        for customer in customers:
            customer.start()
        customers[0].is_over.wait(seconds)
        for customer in customers:
            customer.is_over.set()
        for customer in customers:
            customer.join()
            self.assertIsNone(customer.error)
        shop.process.terminate()
        shop.wait()
        self.assertEqual(harness.EXIT_OK, recording.wait(), recording.lines)
        self.assertEqual([], [line for line in recording.lines if "warning" in line or "error" in line])
        asked = {endpoint: sum(customer.asked[endpoint] for customer in customers) for endpoint in PATHS}
        return asked, shop.truth(), shop.boots

    def test_a_shop_on_a_busy_machine(self):
        asked, used, boots = self.serve(SECONDS)
        report = json.loads(harness.run_correlator("report", "-f", "json", self.output).stdout)
        rows = {row["key"]: row for row in report["rows"]}
        self.assertEqual(set(PATHS), set(rows))
        self.assertEqual(asked, {endpoint: row["requests"] for endpoint, row in rows.items()})
        around_ns = AROUND * rows["GET /plain"]["cpu_ns"] / rows["GET /plain"]["requests"]
        for endpoint, row in rows.items():
            slack_ns = SLACK_PART * used[endpoint]
            # The truth includes the requests before the recording. On a busy machine such a request may use twice the mean.
            before_ns = 2 * boots * used[endpoint] / (row["requests"] + boots)
            self.assertGreater(row["cpu_ns"], used[endpoint] - slack_ns - before_ns, endpoint)
            self.assertLess(row["cpu_ns"], used[endpoint] + slack_ns + row["requests"] * around_ns, endpoint)
        self.assertTrue(report["books"]["balanced"] and report["books"]["matches_records"])
        found = [record for _, record in records.read_records(self.output)]
        self.assertEqual([], records.unbalanced(found))
        screen = subprocess.run([harness.CORRELATOR, "report", self.output], env={**os.environ, **SCREEN},
                                capture_output=True, text=True, timeout=harness.DEADLINE_SECONDS, check=True)
        self.assertEqual("", screen.stderr)
        without_advice = re.sub(ADVICE, "", screen.stdout)
        self.assertLessEqual(without_advice.count("\n"), LINES_MAX, screen.stdout)
        self.assertRegex(screen.stdout, r"\nbooks +balanced to 0 ns of [^;]*; 0 lost;")


if __name__ == "__main__":
    law.main()
