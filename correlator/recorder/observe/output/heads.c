/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/output/heads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"
#include "record/check.h"

struct head {
	void *bytes; /* NULL = none */
	size_t size_bytes;
};

struct process {
	uint32_t pid;
	struct head heads[_PROCESS_EVENT_MAX]; /* the last record of each event */
	UT_hash_handle hh;
};

struct heads {
	struct head meta;
	struct process *processes;
	uint8_t *bytes; /* last result of heads_bytes() */
	size_t size_bytes, room_bytes;
	size_t checked_bytes; /* part of size_bytes that checks cover */
};

struct heads *heads_new(void)
{
	return calloc(1, sizeof(struct heads));
}

static void forget(struct heads *heads, struct process *process)
{
	for (size_t i = 0; i < _PROCESS_EVENT_MAX; i++)
		free(process->heads[i].bytes);
	HASH_DEL(heads->processes, process);
	free(process);
}

void heads_free(struct heads *heads)
{
	struct process *process, *next;

	if (!heads)
		return;
	HASH_ITER(hh, heads->processes, process, next)
		forget(heads, process);
	free(heads->meta.bytes);
	free(heads->bytes);
	free(heads);
}

static int keep(struct head *head, const void *entry, size_t size_bytes)
{
	void *bytes = malloc(size_bytes);

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, entry, size_bytes);
	free(head->bytes);
	*head = (struct head){ bytes, size_bytes };
	return 0;
}

static struct process *find(struct heads *heads, uint32_t pid)
{
	struct process *process;

	HASH_FIND(hh, heads->processes, &pid, sizeof(pid), process);
	return process;
}

/* NULL: no memory. */
static struct process *add(struct heads *heads, uint32_t pid)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->pid = pid;
	HASH_ADD(hh, heads->processes, pid, sizeof(pid), process);
	if (process->hh.tbl)
		return process;
	free(process);
	return NULL;
}

static int add_event(struct heads *heads, const struct process_record *record, const void *entry,
		     size_t size_bytes)
{
	struct process *process = find(heads, record->common.pid);

	if (record->event == PROCESS_EVENT_EXIT) {
		if (process)
			forget(heads, process);
		return 0;
	}
	if (!process)
		process = add(heads, record->common.pid);
	if (!process)
		return -ENOMEM;
	return keep(&process->heads[record->event], entry, size_bytes);
}

int heads_add(struct heads *heads, enum record_kind kind, const void *record, const void *entry,
	      size_t size_bytes)
{
	if (kind == RECORD_KIND_META)
		return keep(&heads->meta, entry, size_bytes);
	if (kind == RECORD_KIND_PROCESS)
		return add_event(heads, record, entry, size_bytes);
	return 0;
}

/* Makes room for more_bytes and a check. */
static int grow(struct heads *heads, size_t more_bytes)
{
	size_t wanted_bytes = heads->size_bytes + more_bytes + CHECK_BYTES;
	uint8_t *bytes;

	if (wanted_bytes <= heads->room_bytes)
		return 0;
	bytes = realloc(heads->bytes, 2 * wanted_bytes);
	if (!bytes)
		return -ENOMEM;
	heads->bytes = bytes;
	heads->room_bytes = 2 * wanted_bytes;
	return 0;
}

/*
 * Appends a check of the bytes that have none yet. entry: its time becomes that of the check. The
 * caller has made room.
 */
static void put_check(struct heads *heads, const uint8_t *entry)
{
	check_write(heads->bytes + heads->checked_bytes, heads->size_bytes - heads->checked_bytes,
		    entry, heads->bytes + heads->size_bytes);
	heads->size_bytes += CHECK_BYTES;
	heads->checked_bytes = heads->size_bytes;
}

static int put(struct heads *heads, const struct head *head)
{
	if (!head->bytes)
		return 0;
	/* The very first check covers nothing. */
	if (heads->size_bytes == 0) {
		if (grow(heads, 0) < 0)
			return -ENOMEM;
		put_check(heads, head->bytes);
	}
	if (grow(heads, head->size_bytes) < 0)
		return -ENOMEM;
	memcpy(heads->bytes + heads->size_bytes, head->bytes, head->size_bytes);
	heads->size_bytes += head->size_bytes;
	if (heads->size_bytes - heads->checked_bytes >= CHECK_SPAN_BYTES)
		put_check(heads, head->bytes);
	return 0;
}

const void *heads_bytes(struct heads *heads, size_t *ret_size_bytes)
{
	const struct process *process;
	const struct head *last = &heads->meta;
	int r;

	heads->size_bytes = heads->checked_bytes = 0;
	r = put(heads, &heads->meta);
	for (process = heads->processes; process && r == 0; process = process->hh.next)
		for (size_t i = 0; i < _PROCESS_EVENT_MAX && r == 0; i++) {
			r = put(heads, &process->heads[i]);
			last = process->heads[i].bytes ? &process->heads[i] : last;
		}
	if (r < 0)
		return NULL;
	/* grow() made room for it with the entries before it. */
	if (heads->size_bytes > heads->checked_bytes)
		put_check(heads, last->bytes);
	*ret_size_bytes = heads->size_bytes;
	return heads->bytes;
}
