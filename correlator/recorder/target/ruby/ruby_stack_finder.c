/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_stack_finder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recorder/target/elf/elf_code.h"
#include "recorder/target/elf/tls_slot.h"
#include "recorder/target/ruby/ruby_accessors.h"
#include "recorder/target/ruby/ruby_behaviour.h"

/* Whether a walk needs a field, and whether one way is enough to find it. */
enum field_use {
	USE_REQUIRED,
	USE_OPTIONAL,
	USE_PROVEN, /* the process alone proves it: one way is enough */
};

static const struct {
	const char *name;
	size_t field;
	enum field_use use;
} fields[] = {
#define FIELD(name, use)                                  \
	{                                                 \
#name, RUBY_LAYOUT_FIELD(name), USE_##use \
	}
	FIELD(execution_stack, REQUIRED),
	FIELD(execution_stack_words, REQUIRED),
	FIELD(execution_frame, REQUIRED),
	FIELD(execution_thread, REQUIRED),
	FIELD(thread_self, OPTIONAL),
	FIELD(thread_native_id, PROVEN),
	FIELD(frame_bytes, REQUIRED),
	FIELD(frame_pc, REQUIRED),
	FIELD(frame_iseq, REQUIRED),
	FIELD(frame_ep, REQUIRED),
	FIELD(frame_jit_return, PROVEN),
	FIELD(iseq_body, REQUIRED),
	FIELD(body_type, REQUIRED),
	FIELD(body_code_words, REQUIRED),
	FIELD(body_code, REQUIRED),
	FIELD(body_path, REQUIRED),
	FIELD(body_base_label, REQUIRED),
	FIELD(body_label, REQUIRED),
	FIELD(body_first_line, REQUIRED),
	FIELD(body_first_line_kind, REQUIRED),
	FIELD(body_local, OPTIONAL),
	FIELD(body_lines, OPTIONAL),
	FIELD(body_line_count, OPTIONAL),
	FIELD(body_line_positions, OPTIONAL),
	FIELD(line_positions_kind, OPTIONAL),
	FIELD(line_entry_bytes, OPTIONAL),
	FIELD(method_class, OPTIONAL),
	FIELD(method_definition, OPTIONAL),
	FIELD(method_called_id, OPTIONAL),
	FIELD(definition_type, OPTIONAL),
	FIELD(definition_type_mask, OPTIONAL),
	FIELD(definition_original_id, OPTIONAL),
	FIELD(class_path, OPTIONAL),
	FIELD(class_singleton_mask, OPTIONAL),
	FIELD(class_attached, OPTIONAL),
#undef FIELD
};

struct search {
	const struct ruby_stack_object *object;
	const struct memory_reader *reader;
	struct ruby_accessor_layout code;
	struct ruby_behaviour process;
	struct ruby_stack_layout layout;
	struct ruby_stack_report report;
};

__attribute__((format(printf, 3, 4))) static void
remark(struct search *search, enum ruby_stack_state state, const char *format, ...)
{
	struct ruby_stack_report *report = &search->report;
	va_list args;

	/* A missing field matters less than a disagreement. */
	if (report->state == RUBY_STACK_AGREED || state == RUBY_STACK_DISAGREED)
		report->state = state;
	if (report->remark_count == RUBY_STACK_REMARKS_MAX)
		return;
	va_start(args, format);
	(void)vsnprintf(report->remarks[report->remark_count++], RUBY_STACK_REMARK_BYTES, format,
			args);
	va_end(args);
}

static uint32_t *field_of(struct ruby_stack_layout *layout, size_t field)
{
	return &layout->gc_flags_mask + field;
}

/* Describes the values of a field that the process shows. */
static void describe_candidates(const struct ruby_candidates *candidates,
				char text[static RUBY_STACK_REMARK_BYTES])
{
	size_t used = 0;

	if (!ruby_candidates_tell(candidates)) {
		(void)snprintf(text, RUBY_STACK_REMARK_BYTES, "%s",
			       candidates->count ? "too many" : "nothing");
		return;
	}
	for (size_t i = 0; i < candidates->count; i++)
		used += (size_t)snprintf(text + used, RUBY_STACK_REMARK_BYTES - used, "%s0x%x",
					 i ? " or " : "", candidates->values[i]);
}

static void complain(struct search *search, size_t i, uint32_t by_code, bool is_disagreement)
{
	const struct ruby_candidates *shown = &search->process.fields[fields[i].field];
	char seen[RUBY_STACK_REMARK_BYTES], said[16] = "nothing";

	describe_candidates(shown, seen);
	if (by_code != RUBY_LAYOUT_UNKNOWN)
		(void)snprintf(said, sizeof(said), "0x%x", by_code);
	remark(search, is_disagreement ? RUBY_STACK_DISAGREED : RUBY_STACK_MISSING,
	       "%s: libruby's code says %s, the process shows %s", fields[i].name, said, seen);
}

/* Takes a field on which two ways agree. */
static void take_field(struct search *search, size_t i)
{
	const struct ruby_candidates *shown = &search->process.fields[fields[i].field];
	uint32_t by_code = *field_of(&search->code.layout, fields[i].field);
	uint32_t *taken = field_of(&search->layout, fields[i].field);
	bool is_shown = ruby_candidates_tell(shown);

	search->report.by_code += by_code != RUBY_LAYOUT_UNKNOWN;
	search->report.by_process += is_shown;
	if (fields[i].use == USE_PROVEN) {
		if (shown->count == 1)
			*taken = shown->values[0];
		return;
	}
	if (by_code != RUBY_LAYOUT_UNKNOWN && ruby_candidates_have(shown, by_code)) {
		*taken = by_code;
		search->report.agreed++;
	} else if (by_code != RUBY_LAYOUT_UNKNOWN && is_shown) {
		complain(search, i, by_code, true);
	} else if (fields[i].use == USE_REQUIRED) {
		complain(search, i, by_code, false);
	}
}

/* The address of a variable that is not thread-local; 0 = not known. */
static uint64_t variable_address(const struct search *search, const struct ruby_place *place)
{
	uint64_t address;

	if (place->kind == RUBY_PLACE_VARIABLE)
		return search->object->bias + place->address;
	if (place->kind == RUBY_PLACE_POINTED &&
	    memory_read_u64(search->reader, search->object->bias + place->address, &address) == 0)
		return address;
	return 0;
}

/* The slot through which code reaches the thread-local. -ENOENT: the loader does not write it. */
static int slot_of(const struct elf_image *image, const struct tls_machine *machine,
		   const struct ruby_place *place, struct tls_slot *ret_slot)
{
	*ret_slot = (struct tls_slot){ .kind = TLS_SLOT_NONE, .delta = (uint64_t)place->offset };
	if (place->kind == RUBY_PLACE_TLS)
		return tls_slot_at(image, machine, place->address, place->offset, ret_slot);
	if (place->kind == RUBY_PLACE_TLS_OFFSET) {
		ret_slot->kind = TLS_SLOT_OFFSET;
		ret_slot->virtual_address = place->address;
	}
	return 0;
}

static bool is_thread_local(const struct ruby_place *place)
{
	return place->kind == RUBY_PLACE_TLS || place->kind == RUBY_PLACE_TLS_OFFSET ||
	       place->kind == RUBY_PLACE_TLS_FIXED;
}

/* Locates the thread-local pointer to the execution context, according to the code. */
static int locate(const struct search *search, struct tls_location *ret_location)
{
	const struct elf_image *image = search->object->image;
	const struct tls_object object = {
		.image = image,
		.machine = tls_machine_of(image),
		.reader = search->reader,
		.load_bias = search->object->bias,
		.is_musl = search->object->is_musl,
	};
	struct tls_slot slot;
	int r = slot_of(image, object.machine, &search->code.execution, &slot);

	return r < 0 ? r : tls_slot_resolve(&object, &slot, ret_location);
}

/* Reads the thread-local of the thread whose thread pointer is known. 0 = not readable. */
static uint64_t read_thread_local(const struct search *search, const struct tls_location *location)
{
	uint64_t thread = search->process.thread_pointer, table, block = thread, value;

	if (location->model == TLS_MODEL_DYNAMIC &&
	    (memory_read_u64(search->reader, thread + (uint64_t)location->dtv_pointer_offset,
			     &table) < 0 ||
	     memory_read_u64(search->reader, table + location->module * location->dtv_entry_bytes,
			     &block) < 0))
		return 0;
	if (memory_read_u64(search->reader, block + (uint64_t)location->offset, &value) < 0)
		return 0;
	return value;
}

/*
 * The global belongs to whichever thread runs Ruby, so its context is recognized by its shape
 * alone.
 */
static bool is_execution(const struct search *search, uint64_t address)
{
	const struct ruby_stack_layout *layout = &search->layout;
	uint64_t stack, words, frame;

	return memory_read_u64(search->reader, address + layout->execution_stack, &stack) == 0 &&
	       memory_read_u64(search->reader, address + layout->execution_stack_words, &words) ==
		       0 &&
	       memory_read_u64(search->reader, address + layout->execution_frame, &frame) == 0 &&
	       frame > stack && frame < stack + 8 * words;
}

/* One variable for all threads. */
static int take_global(struct search *search, uint64_t variable)
{
	uint64_t value = 0;

	(void)memory_read_u64(search->reader, variable, &value);
	/* No thread runs Ruby at this moment. */
	if (value == 0)
		return -EAGAIN;
	if (!is_execution(search, value))
		remark(search, RUBY_STACK_DISAGREED,
		       "execution context: libruby's code says 0x%" PRIx64
		       ", where the process has none",
		       variable);
	search->layout.execution_global = variable;
	return 0;
}

/* The main thread's pointer must lead to the context that the process shows. */
static int take_thread_local(struct search *search)
{
	struct tls_location location;
	uint64_t value;
	int r = locate(search, &location);

	if (r == -ENOENT || r == -EUCLEAN) {
		remark(search, RUBY_STACK_DISAGREED,
		       "execution context: libruby's code reads 0x%" PRIx64
		       ", where no loader leaves its place",
		       search->code.execution.address);
		return 0;
	}
	if (r < 0)
		return r == -EFAULT ? -EAGAIN : r;
	value = read_thread_local(search, &location);
	if (value != search->process.execution)
		remark(search, RUBY_STACK_DISAGREED,
		       "execution context: libruby's code leads to 0x%" PRIx64
		       ", the process shows 0x%" PRIx64,
		       value, search->process.execution);
	search->layout.execution_tls = location;
	return 0;
}

static int take_execution(struct search *search)
{
	const struct ruby_place *place = &search->code.execution;
	uint64_t variable = variable_address(search, place);

	if (variable)
		return take_global(search, variable);
	if (!is_thread_local(place))
		remark(search, RUBY_STACK_MISSING,
		       "execution context: libruby's code does not say where it is");
	else if (!search->process.thread_pointer)
		remark(search, RUBY_STACK_MISSING,
		       "execution context: the main thread's own memory was not found");
	else
		return take_thread_local(search);
	return 0;
}

/*
 * Takes the GC fields if two functions reached the object space in the same way, from the VM that
 * the process confirmed, and there is a count of collections. The rest of the layout is valid
 * without them.
 */
static void take_gc(struct search *search)
{
	const struct ruby_stack_layout *code = &search->code.layout;
	struct ruby_stack_layout *layout = &search->layout;
	static const uint64_t COUNT_MAX = 1ULL << 40;
	uint64_t space, count, vm = variable_address(search, &search->code.vm);

	if (!vm || vm != search->process.vm_pointer ||
	    code->vm_object_space == RUBY_LAYOUT_UNKNOWN ||
	    code->object_space_flags == RUBY_LAYOUT_UNKNOWN ||
	    code->gc_flags_mask == RUBY_LAYOUT_UNKNOWN ||
	    code->object_space_count == RUBY_LAYOUT_UNKNOWN ||
	    memory_read_u64(search->reader, search->process.vm + code->vm_object_space, &space) <
		    0 ||
	    memory_read_u64(search->reader, space + code->object_space_count, &count) < 0 ||
	    count >= COUNT_MAX)
		return;
	layout->vm_pointer_address = vm;
	layout->vm_object_space = code->vm_object_space;
	layout->object_space_flags = code->object_space_flags;
	layout->object_space_count = code->object_space_count;
	layout->gc_flags_mask = code->gc_flags_mask;
	layout->gc_flags_address = space + code->object_space_flags;
	layout->gc_count_address = space + code->object_space_count;
}

static int look_at_code(struct search *search)
{
	struct ruby_accessors accessors;
	struct x86_code_source source;
	struct elf_code code;
	int r = elf_code_init(&code, search->object->image);

	ruby_stack_layout_forget(&search->code.layout);
	/* Another machine's code: compare() adds a remark. */
	if (r < 0)
		return r == -ENOTSUP ? 0 : r;
	source = elf_code_source(&code);
	ruby_accessors_find(search->object->image, &accessors);
	r = ruby_accessors_decode(&accessors, &source, &search->code);
	elf_code_deinit(&code);
	return r;
}

static int look_at_process(struct search *search, unsigned int skipped_quarters)
{
	static const char *const classes[] = { "rb_cString", "rb_cArray", "rb_cHash" };
	const struct ruby_stack_object *object = search->object;
	struct ruby_behaviour_hints hints = {
		.vm_pointer = variable_address(search, &search->code.vm),
		.string_layout = object->string_layout,
		.skipped_quarters = skipped_quarters,
		.ranges = object->ranges,
		.range_count = object->range_count,
	};
	struct elf_symbol symbol;
	int r;

	for (size_t i = 0; i < 3; i++)
		if (elf_image_find_defined(object->image, classes[i], &symbol))
			hints.classes[i] = object->bias + symbol.value;
	r = ruby_behaviour_look(search->reader, &hints, &search->process);
	return r == -ENOENT ? -EAGAIN : r;
}

/* Takes the fields on which the ways agree, as the process is now. -EAGAIN: it is inconsistent. */
static int compare(struct search *search, unsigned int skipped_quarters)
{
	int r;

	ruby_stack_layout_forget(&search->layout);
	search->layout.string_layout = (uint32_t)search->object->string_layout;
	search->report = (struct ruby_stack_report){ .state = RUBY_STACK_AGREED };
	r = look_at_process(search, skipped_quarters);
	if (r < 0)
		return r;
	search->report.frames_seen = (uint32_t)search->process.frame_count;
	search->report.iseqs_seen = (uint32_t)search->process.iseq_count;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		take_field(search, i);
	if (search->report.by_code == 0) {
		search->report.remark_count = 0;
		remark(search, RUBY_STACK_MISSING,
		       "libruby's code says nothing: it is read on x86-64 alone");
	}
	if (search->report.state != RUBY_STACK_AGREED)
		return 0;
	r = take_execution(search);
	if (r == 0)
		take_gc(search);
	return r;
}

int ruby_stack_finder_find(const struct ruby_stack_object *object,
			   const struct memory_reader *reader, struct ruby_stack_layout *ret_layout,
			   struct ruby_stack_report *ret_report)
{
	/*
	 * A running thread's stack changes between reads, except at its root: later attempts skip
	 * more.
	 */
	static const unsigned char attempts[] = { 0, 0, 1, 2, 3, 3 };
	_cleanup_free_ struct search *search = calloc(1, sizeof(*search));
	int r;

	if (!search)
		return -ENOMEM;
	search->object = object;
	search->reader = reader;
	r = look_at_code(search);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(attempts); i++) {
		r = compare(search, attempts[i]);
		if ((r < 0 && r != -EAGAIN) ||
		    (r == 0 && search->report.state == RUBY_STACK_AGREED))
			break;
	}
	if (r < 0)
		return r;
	*ret_report = search->report;
	if (search->report.state == RUBY_STACK_AGREED)
		*ret_layout = search->layout;
	return 0;
}
