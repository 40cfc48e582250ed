/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/key_options.h"

#include <errno.h>
#include <stdio.h>

#include "unit_test.h"

#include "base/log.h"
#include "failing_memory.h"

TEST(key_options_rename_keys)
{
	struct key_options keys = { .count = 0 };

	assert_int_equal(key_options_add(&keys, "request_id"), 0);
	assert_int_equal(key_options_add(&keys, "pid=worker"), 0);
	assert_string_equal(keys.names[0], "request_id");
	assert_string_equal(keys.record_names[0], "request_id");
	assert_string_equal(keys.names[1], "pid");
	assert_string_equal(keys.record_names[1], "worker");
	key_options_deinit(&keys);
}

TEST(key_options_add_nothing_without_memory)
{
	struct key_options keys = { .count = 0 };
	size_t failures = 0;

	assert_each_allocation_can_fail(key_options_add(&keys, "request_id=id"),
					(failures++, assert_int_equal(keys.count, 0)));
	assert_int_equal(keys.count, 1);
	assert_true(failures > 1);
	key_options_deinit(&keys);
}

TEST(key_options_recognise_otel_prefix)
{
	struct key_options keys = { .count = 0 };

	assert_int_equal(key_options_add(&keys, "otel.trace_id=trace"), 0);
	assert_int_equal(key_options_add(&keys, "trace_id"), 0);
	assert_int_equal(key_options_add(&keys, "otel.http.route"), 0);
	assert_string_equal(keys.otel_names[0], "trace_id");
	assert_string_equal(keys.record_names[0], "trace");
	assert_null(keys.ruby_names[0]);
	assert_string_equal(keys.ruby_names[1], "trace_id");
	assert_null(keys.otel_names[1]);
	assert_string_equal(keys.otel_names[2], "http.route");
	assert_string_equal(keys.record_names[2], "otel.http.route");
	assert_int_equal(keys.ruby_count, 1);
	assert_int_equal(keys.otel_count, 2);
	/* An index leads to one key. */
	assert_int_equal(key_options_add(&keys, "otel.trace_id=again"), -EINVAL);
	assert_int_equal(key_options_add(&keys, "otel."), -EINVAL);
	assert_int_equal(key_options_add(&keys, "otel.=x"), -EINVAL);
	key_options_deinit(&keys);
	assert_int_equal(keys.otel_count, 0);
}

TEST(key_options_reject_record_field_names)
{
	static const char *const cases[] = { "pid",  "kind", "user_ns", "x=tid", "message",
					     "host", "",     "=x",	"x=" };
	struct key_options keys = { .count = 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(key_options_add(&keys, cases[i]), -EINVAL);
	assert_int_equal(keys.count, 0);
}

TEST(key_options_reject_duplicate_name)
{
	struct key_options keys = { .count = 0 };

	assert_int_equal(key_options_add(&keys, "a"), 0);
	assert_int_equal(key_options_add(&keys, "b=a"), -EINVAL);
	assert_int_equal(keys.count, 1);
	key_options_deinit(&keys);
}

static struct key_options added(const char *const *texts, size_t count)
{
	struct key_options keys = { .count = 0 };

	for (size_t i = 0; i < count; i++)
		assert_int_equal(key_options_add(&keys, texts[i]), 0);
	return keys;
}

TEST(key_options_mark_endpoint_late_with_request_id)
{
	static const char *const texts[] = { "endpoint=route", "tenant", "request_id=id",
					     "endpoint" };
	struct key_options keys = added(texts, 4);

	assert_int_equal(keys.late, 1 << 0 | 1 << 3);
	assert_int_equal(keys.request, 3);
	key_options_deinit(&keys);
}

TEST(key_options_treat_endpoint_as_ordinary_without_request_id)
{
	static const char *const texts[] = { "endpoint", "tenant=request_id", "otel.request_id" };
	struct key_options keys = added(texts, 3);

	assert_int_equal(keys.late, 0);
	assert_int_equal(keys.request, 0);
	key_options_deinit(&keys);
}

TEST(key_options_reject_more_than_max_keys)
{
	struct key_options keys = { .count = 0 };
	char name[16];

	for (unsigned int i = 0; i < KEYS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "key%u", i);
		assert_int_equal(key_options_add(&keys, name), 0);
	}
	assert_int_equal(key_options_add(&keys, "more"), -EINVAL);
	assert_int_equal(keys.count, KEYS_MAX);
	key_options_deinit(&keys);
}

TEST(key_options_suggest_integration_key_for_typo)
{
	assert_string_equal(key_options_nearest("requst_id"), "request_id");
	assert_string_equal(key_options_nearest("end_point"), "endpoint");
	assert_string_equal(key_options_nearest("traceid"), "trace_id");
	assert_null(key_options_nearest("tenant"));
	/* That is no slip. */
	assert_null(key_options_nearest("endpoint"));
}
