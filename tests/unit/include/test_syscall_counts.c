/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include <correlator/syscall_counts.h>

enum {
	READ = 1, /* the machine's own call 0 */
	STAT = 5,
};

static struct syscall_counts counts;

static int set_up(void **state)
{
	(void)state;
	counts = (struct syscall_counts){ 0 };
	return 0;
}

static struct syscall_place *place_of(uint32_t call)
{
	struct syscall_place *place = syscall_counts_place(&counts, call);

	assert_non_null(place);
	assert_int_equal(place->call, call);
	return place;
}

static void expect(uint32_t call, uint32_t calls, uint64_t inside_ns)
{
	assert_int_equal(place_of(call)->calls, calls);
	assert_int_equal(place_of(call)->inside_ns, inside_ns);
}

static void expect_call(uint32_t call, uint32_t abi, uint32_t number)
{
	assert_true(call != 0);
	assert_int_equal(syscall_call_abi(call), abi);
	assert_int_equal(syscall_call_number(call), number);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

TEST(syscall_call_encodes_abi_and_number)
{
	expect_call(syscall_call(0, 1, 0), SYSCALL_ABI_NATIVE, 0);
	expect_call(syscall_call(1023, 1, 0), SYSCALL_ABI_NATIVE, 1023);
	expect_call(syscall_call(SYSCALL_X32_BIT, 1, 0), SYSCALL_ABI_X32, 0);
	expect_call(syscall_call(SYSCALL_X32_BIT | 547, 1, 0), SYSCALL_ABI_X32, 547);
	expect_call(syscall_call(3, 1, 1), SYSCALL_ABI_32, 3);
	expect_call(syscall_call(0, 0, 1), SYSCALL_ABI_32, 0);
}

TEST(syscall_call_marks_invalid_number)
{
	expect_call(syscall_call(1024, 1, 0), SYSCALL_ABI_NATIVE, SYSCALL_NUMBERS);
	expect_call(syscall_call(~UINT64_C(0), 1, 0), SYSCALL_ABI_NATIVE, SYSCALL_NUMBERS);
	expect_call(syscall_call(UINT64_C(1) << 32, 1, 0), SYSCALL_ABI_NATIVE, SYSCALL_NUMBERS);
	expect_call(syscall_call(SYSCALL_X32_BIT | 1024, 1, 0), SYSCALL_ABI_X32, SYSCALL_NUMBERS);
	/* On arm64 it is no table's bit. */
	expect_call(syscall_call(SYSCALL_X32_BIT, 0, 0), SYSCALL_ABI_NATIVE, SYSCALL_NUMBERS);
	/* arm's own, and one that a filter took away: 32 bits of -1. */
	expect_call(syscall_call(0xf0005, 0, 1), SYSCALL_ABI_32, SYSCALL_NUMBERS);
	expect_call(syscall_call(0xffffffff, 1, 1), SYSCALL_ABI_32, SYSCALL_NUMBERS);
	expect_call(syscall_call(UINT64_C(0xffffffff00000004), 1, 1), SYSCALL_ABI_32, 4);
}

FIXTURE_TEST(syscall_counts_call_at_entry_and_time_at_exit)
{
	assert_false(counts.has_some);
	syscall_counts_enter(&counts, READ, 100);
	assert_true(counts.has_some);
	expect(READ, 1, 0);
	syscall_counts_leave(&counts, 130);
	expect(READ, 1, 30);
	syscall_counts_enter(&counts, READ, 200);
	syscall_counts_leave(&counts, 207);
	syscall_counts_enter(&counts, STAT, 300);
	syscall_counts_leave(&counts, 311);
	expect(READ, 2, 37);
	expect(STAT, 1, 11);
}

FIXTURE_TEST(syscall_counts_settle_adds_time_of_ongoing_call)
{
	syscall_counts_enter(&counts, READ, 100);
	syscall_counts_settle(&counts, 150);
	expect(READ, 1, 50);
	/* Charged: the rest comes to a fresh place, of a call that was entered before. */
	*place_of(READ) = (struct syscall_place){ 0 };
	counts.has_some = 0;
	syscall_counts_settle(&counts, 150);
	assert_false(counts.has_some);
	syscall_counts_leave(&counts, 170);
	assert_true(counts.has_some);
	expect(READ, 0, 20);
}

/* The clock of a switch may be a little behind the last edge's. */
FIXTURE_TEST(syscall_counts_time_does_not_go_back)
{
	syscall_counts_enter(&counts, READ, 100);
	syscall_counts_settle(&counts, 90);
	syscall_counts_leave(&counts, 101);
	expect(READ, 1, 1);
}

FIXTURE_TEST(syscall_counts_ignore_exit_without_entry)
{
	syscall_counts_leave(&counts, 100);
	assert_false(counts.has_some);
	syscall_counts_enter(&counts, READ, 100);
	syscall_counts_leave(&counts, 110);
	syscall_counts_leave(&counts, 190);
	expect(READ, 1, 10);
}

FIXTURE_TEST(syscall_counts_use_other_places_on_collision)
{
	for (uint32_t i = 0; i < SYSCALL_TRIES; i++) {
		uint32_t call = READ + i * SYSCALL_PLACES;

		for (uint32_t times = 0; times <= i; times++) {
			syscall_counts_enter(&counts, call, 100);
			syscall_counts_leave(&counts, 101);
		}
	}
	for (uint32_t i = 0; i < SYSCALL_TRIES; i++)
		expect(READ + i * SYSCALL_PLACES, i + 1, i + 1);
	assert_null(syscall_counts_place(&counts, READ + SYSCALL_TRIES * SYSCALL_PLACES));
}

/* Which does not come: who counts makes room first. */
FIXTURE_TEST(syscall_counts_write_nothing_without_free_place)
{
	const uint32_t last = READ + SYSCALL_TRIES * SYSCALL_PLACES;

	for (uint32_t i = 0; i < SYSCALL_TRIES; i++)
		syscall_counts_enter(&counts, READ + i * SYSCALL_PLACES, 100);
	syscall_counts_enter(&counts, last, 200);
	syscall_counts_leave(&counts, 300);
	for (uint32_t i = 0; i < SYSCALL_TRIES; i++)
		expect(READ + i * SYSCALL_PLACES, 1, 0);
	assert_null(syscall_counts_place(&counts, last));
}

FIXTURE_TEST(syscall_counts_places_wrap_around)
{
	const uint32_t last = SYSCALL_PLACES - 1;

	syscall_counts_enter(&counts, last, 100);
	syscall_counts_enter(&counts, last + SYSCALL_PLACES, 100);
	assert_ptr_equal(place_of(last), &counts.places[last]);
	assert_ptr_equal(place_of(last + SYSCALL_PLACES), &counts.places[0]);
}
