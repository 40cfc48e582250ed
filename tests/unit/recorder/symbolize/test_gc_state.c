/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/gc_state.h"

#include "unit_test.h"

static const struct ruby_stack_layout known = { .gc_count_address = 0x20000,
						.gc_flags_address = 0x20100,
						.gc_flags_mask = RUBY_GC_IS_ON };

static void assert_phase(uint32_t flags, enum gc_phase phase)
{
	struct gc_state state = gc_state_of(&known, 7, flags);

	assert_int_equal(state.count, 7);
	assert_int_equal(state.phase, phase);
}

/* Of struct rb_objspace: mode in two bits, during_gc 0x20, during_compacting 0x40. */
TEST(gc_state_phase_follows_flags)
{
	assert_phase(0x00, GC_SETTLED);
	assert_phase(0x08, GC_SETTLED); /* GC.disable */
	assert_phase(0x02, GC_SETTLED); /* lazily, between two steps */
	assert_phase(0x22, GC_SETTLED);
	assert_phase(0x01, GC_MARKING); /* incrementally, between two steps */
	assert_phase(0x21, GC_MARKING);
	assert_phase(0x20, GC_MARKING); /* about to */
	assert_phase(0x61, GC_UNKNOWN);
	assert_phase(0x42, GC_UNKNOWN);
	assert_phase(0x40, GC_UNKNOWN);
	assert_phase(0x03, GC_UNKNOWN);
	assert_phase(0x23, GC_UNKNOWN);
	assert_phase(0x100, GC_UNKNOWN);
}

TEST(gc_state_is_unknown_without_counter_or_known_flags)
{
	struct ruby_stack_layout layout = known;

	layout.gc_count_address = 0;
	assert_int_equal(gc_state_of(&layout, 7, 0).phase, GC_UNKNOWN);
	layout = known;
	layout.gc_flags_mask = 0x10;
	assert_int_equal(gc_state_of(&layout, 7, 0).phase, GC_UNKNOWN);
}

TEST(gc_state_is_unknown_if_phase_changes_while_read)
{
	struct memory_span spans[GC_SPANS];
	struct gc_reading reading;

	gc_state_spans(&known, &reading, spans);
	assert_int_equal(spans[0].address, known.gc_flags_address);
	assert_int_equal(spans[1].address, known.gc_count_address);
	assert_int_equal(spans[1].size_bytes, 8);
	assert_int_equal(spans[2].address, known.gc_flags_address);
	*(uint8_t *)spans[0].buffer = 0x01;
	*(uint64_t *)spans[1].buffer = 9;
	*(uint8_t *)spans[2].buffer = 0x21;
	assert_int_equal(gc_state_read(&known, &reading).phase, GC_MARKING);
	assert_int_equal(gc_state_read(&known, &reading).count, 9);
	*(uint8_t *)spans[2].buffer = 0x02;
	assert_int_equal(gc_state_read(&known, &reading).phase, GC_UNKNOWN);
}

TEST(gc_state_frees_only_after_marking)
{
	static const struct {
		enum gc_phase then;
		enum gc_phase now;
		bool freed_nothing;
	} cases[] = {
		{ GC_SETTLED, GC_SETTLED, true },  { GC_SETTLED, GC_MARKING, true },
		{ GC_SETTLED, GC_UNKNOWN, true },  { GC_MARKING, GC_MARKING, true },
		{ GC_MARKING, GC_SETTLED, false }, { GC_MARKING, GC_UNKNOWN, false },
		{ GC_UNKNOWN, GC_SETTLED, false }, { GC_UNKNOWN, GC_UNKNOWN, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct gc_state then = { 4, cases[i].then };
		struct gc_state now = { 4, cases[i].now };

		assert_int_equal(gc_state_freed_nothing(&then, &now), cases[i].freed_nothing);
		now.count++;
		assert_false(gc_state_freed_nothing(&then, &now));
	}
}

TEST(gc_state_keeps_survivors_for_one_collection)
{
	const struct gc_state settled = { 4, GC_SETTLED }, marking = { 4, GC_MARKING };

	for (uint64_t count = 4; count < 8; count++) {
		const struct gc_state now = { count, GC_SETTLED };

		assert_int_equal(gc_state_keeps_survivors(&settled, &now), count <= 5);
		assert_int_equal(gc_state_keeps_survivors(&marking, &now), count <= 4);
	}
}
