/* SPDX-License-Identifier: GPL-2.0-only */
#include "observe/resolve.h"

#include <errno.h>

#include <correlator/snapshot.h>

#include "target/ruby/ruby_value.h"

static struct observed *find_process(struct observed_table *processes, const struct window *window,
				     const struct window_row *row)
{
	pid_t pid = (pid_t)row->key.tgid;
	struct observed *process = observed_find(processes, pid);

	if (process)
		return process;
	process = observed_add(processes, pid, 0, row->account.comm);
	if (process)
		process_on_met(&process->state, window->end_ktime_ns);
	return process;
}

/* 0; -ENOENT: there is no snapshot; -ENOMEM. */
static int decode(struct context_table *contexts, const struct window *window,
		  struct session *session, struct observed *process, uint64_t hash)
{
	char texts[KEYS_MAX][VALUE_TEXT_BYTES];
	const char *values[KEYS_MAX] = { NULL };
	struct context context = { .hash = hash, .values = values, .last_window = window->number };
	struct context_snapshot snapshot;
	/* Most contexts live in one window: their room is wanted for the next ones. One that lives
	 * on is published anew with its next account, and is known here by then. */
	int r = session_take_context(session, hash, &snapshot);

	if (r < 0)
		return r;
	for (size_t i = 0; i < window->keys->count; i++) {
		const struct value_snapshot *value = &snapshot.values[i];

		r = ruby_value_text(value, observed_find_symbol, process, texts[i]);
		/* The name cannot be had now: its ID is at least distinct. */
		if (r == -EAGAIN)
			r = ruby_value_text(value, NULL, NULL, texts[i]);
		if (r >= 0)
			values[i] = texts[i];
		if (r > 0)
			context.is_truncated = true;
	}
	return context_table_add(contexts, &context, window->keys->count);
}

static const struct context *find_context(struct context_table *contexts,
					  const struct window *window, struct session *session,
					  struct observed *process, uint64_t hash)
{
	const struct context *context;

	if (hash < CONTEXT_HASH_FIRST)
		return NULL;
	context = context_table_find(contexts, hash, window->number);
	if (context || decode(contexts, window, session, process, hash) < 0)
		return context;
	return context_table_find(contexts, hash, window->number);
}

int resolve_rows(struct window *window, struct observed_table *processes,
		 struct context_table *contexts, struct session *session)
{
	for (size_t i = 0; i < window->row_count; i++) {
		struct window_row *row = &window->rows[i];
		struct observed *process = find_process(processes, window, row);

		if (!process)
			return -ENOMEM;
		row->process = &process->books;
		row->context =
			find_context(contexts, window, session, process, row->key.context_hash);
	}
	return 0;
}
