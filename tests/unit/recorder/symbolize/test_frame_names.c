/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/frame_names.h"

#include <errno.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "recorder/symbolize/forged_code.h"
#include "recorder/symbolize/stack_reader.h"
#include "recorder/symbolize/witness.h"

struct fixture {
	struct forged_ruby *ruby;
	struct ruby_symbols *symbols;
	struct frame_names *names;
	uint64_t order; /* a class */
	struct frame_name name; /* that was found last */
	uint32_t reads, batches;
	uint64_t turned; /* address of a word that is inverted after each read of it; 0 = none */
	int error; /* of all reads; 0 = none */
	int batch_error; /* of reading again alone */
};

static int read_counted(const struct memory_reader *reader, uint64_t address, void *buffer,
			size_t size_bytes)
{
	struct fixture *fixture = (struct fixture *)(uintptr_t)reader->context;
	struct forged_memory *memory = &fixture->ruby->memory;
	int r = fixture->error ? fixture->error
			       : memory_read(&fixture->ruby->reader, address, buffer, size_bytes);

	fixture->reads++;
	if (fixture->turned >= address && fixture->turned < address + size_bytes)
		memory->bytes[fixture->turned - FORGED_BASE] ^= 0xff;
	return r;
}

static int read_counted_many(const struct memory_reader *reader, const struct memory_span *spans,
			     size_t count)
{
	struct fixture *fixture = (struct fixture *)(uintptr_t)reader->context;
	uint32_t reads = fixture->reads;
	int r = fixture->batch_error;

	for (size_t i = 0; i < count && r == 0; i++)
		r = read_counted(reader, spans[i].address, spans[i].buffer, spans[i].size_bytes);
	fixture->reads = reads;
	fixture->batches++;
	return r;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct memory_reader reader = { .read = read_counted,
					      .read_many = read_counted_many,
					      .context = fixture };

	*state = fixture;
	if (!fixture)
		return -1;
	fixture->ruby = forge_ruby(&layouts[2]);
	fixture->order = forge_class(fixture->ruby, RUBY_TYPE_CLASS, 0, "Order", 0);
	if (ruby_symbols_new(&fixture->ruby->reader, fixture->ruby->table, NULL, 0,
			     &fixture->symbols) < 0)
		return -1;
	return frame_names_new(&reader, &layout_3_3, fixture->symbols, &fixture->names);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	frame_names_free(fixture->names);
	frame_names_free(NULL);
	ruby_symbols_free(fixture->symbols);
	free(fixture->ruby);
	free(fixture);
	return 0;
}

static struct ruby_frame new_frame(struct fixture *fixture, const char *base)
{
	return ruby_frame_of(forge_iseq(fixture->ruby, base, base), 2,
			     forge_method(fixture->ruby, RUBY_DEFINITION_ISEQ, fixture->order));
}

static void find(struct fixture *fixture, const struct ruby_frame *frame)
{
	fixture->reads = fixture->batches = 0;
	memset(&fixture->name, 0xa5, sizeof(fixture->name));
	assert_int_equal(frame_names_find(fixture->names, NULL, frame, &fixture->name), 0);
}

static void assert_counts(const struct fixture *fixture, uint64_t kept, uint64_t changed,
			  uint64_t read, uint64_t unknown)
{
	struct frame_names_counts counts = frame_names_count(fixture->names);

	assert_int_equal(counts.kept, kept);
	assert_int_equal(counts.changed, changed);
	assert_int_equal(counts.read, read);
	assert_int_equal(counts.unknown, unknown);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(frame_names_cached_lookup_costs_one_batch_read)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total");
	struct frame_name first;

	frame.object_kind = ruby_frame_object(&frame) | RUBY_FRAME_COMPILED;
	find(fixture, &frame);
	assert_string_equal(fixture->name.label, "Order#request_id");
	assert_int_equal(fixture->name.line, 11);
	assert_true(fixture->reads > 10);
	assert_int_equal(fixture->batches, 1);
	assert_counts(fixture, 0, 0, 1, 0);
	first = fixture->name;
	find(fixture, &frame);
	assert_int_equal(fixture->reads, 0);
	assert_int_equal(fixture->batches, 1);
	assert_counts(fixture, 1, 0, 1, 0);
	assert_string_equal(fixture->name.label, first.label);
	assert_string_equal(fixture->name.path, first.path);
	assert_int_equal(fixture->name.line, first.line);
	assert_int_equal(fixture->name.first_line, first.first_line);
	assert_int_equal(fixture->name.block_depth, first.block_depth);
	assert_true(fixture->name.is_line_old);
}

FIXTURE_TEST(frame_names_distinguish_pc_and_method)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "block in total");
	struct ruby_frame other = frame;

	find(fixture, &frame);
	other.pc += 24;
	find(fixture, &other);
	assert_int_equal(fixture->name.line, 12);
	other = frame;
	other.method = 0;
	find(fixture, &other);
	assert_string_equal(fixture->name.label, "block in total");
	assert_counts(fixture, 0, 0, 3, 0);
	find(fixture, &frame);
	assert_int_equal(fixture->name.line, 11);
}

/*
 * Each word of all memory is another one once: a name is then what it is when nothing was kept. So
 * an iseq, a method, a text that were freed and are something else are never what they were.
 */
FIXTURE_TEST(frame_names_notice_change_of_any_byte)
{
	struct fixture *fixture = *state;
	struct forged_memory *memory = &fixture->ruby->memory;
	struct ruby_frame frame = new_frame(fixture, "total");
	const struct frame_namer namer = { &layout_3_3, fixture->symbols };
	uint64_t first = ruby_frame_object(&frame) - 1024;
	struct frame_name fresh;
	unsigned int others = 0;

	find(fixture, &frame);
	for (uint64_t at = first; at < FORGED_BASE + memory->used_bytes; at++) {
		memory->bytes[at - FORGED_BASE] ^= 0x21;
		assert_int_equal(frame_name_read(&namer, &fixture->ruby->reader, &frame, &fresh),
				 0);
		find(fixture, &frame);
		assert_string_equal(fixture->name.label, fresh.label);
		assert_string_equal(fixture->name.path, fresh.path);
		assert_int_equal(fixture->name.line, fresh.line);
		assert_int_equal(fixture->name.first_line, fresh.first_line);
		others += strcmp(fresh.label, "Order#request_id") || fresh.line != 11;
		memory->bytes[at - FORGED_BASE] ^= 0x21;
		find(fixture, &frame);
		assert_string_equal(fixture->name.label, "Order#request_id");
		assert_int_equal(fixture->name.line, 11);
	}
	assert_true(others > 50);
}

FIXTURE_TEST(frame_names_are_unknown_while_memory_is_unreadable)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total");

	find(fixture, &frame);
	fixture->ruby->memory.hole = ruby_frame_object(&frame);
	find(fixture, &frame);
	assert_string_equal(fixture->name.label, FRAME_UNKNOWN);
	assert_string_equal(fixture->name.path, "");
	assert_counts(fixture, 0, 1, 1, 1);
	fixture->ruby->memory.hole = 0;
	find(fixture, &frame);
	assert_string_equal(fixture->name.label, "Order#request_id");
}

FIXTURE_TEST(frame_names_do_not_cache_unknown_frames)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = { forge_string(fixture->ruby, "x") | RUBY_FRAME_RUBY, 0, 0 };

	for (unsigned int i = 1; i <= 2; i++) {
		find(fixture, &frame);
		assert_string_equal(fixture->name.label, FRAME_UNKNOWN);
		assert_counts(fixture, 0, 0, 0, i);
	}
}

FIXTURE_TEST(frame_names_are_unknown_if_memory_changes_while_read)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total");
	struct ruby_object iseq;

	assert_int_equal(ruby_object_read(&fixture->ruby->reader, ruby_frame_object(&frame), &iseq),
			 0);
	/* The lower byte of the first line: each is a good one. */
	fixture->turned = iseq.words[2] + 0x58;
	find(fixture, &frame);
	assert_string_equal(fixture->name.label, FRAME_UNKNOWN);
	assert_counts(fixture, 0, 0, 0, 1);
	assert_int_equal(fixture->batches, 3);
	fixture->turned = 0;
	find(fixture, &frame);
	assert_string_equal(fixture->name.label, "Order#request_id");
}

FIXTURE_TEST(frame_names_stay_correct_beyond_cache_capacity)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total");

	/* Each with a method of its own, which is none: the label is the iseq's. */
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 2 * FRAME_NAMES_MAX; i++) {
			frame.pc = 0x7f7700000000 + 8ULL * (CODE_WORDS + 1) + i;
			find(fixture, &frame);
			assert_string_equal(fixture->name.label, "Order#request_id");
			assert_int_equal(fixture->name.line, 0);
		}
	}
	assert_true(frame_names_count(fixture->names).kept < 2 * FRAME_NAMES_MAX);
	assert_true(frame_names_count(fixture->names).kept > 0);
}

FIXTURE_TEST(frame_names_return_error_of_reader)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total"), other = new_frame(fixture, "x");

	find(fixture, &frame);
	fixture->batch_error = -ESRCH;
	fixture->name.line = 77;
	assert_int_equal(frame_names_find(fixture->names, NULL, &frame, &fixture->name), -ESRCH);
	assert_int_equal(frame_names_find(fixture->names, NULL, &other, &fixture->name), -ESRCH);
	fixture->batch_error = 0;
	fixture->error = -ESRCH;
	assert_int_equal(frame_names_find(fixture->names, NULL, &frame, &fixture->name), -ESRCH);
	assert_int_equal(frame_names_find(fixture->names, NULL, &other, &fixture->name), -ESRCH);
	assert_int_equal(fixture->name.line, 77);
}

FIXTURE_TEST(frame_names_are_found_without_memory_for_cache)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total");
	struct frame_names *names = NULL;

	/* The symbol's name is kept where it is found. */
	find(fixture, &frame);
	frame.pc += 24;
	memory_fails_after(0);
	find(fixture, &frame);
	find(fixture, &frame);
	assert_int_equal(frame_names_new(&fixture->ruby->reader, &layout_3_3, NULL, &names),
			 -ENOMEM);
	memory_never_fails();
	assert_null(names);
	assert_string_equal(fixture->name.label, "Order#request_id");
	assert_int_equal(fixture->name.line, 12);
	assert_counts(fixture, 0, 0, 3, 0);
}

/*
 * A stack of one frame that was met in a forged process whose collections are counted; the first
 * asking is done while it stands there.
 */
struct met {
	struct ruby_stack_layout layout;
	uint64_t count_address, flags_address; /* of GC */
	struct stack_message *message;
	struct ruby_frame *frame;
	struct frame_names *names;
	struct forged_ruby *ruby;
	struct memory_reader reader;
};

static void set_word(const struct met *met, uint64_t address, uint64_t word)
{
	forged_write(&met->ruby->memory, address, &word, sizeof(word));
}

static uint64_t word_at(const struct met *met, uint64_t address)
{
	uint64_t word;

	assert_int_equal(memory_read_u64(&met->reader, address, &word), 0);
	return word;
}

static void collect(const struct met *met, uint64_t times)
{
	set_word(met, met->count_address, word_at(met, met->count_address) + times);
}

static void find_methods_now(const struct met *met)
{
	struct ruby_frames_walk walk = { .reader = &met->reader, .frames = &met->message->frames };

	met->message->gc_count = word_at(met, met->count_address);
	met->message->gc_flags = (uint32_t)word_at(met, met->flags_address);
	/* So that their hash is that of the frames as they are now. */
	ruby_frames_begin_methods(&walk);
	ruby_frames_add_method(&walk, ruby_frames_method_of(met->frame));
	met->message->frames.methods = context_hash_final(&walk.hash);
}

static struct met meet(struct fixture *fixture, const struct ruby_frame *frame)
{
	const uint64_t zero = 0;
	struct met met = { .layout = layout_3_3,
			   .ruby = fixture->ruby,
			   .reader = fixture->ruby->reader,
			   .message = calloc(1, sizeof(*met.message)) };

	assert_non_null(met.message);
	met.count_address = forged_words(&met.ruby->memory, &zero, 1);
	met.flags_address = forged_words(&met.ruby->memory, &zero, 1);
	met.layout.gc_count_address = met.count_address;
	met.layout.gc_flags_address = met.flags_address;
	met.layout.gc_flags_mask = RUBY_GC_IS_ON;
	collect(&met, 10);
	met.frame = &met.message->frames.frames[0];
	met.message->frames.count = 1;
	*met.frame = *frame;
	find_methods_now(&met);
	return met;
}

static void age(const struct met *met, uint64_t object)
{
	set_word(met, object, word_at(met, object) | RUBY_OBJECT_SURVIVED);
}

/* Asked for in a table of its own, or in that of before. */
static const char *name_of(struct fixture *fixture, struct met *met, bool is_first)
{
	struct stack_sighting sighting = stack_sighting_of(met->message, &met->layout);

	if (is_first) {
		frame_names_free(met->names);
		assert_int_equal(
			frame_names_new(&met->reader, &met->layout, fixture->symbols, &met->names),
			0);
	}
	frame_names_prepare(met->names, &sighting);
	assert_int_equal(frame_names_find(met->names, &sighting, met->frame, &fixture->name), 0);
	return fixture->name.label;
}

static void part(struct met *met)
{
	frame_names_free(met->names);
	free(met->message);
}

FIXTURE_TEST(frame_names_are_unknown_if_object_may_have_been_freed)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total");
	struct met met = meet(fixture, &frame);

	assert_string_equal(name_of(fixture, &met, true), "Order#request_id");
	collect(&met, 1);
	assert_string_equal(name_of(fixture, &met, true), FRAME_UNKNOWN);
	assert_int_equal(fixture->name.line, 0);
	assert_string_equal(fixture->name.path, "");
	assert_int_equal(frame_names_count(met.names).doubtful, 1);
	part(&met);
}

FIXTURE_TEST(frame_names_of_old_objects_survive_one_collection)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total");
	struct met met = meet(fixture, &frame);

	age(&met, ruby_frame_object(&frame));
	collect(&met, 1);
	assert_string_equal(name_of(fixture, &met, true), FRAME_UNKNOWN);
	age(&met, frame.method);
	assert_string_equal(name_of(fixture, &met, true), "Order#request_id");
	collect(&met, 1);
	assert_string_equal(name_of(fixture, &met, true), FRAME_UNKNOWN);
	part(&met);
}

FIXTURE_TEST(frame_names_sampled_while_marking_expire_earlier)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total");
	struct met met = meet(fixture, &frame);

	met.message->gc_flags = RUBY_GC_IS_ON | RUBY_GC_MODE_MARKING;
	/* Of what was young it is known only as long as that lasts. */
	set_word(&met, met.flags_address, RUBY_GC_IS_ON | RUBY_GC_MODE_MARKING);
	assert_string_equal(name_of(fixture, &met, true), "Order#request_id");
	set_word(&met, met.flags_address, RUBY_GC_MODE_SWEEPING);
	assert_string_equal(name_of(fixture, &met, true), FRAME_UNKNOWN);
	age(&met, ruby_frame_object(&frame));
	age(&met, frame.method);
	assert_string_equal(name_of(fixture, &met, true), "Order#request_id");
	collect(&met, 1);
	assert_string_equal(name_of(fixture, &met, true), FRAME_UNKNOWN);
	part(&met);
}

/* Old ones, that a compaction has moved there. */
FIXTURE_TEST(frame_names_are_unknown_if_code_or_method_was_replaced)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total");
	struct met met = meet(fixture, &frame);
	uint64_t body = word_at(&met, ruby_frame_object(&frame) + 16);
	uint64_t definition = word_at(&met, frame.method + 16);
	const uint64_t code[] = { 0x7f7700000000 + 16, 0x7f7700000000 + 16 - 8 * CODE_WORDS,
				  0x7f7600000000 };

	age(&met, ruby_frame_object(&frame));
	age(&met, frame.method);
	collect(&met, 1);
	for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++) {
		set_word(&met, body + 8, code[i]);
		assert_string_equal(name_of(fixture, &met, true), FRAME_UNKNOWN);
	}
	set_word(&met, body + 8, 0x7f7700000000);
	assert_string_equal(name_of(fixture, &met, true), "Order#request_id");
	set_word(&met, frame.method + 16,
		 word_at(&met, forge_method(fixture->ruby, RUBY_DEFINITION_ISEQ, 0) + 16));
	assert_string_equal(name_of(fixture, &met, true), FRAME_UNKNOWN);
	set_word(&met, frame.method + 16, definition);
	set_word(&met, frame.method + 8, forge_class(fixture->ruby, RUBY_TYPE_CLASS, 0, "X", 0));
	assert_string_equal(name_of(fixture, &met, true), FRAME_UNKNOWN);
	part(&met);
}

FIXTURE_TEST(frame_names_of_c_methods_check_object_age_and_class)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame =
		c_frame_of(forge_method(fixture->ruby, RUBY_DEFINITION_C, fixture->order));
	struct met met = meet(fixture, &frame);

	collect(&met, 1);
	assert_string_equal(name_of(fixture, &met, true), FRAME_UNKNOWN);
	age(&met, ruby_frame_object(&frame));
	assert_string_equal(name_of(fixture, &met, true), "Order#request_id");
	set_word(&met, ruby_frame_object(&frame) + 8,
		 forge_class(fixture->ruby, RUBY_TYPE_CLASS, 0, "X", 0));
	assert_string_equal(name_of(fixture, &met, true), FRAME_UNKNOWN);
	part(&met);
}

/* Checked in each stack it is in, it stays known; and what was met before it was known is not. */
FIXTURE_TEST(frame_names_confirmed_before_and_after_are_known_between)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total");
	struct met met = meet(fixture, &frame);

	assert_string_equal(name_of(fixture, &met, true), "Order#request_id");
	for (unsigned int i = 0; i < 3; i++) {
		collect(&met, 1);
		assert_string_equal(name_of(fixture, &met, false), "Order#request_id");
	}
	/* Two have freed what was there and what came then. */
	met.message->gc_count = word_at(&met, met.count_address);
	collect(&met, 2);
	assert_string_equal(name_of(fixture, &met, false), FRAME_UNKNOWN);
	find_methods_now(&met);
	assert_string_equal(name_of(fixture, &met, false), "Order#request_id");
	part(&met);
}

FIXTURE_TEST(frame_names_of_confirmed_old_objects_stay_known)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total");
	struct met met = meet(fixture, &frame);

	age(&met, ruby_frame_object(&frame));
	age(&met, frame.method);
	assert_string_equal(name_of(fixture, &met, true), "Order#request_id");
	met.message->gc_count++;
	collect(&met, 3);
	assert_string_equal(name_of(fixture, &met, false), FRAME_UNKNOWN);
	for (unsigned int i = 0; i < 5; i++) {
		find_methods_now(&met);
		assert_string_equal(name_of(fixture, &met, false), "Order#request_id");
		collect(&met, 1);
	}
	find_methods_now(&met);
	met.message->gc_count += 10;
	collect(&met, 30);
	assert_string_equal(name_of(fixture, &met, false), "Order#request_id");
	part(&met);
}

FIXTURE_TEST(frame_names_are_not_reread_without_collection)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total");
	struct met met = meet(fixture, &frame);
	const struct memory_reader counted = { .read = read_counted,
					       .read_many = read_counted_many,
					       .context = fixture };

	met.reader = counted;
	assert_string_equal(name_of(fixture, &met, true), "Order#request_id");
	fixture->reads = fixture->batches = 0;
	assert_string_equal(name_of(fixture, &met, false), "Order#request_id");
	assert_int_equal(fixture->reads + fixture->batches, 0);
	/* And then all of a stack in one go. */
	collect(&met, 1);
	met.message->gc_count++;
	met.message->frames.count = 3;
	met.message->frames.frames[1] = met.message->frames.frames[2] = *met.frame;
	fixture->reads = fixture->batches = 0;
	assert_string_equal(name_of(fixture, &met, false), "Order#request_id");
	assert_string_equal(name_of(fixture, &met, false), "Order#request_id");
	assert_int_equal(fixture->reads, 0);
	assert_int_equal(fixture->batches, 1);
	part(&met);
}

FIXTURE_TEST(frame_names_are_unknown_if_collections_are_not_counted)
{
	struct fixture *fixture = *state;
	struct ruby_frame frame = new_frame(fixture, "total");
	struct met met = meet(fixture, &frame);

	age(&met, ruby_frame_object(&frame));
	age(&met, frame.method);
	met.layout.gc_count_address = 0;
	assert_string_equal(name_of(fixture, &met, true), FRAME_UNKNOWN);
	met.layout.gc_count_address = met.count_address;
	met.layout.gc_flags_address = 0;
	assert_string_equal(name_of(fixture, &met, true), FRAME_UNKNOWN);
	part(&met);
}

FIXTURE_TEST(witness_rejects_reads_beyond_its_capacity)
{
	struct fixture *fixture = *state;
	const struct memory_reader *reader = &fixture->ruby->reader;
	static struct witness witness;
	uint8_t bytes[WITNESS_BYTES_MAX];
	uint64_t hash;

	witness_init(&witness, reader);
	for (uint32_t i = 0; i < WITNESS_READS_MAX; i++)
		assert_int_equal(memory_read(&witness.reader, FORGED_BASE + i, bytes, 1), 0);
	assert_int_equal(memory_read(&witness.reader, FORGED_BASE, bytes, 1), -E2BIG);
	assert_int_equal(witness_read_again(reader, witness.reads, witness.count, 5, &hash), 0);
	assert_int_equal(hash, witness_hash(&witness, 5));
	assert_true(hash != witness_hash(&witness, 6));
	witness_init(&witness, reader);
	assert_int_equal(memory_read(&witness.reader, FORGED_BASE, bytes, 1), 0);
	assert_int_equal(memory_read(&witness.reader, 8, bytes, 1), -EFAULT);
	assert_int_equal(memory_read(&witness.reader, FORGED_BASE, bytes, sizeof(bytes)), -E2BIG);
	assert_int_equal(memory_read(&witness.reader, FORGED_BASE, bytes, sizeof(bytes) - 1), 0);
	assert_int_equal(witness.count, 2);
	assert_int_equal(witness_read_again(reader, witness.reads, witness.count, 5, &hash), 0);
	assert_int_equal(hash, witness_hash(&witness, 5));
}
