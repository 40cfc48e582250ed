/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/window_stalls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/stall.h>
#include <correlator/syscall_counts.h>

#include "base/array.h"
#include "base/clock.h"
#include "recorder/observe/window/faulted_files.h"
#include "recorder/observe/window/socket_text.h"
#include "recorder/observe/window/syscall_names.h"
#include "recorder/observe/window/usual_waits.h"

/* Stalls wake nobody up: the ring must hold them for this long. */
#define READ_PERIOD_NS (200 * NS_PER_MS)

enum {
	HELD_MAX = 16384, /* stalls of one window */
	OBJECT_BYTES = STALL_NAMES * (STALL_NAME_BYTES + 1) + 16,
};

struct window_stalls {
	struct window_stalls_places places;
	struct stall *held;
	size_t count;
	size_t capacity;
	uint64_t due_ns;
	char *waker_names[KEYS_MAX]; /* of the keys of wakers */
	struct usual_waits *usual_waits; /* with a percentile; by endpoint */
	struct usual_waits *usual_hogs;
};

static bool begin_usual(struct window_stalls *stalls)
{
	uint32_t percentile = stalls->places.percentile;

	if (!percentile)
		return true;
	stalls->usual_waits = usual_waits_new(percentile);
	stalls->usual_hogs = usual_waits_new(percentile);
	return stalls->usual_waits && stalls->usual_hogs;
}

struct window_stalls *window_stalls_new(const struct window_stalls_places *places)
{
	_cleanup_(window_stalls_freep) struct window_stalls *stalls = calloc(1, sizeof(*stalls));
	const struct key_options *keys = places->window->keys;

	if (!stalls)
		return NULL;
	stalls->places = *places;
	if (!begin_usual(stalls))
		return NULL;
	for (size_t i = 0; i < keys->count; i++)
		if (asprintf(&stalls->waker_names[i], RECORD_WAKER_PREFIX "%s",
			     keys->record_names[i]) < 0) {
			stalls->waker_names[i] = NULL;
			return NULL;
		}
	return TAKE_PTR(stalls);
}

void window_stalls_free(struct window_stalls *stalls)
{
	if (!stalls)
		return;
	for (size_t i = 0; i < KEYS_MAX; i++)
		free(stalls->waker_names[i]);
	usual_waits_free(stalls->usual_waits);
	usual_waits_free(stalls->usual_hogs);
	free(stalls->held);
	free(stalls);
}

/* A session_stall_fn. */
static void add_stall(void *user, const struct stall *stall)
{
	struct window_stalls *stalls = user;
	struct observed *process;

	if (stalls->count < HELD_MAX &&
	    array_reserve(&stalls->held, &stalls->capacity, stalls->count + 1) == 0) {
		stalls->held[stalls->count++] = *stall;
		return;
	}
	process = observed_find(stalls->places.processes, stall->life);
	if (process)
		process->books.balance.losses[COUNTER_STALL_LOST]++;
}

uint64_t window_stalls_due_ns(const struct window_stalls *stalls)
{
	return stalls ? stalls->due_ns : UINT64_MAX;
}

static void read_ring(struct window_stalls *stalls)
{
	size_t first = stalls->count;

	(void)session_read_stalls(stalls->places.session, add_stall, stalls);
	if (stalls->count > first)
		faulted_files_name(stalls->held + first, stalls->count - first,
				   stalls->places.processes);
}

void window_stalls_read(struct window_stalls *stalls, uint64_t now_ns)
{
	if (!stalls || now_ns < stalls->due_ns)
		return;
	read_ring(stalls);
	stalls->due_ns = now_ns + READ_PERIOD_NS;
}

void window_stalls_settle(struct window_stalls *stalls)
{
	if (stalls)
		read_ring(stalls);
}

/* The path, of which the kernel has the names from the last one up; "..." before it if the first
 * ones are missing. */
static void put_path(const struct stall *stall, char *text, size_t size)
{
	size_t length = 0;

	/* A file outside of any tree. */
	if (stall->names[0][0] == '[' && !stall->names[1][0]) {
		(void)snprintf(text, size, "%.*s", STALL_NAME_BYTES - 1, stall->names[0]);
		return;
	}
	if (stall->names[STALL_NAMES - 1][0])
		length = (size_t)snprintf(text, size, "...");
	for (size_t i = STALL_NAMES; i-- > 0;)
		if (stall->names[i][0])
			length += (size_t)snprintf(text + length, size - length, "/%.*s",
						   STALL_NAME_BYTES - 1, stall->names[i]);
}

/* Puts "" if it is not known. */
static void put_object(const struct stall *stall, char *text, size_t size)
{
	size_t length =
		stall->flags & STALL_OBJECT_IS_IN_SET ? (size_t)snprintf(text, size, "epoll:") : 0;

	text += length;
	size -= length;
	text[0] = '\0';
	switch ((enum stall_object)stall->object) {
	case STALL_OBJECT_PATH:
		put_path(stall, text, size);
		break;
	case STALL_OBJECT_PIPE:
		(void)snprintf(text, size, "pipe:[%" PRIu64 "]", (uint64_t)stall->inode);
		break;
	case STALL_OBJECT_UNIX:
		(void)snprintf(text, size, "unix:%.*s", SOCKET_PATH_BYTES,
			       (const char *)stall->names);
		break;
	case STALL_OBJECT_MAPPED:
		(void)snprintf(text, size, "%s", (const char *)stall->names);
		break;
	case STALL_OBJECT_ADDRESS:
		socket_text(&stall->peer, text);
		break;
	case STALL_OBJECT_NONE:
		break;
	}
}

static void name_waker(const struct window_stalls *stalls, const struct stall *stall,
		       struct record_key keys[static KEYS_MAX], struct stall_record *record)
{
	const struct context *context =
		stall->waker_hash ? context_table_look(stalls->places.contexts, stall->waker_hash)
				  : NULL;

	record->woken_by_keys = keys;
	if (!context || !record->woken_by_tid)
		return;
	record->woken_by_keys_count = stalls->places.window->keys->count;
	for (size_t i = 0; i < record->woken_by_keys_count; i++)
		keys[i] = (struct record_key){ .name = stalls->waker_names[i],
					       .value = context->values[i] };
}

static bool is_wanted(const struct window_stalls *stalls, const struct stall *stall,
		      const struct context *context)
{
	const struct key_options *keys = stalls->places.window->keys;
	const char *endpoint = NULL;

	if (!stalls->usual_waits)
		return true;
	for (size_t i = 0; context && i < keys->count; i++)
		if (strcmp(keys->record_names[i], LATE_KEY) == 0)
			endpoint = context->values[i];
	return usual_waits_learn(stall->flags & STALL_IS_HOG ? stalls->usual_hogs
							     : stalls->usual_waits,
				 endpoint, account_growth(stall->end_ns, stall->start_ns));
}

/* A stall of a process that is no longer known has no record, as that process has no balance. */
static int put_stall(struct window_stalls *stalls, const struct stall *stall)
{
	const struct window_stalls_places *places = &stalls->places;
	const struct window *window = places->window;
	struct observed *process = observed_find(places->processes, stall->life);
	const struct context *context = context_table_look(places->contexts, stall->context_hash);
	struct record_key keys[KEYS_MAX], waker_keys[KEYS_MAX];
	char name[SYSCALL_NAME_BYTES], object[OBJECT_BYTES], stack[WINDOW_STACK_ID_BYTES];
	struct stall_record record;
	int r;

	if (!process || !is_wanted(stalls, stall, context))
		return 0;
	window_stall_record(window, &process->books, context, stall, keys, &record);
	if (stall->call) {
		syscall_name(stall->call, name);
		record.name = name;
		record.abi = syscall_abi_name(stall->call);
	}
	put_object(stall, object, sizeof(object));
	record.waited_on = object[0] ? object : NULL;
	name_waker(stalls, stall, waker_keys, &record);
	r = window_stacks_put_stack(places->stacks, process, stall, stack);
	if (r < 0)
		return r;
	record.stack_id = stack[0] ? stack : NULL;
	return output_add(places->output, window_wall_ns(window, window->end_ktime_ns), &record);
}

int window_stalls_put(struct window_stalls *stalls)
{
	size_t kept = 0;
	int r = 0;

	if (!stalls)
		return 0;
	for (size_t i = 0; i < stalls->count; i++) {
		const struct stall *stall = &stalls->held[i];

		if ((int32_t)(stall->epoch - (uint32_t)stalls->places.window->epoch) > 0)
			stalls->held[kept++] = *stall;
		else if (r == 0)
			r = put_stall(stalls, stall);
	}
	stalls->count = kept;
	return r;
}
