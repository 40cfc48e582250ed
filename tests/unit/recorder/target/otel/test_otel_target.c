/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/otel/otel_target.h"

#include <string.h>

#include "unit_test.h"

static const char *const names[] = { "user", "trace_id", NULL, "span_id" };

/* One whose variable is found, at the thread pointer. */
static struct publisher located = {
	.is_located = true,
	.tls.location = { .model = TLS_MODEL_STATIC, .offset = -64 },
};

static struct otel_target make_target(size_t name_count)
{
	struct otel_target target;

	otel_target_init(&target, names, name_count);
	target.publishers.list[0] = &located;
	target.publishers.count = 1;
	return target;
}

TEST(otel_target_without_variable_is_not_readable)
{
	struct otel_target target;
	struct otel_config config;

	otel_target_init(&target, names, 4);
	assert_string_equal(target.publishers.symbol, "otel_thread_ctx_v1");
	assert_int_equal(target.announcement.names_missing, 1);
	assert_null(otel_target_publisher(&target));
	assert_false(otel_target_is_readable(&target));
	target.announcement.names_missing = 0;
	assert_false(otel_target_is_complete(&target));
	memset(&config, 0xff, sizeof(config));
	otel_target_config(&target, &config);
	assert_int_equal(config.tls.model, TLS_MODEL_NONE);
	assert_int_equal(config.trace_key + config.span_key + config.reads_attributes, 0);
}

TEST(otel_target_with_refused_announcement_is_not_readable)
{
	struct otel_target target = make_target(4);
	struct otel_config config;

	assert_true(otel_target_is_readable(&target));
	target.announcement.state = OTEL_ANNOUNCEMENT_REFUSED;
	assert_false(otel_target_is_readable(&target));
	otel_target_config(&target, &config);
	assert_int_equal(config.tls.model, TLS_MODEL_NONE);
	target.announcement.state = OTEL_ANNOUNCEMENT_READ;
	target.announcement.names_missing = 1;
	assert_true(otel_target_is_readable(&target));
	assert_false(otel_target_is_complete(&target));
	target.announcement.names_missing = 0;
	assert_true(otel_target_is_complete(&target));
}

TEST(otel_target_config_has_location_and_key_roles)
{
	struct otel_target target = make_target(4);
	struct otel_config config;

	target.announcement.index_count = 3;
	target.announcement.key_of_index[2] = 1;
	otel_target_config(&target, &config);
	assert_memory_equal(&config.tls, &located.tls.location, sizeof(config.tls));
	assert_int_equal(config.trace_key, 2);
	assert_int_equal(config.span_key, 4);
	assert_int_equal(config.reads_attributes, 1);
	assert_int_equal(config.known_indexes, 3);
	for (size_t i = 0; i < OTEL_INDEXES; i++)
		assert_int_equal(config.key_of_index[i], i == 2);
	/* The IDs are no attributes. */
	target = make_target(4);
	target.announcement.names = names + 1;
	target.announcement.key_count = 3;
	otel_target_config(&target, &config);
	assert_int_equal(config.trace_key, 1);
	assert_int_equal(config.span_key, 3);
	assert_int_equal(config.reads_attributes, 0);
	target = make_target(1);
	otel_target_config(&target, &config);
	assert_int_equal(config.trace_key + config.span_key, 0);
	assert_int_equal(config.reads_attributes, 1);
}

TEST(otel_target_fork_inherits_announcement_unless_it_has_its_own)
{
	struct otel_target parent, child;

	otel_target_init(&parent, NULL, 0);
	otel_target_init(&child, NULL, 0);
	parent.announcement.state = OTEL_ANNOUNCEMENT_READ;
	parent.announcement.index_count = 3;
	parent.announcement.header_address = 0x7f0000001000;
	parent.announcement.published_ns = 7;
	child.announcement.published_ns = 8;
	otel_target_inherit(&child, &parent);
	assert_int_equal(child.announcement.state, OTEL_ANNOUNCEMENT_READ);
	assert_int_equal(child.announcement.index_count, 3);
	assert_int_equal(child.announcement.header_address, 0);
	assert_int_equal(child.announcement.published_ns, 8);
	parent.announcement.index_count = 4;
	otel_target_inherit(&child, &parent);
	assert_int_equal(child.announcement.index_count, 3);
}
