#include <errno.h>
#include <stdlib.h>

#include "record/entry_scan.h"
#include "record/golden.h"
#include "record/record_view.h"

#define HEAD "\x92\xd7\x00\x65\x53\xf1\x01\x00\x00\x00\x00"

static int scan(const char *bytes, size_t size_bytes)
{
	size_t entry_bytes = 0;
	int r = entry_scan((const uint8_t *)bytes, size_bytes, &entry_bytes);

	if (r == 0)
		assert_int_equal(entry_bytes, size_bytes);
	return r;
}

#define SCAN(text) scan(text, sizeof(text) - 1)

static void an_entry_ends_where_its_map_ends(void **state)
{
	(void)state;
	assert_int_equal(SCAN(HEAD "\x80"), 0);
	assert_int_equal(SCAN(HEAD "\x82\xa1k\xc0\xa1l\x92\x01\xcd\x01\x02"), 0);
	assert_int_equal(SCAN(HEAD "\xde\x00\x01\xa1k\xcb\x00\x00\x00\x00\x00\x00\x00\x00"), 0);
	assert_int_equal(SCAN(HEAD "\x81\xa1k\xd9\x02hi"), 0);
	assert_int_equal(SCAN(HEAD "\x81\xa1k\xc7\x02\x05hi"), 0);
}

static void every_proper_prefix_asks_for_more(void **state)
{
	size_t file_bytes, entry_bytes = 0;
	char *file = golden_read("shop.rec", &file_bytes);

	(void)state;
	assert_int_equal(entry_scan((const uint8_t *)file, file_bytes, &entry_bytes), 0);
	for (size_t size_bytes = 1; size_bytes < entry_bytes; size_bytes++) {
		/* A copy of just these bytes, so that the sanitizer sees a read beyond them. */
		char *prefix = malloc(size_bytes);

		assert_non_null(prefix);
		memcpy(prefix, file, size_bytes);
		assert_int_equal(scan(prefix, size_bytes), -EAGAIN);
		free(prefix);
	}
	free(file);
}

static void what_is_not_an_entry_is_refused_at_once(void **state)
{
	(void)state;
	assert_int_equal(SCAN("h"), -EBADMSG);
	assert_int_equal(SCAN("\x92\xce\x65"), -EBADMSG);
	assert_int_equal(SCAN("\x92\xd7\x01"), -EBADMSG);
	assert_int_equal(SCAN(HEAD "\x90"), -EBADMSG);
	assert_int_equal(SCAN(HEAD "\x81\xa1k\xc1"), -EBADMSG);
}

static void a_declared_size_beyond_the_limit_is_refused_before_it_is_read(void **state)
{
	(void)state;
	assert_int_equal(SCAN(HEAD "\x81\xa1k\xdb\x00\x20\x00\x00"), -E2BIG);
	assert_int_equal(SCAN(HEAD "\x81\xa1k\xdb\xff\xff\xff\xff"), -E2BIG);
	assert_int_equal(SCAN(HEAD "\xdf\xff\xff\xff\xff"), -E2BIG);
	assert_int_equal(SCAN(HEAD "\x81\xa1k\xdd\x00\x01\x00\x00"), -E2BIG);
}

static void nesting_is_limited(void **state)
{
	(void)state;
	assert_int_equal(SCAN(HEAD "\x81\xa1k\x91\x91\x01"), 0);
	assert_int_equal(SCAN(HEAD "\x81\xa1k\x91\x91\x91\x01"), -ELOOP);
}

/* Damaged entries: whatever the scan says of them, the decoder must survive those it accepts. */
static void random_damage_never_crashes_scan_or_decoder(void **state)
{
	const unsigned int seed = 20240229;
	static struct record_view view;
	size_t file_bytes, accepted = 0;
	char *file = golden_read("shop.rec", &file_bytes);

	(void)state;
	srandom(seed);
	for (int round = 0; round < 20000; round++) {
		size_t size_bytes = 1 + (size_t)random() % file_bytes, entry_bytes = 0;
		uint8_t *copy = malloc(size_bytes);

		assert_non_null(copy);
		memcpy(copy, file, size_bytes);
		for (long i = random() % 4; i >= 0; i--)
			copy[(size_t)random() % size_bytes] = (uint8_t)random();
		if (entry_scan(copy, size_bytes, &entry_bytes) == 0) {
			assert_in_range(entry_bytes, 12, size_bytes);
			(void)record_view_decode(copy, entry_bytes, &view);
			accepted++;
		}
		free(copy);
	}
	print_message("seed %u: %zu accepted\n", seed, accepted);
	assert_true(accepted > 1000);
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_ends_where_its_map_ends),
		cmocka_unit_test(every_proper_prefix_asks_for_more),
		cmocka_unit_test(what_is_not_an_entry_is_refused_at_once),
		cmocka_unit_test(a_declared_size_beyond_the_limit_is_refused_before_it_is_read),
		cmocka_unit_test(nesting_is_limited),
		cmocka_unit_test(random_damage_never_crashes_scan_or_decoder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
