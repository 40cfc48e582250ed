/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/cost/own_cost.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "recorder/target/proc/agent.h"

static const char *error_text(int error)
{
	return error == -EPERM ? "that needs CAP_SYS_ADMIN" : strerror(-error);
}

static uint64_t read_cpu_ns(const struct session *session)
{
	return clock_own_cpu_ns() + session_calibration_cpu_ns(session) + agent_cpu_ns();
}

static uint64_t read_rss_bytes(void)
{
	_cleanup_file_ FILE *file = fopen("/proc/self/statm", "re");
	uint64_t resident = 0;
	bool is_read = file && fscanf(file, "%*u %" SCNu64, &resident) == 1;

	return is_read ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static uint64_t read_skipped_runs(const struct session *session)
{
	struct session_program programs[SESSION_PROGRAMS_MAX];
	size_t count = session_read_programs(session, programs);
	uint64_t skipped_runs = 0;

	for (size_t i = 0; i < count; i++)
		skipped_runs += programs[i].skipped_runs;
	return skipped_runs;
}

static void read_before(struct own_cost *cost, uint64_t now_ns)
{
	cost->program_count = session_read_programs(cost->session, cost->before);
	cost->begin_ns = now_ns;
	cost->is_open = true;
}

static void add_growth(struct own_cost *cost, uint64_t now_ns)
{
	struct session_program now[SESSION_PROGRAMS_MAX];
	size_t count = session_read_programs(cost->session, now);

	cost->is_open = false;
	cost->measured_ns += now_ns - cost->begin_ns;
	cost->samples += cost->is_sampled;
	for (size_t i = 0; i < count; i++) {
		cost->grown[i].run_count += now[i].run_count - cost->before[i].run_count;
		cost->grown[i].run_ns += now[i].run_ns - cost->before[i].run_ns;
	}
}

static void begin_stretch(struct own_cost *cost, uint64_t now_ns)
{
	int r = session_time_programs(cost->session, true);

	if (r == 0) {
		read_before(cost, now_ns);
		return;
	}
	cost->error = r;
	cost->is_sampled = false;
}

/* Also called early, when the window ends. */
static void end_stretch(struct own_cost *cost, uint64_t now_ns)
{
	if (cost->is_sampled)
		(void)session_time_programs(cost->session, false);
	add_growth(cost, now_ns);
}

void own_cost_begin(struct own_cost *cost, struct session *session, bool measures_all,
		    uint64_t now_ns, uint64_t window_end_ns)
{
	bool is_timed = session_programs_are_timed();

	*cost = (struct own_cost){ .session = session, .is_sampled = !measures_all && !is_timed };
	cost->cpu_ns = read_cpu_ns(session);
	if (measures_all && !is_timed)
		cost->error = session_time_programs(session, true);
	if (cost->error < 0)
		log_warning("the kernel does not measure our programs (%s): what they cost is not "
			    "known, and in no budget",
			    error_text(cost->error));
	own_cost_next_window(cost, now_ns, window_end_ns);
	if (cost->is_sampled)
		own_cost_sample(cost, now_ns);
}

uint64_t own_cost_due_ns(const struct own_cost *cost)
{
	if (!cost->is_sampled)
		return UINT64_MAX;
	return cost->is_open ? cost->sampling.end_ns : cost->sampling.begin_ns;
}

void own_cost_sample(struct own_cost *cost, uint64_t now_ns)
{
	if (now_ns < own_cost_due_ns(cost))
		return;
	if (!cost->is_open) {
		begin_stretch(cost, now_ns);
		return;
	}
	end_stretch(cost, now_ns);
	sampling_plan(&cost->sampling, now_ns, cost->window_end_ns, random_seed());
}

void own_cost_next_window(struct own_cost *cost, uint64_t now_ns, uint64_t window_end_ns)
{
	memset(cost->grown, 0, sizeof(cost->grown));
	cost->measured_ns = cost->samples = 0;
	cost->window_end_ns = window_end_ns;
	if (cost->is_sampled)
		sampling_plan(&cost->sampling, now_ns, window_end_ns, random_seed());
	else if (cost->error == 0)
		read_before(cost, now_ns);
}

/* Scales a measured value to the whole window. */
static uint64_t scale(const struct own_cost *cost, uint64_t value, uint64_t window_ns)
{
	if (!cost->is_sampled)
		return value;
	return (uint64_t)((double)value * (double)window_ns / (double)cost->measured_ns);
}

/* The programs' share of one CPU during the measured time. */
static double fill_programs(struct own_cost *cost, uint64_t window_ns,
			    struct self_program programs[static SESSION_PROGRAMS_MAX],
			    struct self_record *record)
{
	uint64_t runs = 0, sum_ns = 0;

	for (size_t i = 0; i < cost->program_count; i++)
		runs += cost->grown[i].run_count;
	/* The scheduler runs all the time: if no runs were counted, counting was off. */
	record->has_programs = cost->measured_ns && runs;
	if (cost->error < 0)
		record->programs_error = error_text(cost->error);
	if (!record->has_programs)
		return cost->programs_part;
	for (size_t i = 0; i < cost->program_count; i++) {
		programs[i] = (struct self_program){
			.name = cost->before[i].name,
			.run_count = scale(cost, cost->grown[i].run_count, window_ns),
			.run_ns = scale(cost, cost->grown[i].run_ns, window_ns),
		};
		sum_ns += cost->grown[i].run_ns;
	}
	record->programs = programs;
	record->programs_count = cost->program_count;
	record->programs_measured_ns = cost->is_sampled ? cost->measured_ns : window_ns;
	record->programs_samples = cost->samples;
	return (double)sum_ns / (double)cost->measured_ns;
}

void own_cost_measure(struct own_cost *cost, uint64_t now_ns, uint64_t window_ns,
		      uint64_t asked_cpu_ns,
		      struct self_program programs[static SESSION_PROGRAMS_MAX],
		      struct self_record *ret_record)
{
	uint64_t cpu_ns, asked_ns = asked_cpu_ns - cost->asked_cpu_ns;
	uint64_t skipped_runs = read_skipped_runs(cost->session);

	if (cost->is_open)
		end_stretch(cost, now_ns);
	cost->programs_part = fill_programs(cost, window_ns, programs, ret_record);
	cpu_ns = read_cpu_ns(cost->session);
	ret_record->window_ns = window_ns;
	ret_record->own_cpu_ns = cpu_ns - cost->cpu_ns;
	ret_record->own_rss_bytes = read_rss_bytes();
	ret_record->skipped_runs = skipped_runs - cost->skipped_runs;
	cost->skipped_runs = skipped_runs;
	/* The two figures are read at different instants. */
	if (asked_ns > ret_record->own_cpu_ns)
		asked_ns = ret_record->own_cpu_ns;
	cost->cpu_ns = cpu_ns;
	cost->asked_cpu_ns = asked_cpu_ns;
	if (window_ns)
		cost->percent =
			100.0 * ((double)(ret_record->own_cpu_ns - asked_ns) / (double)window_ns +
				 cost->programs_part);
}
