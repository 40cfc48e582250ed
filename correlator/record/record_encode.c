#include "record/record_encode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record/entry.h"

struct record_encoder {
	struct entry_buffer entries;
};

struct record_encoder *record_encoder_new(void)
{
	struct record_encoder *encoder = calloc(1, sizeof(*encoder));

	if (!encoder)
		return NULL;
	entry_buffer_init(&encoder->entries);
	return encoder;
}

void record_encoder_free(struct record_encoder *encoder)
{
	if (!encoder)
		return;
	entry_buffer_deinit(&encoder->entries);
	free(encoder);
}

const void *record_encoder_bytes(const struct record_encoder *encoder, size_t *ret_size_bytes)
{
	const msgpack_sbuffer *bytes = &encoder->entries.bytes;

	*ret_size_bytes = bytes->size;
	return bytes->size > 0 ? bytes->data : NULL;
}

size_t record_encoder_count(const struct record_encoder *encoder)
{
	return encoder->entries.entry_count;
}

void record_encoder_reset(struct record_encoder *encoder)
{
	msgpack_sbuffer_clear(&encoder->entries.bytes);
	encoder->entries.entry_count = 0;
}

int record_encode_meta(struct record_encoder *encoder, const struct meta_record *record)
{
	struct entry_buffer *entry = &encoder->entries;
	entry_begin(entry, "meta", &record->common);
	entry_text(entry, "tool_version", record->tool_version);
	entry_text(entry, "kernel_release", record->kernel_release);
	entry_text(entry, "machine", record->machine);
	entry_text(entry, "boot_id", record->boot_id);
	entry_optional_u64(entry, "cpu_count", record->cpu_count);
	entry_text(entry, "mode", record->mode);
	entry_optional_text(entry, "reason", record->reason);
	entry_bool(entry, "kernel_split", record->kernel_split);
	entry_u64(entry, "interval_ns", record->interval_ns);
	if (record->kernel_split)
		entry_u64(entry, "transition_ns", record->transition_ns);
	if (record->clock_offset_ns >= 0)
		entry_u64(entry, "clock_offset_ns", (uint64_t)record->clock_offset_ns);
	entry_texts(entry, "keys", record->key_names, record->key_count);
	return entry_end(entry);
}

/* Resource attributes go by OpenTelemetry's own names. */
static void put_otel_text(struct entry_buffer *entry, const char *name, const char *text)
{
	if (text && text[0])
		entry_text(entry, name, text);
}

int record_encode_process(struct record_encoder *encoder, const struct process_record *record)
{
	struct entry_buffer *entry = &encoder->entries;
	entry_begin(entry, "process", &record->common);
	entry_text(entry, "event", record->event);
	entry_u64(entry, "ppid", record->parent_pid);
	entry_text(entry, "comm", record->comm);
	entry_optional_text(entry, "ruby_version", record->ruby_version);
	entry_optional_text(entry, "server", record->server);
	put_otel_text(entry, "otel_schema", record->otel_schema);
	put_otel_text(entry, "service.name", record->service_name);
	put_otel_text(entry, "service.instance.id", record->service_instance_id);
	put_otel_text(entry, "deployment.environment.name", record->environment_name);
	entry_optional_u64(entry, "start_ns", record->start_ns);
	if (record->has_pickup)
		entry_u64(entry, "pickup_ns", record->pickup_ns);
	if (record->event && strcmp(record->event, "exit") == 0)
		entry_u64(entry, "end_ns", record->common.wall_ns);
	return entry_end(entry);
}

static void put_cpu_flags(struct entry_buffer *entry, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{ CPU_RECORD_TRUNCATED, "truncated" },
		{ CPU_RECORD_INHERITED, "inherited" },
		{ CPU_RECORD_OVERFLOW, "overflow" },
		{ CPU_RECORD_UNKNOWN, "unknown" },
	};
	enum {
		NAME_COUNT = sizeof(names) / sizeof(names[0])
	};
	const char *set[NAME_COUNT];
	size_t set_count = 0;

	for (size_t i = 0; i < NAME_COUNT; i++) {
		if (flags & names[i].flag)
			set[set_count++] = names[i].name;
	}
	if (set_count > 0)
		entry_texts(entry, "flags", set, set_count);
}

static void put_cpu_times(struct entry_buffer *entry, const struct cpu_record *record)
{
	entry_u64(entry, "cpu_ns", record->cpu_ns);
	if (record->has_kernel_split) {
		entry_u64(entry, "user_ns", record->user_ns);
		entry_u64(entry, "kernel_ns", record->kernel_ns);
	}
	entry_u64(entry, "run_queue_ns", record->run_queue_ns);
	entry_u64(entry, "blocked_ns", record->blocked_ns);
	entry_u64(entry, "uninterruptible_ns", record->uninterruptible_ns);
	entry_u64(entry, "stolen_ns", record->stolen_ns);
	entry_u64(entry, "ambiguous_ns", record->ambiguous_ns);
}

int record_encode_cpu(struct record_encoder *encoder, const struct cpu_record *record)
{
	struct entry_buffer *entry = &encoder->entries;
	entry_begin(entry, "cpu", &record->common);
	entry_u64(entry, "tid", record->tid);
	entry_optional_u64(entry, "ns_tid", record->ns_tid);
	entry_optional_text(entry, "thread_name", record->thread_name);
	for (size_t i = 0; i < record->key_count; i++)
		entry_optional_text(entry, record->keys[i].name, record->keys[i].value);
	entry_u64(entry, "window_ns", record->window_ns);
	put_cpu_times(entry, record);
	entry_u64(entry, "slices", record->slices);
	entry_u64(entry, "switches_voluntary", record->switches_voluntary);
	entry_u64(entry, "switches_involuntary", record->switches_involuntary);
	entry_u64(entry, "migrations", record->migrations);
	if (record->has_syscalls)
		entry_u64(entry, "syscalls", record->syscalls);
	entry_u64(entry, "first_ns", record->first_ns);
	entry_u64(entry, "last_ns", record->last_ns);
	put_cpu_flags(entry, record->flags);
	return entry_end(entry);
}

static void put_delivery(struct entry_buffer *entry, const struct delivery_figures *delivery)
{
	if (!delivery->is_there)
		return;
	entry_u64(entry, "forward_sent_chunks", delivery->sent_chunks);
	entry_u64(entry, "forward_resent_chunks", delivery->resent_chunks);
	entry_u64(entry, "forward_acked_records", delivery->acked_records);
	entry_u64(entry, "forward_rejected_records", delivery->rejected_records);
	entry_u64(entry, "forward_dropped_records", delivery->dropped_records);
	entry_u64(entry, "forward_queued_records", delivery->queued_records);
	entry_u64(entry, "forward_queued_bytes", delivery->queued_bytes);
	entry_u64(entry, "forward_spool_bytes", delivery->spool_bytes);
	entry_optional_text(entry, "forward_last_error", delivery->last_error);
}

int record_encode_balance(struct record_encoder *encoder, const struct balance_record *record)
{
	struct entry_buffer *entry = &encoder->entries;
	static const char *const loss_names[_COUNTER_MAX] = {
#define COUNTER_FIELD(name, field, text) [COUNTER_##name] = field,
		COUNTER_LIST(COUNTER_FIELD)
#undef COUNTER_FIELD
	};

	entry_begin(entry, "balance", &record->common);
	entry_u64(entry, "window_ns", record->window_ns);
	entry_u64(entry, "exec_ns", record->exec_ns);
	entry_u64(entry, "attributed_ns", record->attributed_ns);
	entry_u64(entry, "unattributed_ns", record->unattributed_ns);
	entry_u64(entry, "overflow_ns", record->overflow_ns);
	entry_i64(entry, "residual_ns", record->residual_ns);
	for (size_t i = 0; i < _COUNTER_MAX; i++)
		entry_u64(entry, loss_names[i], record->losses[i]);
	entry_u64(entry, "own_cpu_ns", record->own_cpu_ns);
	put_delivery(entry, &record->delivery);
	return entry_end(entry);
}

int record_encode_gap(struct record_encoder *encoder, const struct gap_record *record)
{
	struct entry_buffer *entry = &encoder->entries;
	entry_begin(entry, "gap", &record->common);
	entry_u64(entry, "dropped_records", record->dropped_records);
	entry_u64(entry, "total_dropped_records", record->total_dropped_records);
	entry_u64(entry, "dropped_segments", record->dropped_segments);
	entry_u64(entry, "first_ns", record->first_ns);
	entry_u64(entry, "last_ns", record->last_ns);
	entry_text(entry, "reason", record->reason);
	return entry_end(entry);
}

static void put_fill(struct entry_buffer *entry, const char *used_name, const char *limit_name,
		     const struct self_fill *fill)
{
	if (fill->limit == 0)
		return;
	entry_u64(entry, used_name, fill->used);
	entry_u64(entry, limit_name, fill->limit);
}

static void put_program(struct entry_buffer *entry, const struct self_program *program)
{
	char name[sizeof("bpf__runs") + SELF_PROGRAM_NAME_BYTES];

	(void)snprintf(name, sizeof(name), "bpf_%s_runs", program->name);
	entry_u64(entry, name, program->run_count);
	(void)snprintf(name, sizeof(name), "bpf_%s_ns", program->name);
	entry_u64(entry, name, program->run_ns);
}

int record_encode_self(struct record_encoder *encoder, const struct self_record *record)
{
	struct entry_buffer *entry = &encoder->entries;

	if (record->program_count > SELF_PROGRAMS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < record->program_count; i++) {
		if (!record->programs[i].name ||
		    strlen(record->programs[i].name) > SELF_PROGRAM_NAME_BYTES)
			return -EINVAL;
	}
	entry_begin(entry, "self", &record->common);
	entry_u64(entry, "window_ns", record->window_ns);
	entry_u64(entry, "own_cpu_ns", record->own_cpu_ns);
	entry_optional_u64(entry, "own_rss_bytes", record->own_rss_bytes);
	put_fill(entry, "contexts", "contexts_max", &record->contexts);
	put_fill(entry, "accounts", "accounts_max", &record->accounts);
	put_fill(entry, "processes", "processes_max", &record->processes);
	for (size_t i = 0; record->has_programs && i < record->program_count; i++)
		put_program(entry, &record->programs[i]);
	put_delivery(entry, &record->delivery);
	return entry_end(entry);
}
