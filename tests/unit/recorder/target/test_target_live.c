/* SPDX-License-Identifier: GPL-2.0-only */
/* target over the Ruby that is installed, in processes that share what is known of its files. */
#include "recorder/target/target.h"

#include <errno.h>
#include <inttypes.h>

#include "unit_test.h"

#include "recorder/target/live_ruby.h"

static uint64_t ask_number(struct live_ruby *ruby, const char *line)
{
	char answer[64];

	assert_true(live_ruby_ask(ruby, line, answer, sizeof(answer)));
	return strtoull(answer, NULL, 10);
}

/* What one process has for a key is tried in the next, and must not be believed there. */
TEST(target_finds_key_ids_of_each_process)
{
	static const char *const names[] = { "a_key_of_this_test", "another_of_it" };
	static const char *const none[] = { NULL, NULL };
	const struct target_keys keys = {
		.ruby_names = names, .otel_names = none, .count = 2, .wants_ruby = true
	};
	/* In the order in which each process comes to know them. */
	static const char *const lines[] = {
		"id(:a_key_of_this_test) * 0 + id(:another_of_it) * 0",
		"id(:one_more) * 0 + id(:another_of_it) * 0 + id(:a_key_of_this_test) * 0",
		"id(:a_key_of_this_test) * 0 + id(:another_of_it) * 0",
	};
	_cleanup_(object_files_freep) struct object_files *files = object_files_new();
	struct target *targets[3];
	struct live_ruby rubies[3];
	uint64_t opened[3];

	assert_non_null(files);
	for (int i = 0; i < 3; i++) {
		assert_true(live_ruby_start(&rubies[i]));
		assert_int_equal(ask_number(&rubies[i], lines[i]), 0);
		assert_int_equal(target_open(rubies[i].pid, NULL, &keys, files, &targets[i]), 0);
		opened[i] = object_files_opened(files);
		assert_true(target_refresh(targets[i]) >= 0);
		assert_non_null(targets[i]->ruby.symbols);
		assert_int_equal(targets[i]->ruby.keys_missing, 0);
		assert_int_equal(targets[i]->ruby.key_ids[0],
				 ask_number(&rubies[i], "id(:a_key_of_this_test)"));
		assert_int_equal(targets[i]->ruby.key_ids[1],
				 ask_number(&rubies[i], "id(:another_of_it)"));
	}
	assert_int_not_equal(targets[0]->ruby.key_ids[0], targets[1]->ruby.key_ids[0]);
	assert_int_equal(opened[0], opened[2]);
	for (int i = 0; i < 3; i++) {
		target_free(targets[i]);
		live_ruby_stop(&rubies[i]);
	}
}

static struct target *open_ruby(struct live_ruby *ruby, const struct target_keys *keys,
				struct object_files *files)
{
	struct target *target;

	assert_non_null(files);
	assert_true(live_ruby_start(ruby));
	assert_int_equal(target_open(ruby->pid, NULL, keys, files, &target), 0);
	return target;
}

/* Nothing of it is found elsewhere than in the object that its symbols are of. */
TEST(target_finds_stack_layout_only_in_its_ruby_object)
{
	static const char *const none[] = { NULL };
	const struct target_keys keys = { .ruby_names = none, .otel_names = none };
	_cleanup_(object_files_freep) struct object_files *files = object_files_new();
	struct ruby_stack_layout layout = { 0 };
	struct ruby_stack_report report;
	struct ruby_target other;
	struct target *target;
	struct live_ruby ruby;

	target = open_ruby(&ruby, &keys, files);
	assert_true(target_refresh(target) >= 0);
	other = target->ruby;
	assert_int_equal(ruby_target_find_stack(&other, ruby.pid, false, &layout, &report), 0);
	assert_int_equal(report.state, RUBY_STACK_AGREED);
	assert_int_equal(layout.string_layout, ruby_symbols_string_layout(other.symbols));
	assert_int_not_equal(layout.vm_pointer_address, 0);
	/* The shape of another libc's tables leads nowhere. */
	assert_int_equal(ruby_target_find_stack(&other, ruby.pid, true, &layout, &report), 0);
	assert_int_equal(report.state, RUBY_STACK_DISAGREED);
	other.bias += 4096;
	assert_int_equal(ruby_target_find_stack(&other, ruby.pid, false, &layout, &report), -ESRCH);
	other.bias -= 4096;
	other.path[0] = '.';
	assert_int_equal(ruby_target_find_stack(&other, ruby.pid, false, &layout, &report), -ESRCH);
	other.path[0] = '/';
	other.symbols = NULL;
	assert_int_equal(ruby_target_find_stack(&other, ruby.pid, false, &layout, &report),
			 -ENOENT);
	other.symbols = target->ruby.symbols;
	live_ruby_stop(&ruby);
	assert_int_equal(ruby_target_find_stack(&other, ruby.pid, false, &layout, &report), -ESRCH);
	target_free(target);
}

TEST(target_refresh_fails_if_process_exits_before_keys_are_found)
{
	static const char *const names[] = { "a_key_that_no_program_has" };
	static const char *const none[] = { NULL };
	const struct target_keys keys = {
		.ruby_names = names, .otel_names = none, .count = 1, .wants_ruby = true
	};
	_cleanup_(object_files_freep) struct object_files *files = object_files_new();
	struct target *target;
	struct live_ruby ruby;

	target = open_ruby(&ruby, &keys, files);
	live_ruby_stop(&ruby);
	/* Its objects were looked at a moment ago. */
	assert_true(target->is_fresh);
	assert_int_equal(target_refresh(target), -ESRCH);
	target_free(target);
}
