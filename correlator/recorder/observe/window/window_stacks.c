/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/window_stacks.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include <correlator/snapshot.h>
#include <correlator/stacks.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash_table.h"
#include "base/log.h"
#include "recorder/observe/window/row_index.h"
#include "recorder/observe/window/stack_tips.h"

enum {
	FRAMES_WRITTEN_MAX = 65536, /* that are known to be in the records */
	REWRITE_WINDOWS = 64, /* interval of writing all frames again: a file may begin anywhere */
	LEAVES_MAX = 2 * STACKS_TOLD_MAX,
	ID_BYTES = 16,
	ID_TEXT_BYTES = WINDOW_STACK_ID_BYTES,
};

_Static_assert(ID_TEXT_BYTES == 2 * ID_BYTES + 1, "hexadecimal");

/* Naming that takes this long had to read a file. */
#define LONG_NAMING_NS NS_PER_MS

struct written_frame {
	uint8_t id[ID_BYTES];
	UT_hash_handle hh;
};

/* A reported stack, by its innermost frame. */
struct leaf {
	uint64_t stack;
	uint64_t window; /* in which it was last reported */
	bool is_interpreted; /* it is Ruby code, which the interpreter runs */
	char id[ID_TEXT_BYTES];
	UT_hash_handle hh;
};

/* The key of a sample record: several stacks and tips may have the same names. */
struct joined_key {
	struct account_key account;
	bool is_wait;
	char id[ID_TEXT_BYTES];
};

enum {
	JOINED_KEY_BYTES = offsetof(struct joined_key, id) + ID_TEXT_BYTES
};

struct joined_sample {
	struct joined_key key;
	struct window_sample sample; /* the first one, with the sums of all */
	UT_hash_handle hh;
};

struct window_stacks {
	struct window_stacks_places places;
	struct stack_tips *tips;
	struct native_names *native; /* NULL = native code is not named */
	struct native_callers *callers; /* NULL = only where the thread is */
	struct native_name *named; /* room for NATIVE_FRAMES_MAX */
	struct written_frame *written; /* uthash, by id */
	struct leaf *leaves; /* uthash, by stack */
	struct window_sample *samples;
	size_t count;
	size_t capacity;
};

static void forget_written(struct window_stacks *stacks)
{
	struct written_frame *frame, *next;

	HASH_ITER(hh, stacks->written, frame, next) {
		HASH_DEL(stacks->written, frame);
		free(frame);
	}
}

/* Drops leaves that were last reported before window. */
static void forget_leaves(struct window_stacks *stacks, uint64_t window)
{
	struct leaf *leaf, *next;

	HASH_ITER(hh, stacks->leaves, leaf, next) {
		if (leaf->window >= window)
			continue;
		HASH_DEL(stacks->leaves, leaf);
		free(leaf);
	}
}

void window_stacks_free(struct window_stacks *stacks)
{
	if (!stacks)
		return;
	forget_written(stacks);
	forget_leaves(stacks, UINT64_MAX);
	stack_tips_free(stacks->tips);
	native_callers_free(stacks->callers);
	native_names_free(stacks->native);
	free(stacks->named);
	free(stacks->samples);
	free(stacks);
}

/* A frame's id in the records: a digest of its parent's id and its own record's fields. */
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

static bool is_written(const struct window_stacks *stacks, const uint8_t id[static ID_BYTES])
{
	const struct written_frame *frame;

	HASH_FIND(hh, stacks->written, id, ID_BYTES, frame);
	return frame != NULL;
}

/* Notes that a frame is in the records; without memory it is written again. */
static void note_written(struct window_stacks *stacks, const uint8_t id[static ID_BYTES])
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

/* Records a frame, unless it was recorded. id: its parent's, "" = none; on success, its own. */
static int put_frame(struct window_stacks *stacks, const struct window_process *process,
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

static int put_plain(struct window_stacks *stacks, const struct window_process *process,
		     const char *kind, const char *name, char id[static ID_TEXT_BYTES])
{
	struct stack_record record = { .name = name, .frame_kind = kind };

	return put_frame(stacks, process, &record, id);
}

static struct ruby_symbols *symbols_of(struct observed *process)
{
	struct target *target = observed_target(process);

	return target ? target->ruby.symbols : NULL;
}

/* cause: COUNTER_FRAMES_UNREADABLE = it could not be read when it was sampled. */
static void count_unreadable(struct window_process *process, enum counter cause, uint64_t count)
{
	process->balance.losses[COUNTER_FRAMES_UNREADABLE] += count;
	if (cause != COUNTER_FRAMES_UNREADABLE)
		process->balance.losses[cause] += count;
}

/* Appends a Ruby frame to the one with that id. */
static int put_ruby_frame(struct window_stacks *stacks, struct observed *process,
			  struct stack_sighting *sighting, const struct ruby_frame *frame,
			  char id[static ID_TEXT_BYTES])
{
	static const char *const kinds[] = { [RUBY_FRAME_RUBY] = "ruby",
					     [RUBY_FRAME_COMPILED] = "ruby",
					     [RUBY_FRAME_C] = "c",
					     [RUBY_FRAME_GC] = "gc" };
	uint32_t kind = ruby_frame_kind(frame);
	bool is_read = kind > RUBY_FRAME_UNREADABLE && kind < _RUBY_FRAME_KIND_MAX;
	struct frame_name name = { .label = FRAME_UNKNOWN };
	struct stack_record record = { .name = name.label };

	if (is_read && frame_names_find(process->stacks.names, sighting, frame, &name) < 0)
		(void)strcpy(name.label, FRAME_UNKNOWN);
	if (!is_read || strcmp(name.label, FRAME_UNKNOWN) == 0) {
		count_unreadable(&process->books,
				 is_read ? COUNTER_FRAMES_COLLECTED : COUNTER_FRAMES_UNREADABLE, 1);
		return put_plain(stacks, &process->books, "unknown", FRAME_UNKNOWN, id);
	}
	record.frame_kind = kinds[kind];
	record.file = name.path[0] ? name.path : NULL;
	record.line = name.line;
	record.first_line = name.first_line;
	return put_frame(stacks, &process->books, &record, id);
}

static struct leaf *find_leaf(struct window_stacks *stacks, uint64_t stack)
{
	struct leaf *leaf;

	HASH_FIND(hh, stacks->leaves, &stack, sizeof(stack), leaf);
	return leaf;
}

/* The leaf of a stack, new if there is none. NULL: no room or memory. */
static struct leaf *add_leaf(struct window_stacks *stacks, uint64_t stack)
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

/* A session_stack_fn. Names the frames at once: their names may change. */
static void on_stack(void *user, const struct stack_message *message)
{
	struct window_stacks *stacks = user;
	const struct ruby_frames *frames = &message->frames;
	struct observed *process = observed_find(stacks->places.processes, message->life);
	struct stack_sighting sighting;
	char id[ID_TEXT_BYTES] = "";
	struct leaf *leaf;
	int r = 0;

	if (!process)
		return;
	/* The process now runs another program. */
	if (process->image != message->image) {
		count_unreadable(&process->books, COUNTER_FRAMES_REPLACED, 1);
		return;
	}
	leaf = add_leaf(stacks, message->stack);
	if (!leaf) {
		process->books.balance.losses[COUNTER_STACKS_FULL]++;
		return;
	}
	r = process_stacks_meet(&process->stacks, process->pid, symbols_of(process), message,
				&sighting);
	if (r == 0 && (frames->flags & RUBY_FRAMES_CUT))
		r = put_plain(stacks, &process->books, "cut", "[cut]", id);
	for (uint32_t i = frames->count; i-- > 0 && r == 0;)
		r = put_ruby_frame(stacks, process, &sighting, &frames->frames[i], id);
	/* The frames already recorded make another stack. */
	if (r < 0) {
		process->books.balance.losses[COUNTER_STACKS_FULL]++;
		id[0] = '\0';
	}
	memcpy(leaf->id, id, sizeof(leaf->id));
	leaf->is_interpreted = frames->count > 0 && ruby_frame_is_ruby(&frames->frames[0]);
	leaf->window = stacks->places.window->number;
}

static void tell_layout(struct window_stacks *stacks, struct observed *process)
{
	struct ruby_stack_layout *layout = &process->stacks.layout;
	int r;

	layout->image = process->image;
	r = session_set_stack_layout(stacks->places.session, process->life, layout);
	if (r < 0)
		(void)log_error_errno(r, "cannot tell where the frames of process %d (%s) are",
				      process->pid, process->comm);
}

/* Tells the kernel side where the interpreter is, so that it sends no stacks of it. */
static void tell_interpreter(struct window_stacks *stacks, struct observed *process,
			     uint64_t address)
{
	struct ruby_stack_layout *layout = &process->stacks.layout;
	struct native_place place;

	if (!process->stacks.has_layout || layout->code_end ||
	    process_stacks_place_native(&process->stacks, stacks->native, process->pid, address,
					&place) < 0)
		return;
	layout->code_begin = place.begin;
	layout->code_end = place.end;
	tell_layout(stacks, process);
}

static void find_frames(struct window_stacks *stacks, struct observed *process,
			const struct tip_message *message, uint64_t now_ns, bool may_read,
			struct native_frames *frames)
{
	if (message->has_stack && stacks->callers) {
		process_stacks_find_callers(&process->stacks, stacks->callers, process->pid,
					    &((const struct tip_with_stack *)message)->stack,
					    now_ns, may_read, frames);
		return;
	}
	frames->addresses[0] = message->native_pc;
	frames->count = 1;
	frames->end = NATIVE_END_WHOLE;
}

/* Reading a file's functions counts as a look at the process's family. */
static void name_natives(struct window_stacks *stacks, struct observed *process,
			 const struct tip_message *message, struct tip_names *ret_natives)
{
	struct look_budget *budget = &process->family->looks;
	uint64_t begin_ns = clock_monotonic_ns(), end_ns;
	bool may_read = look_budget_next_ns(budget, begin_ns) == begin_ns;
	struct native_frames frames;

	find_frames(stacks, process, message, begin_ns, may_read, &frames);
	for (size_t i = 0; i < frames.count; i++) {
		process_stacks_name_native(&process->stacks, stacks->native, process->pid,
					   frames.addresses[i], begin_ns, may_read,
					   &stacks->named[i]);
		if (strcmp(stacks->named[i].label, FRAME_UNKNOWN) == 0)
			count_unreadable(&process->books, COUNTER_NATIVE_UNNAMED, 1);
	}
	end_ns = clock_monotonic_ns();
	if (end_ns - begin_ns >= LONG_NAMING_NS)
		look_budget_spend(budget, end_ns, end_ns - begin_ns);
	*ret_natives = (struct tip_names){ stacks->named, frames.count, frames.end };
	if (message->has_stack && frames.count > 0 && stacks->named[0].is_ruby)
		tell_interpreter(stacks, process, frames.addresses[0]);
}

/* A session_tip_fn. Names the addresses at once: their code may change. */
static void on_tip(void *user, const struct tip_message *message)
{
	struct window_stacks *stacks = user;
	struct observed *process = observed_find(stacks->places.processes, message->life);
	bool has_native = stacks->native && message->native_pc;
	struct tip_names natives = { 0 };

	if (!process)
		return;
	/*
	 * The kernel's names are for all processes; a program's names are gone once the process
	 * runs another one.
	 */
	if (has_native && process->image != message->image) {
		count_unreadable(&process->books, COUNTER_FRAMES_REPLACED, 1);
		has_native = false;
	}
	if (has_native)
		name_natives(stacks, process, message, &natives);
	if (stack_tips_meet(stacks->tips, message, &natives, stacks->places.window->number) < 0)
		process->books.balance.losses[COUNTER_STACKS_FULL]++;
}

static bool have_native(struct window_stacks *stacks)
{
	const struct window_stacks_places *places = &stacks->places;

	stacks->named = calloc(NATIVE_FRAMES_MAX, sizeof(*stacks->named));
	stacks->native = native_names_new(places->processes->files);
	if (stacks->native && places->has_callers)
		stacks->callers = native_callers_new(stacks->native);
	return stacks->named && stacks->native && (stacks->callers || !places->has_callers);
}

struct window_stacks *window_stacks_new(const struct window_stacks_places *places)
{
	struct window_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->places = *places;
	stacks->tips = stack_tips_new();
	if (!stacks->tips || (places->has_native && !have_native(stacks))) {
		window_stacks_free(stacks);
		return NULL;
	}
	session_on_stacks(places->session, on_stack, stacks);
	session_on_tips(places->session, on_tip);
	return stacks;
}

static void look_at_process(struct window_stacks *stacks, struct observed *process, uint64_t now_ns)
{
	struct ruby_stack_report report = { 0 };
	int r;

	if (!process->is_configured)
		return;
	r = process_stacks_look(&process->stacks, process->target, process->pid, now_ns, &report);
	if (r > 0)
		tell_layout(stacks, process);
	else if (r < 0)
		log_warning("process %d (%s): no Ruby frames, its samples are " FRAME_UNKNOWN
			    ": %s; `correlator doctor -p %d` says more",
			    process->pid, process->comm,
			    report.remark_count ? report.remarks[0] : strerror(-r), process->pid);
}

void window_stacks_prepare(struct window_stacks *stacks)
{
	if (stacks)
		(void)stack_tips_have_kernel(stacks->tips);
}

void window_stacks_look(struct window_stacks *stacks, uint64_t now_ns)
{
	struct observed *process = stacks ? stacks->places.processes->processes : NULL;

	for (; process; process = process->hh.next)
		look_at_process(stacks, process, now_ns);
}

static int add(struct window_stacks *stacks, const struct window_sample *sample)
{

	if (array_reserve(&stacks->samples, &stacks->capacity, stacks->count + 1) < 0)
		return -ENOMEM;
	stacks->samples[stacks->count++] = *sample;
	return 0;
}

/* A session_sample_fn. */
static int add_sample(void *user, const struct sample_key *key, uint64_t count)
{
	const struct window_sample sample = {
		.owner.key = key->account, .stack = key->stack, .tip = key->tip, .count = count
	};

	return add(user, &sample);
}

/* A session_wait_fn. */
static int add_wait(void *user, const struct sample_key *key, const struct wait_sums *sums)
{
	const struct window_sample sample = { .owner.key = key->account,
					      .stack = key->stack,
					      .tip = key->tip,
					      .is_wait = true,
					      .waited = *sums };

	return add(user, &sample);
}

/*
 * Finds the row of each sample's account, which was charged before the sample was counted. 0 or
 * -ENOMEM.
 */
static int find_rows(struct window_stacks *stacks, const struct window *window)
{
	_cleanup_(row_index_freep) struct row_index *index = row_index_new(window);

	for (size_t i = 0; index && i < stacks->count; i++)
		row_index_find_owner(index, stacks->places.processes, &stacks->samples[i].owner);
	return index ? 0 : -ENOMEM;
}

/* Whether the process has no Ruby, as far as its loader has come. A program that was not looked at,
 * because it is young, has not run any Ruby code yet. */
static bool is_no_ruby(const struct observed *process)
{
	return process->target ? !process->target->ruby.symbols : process->state.young_until_ns > 0;
}

/* Samples in the overflow have no account, and those of a process that is gone have no books. */
static void charge(struct window_stacks *stacks)
{
	for (size_t i = 0; i < stacks->count; i++) {
		struct window_sample *sample = &stacks->samples[i];
		struct observed *process =
			observed_find(stacks->places.processes, sample->owner.key.life);

		if (!sample->owner.process)
			continue;
		if (sample->stack == STACK_NO_LAYOUT && process && is_no_ruby(process))
			sample->stack = STACK_NO_RUBY;
		sample->owner.process->balance.samples += sample->count;
		if (sample->stack == STACK_NO_LAYOUT)
			count_unreadable(sample->owner.process, COUNTER_FRAMES_EARLY,
					 sample->count);
	}
}

int window_stacks_settle(struct window_stacks *stacks, struct window *window)
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
		r = session_drain_waits(stacks->places.session, window->epoch, add_wait, stacks);
	if (r == 0)
		r = find_rows(stacks, window);
	if (r == 0)
		charge(stacks);
	return r;
}

/*
 * The innermost frame of a sample, which is already in the records. A thread may wait for several
 * windows in a stack that was reported when the wait began.
 */
static int put_leaf(struct window_stacks *stacks, const struct window_sample *sample,
		    char ret_id[static ID_TEXT_BYTES])
{
	struct leaf *leaf = find_leaf(stacks, sample->stack);

	if (leaf && sample->is_wait)
		leaf->window = stacks->places.window->number;
	ret_id[0] = '\0';
	if (leaf && leaf->id[0]) {
		memcpy(ret_id, leaf->id, sizeof(leaf->id));
		return 0;
	}
	return sample->stack == STACK_NO_RUBY
		       ? put_plain(stacks, sample->owner.process, "native", "[no Ruby]", ret_id)
		       : put_plain(stacks, sample->owner.process, "unknown", FRAME_UNKNOWN, ret_id);
}

/* Appends the kernel's frames to the one with that id. */
static int put_kernel(struct window_stacks *stacks, const struct window_sample *sample,
		      const struct tip_message *tip, char id[static ID_TEXT_BYTES])
{
	const struct window_process *process = sample->owner.process;
	char name[KERNEL_NAME_BYTES];
	uint32_t end = 0;
	int r = 0;

	if (!stack_tips_have_kernel(stacks->tips))
		return put_plain(stacks, process, "kernel", "[kernel]", id);
	if (tip->kernel_count == KERNEL_FRAMES_MAX)
		r = put_plain(stacks, process, "cut", "[cut]", id);
	if (sample->is_wait)
		end = stack_tips_count_lookers(stacks->tips, tip);
	for (uint32_t i = tip->kernel_count; i-- > end && r == 0;) {
		stack_tips_name_kernel(stacks->tips, tip, i, name);
		r = put_plain(stacks, process, "kernel", name, id);
	}
	return r;
}

static int put_native(struct window_stacks *stacks, const struct window_sample *sample,
		      const struct tip_native *native, char id[static ID_TEXT_BYTES])
{
	struct stack_record record = { .name = native->name, .frame_kind = "native" };

	if (!native->name[0])
		return 0;
	if (strcmp(native->name, FRAME_UNKNOWN) == 0)
		record.frame_kind = "unknown";
	record.file = native->file[0] ? native->file : NULL;
	return put_frame(stacks, sample->owner.process, &record, id);
}

/*
 * Appends the native functions to the frame with that id. Leaves out the interpreter, and code that
 * it generated, under Ruby code, where they are obvious; shows them under methods in C, in
 * collections, and without Ruby.
 */
static int put_natives(struct window_stacks *stacks, const struct window_sample *sample,
		       const struct stack_tip *tip, char id[static ID_TEXT_BYTES])
{
	const struct leaf *leaf = find_leaf(stacks, sample->stack);
	size_t count = tip->native_count;
	int r = 0;

	if (count > 0 && tip->natives[count - 1].is_ruby && leaf && leaf->is_interpreted)
		count--;
	if (tip->end == NATIVE_END_CUT || (tip->end == NATIVE_END_GENERATED && !leaf))
		r = put_plain(stacks, sample->owner.process, "cut", "[cut]", id);
	while (count-- > 0 && r == 0)
		r = put_native(stacks, sample, &tip->natives[count], id);
	return r;
}

/* Appends the frames above the one with that id. A tip that was not reported is unknown. */
static int put_tip(struct window_stacks *stacks, const struct window_sample *sample,
		   char id[static ID_TEXT_BYTES])
{
	const struct stack_tip *tip = stack_tips_find(stacks->tips, sample->tip);
	int r;

	if (sample->tip == TIP_NONE)
		return 0;
	if (sample->is_wait)
		stack_tips_keep(stacks->tips, sample->tip, stacks->places.window->number);
	if (!tip)
		return put_plain(stacks, sample->owner.process, "unknown", FRAME_UNKNOWN, id);
	r = put_natives(stacks, sample, tip, id);
	return r == 0 && tip->message->kernel_count > 0
		       ? put_kernel(stacks, sample, tip->message, id)
		       : r;
}

int window_stacks_put_stack(struct window_stacks *stacks, struct observed *process,
			    const struct stall *stall, char ret_id[static WINDOW_STACK_ID_BYTES])
{
	struct window_sample sample = { .owner.process = &process->books,
					.stack = stall->stack,
					.tip = stall->tip,
					.is_wait = !(stall->flags & STALL_STACK_IS_SAMPLED) };
	int r;

	ret_id[0] = '\0';
	if (!stacks || sample.stack == STACK_NOT_SEEN)
		return 0;
	if (sample.stack == STACK_NO_LAYOUT && is_no_ruby(process))
		sample.stack = STACK_NO_RUBY;
	r = put_leaf(stacks, &sample, ret_id);
	return r < 0 ? r : put_tip(stacks, &sample, ret_id);
}

void window_stacks_forget(struct window_stacks *stacks)
{
	if (!stacks)
		return;
	stacks->count = 0;
	forget_written(stacks);
	forget_leaves(stacks, UINT64_MAX);
	stack_tips_forget(stacks->tips, UINT64_MAX);
}

/* Adds a sample to those of its account with the same frames. 0 or -ENOMEM. */
static int join(struct joined_sample **joined, const struct joined_key *key,
		const struct window_sample *sample)
{
	struct joined_sample *found;

	HASH_FIND(hh, *joined, key, JOINED_KEY_BYTES, found);
	if (found) {
		found->sample.count += sample->count;
		wait_sums_add(&found->sample.waited, &sample->waited);
		return 0;
	}
	found = calloc(1, sizeof(*found));
	if (!found)
		return -ENOMEM;
	found->key = *key;
	found->sample = *sample;
	HASH_ADD(hh, *joined, key, JOINED_KEY_BYTES, found);
	if (found->hh.tbl)
		return 0;
	free(found);
	return -ENOMEM;
}

/* Records all frames of the window's samples, and joins samples with the same names. */
static int put_frames(struct window_stacks *stacks, struct joined_sample **joined)
{
	int r = 0;

	for (size_t i = 0; i < stacks->count && r == 0; i++) {
		struct window_sample *sample = &stacks->samples[i];
		struct joined_key key = { .account = sample->owner.key,
					  .is_wait = sample->is_wait };

		if (!sample->owner.process)
			continue;
		r = put_leaf(stacks, sample, key.id);
		if (r == 0)
			r = put_tip(stacks, sample, key.id);
		if (r == 0)
			r = join(joined, &key, sample);
	}
	return r;
}

static int put_sample(struct window_stacks *stacks, struct joined_sample *joined)
{
	const struct window *window = stacks->places.window;
	struct record_key keys[KEYS_MAX];
	struct sample_record record;

	window_sample_record(window, &joined->sample, keys, &record);
	record.stack_id = joined->key.id;
	record.period_ns = joined->sample.is_wait ? 0 : NS_PER_S / stacks->places.hz;
	return output_add(stacks->places.output, window_wall_ns(window, window->end_ktime_ns),
			  &record);
}

int window_stacks_put(struct window_stacks *stacks)
{
	const struct window *window = stacks ? stacks->places.window : NULL;
	struct joined_sample *joined = NULL, *one, *next;
	int r;

	if (!stacks)
		return 0;
	r = put_frames(stacks, &joined);
	HASH_ITER(hh, joined, one, next) {
		if (r == 0)
			r = put_sample(stacks, one);
		HASH_DEL(joined, one);
		free(one);
	}
	stacks->count = 0;
	/* A late thread may still refer to what was reported in the previous window. */
	forget_leaves(stacks, window->number - 1);
	stack_tips_forget(stacks->tips, window->number - 1);
	if (window->number % REWRITE_WINDOWS == 0)
		forget_written(stacks);
	return r;
}
