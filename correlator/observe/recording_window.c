/* The end of a window: accounts become records, the books of each process are closed. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "observe/recording_internal.h"
#include "target/ruby/ruby_value.h"

/* Decodes a snapshot. 0; -ENOENT: there is none; -errno. */
static int decode_context(struct recording *recording, struct observed *process, uint64_t hash)
{
	char texts[KEYS_MAX][VALUE_TEXT_BYTES];
	struct context context = { .hash = hash, .last_window = recording->window_number };
	size_t key_count = recording->options->keys.count;
	struct context_snapshot snapshot;
	/* Most contexts live in one window: their room is wanted for the next ones. One that lives
	 * on is published anew with its next account, and is known here by then. */
	int result = session_take_context(recording->session, hash, &snapshot);

	if (result)
		return result;
	for (size_t i = 0; i < key_count; i++) {
		const struct value_snapshot *value = &snapshot.values[i];

		result = ruby_value_text(value, observed_find_symbol, process, texts[i]);
		/* The name cannot be had now: its ID is at least distinct. */
		if (result == -EAGAIN)
			result = ruby_value_text(value, NULL, NULL, texts[i]);
		if (result >= 0)
			context.values[i] = texts[i];
		if (result > 0)
			context.is_truncated = true;
	}
	return context_table_add(recording->contexts, &context, key_count);
}

static const struct context *find_context(struct recording *recording, struct observed *process,
					  uint64_t hash)
{
	const struct context *context;

	if (hash < CONTEXT_HASH_FIRST)
		return NULL;
	context = context_table_find(recording->contexts, hash, recording->window_number);
	if (context || decode_context(recording, process, hash))
		return context;
	return context_table_find(recording->contexts, hash, recording->window_number);
}

static int on_account(void *user, const struct account_key *key, const struct account *account)
{
	struct recording *recording = user;
	struct observed *process = observed_find(&recording->processes, (pid_t)key->tgid);
	const struct context *context;

	/* A child whose fork event was lost: known from its first account on. */
	if (!process) {
		process = observed_add(&recording->processes, (pid_t)key->tgid, 0, account->comm);
		if (!process)
			return -ENOMEM;
		process_on_met(&process->state, recording->end_ktime_ns);
	}
	recording->window_accounts++;
	context = find_context(recording, process, key->context_hash);
	if (!context && key->context_hash >= CONTEXT_HASH_FIRST)
		process->balance.contexts_lost++;
	balance_add(&process->balance, context ? key->context_hash : CONTEXT_HASH_UNKNOWN,
		    &account->totals);
	return recording_write_account(recording, process, key, account, context);
}

static bool is_zero(const struct account_totals *totals)
{
	static const struct account_totals zero;

	return !memcmp(totals, &zero, sizeof(zero));
}

static int close_books(struct recording *recording, struct observed *process, uint64_t own_cpu_ns)
{
	struct balance_record balance = { .own_cpu_ns = own_cpu_ns };
	struct account_totals overflow;
	struct process_books now;
	int result = 0;

	if (session_get_books(recording->session, process->pid, &now))
		return 0;
	balance_overflow(&process->balance, &now, recording->ended_epoch, &overflow);
	if (!is_zero(&overflow))
		result = recording_write_overflow(recording, process, &overflow);
	balance_close(&process->balance, &now, recording->ended_epoch,
		      recording->end_ktime_ns - recording->window_mark_ns, &balance);
	recording->attributed_ns += balance.attributed_ns;
	recording->exec_ns += balance.exec_ns;
	if (!result)
		result = recording_write_balance(recording, process, &balance);
	return result;
}

static int end_process(struct recording *recording, struct observed *process)
{
	int result =
		recording_write_process(recording, process, "exit", process->state.exit_ktime_ns);

	session_remove_process(recording->session, process->pid);
	observed_remove(&recording->processes, process);
	return result;
}

static void remove_snapshot(void *user, uint64_t hash)
{
	struct recording *recording = user;
	struct context_snapshot snapshot;

	(void)session_take_context(recording->session, hash, &snapshot);
}

static int close_all_books(struct recording *recording)
{
	unsigned int count = HASH_COUNT(recording->processes.processes);
	uint64_t own_cpu_ns = recording_own_cpu_ns(recording);
	uint64_t spent_ns = own_cpu_ns - recording->own_cpu_mark_ns;
	struct observed *process, *next;
	int result = recording_write_self(recording, spent_ns);

	recording->own_cpu_mark_ns = own_cpu_ns;
	HASH_ITER(hh, recording->processes.processes, process, next) {
		/* Our own CPU, shared out so that the records of a window add up to it. */
		uint64_t share_ns = spent_ns / count--;

		spent_ns -= share_ns;
		if (!result)
			result = close_books(recording, process, share_ns);
		if (!result && (process_on_window(&process->state) & PROCESS_REMOVE))
			result = end_process(recording, process);
	}
	return result;
}

/* Process contexts are published anew at any time: a look at each, once a window. */
static int follow_otel(struct recording *recording)
{
	const char *reason = recording_note_otel(recording);

	observed_check_otel(&recording->processes, recording->end_ktime_ns);
	return reason ? recording_write_meta(recording, reason) : 0;
}

uint64_t recording_own_cpu_ns(const struct recording *recording)
{
	return clock_own_cpu_ns() + session_calibration_cpu_ns(recording->session);
}

void recording_calibrate(struct recording *recording, uint64_t since_ns)
{
	struct session_ways ways;

	if (!session_has_kernel_split(recording->session))
		return;
	session_read_ways(recording->session, since_ns, &ways);
	split_estimate(ways.hot_ns, ways.hot_count, ways.lone_ns, ways.lone_count, ways.slept_ns,
		       ways.slept_count, &recording->way);
	log_debug("a system call's way: %.1f ns, give or take %.1f ns (%zu samples), cold %.1f ns "
		  "more, after a sleep %.1f ns more",
		  recording->way.hot_ns, recording->way.spread_ns, ways.hot_count,
		  recording->way.lone_excess_ns, recording->way.slept_excess_ns);
}

int recording_flush(struct recording *recording, bool is_last)
{
	int result;

	recording->window_number++;
	recording->wall_offset_ns = clock_wall_ns() - clock_monotonic_ns();
	recording->end_ktime_ns = clock_monotonic_ns();
	recording_calibrate(recording, recording->window_mark_ns);
	result = session_flush(recording->session, is_last, on_account, recording,
			       &recording->end_ktime_ns, &recording->ended_epoch);
	if (!result)
		result = close_all_books(recording);
	if (!result)
		result = follow_otel(recording);
	if (!result)
		result = recording_write_out(recording);
	stolen_debts_end_window(recording->debts);
	if (!result && recording->metrics_server)
		metrics_server_publish(recording->metrics_server, &recording->metrics);
	recording->window_accounts = 0;
	context_table_end_window(recording->contexts, recording->window_number, remove_snapshot,
				 recording);
	recording->window_mark_ns = recording->end_ktime_ns;
	if (!result && !is_last)
		result = recording_keep_budget(recording);
	return result;
}
