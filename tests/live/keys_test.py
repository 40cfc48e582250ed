# SPDX-License-Identifier: GPL-2.0-only
"""Eight keys at once, in tables of all sizes and orders, against what the workload put there."""
import harness
import records
from harness import Recording, Workload

KEYS = [f"wanted_{number}" for number in range(8)]
CONTEXT_KEYS_MAX = 32  # of the gem; its table has 64 slots then
SEED = 20240229
BURNT_NS = 2_000_000  # Tables::BURN_MS, less what is read before and after
# What the last lines of Ruby before a change of context take.
SLACK_NS = 300_000


def symbols(names):
    """As source code has them: such a Symbol has its ID from the start."""
    return f"[{', '.join(':' + name for name in names)}]"


class KeysTest(harness.LiveTest):
    def observe(self, call):
        """What a line of tables.rb answers, and the records."""
        workload = self.enter(Workload("driven.rb", environment={"GROUND_TRUTH": "off"}))
        workload.evaluate(f'require "{harness.FIXTURES / "tables.rb"}"')
        workload.evaluate(symbols(KEYS) + ".size")
        options = [word for key in KEYS for word in ("-k", key)]
        recording = self.enter(Recording(self.output, "-p", workload.pid, *options))
        answer = workload.evaluate(call)
        self.assert_ended_well(recording, recording.stop())
        return answer, records.of_kind(recording.records(), "cpu")

    def keys_of(self, record):
        return {key: record[key] for key in KEYS if key in record}

    def test_tables_of_every_capacity_in_any_order(self):
        answer, found = self.observe(f"Tables.burn_all({symbols(KEYS)}, {SEED})")
        self.assertEqual(3 * 7 - 3, len(answer))
        wanted = [{key: value for key, value in pairs.items() if key in KEYS}
                  for _, pairs in answer]
        # Ruby gives the next thread the tid of one that is gone: the values tell them apart.
        got = {tid: [self.keys_of(record) for record in found
                     if record["tid"] == tid and record["cpu_ns"] > BURNT_NS]
               for tid, _ in answer}
        for (tid, _), keys in zip(answer, wanted):
            self.assertIn(keys, got[tid])
        # What a thread does under no context is nobody's, and some ms where system calls are dear.
        self.assertEqual([], [keys for contexts in got.values() for keys in contexts
                              if any(keys.values()) and keys not in wanted])
        self.assertEqual([], [record for record in found if record["kind"] == "cpu" and
                              record["tid"] in got and "unknown" in record.get("flags", ())])

    def test_where_a_wanted_one_is_missing_those_that_there_are_are_named(self):
        workload = self.enter(Workload("driven.rb", environment={"GROUND_TRUTH": "off"}))
        recording = self.enter(Recording(self.output, "-p", workload.pid, "-k", "requst_id", "-i", "100ms"))
        for _ in range(3):
            workload.evaluate('Correlator.with(request_id: "r", tenant: "t") { Workload.spin_ms(110) }')
        self.assertEqual(harness.EXIT_OK, recording.stop(), recording.lines)
        said = [line for line in recording.lines if "no context had" in line]
        self.assertEqual(1, len(said), recording.lines)
        self.assertRegex(said[0], r"no context had the key requst_id; contexts have: (request_id, tenant|tenant, request_id)$")

    def test_contexts_that_grow_to_as_many_keys_as_there_may_be(self):
        keys = KEYS + [f"other_{number}" for number in range(CONTEXT_KEYS_MAX - len(KEYS))]
        answer, found = self.observe(f"Tables.grow({symbols(keys)}, {SEED})")
        self.assertEqual(CONTEXT_KEYS_MAX, len(answer))
        truth = {}
        for pairs, cpu_ns in answer:
            wanted = frozenset((key, value) for key, value in pairs.items() if key in KEYS)
            truth[wanted] = truth.get(wanted, 0) + cpu_ns
        self.assertGreater(len(truth), len(KEYS))
        totals = {}
        for record in found:
            wanted = frozenset(self.keys_of(record).items())
            totals[wanted] = totals.get(wanted, 0) + record["cpu_ns"]
        for wanted, cpu_ns in truth.items():
            with self.subTest(wanted=len(wanted)):
                steps = cpu_ns // 1_000_000
                self.assertAlmostEqual(cpu_ns, totals.get(wanted, 0), delta=steps * SLACK_NS)


if __name__ == "__main__":
    harness.main()
