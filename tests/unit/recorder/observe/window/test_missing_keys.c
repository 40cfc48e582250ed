/* SPDX-License-Identifier: GPL-2.0-only */
/* What is said of keys that no context had. */
#include "recorder/observe/window/missing_keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "ears.h"

static struct missing_keys missing;
static struct key_options keys;
static char said[1024];

static void say(void)
{
	struct ears ears = ears_open();

	missing_keys_say(&missing, &keys);
	ears_close(&ears, said, sizeof(said));
}

static const char *const names[] = { "", "request_id", "endpoint", "te\nant" };

/* IDs are places among the names; of 9 none is known. */
static int find(void *context, uint64_t id, struct value_snapshot *ret_name)
{
	assert_ptr_equal(context, names);
	if (id == 9)
		return -ENOENT;
	*ret_name = (struct value_snapshot){ .kind = VALUE_KIND_SYMBOL,
					     .encoding = 1,
					     .raw = strlen(names[id]),
					     .length_bytes = (uint16_t)strlen(names[id]) };
	memcpy(ret_name->bytes, names[id], strlen(names[id]));
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	memset(&missing, 0, sizeof(missing));
	said[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	key_options_deinit(&keys);
	return 0;
}

static void ask(const char *first, const char *second)
{
	assert_int_equal(key_options_add(&keys, first), 0);
	if (second)
		assert_int_equal(key_options_add(&keys, second), 0);
}

static void see(uint64_t first, uint64_t second, uint64_t third)
{
	const struct seen_keys seen = { .life = 1, .keys = { first, 0, second, third } };

	missing_keys_see(&missing, &seen, find, (void *)names);
}

static void note(const char *first, const char *second)
{
	const char *const values[KEYS_MAX] = { first, second };
	const struct context context = { .values = values };

	missing_keys_note(&missing, &keys, &context);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(missing_keys_warning_lists_available_names_once)
{
	ask("requst_id", NULL);
	note(NULL, NULL);
	see(1, 9, 0);
	see(1, 2, 3);
	say();
	assert_string_equal(said,
			    "correlator: warning: no context had the key requst_id; contexts have: "
			    "request_id, endpoint, te\\x0aant\n");
}

FIXTURE_TEST(missing_keys_suggest_correction_if_no_names_were_seen)
{
	ask("requst_id", "colour");
	note(NULL, NULL);
	assert_true(missing_keys_lacks_some(&missing, &keys));
	say();
	assert_string_equal(said, "correlator: warning: no context had the key requst_id: did you "
				  "mean request_id?\n"
				  "correlator: warning: no context had the key colour\n");
}

FIXTURE_TEST(missing_keys_exclude_found_and_late_keys)
{
	ask("request_id", "endpoint");
	assert_true(missing_keys_lacks_some(&missing, &keys));
	note("1", NULL);
	assert_false(missing_keys_lacks_some(&missing, &keys));
	say();
	assert_string_equal(said, "");
}

FIXTURE_TEST(missing_keys_log_nothing_without_contexts)
{
	ask("request_id", NULL);
	missing_keys_note(&missing, &keys, NULL);
	say();
	assert_string_equal(said, "");
}

FIXTURE_TEST(missing_keys_list_first_names_up_to_limit)
{
	ask("requst_id", NULL);
	note(NULL, NULL);
	for (size_t i = 0; i < MISSING_KEYS_NAMES_MAX; i++)
		(void)snprintf(missing.names[missing.name_count++], MISSING_KEYS_NAME_BYTES,
			       "%063zu", i);
	see(1, 2, 3);
	assert_int_equal(missing.name_count, MISSING_KEYS_NAMES_MAX);
	say();
	assert_non_null(strstr(said, "007\n"));
}
