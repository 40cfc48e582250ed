/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/frame_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/random.h"
#include "recorder/symbolize/stack_reader.h"
#include "recorder/symbolize/witness.h"

enum {
	/* Reads of a name that changes while it is read. */
	TRIES_MAX = 3,
	WAYS = 8, /* slots that a frame may be in */
	/*
	 * Garbage collections that a name must be known to have survived: its objects are of the
	 * old generation by then.
	 */
	OLD_COLLECTIONS = 4,
};

struct kept_name {
	struct ruby_frame frame;
	struct gc_state since; /* valid from here on, */
	struct gc_state checked; /* at least until here */
	bool is_survivor; /* a collection has found its objects in use */
	uint64_t asked; /* frame_names.asked at its last use */
	uint64_t batch; /* the last batch that confirmed it */
	uint64_t witness_hash;
	uint32_t first_line;
	uint32_t line;
	uint32_t block_depth;
	bool is_line_old;
	uint8_t read_count;
	uint16_t path_offset; /* in texts */
	struct witness_read *reads; /* allocated with the texts, after the structure */
	char *texts; /* label, NUL, path, NUL */
};

_Static_assert(WITNESS_READS_MAX <= UINT8_MAX && FRAME_LABEL_BYTES <= UINT16_MAX, "they fit");

struct frame_names {
	struct memory_reader reader;
	struct frame_namer namer;
	uint64_t seed;
	struct frame_names_counts counts;
	uint64_t asked; /* frames looked up so far */
	uint64_t batch; /* number of the last batch */
	struct witness witness; /* of the name being read */
	struct kept_name *slots[FRAME_NAMES_MAX];
};

int frame_names_new(const struct memory_reader *reader, const struct ruby_stack_layout *layout,
		    struct ruby_symbols *symbols, struct frame_names **ret_names)
{
	struct frame_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->reader = *reader;
	names->namer = (struct frame_namer){ .layout = layout, .symbols = symbols };
	names->seed = random_seed();
	names->batch = 1; /* 0 means never confirmed by a batch */
	*ret_names = names;
	return 0;
}

void frame_names_free(struct frame_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < FRAME_NAMES_MAX; i++)
		free(names->slots[i]);
	free(names);
}

struct frame_names_counts frame_names_count(const struct frame_names *names)
{
	return names->counts;
}

/* The slot of a frame; else a free one, or the least recently used one. */
static struct kept_name **slot_of(struct frame_names *names, const struct ruby_frame *frame)
{
	uint64_t set =
		hash_table_key(names->seed, frame, sizeof(*frame)) % (FRAME_NAMES_MAX / WAYS);
	struct kept_name **slots = &names->slots[set * WAYS], **free_slot = slots;

	for (size_t i = 0; i < WAYS; i++) {
		if (slots[i] && !memcmp(&slots[i]->frame, frame, sizeof(*frame)))
			return &slots[i];
		if (*free_slot && (!slots[i] || slots[i]->asked < (*free_slot)->asked))
			free_slot = &slots[i];
	}
	return free_slot;
}

static bool has_gc(const struct frame_names *names)
{
	return names->namer.layout->gc_count_address && names->namer.layout->gc_flags_address;
}

static int read_state(const struct frame_names *names, struct gc_state *ret_state)
{
	const struct ruby_stack_layout *layout = names->namer.layout;
	struct memory_span spans[GC_SPANS];
	struct gc_reading reading;
	int r;

	*ret_state = (struct gc_state){ .phase = GC_UNKNOWN };
	if (!has_gc(names))
		return 0;
	gc_state_spans(layout, &reading, spans);
	r = memory_read_many(&names->reader, spans, GC_SPANS);
	if (r == 0)
		*ret_state = gc_state_read(layout, &reading);
	return r == -EFAULT ? 0 : r;
}

/* True if the name was valid when the stack was seen. */
static bool was_so(const struct kept_name *kept, const struct gc_state *then)
{
	return (kept->since.count < then->count || gc_state_freed_nothing(then, &kept->since)) &&
	       (then->count < kept->checked.count || gc_state_freed_nothing(&kept->checked, then));
}

/*
 * True if a name that was valid at its last check, and is valid again, was valid in between. If it
 * was not, its object was freed, an object of another name took its place and was freed, too, and
 * the next object there has the first one's name: that takes two collections, and a third that
 * finds the last object in use. (A compaction that moves an old object there does both at once;
 * that takes two compactions in a row.) For an object that has outlived many collections this is
 * ruled out whatever their number: old objects are rarely freed, and it would have to be back to
 * the byte, with its texts, its code, its place in them and its age, between two checks.
 */
static bool was_so_since(const struct kept_name *kept, const struct gc_state *now)
{
	const struct gc_state *checked = &kept->checked;
	uint64_t count = now->count - checked->count + (checked->phase == GC_SETTLED ? 0 : 1);

	return gc_state_freed_nothing(checked, now) || count <= (kept->is_survivor ? 2 : 1) ||
	       (kept->is_survivor && checked->count >= kept->since.count + OLD_COLLECTIONS);
}

/* Notes that the name was valid between both states: ever since the last check, or from now on. */
static void note_check(struct kept_name *kept, const struct gc_state *before,
		       const struct gc_state *after)
{
	if (!was_so_since(kept, after))
		kept->since = *after;
	kept->checked = *before;
}

/*
 * 1: everything the name was read from is unchanged, which is noted; 0: changed; an error of the
 * reader.
 */
static int check(struct frame_names *names, struct kept_name *kept)
{
	struct gc_state before, after;
	uint64_t hash;
	int r = read_state(names, &before);

	if (r == 0)
		r = witness_read_again(&names->reader, kept->reads, kept->read_count, names->seed,
				       &hash);
	if (r == -EFAULT)
		return 0;
	if (r == 0)
		r = read_state(names, &after);
	if (r < 0 || hash != kept->witness_hash)
		return r;
	note_check(kept, &before, &after);
	return 1;
}

static void copy_kept(const struct kept_name *kept, struct frame_name *ret_name)
{
	*ret_name = (struct frame_name){ .first_line = kept->first_line,
					 .line = kept->line,
					 .block_depth = kept->block_depth,
					 .is_line_old = kept->is_line_old };
	memcpy(ret_name->label, kept->texts, kept->path_offset);
	memcpy(ret_name->path, kept->texts + kept->path_offset,
	       strlen(kept->texts + kept->path_offset) + 1);
}

/* Allocates the name, its reads and its texts in one block; NULL: out of memory. */
static struct kept_name *new_kept(const struct frame_names *names, const struct ruby_frame *frame,
				  const struct frame_name *name)
{
	const struct witness *witness = &names->witness;
	size_t reads_bytes = witness->count * sizeof(*witness->reads);
	size_t label_bytes = strlen(name->label) + 1, path_bytes = strlen(name->path) + 1;
	struct kept_name *kept = malloc(sizeof(*kept) + reads_bytes + label_bytes + path_bytes);

	if (!kept)
		return NULL;
	*kept = (struct kept_name){ .frame = *frame,
				    .witness_hash = witness_hash(witness, names->seed),
				    .first_line = name->first_line,
				    .line = name->line,
				    .block_depth = name->block_depth,
				    .is_line_old = name->is_line_old,
				    .read_count = (uint8_t)witness->count,
				    .path_offset = (uint16_t)label_bytes,
				    .reads = (struct witness_read *)(kept + 1),
				    .texts = (char *)(kept + 1) + reads_bytes };
	memcpy(kept->reads, witness->reads, reads_bytes);
	memcpy(kept->texts, name->label, label_bytes);
	memcpy(kept->texts + label_bytes, name->path, path_bytes);
	return kept;
}

/*
 * Reads everything twice: only what is the same both times belongs together. 1: a name; 0: none; or
 * an error of the reader.
 */
static int read_twice(struct frame_names *names, const struct ruby_frame *frame,
		      struct frame_name *ret_name)
{
	struct witness *witness = &names->witness;
	uint64_t hash;
	int r;

	for (int i = 0; i < TRIES_MAX; i++) {
		witness_init(witness, &names->reader);
		r = frame_name_read(&names->namer, &witness->reader, frame, ret_name);
		if (r < 0 && r != -EAGAIN)
			return r;
		if (r == -EAGAIN)
			continue;
		if (!strcmp(ret_name->label, FRAME_UNKNOWN))
			return 0;
		r = witness_read_again(&names->reader, witness->reads, witness->count, names->seed,
				       &hash);
		if (r == 0 && hash == witness_hash(witness, names->seed))
			return 1;
		if (r < 0 && r != -EFAULT)
			return r;
	}
	return 0;
}

/* Checks the objects that a name was read from: a method is not always one of them. */
static bool is_of_survivors(const struct witness *witness, const struct ruby_frame *frame)
{
	uint64_t flags;

	if (!witness_find_u64(witness, ruby_frame_object(frame), &flags) ||
	    !(flags & RUBY_OBJECT_SURVIVED))
		return false;
	return !ruby_frame_is_ruby(frame) ||
	       !witness_find_u64(witness, ruby_frame_method(frame), &flags) ||
	       (flags & RUBY_OBJECT_SURVIVED);
}

/*
 * Reads a name and keeps it. 1: a name, whose slot is empty without memory; else as read_twice().
 */
static int renew(struct frame_names *names, const struct ruby_frame *frame, struct kept_name **slot,
		 struct frame_name *ret_name)
{
	struct gc_state before, after;
	int r = read_state(names, &before);

	if (r == 0)
		r = read_twice(names, frame, ret_name);
	if (r <= 0)
		return r;
	r = read_state(names, &after);
	if (r < 0)
		return r;
	names->counts.read++;
	free(*slot);
	*slot = new_kept(names, frame, ret_name);
	if (*slot) {
		(*slot)->asked = ++names->asked;
		(*slot)->since = after;
		(*slot)->checked = before;
		(*slot)->is_survivor = is_of_survivors(&names->witness, frame);
	}
	return 1;
}

/* Whether a name that is valid now belongs to the frame that was seen. */
static int is_of(struct frame_names *names, struct stack_sighting *sighting,
		 const struct ruby_frame *frame, const struct kept_name *kept)
{
	struct gc_state now;
	int r;

	if (!sighting || ruby_frame_object(frame) == 0 || (kept && was_so(kept, &sighting->then)))
		return 1;
	if (!has_gc(names))
		return 0;
	r = read_state(names, &now);
	if (r < 0 || gc_state_freed_nothing(&sighting->then, &now))
		return r < 0 ? r : 1;
	if (!gc_state_keeps_survivors(&sighting->then, &now))
		return 0;
	r = stack_sighting_is_of(sighting, &names->reader, names->namer.layout, frame);
	if (r <= 0)
		return r == -EFAULT ? 0 : r;
	r = read_state(names, &now);
	return r < 0 ? r : gc_state_keeps_survivors(&sighting->then, &now);
}

static struct kept_name *find_kept(struct frame_names *names, const struct ruby_frame *frame)
{
	struct kept_name *kept = *slot_of(names, frame);

	return kept && !memcmp(&kept->frame, frame, sizeof(*frame)) ? kept : NULL;
}

int frame_names_find(struct frame_names *names, struct stack_sighting *sighting,
		     const struct ruby_frame *frame, struct frame_name *ret_name)
{
	struct kept_name *kept = find_kept(names, frame);
	bool is_so =
		kept && sighting && (kept->batch == names->batch || was_so(kept, &sighting->then));
	struct frame_name name;
	int r = 1;

	if (kept && !is_so) {
		r = check(names, kept);
		if (r < 0)
			return r;
		names->counts.changed += r == 0;
	}
	if (kept && r > 0) {
		kept->asked = ++names->asked;
		names->counts.kept++;
		copy_kept(kept, &name);
	} else {
		r = renew(names, frame, slot_of(names, frame), &name);
		kept = find_kept(names, frame);
		names->counts.unknown += r == 0;
	}
	if (r > 0) {
		r = is_of(names, sighting, frame, kept);
		names->counts.doubtful += r == 0;
	}
	if (r < 0)
		return r;
	*ret_name = r > 0 ? name : (struct frame_name){ .label = FRAME_UNKNOWN };
	return 0;
}

/* The names of one stack that may be outdated, to be read again in one go. */
struct batch {
	struct kept_name *names[RUBY_FRAMES_MAX];
	size_t count;
	size_t span_count;
	size_t used_bytes;
};

static void gather(struct frame_names *names, const struct stack_sighting *sighting,
		   struct batch *ret_batch)
{
	struct kept_name *kept;

	ret_batch->count = ret_batch->span_count = ret_batch->used_bytes = 0;
	names->batch++;
	names->asked++;
	for (uint32_t i = 0; i < sighting->frames->count; i++) {
		kept = find_kept(names, &sighting->frames->frames[i]);
		if (!kept || kept->asked == names->asked || was_so(kept, &sighting->then))
			continue;
		kept->asked = names->asked;
		ret_batch->names[ret_batch->count++] = kept;
		ret_batch->span_count += kept->read_count;
		for (size_t read = 0; read < kept->read_count; read++)
			ret_batch->used_bytes += kept->reads[read].size_bytes;
	}
}

/*
 * Reads the state before, everything to be read again, and the state after. 0, or an error of the
 * reader.
 */
static int read_batch(const struct frame_names *names, const struct batch *batch,
		      struct memory_span *spans, uint8_t *bytes, struct gc_state ret_states[2])
{
	const struct ruby_stack_layout *layout = names->namer.layout;
	struct memory_span *span = spans + GC_SPANS;
	struct gc_reading readings[2];
	int r;

	gc_state_spans(layout, &readings[0], spans);
	for (size_t i = 0; i < batch->count; i++) {
		for (size_t read = 0; read < batch->names[i]->read_count; read++) {
			*span = (struct memory_span){ batch->names[i]->reads[read].address, bytes,
						      batch->names[i]->reads[read].size_bytes };
			bytes += span++->size_bytes;
		}
	}
	gc_state_spans(layout, &readings[1], span);
	r = memory_read_many(&names->reader, spans, batch->span_count + 2 * GC_SPANS);
	for (size_t i = 0; i < 2 && r == 0; i++)
		ret_states[i] = gc_state_read(layout, &readings[i]);
	return r;
}

void frame_names_prepare(struct frame_names *names, const struct stack_sighting *sighting)
{
	_cleanup_free_ struct memory_span *spans = NULL;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct gc_state states[2];
	struct batch batch;
	size_t at = 0, size_bytes;

	if (!has_gc(names))
		return;
	gather(names, sighting, &batch);
	if (batch.count == 0)
		return;
	spans = calloc(batch.span_count + 2 * GC_SPANS, sizeof(*spans));
	bytes = malloc(batch.used_bytes + 1);
	if (!spans || !bytes || read_batch(names, &batch, spans, bytes, states) < 0)
		return;
	for (size_t i = 0; i < batch.count; i++) {
		struct kept_name *kept = batch.names[i];

		size_bytes = 0;
		for (size_t read = 0; read < kept->read_count; read++)
			size_bytes += kept->reads[read].size_bytes;
		if (hash_bytes(names->seed, bytes + at, size_bytes) == kept->witness_hash) {
			note_check(kept, &states[0], &states[1]);
			kept->batch = names->batch;
		}
		at += size_bytes;
	}
}
