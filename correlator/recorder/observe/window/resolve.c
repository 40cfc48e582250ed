/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <correlator/snapshot.h>

#include "recorder/target/ruby/ruby_value.h"

/* The process that a context's values belong to. */
struct owner {
	struct observed *process;
	uint64_t image; /* the program that ran in it */
	bool is_origin; /* values of the program that it was forked from (correlator/origin.h) */
};

static struct observed *find_process(struct observed_table *processes, const struct window *window,
				     const struct window_row *row)
{
	struct observed *process = observed_find(processes, row->key.life);

	/* The EXEC event is still to come, or was lost. */
	if (process && row->account.image > process->image)
		observed_execute(process, row->account.image, window->end_ktime_ns);
	if (process)
		return process;
	process = observed_add(processes, row->key.life, (pid_t)row->account.tgid, 0,
			       row->account.comm);
	if (!process)
		return NULL;
	process->image = row->account.image;
	process_on_met(&process->state, window->end_ktime_ns);
	return process;
}

/* The symbols of a program are gone once the process runs another one. */
static int find_symbol(void *context, uint64_t id, struct value_snapshot *ret_name)
{
	const struct owner *owner = context;

	if (owner->is_origin || owner->image != owner->process->image)
		return -EAGAIN;
	return observed_find_symbol(owner->process, id, ret_name);
}

/* For a symbol without a name: one ID is two symbols in two programs. */
static int number_symbol(void *context, uint64_t id, struct value_snapshot *ret_name)
{
	const struct owner *owner = context;
	int length;

	*ret_name = (struct value_snapshot){ .kind = VALUE_KIND_STRING,
					     .encoding = VALUE_ENCODING_UTF_8 };
	length = snprintf((char *)ret_name->bytes, sizeof(ret_name->bytes),
			  ":0x%" PRIx64 "@%" PRIu64, id, owner->image);
	ret_name->raw = ret_name->length_bytes = (uint16_t)length;
	return 0;
}

static const char *decode_value(const struct value_snapshot *value, const struct owner *owner,
				char text[static VALUE_TEXT_BYTES], bool *is_truncated)
{
	struct owner whose = *owner;
	int r = ruby_value_text(value, find_symbol, &whose, text);

	/*
	 * The ID at least keeps values apart. But an origin would then have another value than the
	 * request that started this process.
	 */
	if (r == -EAGAIN && !owner->is_origin)
		r = ruby_value_text(value, number_symbol, &whose, text);
	*is_truncated |= r > 0;
	return r >= 0 ? text : NULL;
}

/* 0; -ENOENT: there is no snapshot; -ENOMEM. */
static int decode(struct context_table *contexts, const struct window *window,
		  struct session *session, const struct owner *owner, uint64_t hash)
{
	char texts[KEYS_MAX][VALUE_TEXT_BYTES];
	const char *values[KEYS_MAX] = { NULL };
	struct context context = { .hash = hash, .values = values, .last_window = window->number };
	struct context_snapshot snapshot;
	/*
	 * Most contexts live in one window: the next ones need their room. A context that lives on
	 * gets a new snapshot with its next account, and is known here by then.
	 */
	int r = session_take_context(session, hash, &snapshot);

	if (r < 0)
		return r;
	context.late_hash = snapshot.late_hash;
	for (size_t i = 0; i < window->keys->count; i++)
		values[i] =
			decode_value(&snapshot.values[i], owner, texts[i], &context.is_truncated);
	return context_table_add(contexts, &context, window->keys->count);
}

/*
 * Late values may have arrived since the context was decoded. A new snapshot without late values
 * changes nothing; without memory the known values stay.
 */
static void complete(struct context_table *contexts, const struct window *window,
		     struct session *session, const struct owner *owner,
		     const struct context *known)
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
				    ? decode_value(&snapshot.values[i], owner, texts[i],
						   &context.is_truncated)
				    : known->values[i];
	(void)context_table_add(contexts, &context, window->keys->count);
}

static const struct context *find_context(struct context_table *contexts,
					  const struct window *window, struct session *session,
					  const struct owner *owner, uint64_t hash)
{
	const struct context *context;

	if (hash < CONTEXT_HASH_FIRST)
		return NULL;
	context = context_table_look(contexts, hash);
	if (!context && decode(contexts, window, session, owner, hash) < 0)
		return NULL;
	/* Once per window: its rows share the result. */
	if (context && context->last_window != window->number)
		complete(contexts, window, session, owner, context);
	return context_table_find(contexts, hash, window->number);
}

/* Resolves the rows in the context that their process was started in, or the others. */
static int resolve_some(struct window *window, struct observed_table *processes,
			struct context_table *contexts, struct session *session, bool is_origin)
{
	for (size_t i = 0; i < window->row_count; i++) {
		struct window_row *row = &window->rows[i];
		struct owner owner = { .is_origin = is_origin };

		if (!(row->account.flags & ACCOUNT_OF_ORIGIN) == is_origin)
			continue;
		owner.process = find_process(processes, window, row);
		if (!owner.process)
			return -ENOMEM;
		owner.image = row->account.image;
		row->process = &owner.process->books;
		row->context =
			find_context(contexts, window, session, &owner, row->key.context_hash);
	}
	return 0;
}

int resolve_rows(struct window *window, struct observed_table *processes,
		 struct context_table *contexts, struct session *session)
{
	/*
	 * Origins first: before its exec a process may have been in the same context, and its
	 * symbols are gone.
	 */
	int r = resolve_some(window, processes, contexts, session, true);

	return r < 0 ? r : resolve_some(window, processes, contexts, session, false);
}
