# SPDX-License-Identifier: GPL-2.0-only
"""OpenTelemetry's contexts by each way to a thread-local, against known CPU."""
import collections
import statistics

import harness
import otel
import records
from harness import EXIT_OK, run_correlator
from otel import FIXTURES, ROUTE_AND_USER, OtelWorkload, contexts_of

# How the variable is reached, and what doctor says of it.
MODELS = {
    "local_exec": r"static \(none\)",
    "initial_exec": r"static \(TPOFF64\)",
    "general_dynamic": r"dynamic \(DTPMOD64\+DTPOFF64\)",
    "descriptor_static": r"static \(TLSDESC\)",
    "descriptor_dynamic": r"dynamic \(TLSDESC\)",
}
# Of the share of turns that is taken for a trace's share of the time: the speed of the CPU and of
# its cache changes within a run, as other work comes and goes.
SPEED_PART = 0.1
# From a change to the first system call behind it, that call's way to our program included: 1 us at best,
# 1.5 where a system call is dear, 3.7 beside others.
WAY_NS = 5_000
TRACES = 4
SEGMENTS = 12  # of each trace, in a round
ROUNDS = 15


def ambiguous_by_trace(found):
    sums = collections.Counter()
    for record in records.of_kind(found, "cpu"):
        sums[record.get("otel.trace_id")] += record["ambiguous_ns"]
    return sums


class ModelsTest(otel.OtelTest):
    def check_model(self, model):
        if not (FIXTURES / f"otel_{model}{'' if model == 'local_exec' else '.so'}").exists():
            self.skipTest("this compiler has no such TLS model")
        with OtelWorkload(model) as workload:
            workload.do(ROUTE_AND_USER)
            result = run_correlator("doctor", "-p", workload.pid, "-k", "otel.http.route")
            self.assertEqual(EXIT_OK, result.returncode, result.stdout)
            for line in (r"OpenTelemetry +otel_thread_ctx_v1 in ", "TLS model +" + MODELS[model],
                         r"schema tls_v1, 2 names", r"otel\.http\.route = index 0"):
                self.assertRegex(result.stdout, line)
            turns = workload.turns_of(25_000_000)
            recording = self.record(workload, "-k", "otel.trace_id", "-i", "10ms")
            truth = {}
            for way, first in (("swap", 1), ("change", 11)):
                truth.update(workload.run(way, "quiet", first, 3, 12, turns))
            self.check_quiet(truth, self.end(recording))

    def check_quiet(self, truth, found):
        """
        A trace has too much only of its own ambiguous time, too little only of others'. A window is
        shorter than a segment, so no context comes and goes unseen between two boundaries.
        """
        got = contexts_of(found, "otel.trace_id")
        ambiguous = ambiguous_by_trace(found)
        self.assertEqual({*truth, ""}, {trace for trace, in got} | {""})
        for trace, truth_ns in truth.items():
            tolerance_ns = SPEED_PART * truth_ns + records.TOLERANCE_NS
            error_ns = got[trace,] - truth_ns
            others_ns = sum(ambiguous.values()) - ambiguous[trace]
            self.assertLessEqual(error_ns, ambiguous[trace] + tolerance_ns, trace)
            self.assertGreaterEqual(error_ns, -others_ns - tolerance_ns, trace)
            # The bound is one of use, too.
            self.assertLess(ambiguous[trace], 0.75 * truth_ns, trace)
            self.assertLess(abs(error_ns), 0.5 * truth_ns, trace)

    def test_local_exec(self):
        self.check_model("local_exec")

    def test_initial_exec(self):
        self.check_model("initial_exec")

    def test_general_dynamic(self):
        self.check_model("general_dynamic")

    def test_descriptor_in_the_static_block(self):
        self.check_model("descriptor_static")

    def test_descriptor_in_a_dynamic_block(self):
        self.check_model("descriptor_dynamic")

    def test_a_context_between_system_calls_is_exact(self):
        """
        What changes right after a system call is in force at the next one. What the hypervisor takes is told up to a
        tick late, so that it may be taken out of another trace: by milliseconds, but not in most rounds.
        """
        with OtelWorkload() as workload:
            recording = self.record(workload, "-k", "otel.trace_id")
            # {(way, which trace of a round): {trace ID: CPU ns}}
            truth = collections.defaultdict(dict)
            for way, base in (("swap", 0x100), ("change", 0x200)):
                for first in range(base, base + ROUNDS * TRACES, TRACES):
                    for which, trace in enumerate(sorted(
                            workload.run(way, "calls", first, TRACES, TRACES * SEGMENTS, 500_000).items())):
                        truth[way, which].update([trace])
            found = self.end(recording)
        got = contexts_of(found, "otel.trace_id")
        for which, traces in truth.items():
            self.assertEqual(ROUNDS, len(traces))
            error_ns = statistics.median(got[trace,] - truth_ns for trace, truth_ns in traces.items())
            self.assertLessEqual(abs(error_ns), records.TOLERANCE_NS + SEGMENTS * WAY_NS, which)
        self.assertEqual("lean", records.of_kind(found, "meta")[0]["mode"])


if __name__ == "__main__":
    harness.main()
