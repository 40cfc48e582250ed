/* SPDX-License-Identifier: GPL-2.0-only */
#include "observe/own_cost.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum {
	WINDOWS_OVER_MAX = 3
};

static uint64_t read_cpu_ns(const struct session *session)
{
	return clock_own_cpu_ns() + session_calibration_cpu_ns(session);
}

static uint64_t read_rss_bytes(void)
{
	_cleanup_file_ FILE *file = fopen("/proc/self/statm", "re");
	uint64_t size, resident;

	if (!file || fscanf(file, "%" SCNu64 " %" SCNu64, &size, &resident) != 2)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Growth since the last window of what each program ran. Returns its sum. */
static uint64_t read_programs(struct own_cost *cost, const struct session *session,
			      struct self_program growth[static SESSION_PROGRAMS_MAX])
{
	struct session_program now[SESSION_PROGRAMS_MAX];
	size_t count = session_read_programs(session, now);
	uint64_t total_ns = 0;

	for (size_t i = 0; i < count; i++) {
		const struct session_program *before = &cost->programs[i];
		bool is_known = i < cost->program_count;

		growth[i].name = now[i].name;
		growth[i].run_count = now[i].run_count - (is_known ? before->run_count : 0);
		growth[i].run_ns = now[i].run_ns - (is_known ? before->run_ns : 0);
		total_ns += growth[i].run_ns;
	}
	memcpy(cost->programs, now, count * sizeof(now[0]));
	cost->program_count = count;
	return total_ns;
}

void own_cost_begin(struct own_cost *cost, const struct session *session)
{
	cost->cpu_ns = read_cpu_ns(session);
}

void own_cost_measure(struct own_cost *cost, const struct session *session, uint64_t window_ns,
		      struct self_program programs[static SESSION_PROGRAMS_MAX],
		      struct self_record *ret_record)
{
	uint64_t programs_ns = read_programs(cost, session, programs);
	uint64_t cpu_ns = read_cpu_ns(session);

	ret_record->window_ns = window_ns;
	ret_record->own_cpu_ns = cpu_ns - cost->cpu_ns;
	ret_record->own_rss_bytes = read_rss_bytes();
	ret_record->programs = programs;
	ret_record->programs_count = cost->program_count;
	ret_record->has_programs = cost->program_count != 0;
	cost->cpu_ns = cpu_ns;
	if (window_ns)
		cost->percent =
			100.0 * (double)(ret_record->own_cpu_ns + programs_ns) / (double)window_ns;
}

bool own_cost_is_over(struct own_cost *cost, double budget_percent)
{
	if (cost->percent <= budget_percent) {
		cost->windows_over = 0;
		return false;
	}
	if (++cost->windows_over < WINDOWS_OVER_MAX)
		return false;
	cost->windows_over = 0;
	return true;
}
