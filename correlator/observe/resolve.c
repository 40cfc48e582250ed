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

static const char *decode_value(const struct value_snapshot *value, struct observed *process,
				char text[static VALUE_TEXT_BYTES], bool *is_truncated)
{
	int r = ruby_value_text(value, observed_find_symbol, process, text);

	/* The name cannot be had now: its ID is at least distinct. */
	if (r == -EAGAIN)
		r = ruby_value_text(value, NULL, NULL, text);
	*is_truncated |= r > 0;
	return r >= 0 ? text : NULL;
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
	context.late_hash = snapshot.late_hash;
	for (size_t i = 0; i < window->keys->count; i++)
		values[i] =
			decode_value(&snapshot.values[i], process, texts[i], &context.is_truncated);
	return context_table_add(contexts, &context, window->keys->count);
}

/* Late values may have come since it was decoded. Those of a context that was published anew
 * without them take nobody's place; where there is no memory, what is known stays. */
static void complete(struct context_table *contexts, const struct window *window,
		     struct session *session, struct observed *process, const struct context *known)
{
	char texts[KEYS_MAX][VALUE_TEXT_BYTES];
	const char *values[KEYS_MAX] = { NULL };
	struct context context = *known;
	struct context_snapshot snapshot;

	if (!window->keys->late || session_look_at_context(session, known->hash, &snapshot) < 0 ||
	    !snapshot.late_hash || snapshot.late_hash == known->late_hash)
		return;
	context.values = values;
	context.late_hash = snapshot.late_hash;
	for (size_t i = 0; i < window->keys->count; i++)
		values[i] = window->keys->late & 1U << i
				    ? decode_value(&snapshot.values[i], process, texts[i],
						   &context.is_truncated)
				    : known->values[i];
	(void)context_table_add(contexts, &context, window->keys->count);
}

static const struct context *find_context(struct context_table *contexts,
					  const struct window *window, struct session *session,
					  struct observed *process, uint64_t hash)
{
	const struct context *context;

	if (hash < CONTEXT_HASH_FIRST)
		return NULL;
	context = context_table_look(contexts, hash);
	if (!context && decode(contexts, window, session, process, hash) < 0)
		return NULL;
	/* Once a window: its rows share what is found. */
	if (context && context->last_window != window->number)
		complete(contexts, window, session, process, context);
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
