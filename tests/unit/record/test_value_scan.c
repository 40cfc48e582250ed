#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "record/value_scan.h"

static const struct value_limits limits = { .bytes_max = 64, .depth_max = 2, .values_max = 8 };

/* Of a copy of exactly that size, so that the sanitizer sees a read beyond it. */
static int scan(const void *bytes, size_t size_bytes, size_t *ret_value_bytes)
{
	uint8_t *copy = malloc(size_bytes + 1);
	int r;

	assert_non_null(copy);
	memcpy(copy + 1, bytes, size_bytes);
	r = value_scan(copy + 1, size_bytes, &limits, ret_value_bytes);
	free(copy);
	return r;
}

static void a_value_ends_where_its_last_part_does(void **state)
{
	static const char value[] = "\x82\xa3"
				    "ack\xa2no\xa1x\x92\xc0\xcd\x01\x02rest";
	size_t expected = sizeof(value) - 1 - strlen("rest"), found = 0;

	(void)state;
	for (size_t size = 0; size < expected; size++)
		assert_int_equal(scan(value, size, &found), -EAGAIN);
	assert_int_equal(found, 0);
	for (size_t size = expected; size < sizeof(value); size++) {
		assert_int_equal(scan(value, size, &found), 0);
		assert_int_equal(found, expected);
	}
}

static void what_claims_too_much_is_refused_from_its_head(void **state)
{
	size_t found = 0;

	(void)state;
	assert_int_equal(scan("\xdd\xff\xff\xff\xff", 5, &found), -E2BIG);
	assert_int_equal(scan("\xdf\xff\xff\xff\xff", 5, &found), -E2BIG);
	assert_int_equal(scan("\xdb\xff\xff\xff\xff", 5, &found), -E2BIG);
	assert_int_equal(scan("\xc6\xff\xff\xff\xff", 5, &found), -E2BIG);
	assert_int_equal(scan("\x99", 1, &found), -E2BIG);
	assert_int_equal(scan("\x91\x91\x91\xc0", 4, &found), -ELOOP);
	assert_int_equal(scan("\x91\x91\xc0", 3, &found), 0);
	assert_int_equal(scan("\xc1", 1, &found), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_ends_where_its_last_part_does),
		cmocka_unit_test(what_claims_too_much_is_refused_from_its_head),
	};

	return cmocka_run_group_tests_name("value_scan", tests, NULL, NULL);
}
