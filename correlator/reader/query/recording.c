/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/query/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_table.h"
#include "base/random.h"
#include "base/text.h"
#include "record/record_fields.h"

struct recording_process {
	struct recording_process_info info; /* host_name and pid are the key */
	UT_hash_handle hh;
};

enum {
	PROCESS_KEY_BYTES = offsetof(struct recording_process_info, comm)
};

void recording_init(struct recording *recording)
{
	*recording = (struct recording){ .seed = random_seed() };
}

void recording_deinit(struct recording *recording)
{
	struct recording_process *process, *next;

	if (recording->is_borrower)
		recording->processes = NULL;
	HASH_ITER(hh, recording->processes, process, next) {
		HASH_DELETE(hh, recording->processes, process);
		free(process);
	}
	*recording = (struct recording){ 0 };
}

void recording_borrow(struct recording *recording, const struct recording *known)
{
	recording_deinit(recording);
	*recording = *known;
	recording->is_borrower = true;
	recording->start_ns = 0;
	recording->end_ns = 0;
}

/* Leaves ret_text unchanged if the record has no such text. */
static void copy_text(const struct record_view *record, const char *name,
		      char ret_text[RECORDING_TEXT_BYTES])
{
	struct record_text text;

	if (record_view_text(record, name, &text))
		(void)text_escape(text.bytes, text.size_bytes, 0, ret_text, RECORDING_TEXT_BYTES);
}

static void read_process_key(const struct record_view *record, struct recording_process_info *info)
{
	memset(info, 0, sizeof(*info));
	copy_text(record, RECORD_FIELD(common, host_name), info->host_name);
	(void)record_view_count(record, RECORD_FIELD(common, pid), &info->pid);
}

static unsigned int hash_process(const struct recording *recording,
				 const struct recording_process_info *info)
{
	return hash_table_key(recording->seed, info->host_name, PROCESS_KEY_BYTES);
}

static struct recording_process *find_process(const struct recording *recording,
					      const struct recording_process_info *info)
{
	struct recording_process *process;

	HASH_FIND_BYHASHVALUE(hh, recording->processes, info->host_name, PROCESS_KEY_BYTES,
			      hash_process(recording, info), process);
	return process;
}

/* Whether the record has the host and pid of the one before. */
static bool is_of_last(const struct recording *recording, const struct record_view *record)
{
	struct record_text host = { "", 0 };
	int64_t pid = 0;

	(void)record_view_text_at(record, RECORD_PLACE(common, host_name), &host);
	(void)record_view_count_at(record, RECORD_PLACE(common, pid), &pid);
	return recording->record_count > 0 && pid == recording->last_pid &&
	       host.size_bytes == recording->last_host_bytes &&
	       memcmp(host.bytes, recording->last_host, host.size_bytes) == 0;
}

/* Remembers the host and pid of a record; a host that is too long matches none. */
static void set_last(struct recording *recording, const struct record_view *record)
{
	struct recording_process_info info;
	struct record_text host = { "", 0 };

	read_process_key(record, &info);
	if (recording->record_count == 0)
		memcpy(recording->first_host, info.host_name, sizeof(info.host_name));
	else if (strcmp(info.host_name, recording->first_host) != 0)
		recording->has_several_hosts = true;
	(void)record_view_text_at(record, RECORD_PLACE(common, host_name), &host);
	recording->last_host_bytes = host.size_bytes;
	if (host.size_bytes <= sizeof(recording->last_host))
		memcpy(recording->last_host, host.bytes, host.size_bytes);
	else
		recording->last_host_bytes = SIZE_MAX;
	recording->last_pid = info.pid;
	recording->last_process = find_process(recording, &info);
}

/* Whether the process is not watched exactly, and ambiguous time does not bound the error. */
static bool lacks_bound(const struct record_view *record)
{
	const struct record_field *bound =
		record_view_find(record, RECORD_FIELD(process, has_bound));
	char mode[RECORDING_TEXT_BYTES] = "";

	copy_text(record, RECORD_FIELD(process, mode), mode);
	return watch_mode_is_inexact(mode) && !(bound && bound->integer);
}

static int add_process(struct recording *recording, const struct record_view *record)
{
	struct recording_process_info info;
	struct recording_process *process;
	bool is_unbound = lacks_bound(record);

	recording->lacks_bound |= is_unbound;
	read_process_key(record, &info);
	process = find_process(recording, &info);
	if (!process) {
		if (recording->process_count >= RECORDING_PROCESSES_MAX)
			return 0;
		process = calloc(1, sizeof(*process));
		if (!process)
			return -ENOMEM;
		process->info = info;
		HASH_ADD_KEYPTR_BYHASHVALUE(hh, recording->processes, process->info.host_name,
					    PROCESS_KEY_BYTES, hash_process(recording, &info),
					    process);
		if (!process->hh.tbl) {
			free(process);
			return -ENOMEM;
		}
		recording->process_count++;
	}
	/* A reused pid is another process: nothing of the old one may stay. */
	if (process->info.end_ns > 0)
		memset(process->info.comm, 0, sizeof(process->info) - PROCESS_KEY_BYTES);
	(void)record_view_count(record, RECORD_FIELD(process, parent_pid), &process->info.ppid);
	(void)record_view_count(record, RECORD_FIELD(process, start_ns), &process->info.start_ns);
	(void)record_view_count(record, RECORD_FIELD(process, end_ns), &process->info.end_ns);
	copy_text(record, RECORD_FIELD(process, comm), process->info.comm);
	copy_text(record, RECORD_FIELD(process, server), process->info.server);
	copy_text(record, RECORD_FIELD(process, ruby_version), process->info.ruby_version);
	copy_text(record, RECORD_FIELD(process, mode), process->info.mode);
	process->info.lacks_bound |= is_unbound;
	return 0;
}

struct record_text recording_comm(const struct recording *recording,
				  const struct record_view *record)
{
	const struct recording_process *process = recording->last_process;

	if (!is_of_last(recording, record)) {
		struct recording_process_info info;

		read_process_key(record, &info);
		process = find_process(recording, &info);
	}
	if (!process || process->info.comm[0] == '\0')
		return (struct record_text){ 0 };
	return (struct record_text){ process->info.comm, strlen(process->info.comm) };
}

bool recording_next_process(const struct recording *recording, const void **cursor,
			    struct recording_process_info *ret_info)
{
	const struct recording_process *process = *cursor;

	process = process ? process->hh.next : recording->processes;
	if (!process)
		return false;
	*cursor = process;
	*ret_info = process->info;
	return true;
}

static bool has_name(const char names[][RECORDING_TEXT_BYTES], size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

bool recording_has_key(const struct recording *recording, const char *name)
{
	return has_name(recording->keys, recording->key_count, name);
}

bool recording_had_module(const struct recording *recording, const char *name)
{
	return has_name(recording->modules, recording->module_count, name);
}

const char *recording_usual_key(const struct recording *recording)
{
	return !recording_has_key(recording, "endpoint") &&
			       recording_has_key(recording, "request_id")
		       ? "request_id"
		       : "endpoint";
}

bool recording_may_have_key(const struct recording *recording, const char *name)
{
	return recording->meta_count == 0 || recording->are_keys_untold ||
	       recording_has_key(recording, name);
}

/* Adds a name to a list, escaped, unless it is there or the list is full. */
static void add_name(char names[][RECORDING_TEXT_BYTES], size_t max, size_t *count,
		     struct record_text name)
{
	char escaped[RECORDING_TEXT_BYTES];

	/* Compares the raw name first: most names need no escaping. */
	for (size_t i = 0; i < *count; i++) {
		if (record_text_is(name, names[i]))
			return;
	}
	(void)text_escape(name.bytes, name.size_bytes, 0, escaped, sizeof(escaped));
	if (*count < max && !has_name(names, *count, escaped))
		memcpy(names[(*count)++], escaped, sizeof(escaped));
}

static void add_key(struct recording *recording, struct record_text name)
{
	add_name(recording->keys, RECORDING_KEYS_MAX, &recording->key_count, name);
}

uint64_t recording_duration_ns(const struct recording *recording)
{
	return recording->end_ns - recording->start_ns;
}

static void add_cpu_keys(struct recording *recording, const struct record_view *record)
{
	for (size_t i = 0; i < record->field_count; i++) {
		if (record->fields[i].is_key)
			add_key(recording, record->fields[i].name);
	}
}

static void note_clock(struct recording *recording, const struct record_view *record)
{
	if (record->clock_set_ns == 0 || record->clock_set_ns == recording->clock_set_ns)
		return;
	recording->clock_set_ns = record->clock_set_ns;
	recording->clock_set_at_ns = record->wall_ns;
}

static void add_window(struct recording *recording, const struct record_view *record)
{
	int64_t window_ns = 0;
	uint64_t start_ns;

	(void)record_view_count_at(record,
				   record->kind == RECORD_KIND_CPU
					   ? RECORD_PLACE(cpu, window_ns)
					   : RECORD_PLACE(balance, window_ns),
				   &window_ns);
	start_ns =
		(uint64_t)window_ns < record->wall_ns ? record->wall_ns - (uint64_t)window_ns : 0;
	if (recording->end_ns == 0 || start_ns < recording->start_ns)
		recording->start_ns = start_ns;
	if (record->wall_ns > recording->end_ns)
		recording->end_ns = record->wall_ns;
}

static bool is_same_mode(const struct recording_mode *a, const struct recording_mode *b)
{
	return strcmp(a->mode, b->mode) == 0 && a->has_kernel_split == b->has_kernel_split;
}

static void add_mode(struct recording *recording, const struct record_view *record)
{
	const struct record_field *split =
		record_view_find(record, RECORD_FIELD(meta, kernel_split));
	struct recording_mode mode = {
		.wall_ns = record->wall_ns,
		.has_kernel_split = !split || split->integer != 0,
	};

	copy_text(record, RECORD_FIELD(meta, mode), mode.mode);
	copy_text(record, RECORD_FIELD(meta, reason), mode.reason);
	if (recording->mode_count > 0 && mode.reason[0] == '\0' &&
	    is_same_mode(&mode, &recording->last_mode))
		return;
	recording->last_mode = mode;
	if (recording->mode_count == RECORDING_MODES_MAX)
		recording->modes_left_out++;
	else
		recording->modes[recording->mode_count++] = mode;
}

static void add_meta(struct recording *recording, const struct record_view *record)
{
	const struct record_field *modules =
		record_view_find(record, RECORD_FIELD(meta, module_names));
	const struct record_field *keys = record_view_find(record, RECORD_FIELD(meta, key_names));
	const struct record_field *children =
		record_view_find(record, RECORD_FIELD(meta, children));
	int64_t cpu_count = 0;

	(void)record_view_count(record, RECORD_FIELD(meta, cpu_count), &cpu_count);
	(void)record_view_count(record, RECORD_FIELD(meta, stall_ns), &recording->stall_ns);
	recording->stall_percentile = 0;
	(void)record_view_count(record, RECORD_FIELD(meta, stall_percentile),
				&recording->stall_percentile);
	if (recording->meta_count++ == 0) {
		copy_text(record, RECORD_FIELD(meta, tool_version), recording->tool_version);
		copy_text(record, RECORD_FIELD(meta, kernel_release), recording->kernel_release);
		(void)record_view_count(record, RECORD_FIELD(meta, interval_ns),
					&recording->interval_ns);
		recording->cpu_count = cpu_count;
	} else if (cpu_count != recording->cpu_count) {
		recording->cpu_count = 0;
	}
	recording->has_children = (recording->meta_count == 1 || recording->has_children) &&
				  children && children->integer;
	add_mode(recording, record);
	recording->are_keys_untold |= !keys || keys->item_count == 0;
	for (size_t i = 0; keys && i < keys->item_count; i++)
		add_key(recording, keys->items[i]);
	for (size_t i = 0; modules && i < modules->item_count; i++)
		add_name(recording->modules, RECORDING_MODULES_MAX, &recording->module_count,
			 modules->items[i]);
}

int recording_add(struct recording *recording, const struct record_view *record)
{
	int r = 0;

	if (record->kind == RECORD_KIND_PROCESS)
		r = add_process(recording, record);
	if (r < 0)
		return r;
	if (record->kind == RECORD_KIND_PROCESS || !is_of_last(recording, record))
		set_last(recording, record);
	recording->record_count++;
	note_clock(recording, record);
	if (record->kind == RECORD_KIND_META)
		add_meta(recording, record);
	recording->cpu_record_count += record->kind == RECORD_KIND_CPU;
	if (record->kind == RECORD_KIND_CPU)
		add_cpu_keys(recording, record);
	if (record->kind == RECORD_KIND_CPU || record->kind == RECORD_KIND_BALANCE)
		add_window(recording, record);
	return 0;
}
