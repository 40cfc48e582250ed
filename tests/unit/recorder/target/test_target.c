/* SPDX-License-Identifier: GPL-2.0-only */
/* target over this very process and its child, which stand in for Ruby. */
#include "recorder/target/target.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit_test.h"

#include "command/stand_in.h"
#include "failing_memory.h"
#include "recorder/target/forged_ruby.h"

UNIT_TEST_ALONE;

/* What a publisher of OpenTelemetry's thread context has. */
extern __thread void *otel_thread_ctx_v1;
__attribute__((used)) __thread void *otel_thread_ctx_v1;

static const struct target_keys ruby_contexts = { .wants_ruby = true };

TEST(target_refresh_detects_loaded_and_unloaded_libraries)
{
	_cleanup_(target_freep) struct target *target = NULL;
	void *library;

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

TEST(target_open_uses_given_map_and_refresh_detects_exit)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	_cleanup_(target_freep) struct target *target = NULL;
	struct stand_in files;
	char *argv[] = { files.name, STAND_IN_SLEEP, NULL };
	pid_t pid;

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

TEST(target_refresh_does_not_take_an_exec_for_an_unloading)
{
	_cleanup_(target_freep) struct target *target = NULL;
	int go[2], gone[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(gone, O_CLOEXEC), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		(void)!read(go[0], &byte, 1);
		(void)execlp("sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	(void)close(gone[1]);
	assert_int_equal(target_open(pid, NULL, &ruby_contexts, NULL, &target), 0);
	assert_non_null(target_publisher(target));
	assert_int_equal(target_refresh(target), 0);
	assert_int_equal(target_refresh(target), 0);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(read(gone[0], &byte, 1), 0);
	assert_int_equal(target_refresh(target), -ESRCH);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(go[0]);
	(void)close(go[1]);
	(void)close(gone[0]);
}

TEST(target_open_reuses_files_of_other_process)
{
	_cleanup_(object_files_freep) struct object_files *files = object_files_new();
	struct target *targets[3];
	struct stand_in stand_in;
	char *argv[] = { stand_in.name, STAND_IN_SLEEP, NULL };
	uint64_t opened;
	pid_t pids[3];

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

TEST(target_searches_otel_only_if_wanted)
{
	static const char *const names[] = { "trace_id" }, *const none[] = { NULL };
	const struct target_keys keys = {
		.ruby_names = none, .otel_names = names, .count = 1, .wants_otel = true
	};
	_cleanup_(target_freep) struct target *target = NULL;
	_cleanup_(target_freep) struct target *other = NULL;
	struct otel_config config;

	assert_int_equal(target_open(getpid(), NULL, &keys, NULL, &target), 0);
	assert_int_equal(target_refresh(target), 0);
	assert_non_null(otel_target_publisher(&target->otel));
	assert_true(target_is_complete(target));
	otel_target_config(&target->otel, &config);
	assert_int_equal(config.tls.model, TLS_MODEL_STATIC);
	assert_int_equal(config.trace_key, 1);
	assert_int_equal(target_open(getpid(), NULL, &ruby_contexts, NULL, &other), 0);
	assert_int_equal(other->otel.publishers.count, 0);
	otel_target_config(&other->otel, &config);
	assert_int_equal(config.tls.model, TLS_MODEL_NONE);
}

TEST(target_refresh_fails_if_pid_was_reused)
{
	_cleanup_(target_freep) struct target *target = NULL;

	assert_int_equal(target_open(getpid(), NULL, &ruby_contexts, NULL, &target), 0);
	assert_int_equal(target_refresh(target), 0);
	target->info.start_ticks--;
	assert_int_equal(target_refresh(target), -ESRCH);
}

TEST(target_counts_missing_named_keys)
{
	static const char *const names[] = { "request_id", NULL, "endpoint" };
	static const char *const none[] = { NULL, NULL, NULL };
	const struct target_keys keys = {
		.ruby_names = names, .otel_names = none, .count = 3, .wants_ruby = true
	};
	_cleanup_(target_freep) struct target *target = NULL;

	assert_int_equal(target_open(getpid(), NULL, &keys, NULL, &target), 0);
	assert_int_equal(target->ruby.keys_missing, 2);
	assert_int_equal(target_refresh(target), 0);
	assert_int_equal(target->ruby.keys_missing, 2);
	assert_false(target_is_complete(target));
}

TEST(target_has_changed_with_its_process_context)
{
	static struct {
		char signature[8];
		uint32_t version, payload_bytes;
		uint64_t published_ns, payload_address;
	} header = { { "OTEL_CTX" }, 2, 16, 77, 0x1000 };
	struct target target = { .info.pid = getpid() };

	assert_false(target_has_changed(&target));
	target.otel.announcement.header_address = (uintptr_t)&header;
	assert_true(target_has_changed(&target));
	target.otel.announcement.published_ns = 77;
	assert_false(target_has_changed(&target));
	/* What cannot be read any more is news, too. */
	target.otel.announcement.header_address = 0x1000;
	assert_true(target_has_changed(&target));
}

/* Ruby, its symbols found, and the variable. */
struct complete {
	struct forged_ruby *ruby;
	struct target target;
	struct publisher publishers[2];
};

static void make_complete(struct complete *complete)
{
	*complete = (struct complete){ .ruby = forge_ruby(&layouts[0]) };
	complete->target.keys = (struct target_keys){ .count = 5, .wants_ruby = true };
	complete->target.ruby.is_ruby = true;
	assert_int_equal(ruby_symbols_new(&complete->ruby->reader, complete->ruby->table, NULL, 0,
					  &complete->target.ruby.symbols),
			 0);
	for (size_t i = 0; i < 2; i++) {
		complete->publishers[i] =
			(struct publisher){ .start = 0x1000 + i,
					    .end = 0x2000 + i,
					    .is_located = true,
					    .tls.location = { .offset = -8 * (int64_t)(i + 1) } };
		complete->target.publishers.list[i] = &complete->publishers[i];
	}
	complete->target.publishers.count = 1;
}

static void free_complete(struct complete *complete)
{
	ruby_symbols_free(complete->target.ruby.symbols);
	free(complete->ruby);
}

TEST(target_is_complete_with_everything_wanted)
{
	struct complete complete;
	struct ruby_symbols *symbols;

	make_complete(&complete);
	assert_true(target_is_complete(&complete.target));
	complete.target.ruby.keys_missing = 1;
	assert_false(target_is_complete(&complete.target));
	complete.target.ruby.keys_missing = 0;
	complete.publishers[0].is_located = false;
	assert_false(target_is_complete(&complete.target));
	complete.publishers[0].is_located = true;
	symbols = complete.target.ruby.symbols;
	complete.target.ruby.symbols = NULL;
	assert_false(target_is_complete(&complete.target));
	complete.target.keys.wants_ruby = false;
	assert_true(target_is_complete(&complete.target));
	complete.target.ruby.symbols = symbols;
	complete.target.keys.wants_ruby = true;
	complete.target.keys.wants_otel = true;
	assert_false(target_is_complete(&complete.target));
	free_complete(&complete);
}

TEST(target_config_describes_one_variable_and_its_setters)
{
	struct complete complete;
	struct process_config config;

	make_complete(&complete);
	target_config(&complete.target, &config);
	assert_int_equal(config.key_count, 5);
	assert_int_equal(config.flags, PROCESS_READY);
	assert_int_equal(config.publisher_start, 0x1000);
	assert_int_equal(config.publisher_end, 0x2000);
	assert_int_equal(config.tls.offset, -8);
	assert_int_equal(config.string_layout, STRING_LAYOUT_FLAGS);
	/* Two variables: each of its own object. */
	complete.target.publishers.count = 2;
	target_config(&complete.target, &config);
	assert_int_equal(config.publisher_end, 0x2000);
	complete.target.publishers.live = 1;
	target_config(&complete.target, &config);
	assert_int_equal(config.publisher_start, 0x1001);
	assert_int_equal(config.tls.offset, -16);
	/* One, which another object sets, too. */
	complete.target.publishers.live = 0;
	complete.publishers[1].is_interposed = true;
	target_config(&complete.target, &config);
	assert_int_equal(config.publisher_start, 0);
	assert_int_equal(config.publisher_end, UINT64_MAX);
	complete.publishers[0].is_located = false;
	target_config(&complete.target, &config);
	assert_int_equal(config.flags, 0);
	assert_int_equal(config.key_count, 5);
	free_complete(&complete);
}

TEST(target_mixes_threads_if_native_ones_are_shared_untracked)
{
	struct complete complete;

	make_complete(&complete);
	assert_false(target_mixes_threads(&complete.target));
	complete.target.shares_native_threads = true;
	assert_true(target_mixes_threads(&complete.target));
	complete.target.publishers.follows_threads = true;
	assert_false(target_mixes_threads(&complete.target));
	complete.target.publishers.follows_threads = false;
	complete.publishers[0].is_located = false;
	assert_false(target_mixes_threads(&complete.target));
	free_complete(&complete);
}

TEST(target_shares_native_threads_by_environment_variable)
{
	static const struct {
		const char *value;
		bool is_shared;
	} cases[] = { { "0", false }, { "1", true },   { "-1", false },
		      { "", false },  { NULL, false }, { "16", true } };
	struct stand_in files;
	char *argv[] = { files.name, STAND_IN_SLEEP, NULL };

	stand_in_make(&files);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct target *target;
		pid_t pid;

		if (cases[i].value)
			assert_int_equal(setenv("RUBY_MN_THREADS", cases[i].value, 1), 0);
		else
			assert_int_equal(unsetenv("RUBY_MN_THREADS"), 0);
		pid = stand_in_start(0, files.ruby, argv, -1);
		assert_int_equal(target_open(pid, NULL, &ruby_contexts, NULL, &target), 0);
		assert_int_equal(target->shares_native_threads, cases[i].is_shared);
		assert_int_equal(target->ruby.keys_missing, 0);
		target_free(target);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	assert_int_equal(unsetenv("RUBY_MN_THREADS"), 0);
	stand_in_remove(&files);
}

TEST(target_open_is_complete_or_fails_without_memory)
{
	size_t failures;

	/* What is asked for comes again with each file: every third time is any of them. */
	for (failures = 0;; failures += 3) {
		_cleanup_(target_freep) struct target *target = NULL;
		int r;

		memory_fails_once_after(failures);
		r = target_open(getpid(), NULL, &ruby_contexts, NULL, &target);
		memory_never_fails();
		assert_true(!target == (r < 0));
		if (memory_failures() == 0)
			break;
		/* What is only held so that it need not be read again is done without. */
		assert_true(r == 0 || r == -ENOMEM);
	}
	assert_true(failures > 10);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return stand_in_main(argc, argv);
	return unit_test_run(NULL);
}
