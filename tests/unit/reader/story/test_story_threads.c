/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/story/story_threads.h"
#include "record/sample.h"

static int setup(void **state)
{
	static struct story_threads threads;

	*state = &threads;
	story_threads_init(&threads);
	return 0;
}

static int teardown(void **state)
{
	story_threads_deinit(*state);
	return 0;
}

static int touch(struct story_threads *threads, const char *host, int64_t pid, int64_t tid,
		 const char *name, struct story_thread **ret_thread)
{
	static struct record_view view;
	struct sample sample;
	int r;

	sample_record(&sample, "cpu host_name=\"%s\" pid=%ld", host, pid);
	if (tid >= 0)
		sample_fields(&sample, "tid=%ld", tid);
	if (name)
		sample_fields(&sample, "thread_name=\"%s\" ns_tid=3", name);
	sample_decode(&sample, &view);
	r = story_threads_touch(threads, &view, 0, ret_thread);
	msgpack_sbuffer_destroy(&sample.buffer);
	return r;
}

static struct story_thread *of(struct story_threads *threads, const char *host, int64_t pid,
			       int64_t tid, const char *name)
{
	struct story_thread *thread = NULL;

	assert_int_equal(touch(threads, host, pid, tid, name, &thread), 0);
	return thread;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(story_thread_is_identified_by_host_process_and_tid)
{
	struct story_threads *threads = *state;
	struct story_thread *thread = of(threads, "a", 7, 11, NULL);

	assert_non_null(thread);
	assert_ptr_equal(of(threads, "a", 7, 11, NULL), thread);
	assert_ptr_not_equal(of(threads, "b", 7, 11, NULL), thread);
	assert_ptr_not_equal(of(threads, "a", 8, 11, NULL), thread);
	assert_ptr_not_equal(of(threads, "a", 7, 12, NULL), thread);
	assert_int_equal(threads->host_count, 2);
	assert_string_equal(thread->host->name, "a");
	assert_ptr_equal(story_threads_find(threads, thread->host, 7, 11), thread);
	assert_null(story_threads_find(threads, &threads->hosts[1], 7, 12));
	assert_ptr_not_equal(story_threads_find(threads, &threads->hosts[1], 7, 11), thread);
}

FIXTURE_TEST(story_threads_sort_by_host_process_and_tid)
{
	struct story_thread *in_order[] = {
		of(*state, "a", 7, 12, NULL),
		of(*state, "a", 8, 11, NULL),
		of(*state, "b", 6, 9, NULL),
		of(*state, "b", 6, 10, NULL),
	};

	for (size_t i = 0; i < 4; i++) {
		for (size_t j = 0; j < 4; j++) {
			int order = story_thread_compare(in_order[i], in_order[j]);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
	}
}

FIXTURE_TEST(story_thread_keeps_last_nonempty_name)
{
	struct story_thread *thread = of(*state, "a", 7, 11, NULL);

	assert_string_equal(thread->name, "");
	assert_int_equal(thread->ns_tid, 0);
	of(*state, "a", 7, 11, "one");
	assert_string_equal(thread->name, "one");
	assert_int_equal(thread->ns_tid, 3);
	of(*state, "a", 7, 11, "two\033");
	assert_string_equal(thread->name, "two\\x1b");
	of(*state, "a", 7, 11, "");
	of(*state, "a", 7, 11, NULL);
	assert_string_equal(thread->name, "two\\x1b");
}

/* Records that wait for a value come late. */
FIXTURE_TEST(story_thread_is_not_renamed_by_earlier_record)
{
	struct story_threads *threads = *state;
	struct story_thread *thread = of(threads, "a", 7, 11, "new");

	thread->named_at = 1;
	of(threads, "a", 7, 11, "old");
	assert_string_equal(thread->name, "new");
}

FIXTURE_TEST(story_threads_ignore_record_without_tid)
{
	assert_null(of(*state, "a", 7, -1, NULL));
	assert_non_null(of(*state, "a", 7, 0, NULL));
	assert_false(((struct story_threads *)*state)->is_full);
}

FIXTURE_TEST(story_threads_limit_number_of_hosts)
{
	struct story_threads *threads = *state;
	char name[16];

	for (int i = 0; i < STORY_HOSTS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "h%d", i);
		assert_non_null(of(threads, name, 7, 11, NULL));
	}
	assert_false(threads->is_full);
	assert_null(of(threads, "one more", 7, 11, NULL));
	assert_true(threads->is_full);
	assert_non_null(of(threads, "h3", 7, 12, NULL));
}

FIXTURE_TEST(story_threads_limit_number_of_threads)
{
	struct story_threads *threads = *state;

	for (int i = 0; i < STORY_THREADS_MAX; i++)
		assert_non_null(of(threads, "a", 7, i, NULL));
	assert_false(threads->is_full);
	assert_null(of(threads, "a", 7, STORY_THREADS_MAX, "name"));
	assert_true(threads->is_full);
	assert_non_null(of(threads, "a", 7, 5, NULL));
}

FIXTURE_TEST(story_host_span_grows_at_both_ends)
{
	struct story_host host = { .name = "" };

	story_host_extend(&host, 50, 60);
	assert_true(host.has_span);
	assert_int_equal(host.first_ns, 50);
	assert_int_equal(host.last_ns, 60);
	story_host_extend(&host, 55, 58);
	assert_int_equal(host.first_ns, 50);
	assert_int_equal(host.last_ns, 60);
	story_host_extend(&host, 40, 70);
	assert_int_equal(host.first_ns, 40);
	assert_int_equal(host.last_ns, 70);
}

FIXTURE_TEST(story_threads_fail_with_enomem_when_allocation_fails)
{
	struct story_thread *thread = NULL;
	static struct record_view view;
	size_t failures = 0;

	view.fields[0] = (struct record_field){ .name = { "pid", 3 },
						.value = RECORD_VALUE_INTEGER,
						.integer = 7 };
	view.fields[1] = (struct record_field){ .name = { "tid", 3 },
						.value = RECORD_VALUE_INTEGER,
						.integer = 8 };
	view.field_count = 2;
	assert_each_allocation_can_fail(story_threads_touch(*state, &view, 0, &thread),
					(failures++, assert_null(thread)));
	assert_non_null(thread);
	assert_true(failures > 1);
}
