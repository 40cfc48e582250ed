/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/output/identity.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit_test.h"

TEST(identity_describes_this_boot_and_process)
{
	struct identity identity;
	char host[256] = "";

	assert_int_equal(identity_read(&identity), 0);
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	assert_string_equal(identity.host_name, host);
	assert_int_equal(identity.pid, getpid());
	/* 8-4-4-4-12 digits, and no end of a line. */
	assert_int_equal(strlen(identity.boot_id), 36);
	assert_int_equal(strspn(identity.boot_id, "0123456789abcdef-"), 36);
}

TEST(identity_stamps_unique_record_ids_and_keeps_foreign_pid)
{
	struct identity identity = {
		.host_name = "shop", .boot_id = "01234567-89ab", .pid = 7, .nonce = 0xabc
	};
	struct record_common own = { 0 }, other = { .pid = 5 };

	identity_stamp(&identity, 1000, &own);
	assert_string_equal(own.record_id, "01234567:7:000000000abc:1");
	assert_string_equal(own.host_name, "shop");
	assert_int_equal(own.wall_ns, 1000);
	assert_int_equal(own.pid, 7);
	identity_stamp(&identity, 1001, &other);
	assert_string_equal(other.record_id, "01234567:7:000000000abc:2");
	assert_int_equal(other.pid, 5);
}

/* Two that start at one instant, each as process 1 of a container. */
TEST(identity_differs_between_two_recorders)
{
	struct identity first, second;
	struct record_common of_first = { 0 }, of_second = { 0 };

	assert_int_equal(identity_read(&first), 0);
	assert_int_equal(identity_read(&second), 0);
	identity_stamp(&first, 1000, &of_first);
	identity_stamp(&second, 1000, &of_second);
	assert_string_not_equal(of_first.record_id, of_second.record_id);
}
