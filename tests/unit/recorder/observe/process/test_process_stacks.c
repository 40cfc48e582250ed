/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/process_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "failing_memory.h"
#include "recorder/observe/fake_names.h"

UNIT_TEST_ALONE;

enum {
	PID = 4711,
};

static struct {
	struct process_stacks stacks;
	struct ruby_stack_report report;
	struct target target;
	uint64_t now_ns;
} bench;

static char symbols_of_one, symbols_of_another;

static struct ruby_symbols *symbols(char *which)
{
	return (struct ruby_symbols *)which;
}

static int set_up(void **state)
{
	(void)state;
	memset(&bench, 0, sizeof(bench));
	memset(&fake_names, 0, sizeof(fake_names));
	bench.target.ruby.symbols = symbols(&symbols_of_one);
	bench.now_ns = 1000 * NS_PER_S;
	fake_names.layout.frame_bytes = 56;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	process_stacks_forget(&bench.stacks);
	assert_int_equal(fake_names.freed, fake_names.made);
	return 0;
}

static int look(void)
{
	return process_stacks_look(&bench.stacks, &bench.target, PID, bench.now_ns, &bench.report);
}

/* ---- where they are ---- */

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(stacks_search_layout_until_found)
{
	bench.target.link_map.is_musl = true;
	bench.report.remark_count = 5;
	assert_int_equal(look(), 1);
	assert_int_equal(bench.stacks.layout.frame_bytes, 56);
	assert_int_equal(fake_names.pid, PID);
	assert_true(fake_names.is_musl);
	assert_int_equal(fake_names.remarks_before, 0);
	bench.now_ns += NS_PER_S;
	assert_int_equal(look(), 0);
	assert_int_equal(fake_names.searches, 1);
}

FIXTURE_TEST(stacks_back_off_while_ruby_starts_then_give_up)
{
	static const uint64_t pauses_ms[] = {
		10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240
	};

	fake_names.state = RUBY_STACK_MISSING;
	assert_int_equal(look(), 0);
	for (unsigned int i = 0; i < 11; i++) {
		bench.now_ns += pauses_ms[i] * NS_PER_MS - 1;
		assert_int_equal(look(), 0);
		assert_int_equal(fake_names.searches, i + 1);
		bench.now_ns++;
		assert_int_equal(look(), i < 10 ? 0 : -ENOTSUP);
		assert_int_equal(fake_names.searches, i + 2);
	}
	assert_int_equal(bench.report.remark_count, 1);
	bench.now_ns += 3600 * NS_PER_S;
	assert_int_equal(look(), 0);
	assert_int_equal(fake_names.searches, 12);
	assert_false(bench.stacks.has_layout);
}

FIXTURE_TEST(stacks_give_up_with_last_error)
{
	int r = 0;

	fake_names.search_error = -EIO;
	for (int i = 0; i < 12; i++, bench.now_ns += 60 * NS_PER_S)
		r = look();
	assert_int_equal(r, -EIO);
	assert_false(bench.stacks.has_layout);
}

FIXTURE_TEST(stacks_do_not_count_skipped_looks)
{
	assert_int_equal(process_stacks_look(&bench.stacks, NULL, PID, bench.now_ns, &bench.report),
			 0);
	bench.target.ruby.symbols = NULL;
	for (int i = 0; i < 20; i++)
		assert_int_equal(look(), 0);
	assert_int_equal(fake_names.searches, 0);
	/* As soon as its loader has come to Ruby. */
	bench.target.ruby.symbols = symbols(&symbols_of_one);
	assert_int_equal(look(), 1);
}

FIXTURE_TEST(stacks_layout_is_inherited_by_child)
{
	struct process_stacks child = { 0 };

	process_stacks_inherit(&child, &bench.stacks);
	assert_false(child.has_layout);
	assert_int_equal(look(), 1);
	process_stacks_inherit(&child, &bench.stacks);
	assert_true(child.has_layout);
	assert_int_equal(child.layout.frame_bytes, 56);
}

/* ---- what they are called ---- */

static const struct stack_message met = {
	.gc_count = 5,
	.gc_flags = 0,
	.frames = { .count = 1, .frames = { { .object_kind = 64 | RUBY_FRAME_RUBY, .pc = 12 } } },
};

/* 0 or what is wrong. */
static int meet(char *table)
{
	struct stack_sighting sighting = { 0 };
	struct frame_name name;
	int r = process_stacks_meet(&bench.stacks, PID, symbols(table), &met, &sighting);

	if (r < 0)
		return r;
	assert_ptr_equal(sighting.frames, &met.frames);
	assert_int_equal(sighting.then.count, 5);
	assert_int_equal(
		frame_names_find(bench.stacks.names, &sighting, &met.frames.frames[0], &name), 0);
	assert_string_equal(name.label, "method_64");
	return 0;
}

FIXTURE_TEST(stacks_rebuild_names_only_for_new_symbol_table)
{
	assert_int_equal(meet(&symbols_of_one), 0);
	assert_int_equal(meet(&symbols_of_one), 0);
	assert_int_equal(fake_names.made, 1);
	assert_ptr_equal(fake_names.layout_given, &bench.stacks.layout);
	assert_ptr_equal(fake_names.symbols, &symbols_of_one);
	assert_int_equal(meet(&symbols_of_another), 0);
	assert_int_equal(fake_names.made, 2);
	assert_int_equal(fake_names.freed, 1);
	assert_ptr_equal(fake_names.symbols, &symbols_of_another);
	process_stacks_forget(&bench.stacks);
	assert_int_equal(fake_names.freed, 2);
}

FIXTURE_TEST(stacks_return_enomem_and_recover)
{
	memory_fails_once_after(0);
	assert_int_equal(meet(&symbols_of_one), -ENOMEM);
	memory_never_fails();
	assert_int_equal(meet(&symbols_of_one), 0);
}
