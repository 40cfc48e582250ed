/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_accessors.h"

#include <errno.h>
#include <stdbool.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "recorder/target/ruby_code.h"

enum {
	NONE = RUBY_LAYOUT_UNKNOWN
};

static struct ruby_code code;

static struct ruby_accessor_layout decode(void)
{
	struct ruby_accessor_layout layout;
	struct ruby_accessors accessors = { 0 };
	struct x86_code_source source = ruby_code_source(&code);

	for (size_t i = 0; i < code.function_count; i++)
		for (size_t j = 0; j < _RUBY_ACCESSOR_MAX; j++)
			if (strcmp(code.functions[i].name, ruby_accessor_name(j)) == 0) {
				accessors.list[j].address = code.functions[i].address;
				accessors.list[j].size_bytes = code.functions[i].size_bytes;
			}
	assert_int_equal(ruby_accessors_decode(&accessors, &source, &layout), 0);
	return layout;
}

static struct ruby_accessor_layout decode_build(const char *version)
{
	char path[512];

	(void)snprintf(path, sizeof(path), RUBY_CODE_FOLDER "/%s.txt", version);
	assert_true(ruby_code_load(&code, path));
	return decode();
}

/* vm_core.h, iseq.h and method.h of every version from 2.7 to 3.4. */
static void assert_is_common(const struct ruby_stack_layout *layout)
{
	assert_int_equal(layout->execution_stack, 0);
	assert_int_equal(layout->execution_stack_words, 8);
	assert_int_equal(layout->execution_frame, 16);
	assert_int_equal(layout->thread_self, 16);
	assert_int_equal(layout->frame_pc, 0);
	assert_int_equal(layout->frame_iseq, 16);
	assert_int_equal(layout->frame_ep, 32);
	assert_int_equal(layout->iseq_body, 16);
	assert_int_equal(layout->body_type, 0);
	assert_int_equal(layout->body_code_words, 4);
	assert_int_equal(layout->body_code, 8);
	assert_int_equal(layout->body_path, 64);
	assert_int_equal(layout->body_base_label, 72);
	assert_int_equal(layout->body_label, 80);
	assert_int_equal(layout->body_first_line, 88);
	assert_int_equal(layout->line_positions_kind, RUBY_LINE_POSITIONS_SUCCINCT);
	assert_int_equal(layout->method_class, 8);
	assert_int_equal(layout->method_definition, 16);
	assert_int_equal(layout->method_called_id, 24);
	assert_int_equal(layout->definition_type, 0);
	assert_int_equal(layout->definition_type_mask, 15);
	assert_int_equal(layout->definition_original_id, 32);
	assert_int_equal(layout->gc_flags_mask, 0x20);
}

static void assert_lines(const struct ruby_stack_layout *layout, uint32_t table,
			 uint32_t entry_bytes)
{
	assert_int_equal(layout->body_lines, table);
	assert_int_equal(layout->body_line_count, table + 16);
	assert_int_equal(layout->body_line_positions, table + 24);
	assert_int_equal(layout->line_entry_bytes, entry_bytes);
}

/* What no exported function reads. */
static void assert_rest_unknown(const struct ruby_stack_layout *layout)
{
	assert_int_equal(layout->frame_sp, NONE);
	assert_int_equal(layout->frame_self, NONE);
	assert_int_equal(layout->frame_jit_return, NONE);
	assert_int_equal(layout->thread_native_id, NONE);
	assert_int_equal(layout->body_parent, NONE);
	assert_int_equal(layout->string_layout, NONE);
}

static void assert_place(const struct ruby_place *place, enum ruby_place_kind kind,
			 uint64_t address)
{
	assert_int_equal(place->kind, kind);
	assert_int_equal(place->address, address);
	assert_int_equal(place->offset, 0);
}

TEST(accessors_of_ruby_2_7_match_headers)
{
	struct ruby_accessor_layout found = decode_build("2.7.4");

	assert_is_common(&found.layout);
	assert_rest_unknown(&found.layout);
	assert_place(&found.execution, RUBY_PLACE_POINTED, 0x342cc8);
	assert_place(&found.vm, RUBY_PLACE_POINTED, 0x342d10);
	assert_int_equal(found.layout.execution_thread, 0x38);
	assert_int_equal(found.layout.frame_bytes, 56);
	assert_int_equal(found.layout.body_first_line_kind, RUBY_FIRST_LINE_VALUE);
	assert_int_equal(found.layout.body_local, 0xb0);
	assert_lines(&found.layout, 0x78, 8);
	assert_int_equal(found.layout.class_path, NONE);
	assert_int_equal(found.layout.class_attached, NONE);
	assert_int_equal(found.layout.class_singleton_mask, NONE);
	assert_int_equal(found.layout.vm_object_space, 0x480);
	assert_int_equal(found.layout.object_space_flags, 0x10);
	assert_int_equal(found.layout.object_space_count, 0x1a8);
}

TEST(accessors_of_ruby_3_1_match_headers)
{
	struct ruby_accessor_layout found = decode_build("3.1.2");

	assert_is_common(&found.layout);
	assert_rest_unknown(&found.layout);
	assert_place(&found.execution, RUBY_PLACE_TLS, 0x3ada48);
	assert_place(&found.vm, RUBY_PLACE_POINTED, 0x3adc88);
	assert_int_equal(found.layout.execution_thread, 0x30);
	assert_int_equal(found.layout.frame_bytes, 64);
	assert_int_equal(found.layout.body_first_line_kind, RUBY_FIRST_LINE_VALUE);
	assert_int_equal(found.layout.body_local, 0xb0);
	assert_lines(&found.layout, 0x78, 12);
	assert_int_equal(found.layout.class_path, NONE);
	assert_int_equal(found.layout.vm_object_space, 0x450);
	assert_int_equal(found.layout.object_space_flags, 0x10);
	assert_int_equal(found.layout.object_space_count, 0x1b8);
}

TEST(accessors_of_ruby_3_3_match_headers)
{
	struct ruby_accessor_layout found = decode_build("3.3.8");

	assert_is_common(&found.layout);
	assert_rest_unknown(&found.layout);
	assert_place(&found.execution, RUBY_PLACE_TLS, 0x45aad0);
	assert_place(&found.vm, RUBY_PLACE_VARIABLE, 0x46bbe8);
	assert_int_equal(found.layout.execution_thread, 0x30);
	assert_int_equal(found.layout.frame_bytes, 56);
	assert_int_equal(found.layout.body_first_line_kind, RUBY_FIRST_LINE_INT);
	assert_int_equal(found.layout.body_local, 0xa8);
	assert_lines(&found.layout, 0x70, 12);
	assert_int_equal(found.layout.class_path, 0x98);
	assert_int_equal(found.layout.class_attached, 0x80);
	assert_int_equal(found.layout.class_singleton_mask, 0x1000);
	assert_int_equal(found.layout.vm_object_space, 0x518);
	assert_int_equal(found.layout.object_space_flags, 0x10);
	assert_int_equal(found.layout.object_space_count, 0x570);
}

TEST(accessors_of_ruby_3_4_match_headers)
{
	struct ruby_accessor_layout found = decode_build("3.4.11");

	assert_is_common(&found.layout);
	assert_rest_unknown(&found.layout);
	assert_place(&found.execution, RUBY_PLACE_TLS, 0x4dbac8);
	assert_place(&found.vm, RUBY_PLACE_VARIABLE, 0x4ecab0);
	assert_int_equal(found.layout.frame_bytes, 56);
	assert_int_equal(found.layout.body_local, 0xa8);
	assert_lines(&found.layout, 0x70, 12);
	assert_int_equal(found.layout.class_path, 0x98);
	assert_int_equal(found.layout.class_attached, 0x80);
	assert_int_equal(found.layout.class_singleton_mask, 0x2000);
	assert_int_equal(found.layout.vm_object_space, 0x510);
	assert_int_equal(found.layout.object_space_flags, 0x14);
	assert_int_equal(found.layout.object_space_count, 0x3f0);
}

/* A Ruby of one function. */
static struct ruby_accessor_layout decode_function(enum ruby_accessor accessor, const char *hex)
{
	struct ruby_code_function *function = &code.functions[0];

	code.function_count = 1;
	*function = (struct ruby_code_function){ .address = 0x1000 };
	(void)snprintf(function->name, sizeof(function->name), "%s", ruby_accessor_name(accessor));
	ruby_code_add(&code, 0x1000, hex);
	return decode();
}

static struct ruby_accessor_layout decode_thread_current(const char *hex)
{
	return decode_function(RUBY_ACCESSOR_THREAD_CURRENT, hex);
}

TEST(accessors_find_context_of_static_ruby_at_thread_pointer)
{
	struct ruby_accessor_layout found;

	code = (struct ruby_code){ 0 };
	/* mov $-0x50,%rax; mov %fs:(%rax),%rax; mov 0x30(%rax),%rax; mov 0x10(%rax),%rax; ret */
	found = decode_thread_current(
		"48 c7 c0 b0 ff ff ff 64 48 8b 00 48 8b 40 30 48 8b 40 10 c3");
	assert_int_equal(found.execution.kind, RUBY_PLACE_TLS_FIXED);
	assert_int_equal(found.execution.offset, -0x50);
	assert_int_equal(found.layout.execution_thread, 0x30);
	code = (struct ruby_code){ 0 };
	/* mov %fs:0,%rax; mov -0x50(%rax),%rax; ... */
	found = decode_thread_current(
		"64 48 8b 04 25 00 00 00 00 48 8b 40 b0 48 8b 40 30 48 8b 40 10 c3");
	assert_int_equal(found.execution.kind, RUBY_PLACE_TLS_FIXED);
	assert_int_equal(found.execution.offset, -0x50);
}

TEST(accessors_find_initial_exec_by_its_slot)
{
	struct ruby_accessor_layout found;

	code = (struct ruby_code){ 0 };
	/* mov 0x1000(%rip),%rax; mov %fs:(%rax),%rax; ... */
	found = decode_thread_current(
		"48 8b 05 00 10 00 00 64 48 8b 00 48 8b 40 30 48 8b 40 10 c3");
	assert_place(&found.execution, RUBY_PLACE_TLS_OFFSET, 0x2007);
	code = (struct ruby_code){ 0 };
	/* mov %fs:0,%rcx; add 0x1000(%rip),%rcx; mov 8(%rcx),%rax; ... */
	found = decode_thread_current(
		"64 48 8b 0c 25 00 00 00 00 48 03 0d 00 10 00 00 48 8b 41 08 48 8b 40 30 "
		"48 8b 40 10 c3");
	assert_int_equal(found.execution.kind, RUBY_PLACE_TLS_OFFSET);
	assert_int_equal(found.execution.address, 0x2010);
	assert_int_equal(found.execution.offset, 8);
}

TEST(accessors_find_descriptor_by_its_slot)
{
	struct ruby_accessor_layout found;

	code = (struct ruby_code){ 0 };
	ruby_code_add_slot(&code, 0x2007, X86_SLOT_TLS, 0);
	/* lea 0x1000(%rip),%rax; call *(%rax); mov %fs:(%rax),%rax; ... */
	found = decode_thread_current(
		"48 8d 05 00 10 00 00 ff 10 64 48 8b 00 48 8b 40 30 48 8b 40 10 c3");
	assert_place(&found.execution, RUBY_PLACE_TLS, 0x2007);
}

TEST(accessors_recognise_tls_get_addr_call_without_plt)
{
	struct ruby_accessor_layout found;

	code = (struct ruby_code){ 0 };
	ruby_code_add_slot(&code, 0x2008, X86_SLOT_TLS, 0);
	/* data16 lea 0x1000(%rip),%rdi; data16 rex.W call *0x2000(%rip); mov (%rax),%rax; ... */
	found = decode_thread_current("66 48 8d 3d 00 10 00 00 66 48 ff 15 00 20 00 00 48 8b 00 "
				      "48 8b 40 30 48 8b 40 10 c3");
	assert_place(&found.execution, RUBY_PLACE_TLS, 0x2008);
}

TEST(accessors_find_variable_of_program_by_its_code)
{
	struct ruby_accessor_layout found;

	code = (struct ruby_code){ 0 };
	/* mov 0x1000(%rip),%rax; mov 0x38(%rax),%rax; mov 0x10(%rax),%rax; ret */
	found = decode_thread_current("48 8b 05 00 10 00 00 48 8b 40 38 48 8b 40 10 c3");
	assert_place(&found.execution, RUBY_PLACE_VARIABLE, 0x2007);
	assert_int_equal(found.layout.execution_thread, 0x38);
}

TEST(accessors_reject_two_different_answers)
{
	struct ruby_accessor_layout found;

	code = (struct ruby_code){ 0 };
	/* mov 0x10(%rdi),%rax; test %esi,%esi; je 1f; mov 0x50(%rax),%rax; ret;
	 * 1: mov 0x48(%rax),%rax; ret */
	found = decode_function(RUBY_ACCESSOR_ISEQ_LABEL,
				"48 8b 47 10 85 f6 74 05 48 8b 40 50 c3 48 8b 40 48 c3");
	assert_int_equal(found.layout.iseq_body, 0x10);
	assert_int_equal(found.layout.body_label, NONE);
}

TEST(accessors_reject_offset_beyond_any_structure)
{
	struct ruby_accessor_layout found;

	code = (struct ruby_code){ 0 };
	/* mov 0x10(%rdi),%rax; mov 0x8000(%rax),%rax; ret */
	found = decode_function(RUBY_ACCESSOR_ISEQ_LABEL, "48 8b 47 10 48 8b 80 00 80 00 00 c3");
	assert_int_equal(found.layout.body_label, NONE);
	code = (struct ruby_code){ 0 };
	/* the same of 0x7fff */
	found = decode_function(RUBY_ACCESSOR_ISEQ_LABEL, "48 8b 47 10 48 8b 80 ff 7f 00 00 c3");
	assert_int_equal(found.layout.body_label, 0x7fff);
	code = (struct ruby_code){ 0 };
	/* mov 0x10(%rdi),%rax; mov -8(%rax),%rax; ret */
	found = decode_function(RUBY_ACCESSOR_ISEQ_LABEL, "48 8b 47 10 48 8b 40 f8 c3");
	assert_int_equal(found.layout.body_label, NONE);
}

TEST(accessors_normalise_flag_to_its_byte)
{
	struct ruby_accessor_layout found;

	code = (struct ruby_code){ 0 };
	/* mov 0x1000(%rip),%rax; mov 0x510(%rax),%rax; mov 0x14(%rax),%eax; shr $13,%eax;
	 * and $1,%eax; ret: bit 13 of the word at 0x14 */
	found = decode_function(RUBY_ACCESSOR_DURING_GC,
				"48 8b 05 00 10 00 00 48 8b 80 10 05 00 00 "
				"8b 40 14 c1 e8 0d 83 e0 01 c3");
	assert_place(&found.vm, RUBY_PLACE_VARIABLE, 0x2007);
	assert_int_equal(found.layout.vm_object_space, 0x510);
	assert_int_equal(found.layout.object_space_flags, 0x15);
	assert_int_equal(found.layout.gc_flags_mask, 0x20);
}

static void add_function(enum ruby_accessor accessor, uint64_t address, const char *hex)
{
	struct ruby_code_function *function = &code.functions[code.function_count++];

	*function = (struct ruby_code_function){ .address = address };
	(void)snprintf(function->name, sizeof(function->name), "%s", ruby_accessor_name(accessor));
	ruby_code_add(&code, address, hex);
}

/*
 * A function behind those that it builds upon: rb_thread_current(), whose variable is at 0x3000,
 * rb_iseq_label() and rb_profile_frame_path().
 */
static struct ruby_stack_layout decode_behind_others(enum ruby_accessor accessor, const char *hex)
{
	code = (struct ruby_code){ 0 };
	if (accessor != RUBY_ACCESSOR_THREAD_CURRENT)
		add_function(RUBY_ACCESSOR_THREAD_CURRENT, 0x1000,
			     "48 8b 05 f9 1f 00 00 48 8b 40 30 48 8b 40 10 c3");
	if (accessor != RUBY_ACCESSOR_ISEQ_LABEL)
		add_function(RUBY_ACCESSOR_ISEQ_LABEL, 0x1100, "48 8b 47 10 48 8b 40 50 c3");
	if (accessor != RUBY_ACCESSOR_PROFILE_FRAME_PATH)
		add_function(RUBY_ACCESSOR_PROFILE_FRAME_PATH, 0x1200, "48 8b 47 10 f6 00 0f c3");
	add_function(accessor, 0x2000, hex);
	return decode().layout;
}

/* What a function says, and what in it says something else and is not what is looked for. */
struct distraction {
	enum ruby_accessor accessor;
	const char *honest;
	const char *others[7]; /* behind that, where its registers are still what they were */
	struct {
		size_t field; /* offset in the layout; 0 = none */
		uint32_t value;
	} fields[3];
};

#define SAYS(name, value)                                         \
	{                                                         \
		offsetof(struct ruby_stack_layout, name), (value) \
	}

static uint32_t field_of(const struct ruby_stack_layout *layout, size_t offset)
{
	uint32_t value;

	memcpy(&value, (const char *)layout + offset, sizeof(value));
	return value;
}

static void assert_says(const struct distraction *distraction, const char *hex)
{
	struct ruby_stack_layout layout = decode_behind_others(distraction->accessor, hex);

	for (size_t i = 0; i < 3 && distraction->fields[i].field; i++) {
		if (field_of(&layout, distraction->fields[i].field) != distraction->fields[i].value)
			print_error("%s: %s\n", ruby_accessor_name(distraction->accessor), hex);
		assert_int_equal(field_of(&layout, distraction->fields[i].field),
				 distraction->fields[i].value);
	}
}

static const struct distraction distractions[] = {
	{ RUBY_ACCESSOR_ISEQ_METHOD_NAME,
	  /* mov 0x10(%rdi),%rax; mov 0xb0(%rax),%rcx; mov 0x10(%rcx),%rdx; cmpl $1,(%rdx) */
	  "48 8b 47 10 48 8b 88 b0 00 00 00 48 8b 51 10 83 3a 01 ",
	  { /* cmpl $2,4(%rdx); cmpq $1,4(%rdx); cmpl $1,4(%rdi); 4(%rcx); 4(%rax) */
	    "83 7a 04 02 ", "48 83 7a 04 01 ", "83 7f 04 01 ", "83 79 04 01 ", "83 78 04 01 ",
	    /* behind 0x18(%rdi), and 0xb8 of that */
	    "48 8b 77 18 48 8b b6 b8 00 00 00 48 8b 76 10 83 7e 04 01 ",
	    "83 fe 01 " /* cmp $1,%esi */ },
	  { SAYS(body_local, 0xb0), SAYS(body_type, 0) } },
	{ RUBY_ACCESSOR_PROFILE_FRAME_PATH,
	  /* mov 0x10(%rdi),%rax; testl $15,(%rax) */
	  "48 8b 47 10 f7 00 0f 00 00 00 ",
	  { /* testb $1,8(%rdi); mov 0x10(%rsi),%rcx and testb $1,8(%rcx) */
	    "f6 47 08 01 ", "48 8b 4e 10 f6 41 08 01 ",
	    /* testq $15,8(%rax); test $1,%sil */
	    "48 f7 40 08 0f 00 00 00 ", "40 f6 c6 01 " },
	  { SAYS(method_definition, 0x10), SAYS(definition_type, 0),
	    SAYS(definition_type_mask, 15) } },
	{ RUBY_ACCESSOR_PROFILE_FRAME_CLASS_PATH,
	  /* mov 8(%rdi),%rax; mov (%rax),%rcx; and $31,%ecx; cmp $28,%ecx */
	  "48 8b 47 08 48 8b 08 83 e1 1f 83 f9 1c ",
	  { /* of 0x10(%rdi): another type; the whole word; what is at 8 */
	    "48 8b 77 10 48 8b 36 83 e6 1f 83 fe 1b ", "48 8b 77 10 48 8b 36 48 83 fe 1c ",
	    "48 8b 77 10 48 8b 76 08 83 e6 1f 83 fe 1c ",
	    /* of (%rdi); of 0x10(%rsi) */
	    "48 8b 37 83 e6 1f 83 fe 1c ", "48 8b 76 10 48 8b 36 83 e6 1f 83 fe 1c " },
	  { SAYS(method_class, 8) } },
	{ RUBY_ACCESSOR_CLASS_ATTACHED,
	  /* mov 0x80(%rdi),%rax; testl $0x2000,(%rdi) */
	  "48 8b 87 80 00 00 00 f7 07 00 20 00 00 ",
	  { /* testl $0x800,(%rdi); $0x3000; $0x4000,8(%rdi) */
	    "f7 07 00 08 00 00 ", "f7 07 00 30 00 00 ", "f7 47 08 00 40 00 00 " },
	  { SAYS(class_attached, 0x80), SAYS(class_singleton_mask, 0x2000) } },
	{ RUBY_ACCESSOR_DURING_GC,
	  /* mov 0xff9(%rip),%rcx; mov 0x510(%rcx),%rax; testb $0x20,0x14(%rax) */
	  "48 8b 0d f9 0f 00 00 48 8b 81 10 05 00 00 f6 40 14 20 ",
	  { /* testb $0x30,0x18(%rax); $0; $0x20,0x18(%rdi) */
	    "f6 40 18 30 ", "f6 40 18 00 ", "f6 47 18 20 ",
	    /* of 0x500(%rcx); of 0x510(%rdi) */
	    "48 8b 91 00 05 00 00 f6 42 18 20 ", "48 8b 97 10 05 00 00 f6 42 18 20 " },
	  { SAYS(vm_object_space, 0x510), SAYS(object_space_flags, 0x14),
	    SAYS(gc_flags_mask, 0x20) } },
	{ RUBY_ACCESSOR_PROFILE_FRAMES,
	  /* mov 0xff9(%rip),%rcx; mov 0x10(%rcx),%rax; mov 0x58(%rax),%rdx; testb $0x80,(%rdx);
	   * the same of 0x20 and of 0x90 */
	  "48 8b 0d f9 0f 00 00 48 8b 41 10 48 8b 50 58 f6 02 80 48 8b 50 20 f6 02 80 "
	  "48 8b 90 90 00 00 00 f6 02 80 ",
	  { /* of 0x30: testb $0x40,(%rdx); $0x80,8(%rdx); of 0x30(%rdi); the word itself */
	    "48 8b 50 30 f6 02 40 ", "48 8b 50 30 f6 42 08 80 ", "48 8b 57 30 f6 02 80 ",
	    "f6 40 30 80 ", "40 f6 c6 80 " },
	  { SAYS(execution_frame, 0x10), SAYS(frame_ep, 0x20), SAYS(frame_bytes, 0x38) } },
	{ RUBY_ACCESSOR_ISEQ_LABEL,
	  /* mov 0x10(%rdi),%rax; mov 0x50(%rax),%rax */
	  "48 8b 47 10 48 8b 40 50 ",
	  { /* mov 0x18(%rsi),%rcx; mov 0x58(%rcx),%rcx */
	    "48 8b 4e 18 48 8b 49 58 ", "48 8b 4f 20 " },
	  { SAYS(body_label, 0x50), SAYS(iseq_body, 0x10) } },
	{ RUBY_ACCESSOR_ISEQ_LINE,
	  /* mov 0x10(%rdi),%rax; cmpl $1,0x80(%rax) */
	  "48 8b 47 10 83 b8 80 00 00 00 01 ",
	  { /* cmpl $2,0x84(%rax); cmpq $1,0x84(%rax); cmpl $1,0x84(%rdi); cmp $1,%esi */
	    "83 b8 84 00 00 00 02 ", "48 83 b8 84 00 00 00 01 ", "83 bf 84 00 00 00 01 ",
	    "83 fe 01 " },
	  { SAYS(body_line_count, 0x80) } },
};

TEST(accessors_ignore_similar_code)
{
	char hex[512];

	for (size_t i = 0; i < sizeof(distractions) / sizeof(*distractions); i++) {
		const struct distraction *distraction = &distractions[i];

		for (size_t j = 0; j < 7 && (j == 0 || distraction->others[j]); j++) {
			(void)snprintf(hex, sizeof(hex), "%s%sc3", distraction->honest,
				       distraction->others[j]);
			assert_says(distraction, hex);
		}
	}
}

/* Of two ways out, one returns what is looked for: test %esi,%esi; je to the other. */
static struct ruby_stack_layout decode_returns(enum ruby_accessor accessor, const char *honest,
					       const char *other)
{
	char hex[256];

	(void)snprintf(hex, sizeof(hex), "85 f6 74 %02zx %sc3 %sc3", strlen(honest) / 3 + 1, honest,
		       other);
	return decode_behind_others(accessor, hex);
}

TEST(accessors_ignore_unrelated_return_values)
{
	/* 0x28(%rdi), and 0x18 of that; 0x28(%rdi); 0x28(%rsi); %rsi */
	static const char *const others[] = { "48 8b 47 28 48 8b 40 18 ", "48 8b 47 28 ",
					      "48 8b 46 28 ", "48 89 f0 " };
	struct ruby_stack_layout found;

	for (size_t i = 0; i < 4; i++) {
		found = decode_returns(RUBY_ACCESSOR_FRAME_THIS_FUNCTION,
				       "48 8b 47 10 48 8b 40 20 ", others[i]);
		assert_int_equal(found.definition_original_id, 0x20);
		found = decode_returns(RUBY_ACCESSOR_THREAD_CURRENT,
				       "48 8b 05 f5 0f 00 00 48 8b 40 30 48 8b 40 10 ", others[i]);
		assert_int_equal(found.execution_thread, 0x30);
		assert_int_equal(found.thread_self, 0x10);
	}
	for (size_t i = 2; i < 4; i++) {
		found = decode_returns(RUBY_ACCESSOR_MODULE_NAME, "48 8b 87 98 00 00 00 ",
				       others[i]);
		assert_int_equal(found.class_path, 0x98);
		/* Another function says that. */
		assert_int_equal(found.class_attached, NONE);
		assert_int_equal(found.class_singleton_mask, NONE);
	}
}

TEST(accessors_find_line_table_before_or_after_index)
{
	static const char *const orders[] = {
		/* mov 0x10(%rdi),%rax; mov 0x78(%rax),%rax; mov (%rsi),%rcx; lea (%rcx,%rcx,2),%rcx
		 */
		"48 8b 47 10 48 8b 40 78 48 8b 0e 48 8d 0c 49 8b 04 88 c3",
		"48 8b 0e 48 8d 0c 49 48 8b 47 10 48 8b 40 78 8b 04 88 c3",
		/* and each ends with mov (%rax,%rcx,4),%eax; ret */
	};
	struct ruby_stack_layout found;

	for (size_t i = 0; i < 2; i++) {
		found = decode_behind_others(RUBY_ACCESSOR_ISEQ_LINE, orders[i]);
		assert_int_equal(found.body_lines, 0x78);
		assert_int_equal(found.line_entry_bytes, 12);
	}
	/* mov (%rax,%rcx,4),%rax: eight bytes are no line */
	found = decode_behind_others(RUBY_ACCESSOR_ISEQ_LINE,
				     "48 8b 47 10 48 8b 40 78 48 8b 0e 48 8d 0c 49 48 8b 04 88 c3");
	assert_int_equal(found.body_lines, NONE);
}

TEST(accessors_do_not_take_argument_member_for_variable)
{
	struct ruby_accessor_layout found;

	code = (struct ruby_code){ 0 };
	/* mov 0x30(%rdi),%rax; mov 0x10(%rax),%rax; ret */
	found = decode_thread_current("48 8b 47 30 48 8b 40 10 c3");
	assert_int_equal(found.execution.kind, RUBY_PLACE_NONE);
	assert_int_equal(found.layout.execution_thread, NONE);
}

TEST(accessors_bound_offset_of_object_space)
{
	struct ruby_stack_layout found;

	/* mov 0xff9(%rip),%rcx; mov (%rcx),%rax; testb $0x20,0x14(%rax); ret */
	found = decode_behind_others(RUBY_ACCESSOR_DURING_GC,
				     "48 8b 0d f9 0f 00 00 48 8b 01 f6 40 14 20 c3");
	assert_int_equal(found.vm_object_space, 0);
	assert_int_equal(found.object_space_flags, 0x14);
	/* 0x7fff(%rcx), 0x8000(%rcx), -8(%rcx) */
	found = decode_behind_others(RUBY_ACCESSOR_DURING_GC,
				     "48 8b 0d f9 0f 00 00 48 8b 81 ff 7f 00 00 f6 40 14 20 c3");
	assert_int_equal(found.object_space_flags, 0x14);
	found = decode_behind_others(RUBY_ACCESSOR_DURING_GC,
				     "48 8b 0d f9 0f 00 00 48 8b 81 00 80 00 00 f6 40 14 20 c3");
	assert_int_equal(found.object_space_flags, NONE);
	found = decode_behind_others(RUBY_ACCESSOR_DURING_GC,
				     "48 8b 0d f9 0f 00 00 48 8b 41 f8 f6 40 14 20 c3");
	assert_int_equal(found.object_space_flags, NONE);
}

TEST(accessors_bound_size_of_frames)
{
	struct ruby_stack_layout found;

	/* mov 0xff9(%rip),%rcx; mov 0x10(%rcx),%rax; ep at 0x4000(%rax) and at 0x7000(%rax) */
	found = decode_behind_others(RUBY_ACCESSOR_PROFILE_FRAMES,
				     "48 8b 0d f9 0f 00 00 48 8b 41 10 48 8b 90 00 40 00 00 "
				     "f6 02 80 48 8b 90 00 70 00 00 f6 02 80 c3");
	assert_int_equal(found.frame_ep, 0x4000);
	assert_int_equal(found.frame_bytes, 0x3000);
	/* at 0 and at 0x8000(%rax); at -8(%rax) and at 0x20; at 0x20 alone */
	found = decode_behind_others(RUBY_ACCESSOR_PROFILE_FRAMES,
				     "48 8b 0d f9 0f 00 00 48 8b 41 10 48 8b 10 "
				     "f6 02 80 48 8b 90 00 80 00 00 f6 02 80 c3");
	assert_int_equal(found.frame_bytes, NONE);
	found = decode_behind_others(RUBY_ACCESSOR_PROFILE_FRAMES,
				     "48 8b 0d f9 0f 00 00 48 8b 41 10 48 8b 50 f8 "
				     "f6 02 80 48 8b 50 20 f6 02 80 c3");
	assert_int_equal(found.frame_bytes, NONE);
	found = decode_behind_others(RUBY_ACCESSOR_PROFILE_FRAMES,
				     "48 8b 0d f9 0f 00 00 48 8b 41 10 48 8b 50 20 f6 02 80 c3");
	assert_int_equal(found.frame_bytes, NONE);
	assert_int_equal(found.frame_ep, NONE);
}

TEST(accessors_return_enomem_and_keep_result)
{
	struct ruby_accessors accessors = { 0 };
	struct ruby_accessor_layout layout = { .layout.frame_bytes = 4711 };
	struct x86_code_source source = ruby_code_source(&code);

	memory_fails_after(0);
	assert_int_equal(ruby_accessors_decode(&accessors, &source, &layout), -ENOMEM);
	memory_never_fails();
	assert_int_equal(layout.layout.frame_bytes, 4711);
}

TEST(accessors_without_functions_know_nothing)
{
	struct ruby_accessor_layout found;
	const uint32_t *fields = &found.layout.gc_flags_mask;

	code = (struct ruby_code){ 0 };
	found = decode();
	assert_int_equal(found.execution.kind, RUBY_PLACE_NONE);
	assert_int_equal(found.vm.kind, RUBY_PLACE_NONE);
	for (; fields < &found.layout.reserved; fields++)
		assert_int_equal(*fields, NONE);
	assert_int_equal(found.layout.reserved, 0);
	assert_int_equal(found.layout.execution_global, 0);
	assert_int_equal(found.layout.execution_tls.model, TLS_MODEL_NONE);
}
