/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/report/html/page_names.h"

static struct record_text text_of(const char *text)
{
	return (struct record_text){ text, strlen(text) };
}

static uint32_t put(struct page_names *names, const char *text)
{
	uint32_t number = 77;

	assert_int_equal(page_names_put(names, text_of(text), &number), 0);
	return number;
}

TEST(page_names_number_each_text_once)
{
	struct page_names names;

	page_names_init(&names, 100);
	assert_int_equal(put(&names, "a"), 1);
	assert_int_equal(put(&names, "ab"), 2);
	assert_int_equal(put(&names, "a"), 1);
	assert_int_equal(put(&names, ""), PAGE_NO_NAME);
	assert_int_equal(names.count, 2);
	assert_true(record_text_is(names.texts[1], "ab"));
	page_names_deinit(&names);
	assert_int_equal(names.count, 0);
}

TEST(page_names_return_no_name_beyond_limit)
{
	struct page_names names;
	char text[16];

	page_names_init(&names, 50);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 1; i <= 50; i++) {
			(void)snprintf(text, sizeof(text), "text %u", i);
			assert_int_equal(put(&names, text), i);
		}
	}
	assert_true(record_text_is(names.texts[49], "text 50"));
	assert_int_equal(put(&names, "one too many"), PAGE_NO_NAME);
	assert_int_equal(put(&names, "text 17"), 17);
	assert_int_equal(names.count, 50);
	page_names_deinit(&names);
}

TEST(page_names_stay_unchanged_without_memory)
{
	struct page_names names;
	uint32_t number;

	page_names_init(&names, 100);
	assert_each_allocation_can_fail(page_names_put(&names, text_of("a"), &number),
					assert_int_equal(names.count, 0));
	assert_int_equal(put(&names, "a"), 1);
	page_names_deinit(&names);
}
