/* SPDX-License-Identifier: GPL-2.0-only */
/* target over this very process and its child, which stand in for Ruby. */
#include "target/target.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "command/stand_in.h"

static const struct target_keys ruby_contexts = { .wants_ruby = true };

static void what_a_process_loads_and_unloads_is_noticed(void **state)
{
	_cleanup_(target_freep) struct target *target = NULL;
	void *library;

	(void)state;
	assert_int_equal(target_open(getpid(), NULL, &ruby_contexts, NULL, &target), 0);
	assert_true(target->ruby.is_ruby);
	assert_int_equal(target->publishers.count, 1);
	assert_non_null(target_publisher(target));
	/* Right after it was opened there are only the keys to look for, and there are none. */
	assert_int_equal(target_refresh(target), 0);
	library = dlopen(FIXTURE_TLS_GENERAL_DYNAMIC, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(library);
	assert_int_equal(target_refresh(target), 1);
	assert_int_equal(target->publishers.count, 2);
	assert_string_equal(target->publishers.list[1]->path, FIXTURE_TLS_GENERAL_DYNAMIC);
	assert_int_equal(target_refresh(target), 0);
	assert_int_equal(dlclose(library), 0);
	assert_int_equal(target_refresh(target), 1);
	assert_int_equal(target->publishers.count, 1);
	assert_non_null(target_publisher(target));
}

static void a_process_is_opened_by_the_map_that_was_read_and_its_end_is_noticed(void **state)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	_cleanup_(target_freep) struct target *target = NULL;
	struct stand_in files;
	char *argv[] = { files.name, STAND_IN_SLEEP, NULL };
	pid_t pid;

	(void)state;
	stand_in_make(&files);
	pid = stand_in_start(0, files.ruby, argv, -1);
	assert_int_equal(memory_map_of_process(pid, &map), 0);
	assert_int_equal(target_open(pid, &map, &ruby_contexts, NULL, &target), 0);
	assert_int_equal(map.count, 0);
	assert_true(target->ruby.is_ruby);
	assert_int_equal(target->info.pid, pid);
	assert_int_equal(target_refresh(target), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(target_refresh(target), -ESRCH);
	stand_in_remove(&files);
}

static void a_second_process_of_the_same_files_opens_none(void **state)
{
	_cleanup_(object_files_freep) struct object_files *files = object_files_new();
	struct target *targets[3];
	struct stand_in stand_in;
	char *argv[] = { stand_in.name, STAND_IN_SLEEP, NULL };
	uint64_t opened;
	pid_t pids[3];

	(void)state;
	assert_non_null(files);
	stand_in_make(&stand_in);
	for (int i = 0; i < 3; i++) {
		pids[i] = stand_in_start(0, stand_in.ruby, argv, -1);
		opened = object_files_opened(files);
		assert_int_equal(target_open(pids[i], NULL, &ruby_contexts, files, &targets[i]), 0);
		assert_true(targets[i]->ruby.is_ruby && targets[i]->loader);
		assert_non_null(target_publisher(targets[i]));
		if (i > 0)
			assert_int_equal(object_files_opened(files), opened);
	}
	for (int i = 0; i < 3; i++) {
		assert_int_not_equal(object_files_count(files), 0);
		target_free(targets[i]);
		assert_int_equal(kill(pids[i], SIGKILL), 0);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	}
	/* Nothing is held of what nobody maps. */
	assert_int_equal(object_files_count(files), 0);
	stand_in_remove(&stand_in);
}

static void opentelemetry_is_looked_for_where_it_is_wanted(void **state)
{
	static const char *const names[] = { "trace_id" }, *const none[] = { NULL };
	const struct target_keys keys = {
		.ruby_names = none, .otel_names = names, .count = 1, .wants_otel = true
	};
	_cleanup_(target_freep) struct target *target = NULL;
	struct otel_config config;

	(void)state;
	assert_int_equal(target_open(getpid(), NULL, &keys, NULL, &target), 0);
	assert_int_equal(target_refresh(target), 0);
	assert_null(otel_target_publisher(&target->otel));
	assert_false(target_is_complete(target));
	otel_target_config(&target->otel, &config);
	assert_int_equal(config.tls.model, TLS_MODEL_NONE);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_process_loads_and_unloads_is_noticed),
		cmocka_unit_test(
			a_process_is_opened_by_the_map_that_was_read_and_its_end_is_noticed),
		cmocka_unit_test(a_second_process_of_the_same_files_opens_none),
		cmocka_unit_test(opentelemetry_is_looked_for_where_it_is_wanted),
	};

	if (argc > 1)
		return stand_in_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
