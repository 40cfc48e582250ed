/* SPDX-License-Identifier: GPL-2.0-only */
/* By what ruby_behaviour_look() knows the members of classes. */
#include "recorder/target/ruby/ruby_classes.h"

#include "unit_test.h"

#include "recorder/target/seen_behaviour.h"

enum {
	FIRST_FLAG = 12, /* FL_USHIFT */
	CLASS_WORDS = 20,
};

static uint64_t singleton_of(struct forged_vm *forged, size_t i)
{
	uint64_t singleton;

	assert_int_equal(memory_read_u64(&forged->reader, forged->classes[i] + 8, &singleton), 0);
	return singleton;
}

VM_TEST(classes_reject_member_missing_in_one_class)
{
	for (size_t i = 0; i < 3; i++) {
		struct forged_vm *forged = forge_vm();
		uint64_t singleton = singleton_of(forged, i);

		forged_set(forged, forged->classes[i], STACK_CLASS_PATH, forged_text(forged, "S"));
		look(forged);
		NONE(class_path);
		ONLY(class_attached, 8 * STACK_CLASS_ATTACHED);
		forged_set(forged, singleton, STACK_CLASS_ATTACHED, singleton);
		look(forged);
		NONE(class_attached);
		ONLY(class_singleton_mask, STACK_SINGLETON);
		forged_set(forged, singleton, 0, 0x02 | 1 << 13);
		look(forged);
		NONE(class_singleton_mask);
		free(forged);
	}
}

VM_TEST(classes_have_no_members_if_object_is_not_a_class)
{
	for (size_t i = 0; i < 6; i++) {
		struct forged_vm *forged = forge_vm();
		uint64_t changed = i % 2 ? singleton_of(forged, i / 2) : forged->classes[i / 2];

		forged_set(forged, changed, 0, 0x03 | 1 << 13 | (i % 2 ? STACK_SINGLETON : 0));
		look(forged);
		NONE(class_path);
		NONE(class_attached);
		NONE(class_singleton_mask);
		free(forged);
	}
}

VM_TEST(classes_search_members_from_third_to_twentieth_word)
{
	static const size_t words[] = { 2, CLASS_WORDS - 1 };
	struct forged_vm *forged = *state;
	uint64_t path;

	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < 3; j++) {
			uint64_t class = forged->classes[j], singleton = singleton_of(forged, j);

			assert_int_equal(memory_read_u64(&forged->reader,
							 class + 8 * STACK_CLASS_PATH, &path),
					 0);
			forged_set(forged, class, words[i], path);
			forged_set(forged, singleton, words[1 - i], class);
			/* Of its superclass nobody asks. */
			forged_set(forged, singleton, 1, class);
		}
	look(forged);
	assert_int_equal(COUNT(class_path), 3);
	assert_int_equal(COUNT(class_attached), 3);
	for (size_t i = 0; i < 2; i++) {
		assert_true(HAS(class_path, 8 * words[i]));
		assert_true(HAS(class_attached, 8 * words[i]));
	}
}

VM_TEST(classes_singleton_mask_is_flag_unset_in_other_classes)
{
	struct forged_vm *forged = *state;
	const uint64_t marks = 1 << FIRST_FLAG | UINT64_C(1) << 31;

	/* Neither above nor below those that are for a type's own use. */
	for (size_t i = 0; i < 3; i++)
		forged_set(forged, singleton_of(forged, i), 0,
			   0x02 | 1 << (FIRST_FLAG - 1) | marks | UINT64_C(1) << 32);
	look(forged);
	assert_int_equal(COUNT(class_singleton_mask), 2);
	assert_true(HAS(class_singleton_mask, 1 << FIRST_FLAG));
	assert_true(HAS(class_singleton_mask, UINT32_C(1) << 31));
	forged_set(forged, forged->classes[2], 0, 0x02 | 1 << FIRST_FLAG);
	look(forged);
	ONLY(class_singleton_mask, UINT32_C(1) << 31);
}
