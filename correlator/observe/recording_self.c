/* What watching costs, written down in each window, and kept to a budget where one was given. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "observe/recording_internal.h"

/* So many windows over the budget in a row are no accident. */
enum {
	WINDOWS_OVER_BUDGET_MAX = 3
};

static uint64_t read_rss_bytes(void)
{
	_cleanup_file_ FILE *file = fopen("/proc/self/statm", "re");
	uint64_t size, resident;

	if (!file || fscanf(file, "%" SCNu64 " %" SCNu64, &size, &resident) != 2)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Growth since the last window of what each program ran. Returns their number and total time. */
static size_t read_programs(struct recording *recording,
			    struct self_program growth[static SESSION_PROGRAMS_MAX],
			    uint64_t *ret_total_ns)
{
	struct session_program now[SESSION_PROGRAMS_MAX];
	size_t count = session_read_programs(recording->session, now);

	*ret_total_ns = 0;
	for (size_t i = 0; i < count; i++) {
		const struct session_program *before = &recording->programs[i];
		bool is_known = i < recording->program_count;

		growth[i].name = now[i].name;
		growth[i].run_count = now[i].run_count - (is_known ? before->run_count : 0);
		growth[i].run_ns = now[i].run_ns - (is_known ? before->run_ns : 0);
		*ret_total_ns += growth[i].run_ns;
	}
	memcpy(recording->programs, now, count * sizeof(now[0]));
	recording->program_count = count;
	return count;
}

int recording_write_self(struct recording *recording, uint64_t own_cpu_ns)
{
	const struct recording_options *options = recording->options;
	struct self_program programs[SESSION_PROGRAMS_MAX];
	struct sender_status status;
	uint64_t programs_ns;
	struct self_record record = {
		.window_ns = recording->end_ktime_ns - recording->window_mark_ns,
		.own_cpu_ns = own_cpu_ns,
		.own_rss_bytes = read_rss_bytes(),
		.contexts = { .used = context_table_count(recording->contexts),
			      .limit = options->contexts_max ? options->contexts_max
							     : CONTEXTS_MAX },
		.accounts = { .used = recording->window_accounts,
			      .limit = options->accounts_max ? options->accounts_max
							     : ACCOUNTS_MAX },
		.processes = { .used = HASH_COUNT(recording->processes.processes),
			       .limit = PROCESSES_MAX },
		.programs = programs,
	};

	recording_fill_delivery(recording, &status, &record.delivery);
	record.programs_count = read_programs(recording, programs, &programs_ns);
	record.has_programs = record.programs_count != 0;
	if (record.window_ns)
		recording->cost_percent =
			100.0 * (double)(own_cpu_ns + programs_ns) / (double)record.window_ns;
	return recording_encode_self(recording, &record);
}

int recording_keep_budget(struct recording *recording)
{
	double budget = recording->options->budget_percent;
	enum session_mode mode = session_get_mode(recording->session);
	char reason[160];
	int result;

	if (budget <= 0 || mode == SESSION_MODE_SWITCH_ONLY)
		return 0;
	if (recording->cost_percent <= budget) {
		recording->windows_over_budget = 0;
		return 0;
	}
	if (++recording->windows_over_budget < WINDOWS_OVER_BUDGET_MAX)
		return 0;
	recording->windows_over_budget = 0;
	(void)snprintf(reason, sizeof(reason),
		       "own cost of %.2f %% of a CPU is over the budget of %.2f %%",
		       recording->cost_percent, budget);
	result = session_step_down(recording->session, mode + 1);
	if (result)
		return result;
	log_warning("%s: %s from now on", reason,
		    mode == SESSION_MODE_EXACT ? "lean" : "no user/kernel split");
	return recording_write_meta(recording, reason);
}
