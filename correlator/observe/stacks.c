/* SPDX-License-Identifier: GPL-2.0-only */
#include "observe/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include <correlator/snapshot.h>
#include <correlator/stacks.h>

#include "base/clock.h"
#include "base/hash_table.h"
#include "base/log.h"

enum {
	FRAMES_WRITTEN_MAX = 65536, /* that are known to be in the records */
	REWRITE_WINDOWS = 64, /* so often all are written anew: a file may begin anywhere */
	LEAVES_MAX = 2 * STACKS_TOLD_MAX,
	ID_BYTES = 16,
	ID_TEXT_BYTES = 2 * ID_BYTES + 1,
};

struct written_frame {
	uint8_t id[ID_BYTES];
	UT_hash_handle hh;
};

/* A stack that was told, by its innermost frame. */
struct leaf {
	uint64_t stack;
	uint64_t window; /* that it was last told in */
	char id[ID_TEXT_BYTES];
	UT_hash_handle hh;
};

struct row_by_key {
	struct account_key key;
	const struct window_row *row;
	UT_hash_handle hh;
};

struct stacks {
	struct stacks_places places;
	struct written_frame *written; /* uthash, by id */
	struct leaf *leaves; /* uthash, by stack */
	struct window_sample *samples;
	size_t count;
	size_t capacity;
};

static void forget_written(struct stacks *stacks)
{
	struct written_frame *frame, *next;

	HASH_ITER(hh, stacks->written, frame, next) {
		HASH_DEL(stacks->written, frame);
		free(frame);
	}
}

/* Those that were told before that window. */
static void forget_leaves(struct stacks *stacks, uint64_t window)
{
	struct leaf *leaf, *next;

	HASH_ITER(hh, stacks->leaves, leaf, next) {
		if (leaf->window >= window)
			continue;
		HASH_DEL(stacks->leaves, leaf);
		free(leaf);
	}
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	forget_written(stacks);
	forget_leaves(stacks, UINT64_MAX);
	free(stacks->samples);
	free(stacks);
}

/* A frame's name in the records: parent's id, then all that the frame's own record says. */
static bool make_id(const struct stack_record *record, uint8_t ret_id[static ID_BYTES])
{
	char text[FRAME_LABEL_BYTES + FRAME_PATH_BYTES + 128];
	uint8_t digest[EVP_MAX_MD_SIZE];
	size_t length = (size_t)snprintf(
		text, sizeof(text), "%s%c%s%c%s%c%s%c%u%c%u",
		record->parent_id ? record->parent_id : "", 0, record->frame_kind, 0, record->name,
		0, record->file ? record->file : "", 0, record->line, 0, record->first_line);

	if (length >= sizeof(text) || !EVP_Digest(text, length, digest, NULL, EVP_sha256(), NULL))
		return false;
	memcpy(ret_id, digest, ID_BYTES);
	return true;
}

static void print_id(const uint8_t id[static ID_BYTES], char ret_text[static ID_TEXT_BYTES])
{
	for (size_t i = 0; i < ID_BYTES; i++)
		(void)snprintf(ret_text + 2 * i, 3, "%02x", id[i]);
}

static bool is_written(const struct stacks *stacks, const uint8_t id[static ID_BYTES])
{
	const struct written_frame *frame;

	HASH_FIND(hh, stacks->written, id, ID_BYTES, frame);
	return frame != NULL;
}

/* Notes that a frame is in the records; without memory it comes again. */
static void note_written(struct stacks *stacks, const uint8_t id[static ID_BYTES])
{
	struct written_frame *frame;

	if (HASH_COUNT(stacks->written) >= FRAMES_WRITTEN_MAX)
		forget_written(stacks);
	frame = calloc(1, sizeof(*frame));
	if (!frame)
		return;
	memcpy(frame->id, id, ID_BYTES);
	HASH_ADD(hh, stacks->written, id, sizeof(frame->id), frame);
	if (!frame->hh.tbl)
		free(frame);
}

/* Writes a frame down unless it was. id: its parent's, "" = it has none, and if 0 then its own. */
static int put_frame(struct stacks *stacks, const struct window_process *process,
		     struct stack_record *record, char id[static ID_TEXT_BYTES])
{
	const struct window *window = stacks->places.window;
	char own[ID_TEXT_BYTES];
	uint8_t bytes[ID_BYTES];
	int r;

	record->parent_id = id[0] ? id : NULL;
	if (!make_id(record, bytes))
		return -ENOMEM;
	print_id(bytes, own);
	if (!is_written(stacks, bytes)) {
		record->stack_id = own;
		record->common.pid = process->pid;
		record->common.ns_pid = process->ns_pid;
		r = output_add(stacks->places.output, window_wall_ns(window, clock_monotonic_ns()),
			       record);
		if (r < 0)
			return r;
		note_written(stacks, bytes);
	}
	memcpy(id, own, sizeof(own));
	return 0;
}

static int put_plain(struct stacks *stacks, const struct window_process *process, const char *kind,
		     const char *name, char id[static ID_TEXT_BYTES])
{
	struct stack_record record = { .name = name, .frame_kind = kind };

	return put_frame(stacks, process, &record, id);
}

static struct ruby_symbols *symbols_of(struct observed *process)
{
	struct target *target = observed_target(process);

	return target ? target->ruby.symbols : NULL;
}

/* Puts a frame of Ruby's behind the one with that id. */
static int put_ruby_frame(struct stacks *stacks, struct observed *process,
			  struct stack_sighting *sighting, const struct ruby_frame *frame,
			  char id[static ID_TEXT_BYTES])
{
	static const char *const kinds[] = { [RUBY_FRAME_RUBY] = "ruby",
					     [RUBY_FRAME_COMPILED] = "ruby",
					     [RUBY_FRAME_C] = "c",
					     [RUBY_FRAME_GC] = "gc" };
	uint32_t kind = ruby_frame_kind(frame);
	struct frame_name name = { .label = FRAME_UNKNOWN };
	struct stack_record record = { .name = name.label };

	if (kind > RUBY_FRAME_UNREADABLE && kind < _RUBY_FRAME_KIND_MAX &&
	    frame_names_find(process->stacks.names, sighting, frame, &name) < 0)
		(void)strcpy(name.label, FRAME_UNKNOWN);
	if (kind <= RUBY_FRAME_UNREADABLE || kind >= _RUBY_FRAME_KIND_MAX ||
	    strcmp(name.label, FRAME_UNKNOWN) == 0) {
		process->books.balance.frames_unreadable++;
		return put_plain(stacks, &process->books, "unknown", FRAME_UNKNOWN, id);
	}
	record.frame_kind = kinds[kind];
	record.file = name.path[0] ? name.path : NULL;
	record.line = name.line;
	record.first_line = name.first_line;
	return put_frame(stacks, &process->books, &record, id);
}

static struct leaf *find_leaf(struct stacks *stacks, uint64_t stack)
{
	struct leaf *leaf;

	HASH_FIND(hh, stacks->leaves, &stack, sizeof(stack), leaf);
	return leaf;
}

/* The leaf of a stack, new if there is none. NULL: no room. */
static struct leaf *add_leaf(struct stacks *stacks, uint64_t stack)
{
	struct leaf *leaf = find_leaf(stacks, stack);

	if (leaf || HASH_COUNT(stacks->leaves) >= LEAVES_MAX)
		return leaf;
	leaf = calloc(1, sizeof(*leaf));
	if (!leaf)
		return NULL;
	leaf->stack = stack;
	HASH_ADD(hh, stacks->leaves, stack, sizeof(leaf->stack), leaf);
	if (leaf->hh.tbl)
		return leaf;
	free(leaf);
	return NULL;
}

/* A session_stack_fn: what its frames are called now they may not be called later. */
static void on_stack(void *user, const struct stack_message *message)
{
	struct stacks *stacks = user;
	const struct ruby_frames *frames = &message->frames;
	struct observed *process = observed_find(stacks->places.processes, (pid_t)message->tgid);
	struct stack_sighting sighting;
	char id[ID_TEXT_BYTES] = "";
	struct leaf *leaf;
	int r = 0;

	if (!process)
		return;
	leaf = add_leaf(stacks, message->stack);
	if (!leaf) {
		process->books.balance.stacks_full++;
		return;
	}
	r = process_stacks_meet(&process->stacks, process->pid, symbols_of(process), message,
				&sighting);
	if (r == 0 && (frames->flags & RUBY_FRAMES_CUT))
		r = put_plain(stacks, &process->books, "cut", "[cut]", id);
	for (uint32_t i = frames->count; i-- > 0 && r == 0;)
		r = put_ruby_frame(stacks, process, &sighting, &frames->frames[i], id);
	/* What was written of it is another stack. */
	if (r < 0) {
		process->books.balance.stacks_full++;
		id[0] = '\0';
	}
	memcpy(leaf->id, id, sizeof(leaf->id));
	leaf->window = stacks->places.window->number;
}

struct stacks *stacks_new(const struct stacks_places *places)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->places = *places;
	session_on_stacks(places->session, on_stack, stacks);
	return stacks;
}

static void look_at_process(struct stacks *stacks, struct observed *process, uint64_t now_ns)
{
	struct ruby_stack_report report = { 0 };
	int r;

	if (!process->is_configured)
		return;
	r = process_stacks_look(&process->stacks, process->target, process->pid, now_ns, &report);
	if (r > 0)
		r = session_set_stack_layout(stacks->places.session, process->pid,
					     &process->stacks.layout);
	else if (r < 0)
		log_warning("process %d (%s): no Ruby frames, its samples are " FRAME_UNKNOWN
			    ": %s; `correlator doctor -p %d` says more",
			    process->pid, process->comm,
			    report.remark_count ? report.remarks[0] : strerror(-r), process->pid);
}

void stacks_look(struct stacks *stacks, uint64_t now_ns)
{
	struct observed *process = stacks ? stacks->places.processes->processes : NULL;

	for (; process; process = process->hh.next)
		look_at_process(stacks, process, now_ns);
}

/* A session_sample_fn. */
static int add_sample(void *user, const struct sample_key *key, uint64_t count)
{
	struct stacks *stacks = user;
	size_t capacity = stacks->capacity ? 2 * stacks->capacity : 256;
	struct window_sample *larger;

	if (stacks->count == stacks->capacity) {
		larger = realloc(stacks->samples, capacity * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		stacks->samples = larger;
		stacks->capacity = capacity;
	}
	stacks->samples[stacks->count++] =
		(struct window_sample){ .key = key->account, .stack = key->stack, .count = count };
	return 0;
}

/* The account of each sample, which was charged before it was counted. 0 or -ENOMEM. */
static int find_rows(struct stacks *stacks, const struct window *window)
{
	_cleanup_free_ struct row_by_key *rooms = calloc(window->row_count + 1, sizeof(*rooms));
	struct row_by_key *rows = NULL, *found;
	int r = rooms ? 0 : -ENOMEM;

	for (size_t i = 0; i < window->row_count && r == 0; i++) {
		rooms[i] =
			(struct row_by_key){ .key = window->rows[i].key, .row = &window->rows[i] };
		HASH_ADD(hh, rows, key, sizeof(rooms[i].key), &rooms[i]);
		if (!rooms[i].hh.tbl)
			r = -ENOMEM;
	}
	for (size_t i = 0; i < stacks->count && r == 0; i++) {
		struct window_sample *sample = &stacks->samples[i];

		HASH_FIND(hh, rows, &sample->key, sizeof(sample->key), found);
		if (!found)
			continue;
		sample->process = found->row->process;
		sample->context = found->row->context;
		sample->tid = found->row->account.tid;
		sample->ns_tid = found->row->account.ns_tid;
		sample->is_inherited = found->row->account.flags & ACCOUNT_INHERITED;
		memcpy(sample->comm, found->row->account.comm, sizeof(sample->comm));
	}
	HASH_CLEAR(hh, rows);
	return r;
}

/* Those of overflow have no account, and of a process that is gone no books. */
static void charge(struct stacks *stacks)
{
	for (size_t i = 0; i < stacks->count; i++) {
		struct window_sample *sample = &stacks->samples[i];
		struct observed *process =
			observed_find(stacks->places.processes, (pid_t)sample->key.tgid);

		if (!sample->process && process)
			sample->process = &process->books;
		if (!sample->process)
			continue;
		sample->process->balance.samples += sample->count;
		if (sample->stack == STACK_NO_LAYOUT)
			sample->process->balance.frames_unreadable += sample->count;
	}
}

int stacks_settle(struct stacks *stacks, struct window *window)
{
	struct observed *process;
	int r;

	if (!stacks)
		return 0;
	process = stacks->places.processes->processes;
	for (; process; process = process->hh.next)
		process->books.balance.period_ns = NS_PER_S / stacks->places.hz;
	r = session_drain_samples(stacks->places.session, window->epoch, add_sample, stacks);
	if (r == 0)
		r = find_rows(stacks, window);
	if (r == 0)
		charge(stacks);
	return r;
}

/* The innermost frame of a sample, which is in the records by then. */
static int put_leaf(struct stacks *stacks, const struct window_sample *sample,
		    char ret_id[static ID_TEXT_BYTES])
{
	const struct leaf *leaf = find_leaf(stacks, sample->stack);

	ret_id[0] = '\0';
	if (leaf && leaf->id[0]) {
		memcpy(ret_id, leaf->id, sizeof(leaf->id));
		return 0;
	}
	return sample->stack == STACK_NO_RUBY
		       ? put_plain(stacks, sample->process, "native", "[no Ruby]", ret_id)
		       : put_plain(stacks, sample->process, "unknown", FRAME_UNKNOWN, ret_id);
}

void stacks_forget(struct stacks *stacks)
{
	if (!stacks)
		return;
	stacks->count = 0;
	forget_written(stacks);
	forget_leaves(stacks, UINT64_MAX);
}

int stacks_put(struct stacks *stacks)
{
	const struct window *window = stacks ? stacks->places.window : NULL;
	struct record_key keys[KEYS_MAX];
	struct sample_record record;
	char id[ID_TEXT_BYTES];
	int r = 0;

	for (size_t i = 0; stacks && i < stacks->count && r == 0; i++) {
		struct window_sample *sample = &stacks->samples[i];

		if (!sample->process)
			continue;
		r = put_leaf(stacks, sample, id);
		window_sample_record(window, sample, keys, &record);
		record.stack_id = id;
		record.period_ns = NS_PER_S / stacks->places.hz;
		if (r == 0)
			r = output_add(stacks->places.output,
				       window_wall_ns(window, window->end_ktime_ns), &record);
	}
	if (!stacks)
		return 0;
	stacks->count = 0;
	/* Told in the last window is still known in this one, of who was late. */
	forget_leaves(stacks, window->number - 1);
	if (window->number % REWRITE_WINDOWS == 0)
		forget_written(stacks);
	return r;
}
