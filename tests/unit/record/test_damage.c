/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "ears.h"
#include "record/damage.h"

TEST(damage_reports_merged_range_once_with_offset_and_length)
{
	struct damage damage = { .name = "app.rec", .fate = "passed over" };
	struct ears ears = ears_open();
	char said[512];

	damage_add(&damage, 100, 7, -1, "torn");
	damage_add(&damage, 107, 3, -2, "odd");
	damage_end(&damage);
	damage_end(&damage);
	ears_close(&ears, said, sizeof(said));
	assert_string_equal(said, "correlator: warning: app.rec: byte 100: torn; 10 bytes are "
				  "passed over\n");
	assert_int_equal(damage.places, 1);
	assert_int_equal(damage.bytes, 10);
	assert_int_equal(damage.error, -1);
	assert_false(damage.is_open);
}

TEST(damage_reports_first_eight_ranges_and_total)
{
	struct damage damage = { .name = "app.rec", .fate = "not sent" };
	struct ears ears = ears_open();
	char said[4096];
	size_t lines = 0;

	for (uint64_t i = 0; i < 9; i++) {
		damage_end(&damage);
		damage_add(&damage, 10 * i, 2, -1, "torn");
	}
	damage_finish(&damage);
	ears_close(&ears, said, sizeof(said));
	for (const char *at = said; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 9);
	assert_non_null(strstr(said, "app.rec: byte 70: torn; 2 bytes are not sent\n"));
	assert_null(strstr(said, "byte 80"));
	assert_non_null(
		strstr(said, "app.rec: damaged in 9 places: 18 bytes are not sent in all\n"));
}
