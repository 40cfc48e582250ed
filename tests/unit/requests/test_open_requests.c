/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "requests/open_requests.h"

struct visited {
	struct open_request open;
	int visits;
	char rest[100];
};

static struct open_requests requests;

static int set_up(void **state)
{
	(void)state;
	open_requests_init(&requests, sizeof(struct visited));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	while (requests.oldest) {
		struct open_request *request = requests.oldest;

		open_requests_take(&requests, request);
		free(request);
	}
	return 0;
}

static int touch_bytes(const char *id, size_t size_bytes, struct visited **ret_visited)
{
	struct open_request *request = NULL;
	int r = open_requests_touch(&requests, (struct record_text){ id, size_bytes }, &request);

	*ret_visited = (struct visited *)request;
	return r;
}

/* How often it was touched. */
static int touch(const char *id)
{
	static const char zeros[sizeof(((struct visited *)NULL)->rest)];
	struct visited *visited;
	int r = touch_bytes(id, strlen(id), &visited);

	assert_int_equal(r, visited->visits == 0);
	assert_memory_equal(visited->rest, zeros, sizeof(zeros));
	return ++visited->visits;
}

static void take(const char *id)
{
	struct visited *visited;

	assert_int_equal(touch_bytes(id, strlen(id), &visited), 0);
	open_requests_take(&requests, &visited->open);
	free(visited);
}

/* From the oldest on. */
static void expect_order(const char *expected)
{
	char order[64] = "";
	size_t count = 0;

	for (const struct open_request *open = requests.oldest; open; open = open->next) {
		struct record_text id = open_request_id(open);

		(void)strncat(order, id.bytes, id.size_bytes);
		count++;
	}
	assert_string_equal(order, expected);
	assert_int_equal(open_requests_count(&requests), count);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(open_requests_touch_makes_request_newest)
{
	expect_order("");
	assert_int_equal(touch("a"), 1);
	assert_int_equal(touch("a"), 2);
	assert_int_equal(touch("b"), 1);
	assert_int_equal(touch("c"), 1);
	expect_order("abc");
	assert_int_equal(touch("a"), 3);
	expect_order("bca");
	assert_int_equal(touch("c"), 2);
	assert_int_equal(touch("c"), 3);
	expect_order("bac");
}

FIXTURE_TEST(open_requests_touch_after_take_creates_new_request)
{
	touch("a");
	touch("b");
	touch("c");
	take("b");
	expect_order("ac");
	take("a");
	take("c");
	expect_order("");
	assert_int_equal(touch("b"), 1);
	expect_order("b");
}

/* Any bytes, of which none is the end. */
FIXTURE_TEST(open_requests_compare_all_bytes_of_id)
{
	struct visited *first, *second;

	assert_int_equal(touch_bytes("a\0b", 3, &first), 1);
	assert_int_equal(touch_bytes("a\0c", 3, &second), 1);
	assert_int_equal(touch_bytes("a\0", 2, &second), 1);
	assert_int_equal(touch_bytes("a\0b", 3, &second), 0);
	assert_ptr_equal(first, second);
	assert_int_equal(open_requests_count(&requests), 3);
}

FIXTURE_TEST(open_requests_copy_request_id)
{
	struct visited *visited;
	char id[] = "a";

	assert_int_equal(touch_bytes(id, 1, &visited), 1);
	id[0] = 'b';
	assert_int_equal(touch_bytes(id, 1, &visited), 1);
	expect_order("ab");
}

FIXTURE_TEST(open_requests_find_each_of_many_requests)
{
	char id[16];

	for (int round = 1; round <= 2; round++) {
		for (int i = 0; i < 1000; i++) {
			(void)snprintf(id, sizeof(id), "r-%d", i);
			assert_int_equal(touch(id), round);
		}
	}
}

FIXTURE_TEST(open_requests_touch_adds_nothing_when_allocation_fails)
{
	struct visited *visited;
	size_t successes = 0;
	int r;

	do {
		memory_fails_once_after(successes++);
		r = touch_bytes("a", 1, &visited);
		memory_never_fails();
		if (r < 0) {
			assert_int_equal(r, -ENOMEM);
			expect_order("");
		}
	} while (r < 0);
	/* The request, the table and its buckets. */
	assert_int_equal(successes - 1, 3);
	expect_order("a");
}
