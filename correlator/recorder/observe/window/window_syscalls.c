/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/window_syscalls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/syscall_counts.h>

#include "base/array.h"

#include "recorder/observe/window/row_index.h"
#include "recorder/observe/window/syscall_names.h"

struct window_syscalls {
	struct window_syscalls_places places;
	struct window_syscall *calls;
	size_t count;
	size_t capacity;
};

struct window_syscalls *window_syscalls_new(const struct window_syscalls_places *places)
{
	struct window_syscalls *syscalls = calloc(1, sizeof(*syscalls));

	if (syscalls)
		syscalls->places = *places;
	return syscalls;
}

void window_syscalls_free(struct window_syscalls *syscalls)
{
	if (syscalls)
		free(syscalls->calls);
	free(syscalls);
}

/* A session_syscall_fn. */
static int add_call(void *user, const struct syscall_key *key, const struct syscall_sums *sums)
{
	struct window_syscalls *syscalls = user;

	if (array_reserve(&syscalls->calls, &syscalls->capacity, syscalls->count + 1) < 0)
		return -ENOMEM;
	syscalls->calls[syscalls->count++] =
		(struct window_syscall){ .owner.key = key->account,
					 .call = key->call,
					 .calls = sums->calls,
					 .inside_ns = sums->inside_ns };
	return 0;
}

/*
 * Finds the rows that the calls were charged to. Calls in the overflow have none, and those of a
 * process that is gone have no books. 0 or -ENOMEM.
 */
static int find_rows(struct window_syscalls *syscalls, const struct window *window)
{
	_cleanup_(row_index_freep) struct row_index *index = row_index_new(window);

	for (size_t i = 0; index && i < syscalls->count; i++)
		row_index_find_owner(index, syscalls->places.processes, &syscalls->calls[i].owner);
	return index ? 0 : -ENOMEM;
}

int window_syscalls_settle(struct window_syscalls *syscalls, const struct window *window)
{
	int r;

	if (!syscalls)
		return 0;
	r = session_drain_syscalls(syscalls->places.session, window->epoch, add_call, syscalls);
	return r < 0 ? r : find_rows(syscalls, window);
}

static void name_call(uint32_t call, char name[static SYSCALL_NAME_BYTES],
		      struct syscall_record *record)
{
	syscall_name(call, name);
	record->name = name;
	record->abi = syscall_abi_name(call);
	record->number = syscall_call_number(call);
	record->has_number = record->number < SYSCALL_NUMBERS;
}

int window_syscalls_put(struct window_syscalls *syscalls)
{
	const struct window *window = syscalls ? syscalls->places.window : NULL;
	struct record_key keys[KEYS_MAX];
	struct syscall_record record;
	char name[SYSCALL_NAME_BYTES];
	int r = 0;

	for (size_t i = 0; syscalls && i < syscalls->count && r == 0; i++) {
		const struct window_syscall *call = &syscalls->calls[i];

		if (!call->owner.process)
			continue;
		window_syscall_record(window, call, keys, &record);
		name_call(call->call, name, &record);
		r = output_add(syscalls->places.output,
			       window_wall_ns(window, window->end_ktime_ns), &record);
	}
	if (syscalls)
		syscalls->count = 0;
	return r;
}

/* A session_syscall_fn. */
static int pass_over(void *user, const struct syscall_key *key, const struct syscall_sums *sums)
{
	(void)user;
	(void)key;
	(void)sums;
	return 0;
}

void window_syscalls_forget(struct window_syscalls *syscalls)
{
	if (!syscalls)
		return;
	syscalls->count = 0;
	/* Calls that were not taken would show up in a later window. */
	(void)session_drain_syscalls(syscalls->places.session, syscalls->places.window->epoch,
				     pass_over, NULL);
}
