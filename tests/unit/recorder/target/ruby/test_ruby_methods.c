/* SPDX-License-Identifier: GPL-2.0-only */
/* By what ruby_behaviour_look() knows the members of method entries and their definitions. */
#include "recorder/target/ruby/ruby_methods.h"

#include "unit_test.h"

#include "recorder/target/seen_behaviour.h"

VM_TEST(methods_class_is_class_module_or_iclass)
{
	static const struct {
		uint64_t flags;
		bool is_class;
	} kinds[] = { { 0x02, true }, { 0x03, true }, { 0x1c, true }, { 0x05, false } };
	struct forged_vm *forged = *state;
	uint64_t class = forged_object(forged, 0, 5);

	forged_set(forged, forged->entry, STACK_METHOD_CLASS, class);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		forged_set(forged, class, 0, kinds[i].flags | 0xfe0);
		look(forged);
		assert_int_equal(COUNT(method_class), kinds[i].is_class);
	}
	forged_set(forged, forged->entry, STACK_METHOD_CLASS, 0);
	look(forged);
	NONE(method_class);
}

/* Each has another entry: the method's, and that of the C function. */
static uint64_t forge_entry(struct forged_vm *forged, size_t frame, uint32_t type)
{
	uint64_t entry = forged_object(forged, 6 << 12 | 0x1a, 5);
	uint64_t definition = forged_take(&forged->memory, 64);

	forged_set(forged, entry, STACK_METHOD_CLASS, forged->classes[0]);
	forged_set(forged, entry, STACK_METHOD_DEFINITION, definition);
	forged_set(forged, entry, STACK_METHOD_CALLED, 0x1235);
	forged_set(forged, definition, 0, 0x770 | type);
	forged_set(forged, definition, STACK_DEFINITION_ID, 0x1235);
	forged_set(forged, forged_ep(forged, frame) - 16, 0, entry);
	return entry;
}

VM_TEST(methods_class_is_checked_in_each_entry)
{
	struct forged_vm *forged = *state;
	const uint64_t entries[] = { forge_entry(forged, 1, 0), forge_entry(forged, 3, 1) };

	for (size_t i = 0; i < 2; i++) {
		look(forged);
		ONLY(method_class, 8 * STACK_METHOD_CLASS);
		forged_set(forged, entries[i], STACK_METHOD_CLASS, entries[i]);
		look(forged);
		NONE(method_class);
		forged_set(forged, entries[i], STACK_METHOD_CLASS, forged->classes[0]);
	}
	/* Half of them do for the definition, whichever. */
	for (size_t i = 0; i < 2; i++) {
		forged_set(forged, entries[i], STACK_METHOD_CALLED, 0x1245);
		look(forged);
		ONLY(definition_original_id, 8 * STACK_DEFINITION_ID);
		forged_set(forged, entries[i], STACK_METHOD_CALLED, 0x1235);
	}
}

VM_TEST(methods_definition_needs_half_of_the_entries)
{
	struct forged_vm *forged = *state;
	uint64_t frame;

	/* The method's is not what its frame says, and one has another ID. */
	frame = forge_plain_frame(forged, STACK_FRAMES, 0x55550083, 0);
	assert_int_not_equal(frame, 0);
	forged_set(forged, forge_entry(forged, STACK_FRAMES, 1), STACK_METHOD_CALLED, 0x1245);
	look(forged);
	assert_int_equal(seen.frame_count, STACK_FRAMES + 1);
	ONLY(method_class, 8 * STACK_METHOD_CLASS);
	NONE(method_definition);
	NONE(method_called_id);
	NONE(definition_original_id);
	NONE(definition_type);
	NONE(definition_type_mask);
}

VM_TEST(methods_without_entries_report_nothing)
{
	struct forged_vm *forged = *state;

	/* What is there is no method entry. */
	forged_set(forged, forged->entry, 0, 7 << 12 | 0x1a);
	look(forged);
	ONLY(frame_bytes, 8 * STACK_FRAME_WORDS);
	NONE(method_class);
	NONE(method_definition);
	NONE(definition_type);
}

VM_TEST(methods_ignore_entries_of_blocks)
{
	struct forged_vm *forged = *state;

	/* A block's would be a definition of something else. */
	forged_set(forged, forge_entry(forged, 0, 5), STACK_METHOD_CLASS, 8);
	forged_set(forged, forge_entry(forged, 2, 5), STACK_METHOD_CLASS, 8);
	look(forged);
	ONLY(method_class, 8 * STACK_METHOD_CLASS);
	ONLY(method_definition, 8 * STACK_METHOD_DEFINITION);
}

VM_TEST(methods_original_id_is_any_word_but_the_first)
{
	static const size_t words[] = { 1, 7 };
	struct forged_vm *forged = *state;

	for (size_t i = 0; i < 2; i++) {
		for (size_t j = 1; j < 8; j++)
			forged_set(forged, forged->definition, j, j == words[i] ? 0xd581 : 0);
		look(forged);
		ONLY(definition_original_id, 8 * words[i]);
	}
	/* The word of the type is not the ID, nor are the entry's flags. */
	forged_set(forged, forged->definition, 0, 0xd581);
	forged_set(forged, forged->definition, 2, 6 << 12 | 0x1a);
	look(forged);
	ONLY(definition_original_id, 8 * 7);
	ONLY(method_called_id, 8 * STACK_METHOD_CALLED);
}

VM_TEST(methods_id_has_32_bits)
{
	static const struct {
		uint64_t id;
		bool is_one;
	} ids[] = { { 0, false }, { 1, true }, { UINT32_MAX - 1, true }, { UINT32_MAX, false } };
	struct forged_vm *forged = *state;

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		forged_set(forged, forged->entry, STACK_METHOD_CALLED, ids[i].id);
		forged_set(forged, forged->definition, STACK_DEFINITION_ID, ids[i].id);
		look(forged);
		assert_int_equal(COUNT(method_called_id), ids[i].is_one);
	}
}

VM_TEST(methods_definition_is_up_to_last_word_of_entry)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged->entry, STACK_METHOD_DEFINITION, 0xd581);
	forged_set(forged, forged->entry, STACK_METHOD_CALLED, forged->definition);
	look(forged);
	ONLY(method_definition, 8 * 4);
	ONLY(method_called_id, 8 * 1);
}
