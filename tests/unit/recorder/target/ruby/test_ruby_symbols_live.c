/* SPDX-License-Identifier: GPL-2.0-only */
/* ruby_symbols against the Ruby that is installed: its own rb_sym2id is the truth. */
#include "recorder/target/ruby/ruby_symbols.h"

#include <errno.h>
#include <time.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "recorder/target/live_ruby.h"
#include "recorder/target/symbol_name.h"

UNIT_TEST_ALONE;

/* A compaction stops Ruby in the middle of moving names, for up to some hundred milliseconds. */
enum {
	RACE_ROUNDS = 12,
	RACE_CALLS_MAX = 500,
	RACE_PAUSE_MICROSECONDS = 10 * 1000
};

struct fixture {
	struct live_ruby ruby;
	struct memory_reader reader;
	struct ruby_symbols *symbols;
	unsigned int reads; /* by counted_reader */
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct ruby_data_range ranges[LIVE_RUBY_RANGES_MAX];

	*state = fixture;
	if (!fixture || !live_ruby_start(&fixture->ruby))
		return -1;
	fixture->reader = memory_reader_of_process(fixture->ruby.pid);
	return ruby_symbols_new(&fixture->reader, 0, ranges,
				live_ruby_ranges(&fixture->ruby, ranges), &fixture->symbols);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	ruby_symbols_free(fixture->symbols);
	live_ruby_stop(&fixture->ruby);
	free(fixture);
	return 0;
}

static uint64_t ask_number(struct fixture *fixture, const char *line)
{
	char answer[64];

	assert_true(live_ruby_ask(&fixture->ruby, line, answer, sizeof(answer)));
	return strtoull(answer, NULL, 10);
}

TEST(ruby_symbols_ids_match_ruby)
{
	static const char *const names[] = {
		"request_id", "+",	     "!",	"==",	       "@ivar_here", "$stdout",
		"Object",     "@@class_var", "setter=", "a b? \u00e9", "each",	     "dynamic_here"
	};
	enum {
		COUNT = sizeof(names) / sizeof(*names)
	};
	struct fixture *fixture = *state;
	uint64_t ids[COUNT] = { 0 };
	char line[128];

	/* The last one is a dynamic symbol: made at run time, not by a name in the source. */
	(void)ask_number(fixture, "id(:@ivar_here); id(:@@class_var); id(:setter=); 0");
	(void)ask_number(fixture, "id('a b? \u00e9'.to_sym); id(:request_id); 0");
	(void)ask_number(fixture, "$kept = ('dynamic' + '_here').to_sym; id($kept); 0");
	assert_int_equal(ruby_symbols_find_ids(fixture->symbols, names, COUNT, ids), 0);
	for (size_t i = 0; i < COUNT; i++) {
		(void)snprintf(line, sizeof(line), "id(%%q'%s'.to_sym)", names[i]);
		assert_int_equal(ids[i], ask_number(fixture, line));
	}
}

TEST(ruby_symbols_names_match_ruby)
{
	static const char *const symbols[] = { ":request_id",	 ":<=>",	":[]=",
					       ":BasicObject",	 ":@ivar_here", ":'a b? \u00e9'",
					       ":\"tab\\there\"" };
	static const char *const names[] = { "request_id",  "<=>",	  "[]=",
					     "BasicObject", "@ivar_here", "a b? \u00e9",
					     "tab\\x09here" };
	struct fixture *fixture = *state;
	char line[128], name[VALUE_TEXT_BYTES];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		(void)snprintf(line, sizeof(line), "id(%s)", symbols[i]);
		/* The second time it comes from the cache. */
		for (int again = 0; again < 2; again++) {
			assert_int_equal(
				find_name_text(fixture->symbols, ask_number(fixture, line), name),
				0);
			assert_string_equal(name, names[i]);
		}
	}
}

TEST(ruby_symbols_have_no_name_for_id_with_other_scope)
{
	struct fixture *fixture = *state;
	uint64_t id = ask_number(fixture, "id(:request_id)");
	char name[VALUE_TEXT_BYTES] = "as it was";

	assert_int_equal(find_name_text(fixture->symbols, id ^ 2, name), -ENOENT);
	assert_int_equal(find_name_text(fixture->symbols, UINT64_MAX, name), -ENOENT);
	assert_int_equal(find_name_text(fixture->symbols, 0, name), -ENOENT);
	assert_string_equal(name, "as it was");
}

TEST(ruby_symbols_use_table_at_given_address_without_search)
{
	struct fixture *fixture = *state;
	_cleanup_(ruby_symbols_freep) struct ruby_symbols *symbols = NULL;
	uint64_t address = ruby_symbols_table_address(fixture->symbols);

	assert_int_equal(ruby_symbols_new(&fixture->reader, address, NULL, 0, &symbols), 0);
	assert_int_equal(ruby_symbols_table_address(symbols), address);
	assert_int_equal(ruby_symbols_string_layout(symbols),
			 ruby_symbols_string_layout(fixture->symbols));
	assert_int_equal(ruby_symbols_new(&fixture->reader, address + 8, NULL, 0, &symbols),
			 -ENOENT);
}

static int counted_read(const struct memory_reader *reader, uint64_t address, void *buffer,
			size_t size_bytes)
{
	struct fixture *fixture = (struct fixture *)reader->context;

	fixture->reads++;
	return memory_read(&fixture->reader, address, buffer, size_bytes);
}

static int counted_read_many(const struct memory_reader *reader, const struct memory_span *spans,
			     size_t count)
{
	struct fixture *fixture = (struct fixture *)reader->context;

	fixture->reads++;
	return memory_read_many(&fixture->reader, spans, count);
}

TEST(ruby_symbols_later_call_reads_only_new_entries)
{
	static const char *const names[] = { "correlator_late" };
	static const char *const others[] = { "each" };
	struct fixture *fixture = *state;
	const struct memory_reader reader = { .read = counted_read,
					      .read_many = counted_read_many,
					      .context = fixture };
	_cleanup_(ruby_symbols_freep) struct ruby_symbols *symbols = NULL;
	uint64_t id = 0, other = 0, late;
	unsigned int first;

	assert_int_equal(ruby_symbols_new(&reader, ruby_symbols_table_address(fixture->symbols),
					  NULL, 0, &symbols),
			 0);
	fixture->reads = 0;
	assert_int_equal(ruby_symbols_find_ids(symbols, names, 1, &id), 1);
	assert_int_equal(id, 0);
	first = fixture->reads;
	/* A dynamic symbol has no ID until C asks for it: not found, and found later. */
	(void)ask_number(fixture, "$late = ('correlator' + '_late').to_sym; 0");
	(void)ask_number(fixture, "700.times { |i| id(('filler' + i.to_s).to_sym) }; 0");
	assert_int_equal(ruby_symbols_find_ids(symbols, names, 1, &id), 1);
	late = ask_number(fixture, "id($late)");
	fixture->reads = 0;
	assert_int_equal(ruby_symbols_find_ids(symbols, names, 1, &id), 0);
	assert_int_equal(id, late);
	assert_true(fixture->reads * 2 < first);
	/* Other names than before are searched for from the start. */
	assert_int_equal(ruby_symbols_find_ids(symbols, others, 1, &other), 0);
	assert_int_equal(other, ask_number(fixture, "id(:each)"));
}

TEST(ruby_symbols_are_correct_while_thread_adds_symbols)
{
	struct fixture *fixture = *state;
	uint64_t request_id = ask_number(fixture, "id(:request_id)");
	char targets[RACE_ROUNDS][32], line[VALUE_TEXT_BYTES];
	const char *names[RACE_ROUNDS];
	uint64_t ids[RACE_ROUNDS] = { 0 };
	_cleanup_(ruby_symbols_freep) struct ruby_symbols *others = NULL;
	unsigned int found = 0, torn = 0;

	/* Of names that are old, and move: those that are new are looked for where the last were.
	 */
	assert_int_equal(ruby_symbols_new(&fixture->reader,
					  ruby_symbols_table_address(fixture->symbols), NULL, 0,
					  &others),
			 0);
	for (int i = 0; i < RACE_ROUNDS; i++) {
		(void)snprintf(targets[i], sizeof(targets[i]), "race_target_%d", i);
		names[i] = targets[i];
	}
	/* With the lowest priority: who asks waits for a hundredth of a second, not for a tenth. */
	(void)ask_number(fixture, "Thread.new { n = 0; loop { id(\"racer#{n += 1}\".to_sym);"
				  "GC.compact if n % 5000 == 0 } }.priority = -3; 0");
	for (unsigned int round = 0; round < RACE_ROUNDS; round++) {
		static const char *const first[] = { "request_id" };
		uint64_t first_id, id;
		int r;

		(void)snprintf(line, sizeof(line),
			       "($raced ||= []) << '%s'.to_sym; id($raced.last)", names[round]);
		id = ask_number(fixture, line);
		for (int call = 0; call < RACE_CALLS_MAX && !ids[round]; call++) {
			if (call)
				(void)usleep(RACE_PAUSE_MICROSECONDS);
			r = ruby_symbols_find_ids(fixture->symbols, names, RACE_ROUNDS, ids);
			assert_true(r >= 0 || r == -EAGAIN);
			torn += r == -EAGAIN;
		}
		assert_int_equal(ids[round], id);
		first_id = 0;
		r = ruby_symbols_find_ids(others, first, 1, &first_id);
		assert_true(r == 0 || r == -EAGAIN);
		assert_int_equal(first_id, r == 0 ? request_id : 0);
		r = find_name_text(fixture->symbols, id, line);
		assert_true(r == 0 || r == -EAGAIN);
		if (r == 0)
			assert_string_equal(line, names[round]);
		found += r == 0;
	}
	print_message("race: %u of %d names read at once, %u calls torn\n", found, RACE_ROUNDS,
		      torn);
	assert_true(found > RACE_ROUNDS / 2);
}

TEST(ruby_symbols_return_esrch_for_dead_process)
{
	struct fixture *fixture = *state;
	static const char *const names[] = { "never_there" };
	uint64_t id = 0;
	char name[VALUE_TEXT_BYTES];

	live_ruby_stop(&fixture->ruby);
	assert_int_equal(ruby_symbols_find_ids(fixture->symbols, names, 1, &id), -ESRCH);
	assert_int_equal(find_name_text(fixture->symbols, 0xfff1, name), -ESRCH);
	assert_true(live_ruby_start(&fixture->ruby));
}

TEST_GROUP(setup, teardown)

int main(void)
{
	struct live_ruby ruby;

	/* Without Ruby there is nothing to compare with: 77 is "skipped". */
	if (!live_ruby_start(&ruby)) {
		print_message("no ruby with fiddle here\n");
		return 77;
	}
	live_ruby_stop(&ruby);
	return unit_test_run(NULL);
}
