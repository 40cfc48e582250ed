/* From what the recording knows to the records that leave it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/log.h"
#include "observe/recording_internal.h"

/* Serials of threads begin with 1. */
enum {
	NO_THREAD = 0
};

static uint64_t wall_of(const struct recording *recording, uint64_t ktime_ns)
{
	return ktime_ns + recording->wall_offset_ns;
}

/* Unique for good: boot, our own process, a running number. */
static void fill_own(struct recording *recording, uint64_t ktime_ns,
		     char record_id[static RECORD_ID_BYTES], struct record_common *ret_common)
{
	int own_pid = getpid();

	(void)snprintf(record_id, RECORD_ID_BYTES, "%.8s:%d:%" PRIu64 ":%" PRIu64,
		       recording->boot_id, own_pid, recording->start_ticks,
		       ++recording->record_number);
	ret_common->wall_ns = wall_of(recording, ktime_ns);
	ret_common->record_id = record_id;
	ret_common->host_name = recording->host_name;
	ret_common->pid = (uint32_t)own_pid;
}

static void fill_common(struct recording *recording, const struct observed *process,
			uint64_t ktime_ns, char record_id[static RECORD_ID_BYTES],
			struct record_common *ret_common)
{
	fill_own(recording, ktime_ns, record_id, ret_common);
	ret_common->pid = (uint32_t)process->pid;
	ret_common->ns_pid = process->ns_pid;
}

static int check(int result)
{
	return result ? log_error_errno(result, "cannot encode a record") : 0;
}

static const char *mode_name(const struct recording *recording)
{
	static const char *const names[] = { "exact", "lean", "switch-only" };
	enum session_mode mode = session_get_mode(recording->session);

	return mode == SESSION_MODE_EXACT && recording->has_otel ? "partly-lean" : names[mode];
}

const char *recording_note_otel(struct recording *recording)
{
	const struct observed *process = recording->processes.processes;

	if (recording->has_otel || session_get_mode(recording->session) != SESSION_MODE_EXACT)
		return NULL;
	while (process && !observed_has_otel(process))
		process = process->hh.next;
	if (!process)
		return NULL;
	recording->has_otel = true;
	log_info("process %d: %s: its keys are recorded as with --lean, Ruby's exactly; "
		 "ambiguous_ns bounds the error",
		 process->pid, RECORDING_REASON_OTEL);
	return RECORDING_REASON_OTEL;
}

int recording_follow_mode(struct recording *recording)
{
	const char *reason = RECORDING_REASON_NO_SITE;
	bool steps_down =
		recording->wants_lean && session_get_mode(recording->session) == SESSION_MODE_EXACT;
	int r = steps_down ? session_step_down(recording->session, SESSION_MODE_LEAN) : 0;

	/* At the start the first record says why. */
	if (r < 0 || !recording->is_open)
		return r;
	if (!steps_down)
		reason = recording_note_otel(recording);
	return reason ? recording_write_meta(recording, reason) : 0;
}

int recording_write_meta(struct recording *recording, const char *reason)
{
	const struct recording_options *options = recording->options;
	char record_id[RECORD_ID_BYTES];
	struct utsname system;
	struct meta_record record = {
		.tool_version = CORRELATOR_VERSION,
		.boot_id = recording->boot_id,
		.mode = mode_name(recording),
		.kernel_split = session_has_kernel_split(recording->session),
		.cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.reason = reason,
		.interval_ns = options->interval_ns,
		.transition_ns = (uint64_t)(recording->way.hot_ns + 0.5),
		/* A clock that stands before its own start is not set. */
		.clock_offset_ns =
			recording->wall_offset_ns <= INT64_MAX ? recording->wall_offset_ns : 0,
		.key_names = options->keys.record_names,
		.key_names_count = options->keys.count,
	};

	if (uname(&system))
		return log_error_errno(errno, "cannot read the kernel's name");
	record.kernel_release = system.release;
	record.machine = system.machine;
	fill_own(recording, recording->window_mark_ns, record_id, &record.common);
	return check(record_encode(recording->encoder, &record));
}

static const char *known(const char *text)
{
	return text[0] ? text : NULL;
}

int recording_write_process(struct recording *recording, const struct observed *process,
			    const char *event, uint64_t ktime_ns)
{
	char record_id[RECORD_ID_BYTES];
	struct process_record record = {
		.event = event,
		.parent_pid = (uint32_t)process->parent_pid,
		.comm = process->comm,
		.server = process->server,
		.start_ns = process->start_wall_ns,
	};

	if (strcmp(event, "load") == 0 && process->state.pickup_ns) {
		record.has_pickup = true;
		record.pickup_ns = process->state.pickup_ns;
	}
	if (process->target && process->target->ruby.version[0])
		record.ruby_version = process->target->ruby.version;

	if (process->target && process->keys->otel_count) {
		const struct otel_announcement *announcement = &process->target->otel.announcement;

		record.otel_schema = known(announcement->schema_version);
		record.service_name = known(announcement->service_name);
		record.service_instance_id = known(announcement->service_instance_id);
		record.environment_name = known(announcement->environment_name);
	}
	if (strcmp(event, "exit") == 0)
		record.end_ns = wall_of(recording, ktime_ns);
	fill_common(recording, process, ktime_ns, record_id, &record.common);
	metrics_add_process(&recording->metrics, &record);
	return check(record_encode(recording->encoder, &record));
}

static void fill_totals(const struct recording *recording, uint32_t thread_serial,
			const struct account_totals *totals, struct cpu_record *record)
{
	struct split split;

	record->window_ns = recording->end_ktime_ns - recording->window_mark_ns;
	record->has_kernel_split = session_has_kernel_split(recording->session);
	record->has_syscalls = record->has_kernel_split;
	record->cpu_ns = totals->user_ns + totals->kernel_ns;
	split_account(&recording->way, totals, &split);
	record->user_ns = split.user_ns;
	record->kernel_ns = split.kernel_ns;
	record->split_error_ns = split.error_ns;
	record->run_queue_ns = totals->run_queue_ns;
	record->blocked_ns = totals->blocked_ns;
	record->uninterruptible_ns = totals->uninterruptible_ns;
	record->stolen_ns = stolen_debts_settle(recording->debts, thread_serial, totals->stolen_ns);
	record->ambiguous_ns = totals->ambiguous_ns;
	record->slices = totals->slices;
	record->switches_voluntary = totals->switches_voluntary;
	record->switches_involuntary = totals->switches_involuntary;
	record->migrations = totals->migrations;
	record->syscalls = totals->syscalls;
}

/* The configured keys: "" each where no context was in force, absent where it has no such key. */
static void fill_keys(const struct recording *recording, const struct context *context,
		      bool is_nobodys, struct record_key keys[static KEYS_MAX])
{
	for (size_t i = 0; i < recording->options->keys.count; i++) {
		keys[i].name = recording->options->keys.record_names[i];
		keys[i].value = is_nobodys ? "" : (context ? context->values[i] : NULL);
	}
}

int recording_write_account(struct recording *recording, struct observed *process,
			    const struct account_key *key, const struct account *account,
			    const struct context *context)
{
	bool is_unknown = !context && key->context_hash != CONTEXT_HASH_NONE;
	char record_id[RECORD_ID_BYTES], comm[COMM_BYTES];
	struct record_key keys[KEYS_MAX];
	struct cpu_record record = {
		.tid = account->tid,
		.ns_tid = account->ns_tid,
		.thread_name = comm,
		.keys = keys,
		.keys_count = recording->options->keys.count,
		.first_ns = wall_of(recording, account->first_ns),
		.last_ns = wall_of(recording, account->last_ns),
	};

	(void)snprintf(comm, sizeof(comm), "%.*s", COMM_BYTES - 1, account->comm);
	fill_keys(recording, context, !context, keys);
	if (context && context->is_truncated)
		record.flags |= CPU_RECORD_TRUNCATED;
	if (is_unknown)
		record.flags |= CPU_RECORD_UNKNOWN;
	if (account->flags & ACCOUNT_INHERITED)
		record.flags |= CPU_RECORD_INHERITED;
	fill_totals(recording, key->thread_serial, &account->totals, &record);
	fill_common(recording, process, recording->end_ktime_ns, record_id, &record.common);
	recording->cpu_records++;
	metrics_add_cpu(&recording->metrics, &record);
	return check(record_encode(recording->encoder, &record));
}

int recording_write_overflow(struct recording *recording, struct observed *process,
			     const struct account_totals *totals)
{
	char record_id[RECORD_ID_BYTES];
	struct record_key keys[KEYS_MAX];
	struct cpu_record record = {
		.thread_name = "",
		.keys = keys,
		.keys_count = recording->options->keys.count,
		.first_ns = wall_of(recording, recording->window_mark_ns),
		.last_ns = wall_of(recording, recording->end_ktime_ns),
		.flags = CPU_RECORD_OVERFLOW,
	};

	fill_keys(recording, NULL, false, keys);
	fill_totals(recording, NO_THREAD, totals, &record);
	fill_common(recording, process, recording->end_ktime_ns, record_id, &record.common);
	recording->cpu_records++;
	metrics_add_cpu(&recording->metrics, &record);
	return check(record_encode(recording->encoder, &record));
}

int recording_write_balance(struct recording *recording, const struct observed *process,
			    struct balance_record *balance)
{
	char record_id[RECORD_ID_BYTES];

	fill_common(recording, process, recording->end_ktime_ns, record_id, &balance->common);
	metrics_add_balance(&recording->metrics, balance);
	return check(record_encode(recording->encoder, balance));
}

int recording_encode_gap(struct recording *recording, const struct backlog_gap *gap,
			 uint64_t total_dropped_records)
{
	char record_id[RECORD_ID_BYTES];
	struct gap_record record = {
		.dropped_records = gap->dropped_records,
		.total_dropped_records = total_dropped_records,
		.dropped_segments = gap->dropped_segments,
		.first_ns = gap->first_ns,
		.last_ns = gap->last_ns,
		.reason = gap->reason,
	};

	fill_own(recording, recording->end_ktime_ns, record_id, &record.common);
	return check(record_encode(recording->encoder, &record));
}

int recording_encode_self(struct recording *recording, struct self_record *record)
{
	char record_id[RECORD_ID_BYTES];

	fill_own(recording, recording->end_ktime_ns, record_id, &record->common);
	metrics_add_self(&recording->metrics, record);
	return check(record_encode(recording->encoder, record));
}
