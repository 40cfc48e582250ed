/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_accessors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The function being decoded, and the result. Contradictory answers count as none. */
struct question {
	const struct x86_trace *trace;
	struct ruby_accessor_layout *result;
};

static const struct {
	const char *name;
	unsigned int depth; /* how deep calls are followed */
} accessors_table[_RUBY_ACCESSOR_MAX] = {
	[RUBY_ACCESSOR_THREAD_CURRENT] = { "rb_thread_current", 0 },
	[RUBY_ACCESSOR_ISEQ_LABEL] = { "rb_iseq_label", 0 },
	[RUBY_ACCESSOR_ISEQ_BASE_LABEL] = { "rb_iseq_base_label", 0 },
	[RUBY_ACCESSOR_ISEQ_PATH] = { "rb_iseq_path", 0 },
	[RUBY_ACCESSOR_ISEQ_FIRST_LINE] = { "rb_iseq_first_lineno", 0 },
	[RUBY_ACCESSOR_ISEQ_METHOD_NAME] = { "rb_iseq_method_name", 0 },
	/* get_insn_info(), succ_index_lookup() */
	[RUBY_ACCESSOR_ISEQ_LINE] = { "rb_iseq_line_no", 2 },
	[RUBY_ACCESSOR_PROFILE_FRAMES] = { "rb_profile_frames", 0 },
	[RUBY_ACCESSOR_PROFILE_FRAME_PATH] = { "rb_profile_frame_path", 0 },
	[RUBY_ACCESSOR_PROFILE_FRAME_CLASS_PATH] = { "rb_profile_frame_classpath", 0 },
	/* prev_frame_func(), rb_vm_frame_method_entry() */
	[RUBY_ACCESSOR_FRAME_THIS_FUNCTION] = { "rb_frame_this_func", 2 },
	[RUBY_ACCESSOR_FRAME_CALLEE] = { "rb_frame_callee", 2 },
	[RUBY_ACCESSOR_MODULE_NAME] = { "rb_mod_name", 1 },
	[RUBY_ACCESSOR_CLASS_ATTACHED] = { "rb_class_attached_object", 0 },
	/* rb_gc_get_objspace() since 3.4, and rb_gc_impl_during_gc() */
	[RUBY_ACCESSOR_DURING_GC] = { "rb_during_gc", 2 },
	[RUBY_ACCESSOR_GC_COUNT] = { "rb_gc_count", 2 },
};

const char *ruby_accessor_name(enum ruby_accessor accessor)
{
	return accessors_table[accessor].name;
}

void ruby_stack_layout_forget(struct ruby_stack_layout *ret_layout)
{
	enum {
		FIRST = offsetof(struct ruby_stack_layout, gc_flags_mask),
		COUNT = (sizeof(struct ruby_stack_layout) - FIRST) / sizeof(uint32_t)
	};
	uint32_t *field = (uint32_t *)((char *)ret_layout + FIRST);

	*ret_layout = (struct ruby_stack_layout){ 0 };
	for (size_t i = 0; i < COUNT; i++)
		field[i] = RUBY_LAYOUT_UNKNOWN;
	ret_layout->reserved = 0;
}

void ruby_accessors_find(const struct elf_image *image, struct ruby_accessors *ret_accessors)
{
	struct elf_symbol symbol;

	*ret_accessors = (struct ruby_accessors){ 0 };
	for (size_t i = 0; i < _RUBY_ACCESSOR_MAX; i++) {
		if (!elf_image_find_defined(image, accessors_table[i].name, &symbol))
			continue;
		ret_accessors->list[i].address = symbol.value;
		ret_accessors->list[i].size_bytes = symbol.size_bytes;
	}
}

/* The answer that all events agree on. */
struct answer {
	bool is_given;
	bool is_open; /* the events disagree */
	uint32_t value;
};

static void give(struct answer *answer, int64_t value)
{
	if (value < 0 || value > RUBY_LAYOUT_OFFSET_MAX)
		return;
	if (answer->is_given && answer->value != (uint32_t)value)
		answer->is_open = true;
	answer->is_given = true;
	answer->value = (uint32_t)value;
}

static uint32_t taken(const struct answer *answer)
{
	return answer->is_given && !answer->is_open ? answer->value : RUBY_LAYOUT_UNKNOWN;
}

/* The parts of a load. */
struct load {
	struct code_value base;
	int64_t offset;
	uint64_t width;
};

static bool is_load(const struct question *question, const struct code_value *value,
		    struct load *ret_load)
{
	return code_value_is_load(&question->trace->nodes, value, &ret_load->base,
				  &ret_load->offset, &ret_load->width);
}

static bool is_argument(const struct question *question, const struct code_value *value)
{
	const struct code_node *node = code_value_single(&question->trace->nodes, value);

	return node && node->kind == CODE_NODE_ARGUMENT && node->number == 0;
}

/* True if the value is the member at this offset of the first argument. */
static bool is_member(const struct question *question, const struct code_value *value,
		      uint32_t offset)
{
	struct load load;

	return is_load(question, value, &load) && load.offset == offset &&
	       is_argument(question, &load.base);
}

/* The next event of this kind after last, the first one if last is NULL; NULL at the end. */
static const struct x86_trace_event *next_event(const struct question *question,
						enum x86_trace_kind kind,
						const struct x86_trace_event *last)
{
	const struct x86_trace *trace = question->trace;
	const struct x86_trace_event *event = last ? last + 1 : trace->events;

	for (; event < trace->events + trace->event_count; event++)
		if (event->kind == kind)
			return event;
	return NULL;
}

/* The place of the variable that has this value. RUBY_PLACE_NONE: the value is not a variable's. */
static struct ruby_place place_of(const struct question *question, const struct code_value *value)
{
	const struct code_nodes *nodes = &question->trace->nodes;
	const struct code_node *load = code_value_single(nodes, value), *node, *second;
	struct ruby_place place = { .kind = RUBY_PLACE_NONE };
	const struct code_value *at;
	struct load slot;

	if (!load || load->kind != CODE_NODE_LOAD)
		return place;
	at = &load->of;
	if (code_value_is_constant(at))
		return (struct ruby_place){ RUBY_PLACE_VARIABLE, (uint64_t)at->constant, 0 };
	node = &nodes->list[at->terms[0].node];
	second = &nodes->list[at->terms[1].node];
	place.offset = at->constant;
	if (node->kind == CODE_NODE_TLS && !at->terms[1].node) {
		place.kind = RUBY_PLACE_TLS;
		place.address = node->number;
	} else if (node->kind == CODE_NODE_THREAD && !at->terms[1].node) {
		place.kind = RUBY_PLACE_TLS_FIXED;
	} else if (at->terms[1].node &&
		   (node->kind == CODE_NODE_THREAD || second->kind == CODE_NODE_THREAD)) {
		if (node->kind == CODE_NODE_THREAD)
			node = second;
		if (node->kind == CODE_NODE_TLS) {
			place.kind = RUBY_PLACE_TLS;
			place.address = node->number;
		} else if (node->kind == CODE_NODE_LOAD && code_value_is_constant(&node->of)) {
			place.kind = RUBY_PLACE_TLS_OFFSET;
			place.address = (uint64_t)node->of.constant;
		}
	} else if (is_load(question, at, &slot) && code_value_is_constant(&slot.base)) {
		place.kind = RUBY_PLACE_POINTED;
		place.address = (uint64_t)slot.offset;
	}
	return place;
}

static bool same_place(const struct ruby_place *a, const struct ruby_place *b)
{
	return a->kind == b->kind && a->address == b->address && a->offset == b->offset;
}

/* return ec->thread_ptr->self */
static void ask_thread_current(const struct question *question)
{
	struct ruby_stack_layout *layout = &question->result->layout;
	const struct x86_trace_event *event = NULL;
	struct answer thread = { 0 }, self = { 0 };
	struct ruby_place place;
	struct load outer, inner;

	while ((event = next_event(question, X86_TRACE_RETURN, event))) {
		if (!is_load(question, &event->value, &outer) ||
		    !is_load(question, &outer.base, &inner))
			continue;
		place = place_of(question, &inner.base);
		if (place.kind == RUBY_PLACE_NONE)
			continue;
		question->result->execution = place;
		give(&thread, inner.offset);
		give(&self, outer.offset);
	}
	layout->execution_thread = taken(&thread);
	layout->thread_self = taken(&self);
}

/*
 * Finds the offsets in a->b->member, a being the first argument: *ret_inner of b, *ret_outer of
 * member.
 */
static void ask_behind(const struct question *question, uint32_t *ret_outer, uint32_t *ret_inner)
{
	struct answer outer_answer = { 0 }, inner_answer = { 0 };
	const struct x86_trace_event *event = NULL;
	struct load outer, inner;

	while ((event = next_event(question, X86_TRACE_LOAD, event))) {
		if (!is_load(question, &event->value, &outer) ||
		    !is_load(question, &outer.base, &inner) || !is_argument(question, &inner.base))
			continue;
		give(&outer_answer, outer.offset);
		give(&inner_answer, inner.offset);
	}
	*ret_outer = taken(&outer_answer);
	*ret_inner = taken(&inner_answer);
}

/* return iseq->body->location.label, and the functions of the same form. */
static void ask_iseq(const struct question *question, uint32_t *ret_field)
{
	struct ruby_stack_layout *layout = &question->result->layout;
	uint32_t body, before = layout->iseq_body;

	ask_behind(question, ret_field, &body);
	/* All of them reach body at the same offset. */
	layout->iseq_body = before == RUBY_LAYOUT_UNKNOWN || before == body ? body : before;
	if (layout->iseq_body != body)
		*ret_field = RUBY_LAYOUT_UNKNOWN;
}

static void ask_first_line(const struct question *question)
{
	struct ruby_stack_layout *layout = &question->result->layout;
	const struct x86_trace_event *event = NULL;
	struct load load;

	ask_iseq(question, &layout->body_first_line);
	while ((event = next_event(question, X86_TRACE_LOAD, event)))
		if (is_load(question, &event->value, &load) &&
		    load.offset == layout->body_first_line &&
		    is_member(question, &load.base, layout->iseq_body))
			layout->body_first_line_kind =
				load.width == 4 ? RUBY_FIRST_LINE_INT : RUBY_FIRST_LINE_VALUE;
}

/* iseq->body->local_iseq->body->type == ISEQ_TYPE_METHOD ? ... base_label : nil */
static void ask_method_name(const struct question *question)
{
	struct ruby_stack_layout *layout = &question->result->layout;
	const struct x86_trace_event *event = NULL;
	struct answer local_answer = { 0 }, type_answer = { 0 };
	struct load type, body, local;

	while ((event = next_event(question, X86_TRACE_COMPARE, event))) {
		if (event->number != RUBY_ISEQ_METHOD || !is_load(question, &event->value, &type) ||
		    type.width != 4 || !is_load(question, &type.base, &body) ||
		    body.offset != layout->iseq_body || !is_load(question, &body.base, &local) ||
		    !is_member(question, &local.base, layout->iseq_body))
			continue;
		give(&local_answer, local.offset);
		give(&type_answer, type.offset);
	}
	layout->body_local = taken(&local_answer);
	layout->body_type = taken(&type_answer);
}

/* True if the value is the body of the first argument. */
static bool is_body(const struct question *question, const struct code_value *value)
{
	return is_member(question, value, question->result->layout.iseq_body);
}

/*
 * The function returns the line number of an entry: an int at entries + index * line_entry_bytes,
 * with an index that was looked up before. It has compared the entry itself with 0.
 */
static void ask_line_entry(const struct question *question)
{
	struct ruby_stack_layout *layout = &question->result->layout;
	const struct code_nodes *nodes = &question->trace->nodes;
	struct answer lines = { 0 }, bytes = { 0 };
	const struct x86_trace_event *event = NULL;
	const struct code_node *node;
	struct code_value table;
	struct load load;

	while ((event = next_event(question, X86_TRACE_RETURN, event))) {
		node = code_value_single(nodes, &event->value);
		if (!node || node->kind != CODE_NODE_LOAD || node->number != 4)
			continue;
		for (size_t i = 0; i < CODE_TERMS_MAX; i++) {
			table = (struct code_value){ .terms[0] = node->of.terms[i] };
			if (!is_load(question, &table, &load) || !is_body(question, &load.base))
				continue;
			give(&lines, load.offset);
			if (node->of.terms[1 - i].node)
				give(&bytes, node->of.terms[1 - i].factor);
		}
	}
	layout->body_lines = taken(&lines);
	layout->line_entry_bytes = taken(&bytes);
}

/* size is compared with 0 and 1; the table's head has the positions below 54. */
static void ask_line(const struct question *question)
{
	struct ruby_stack_layout *layout = &question->result->layout;
	struct answer count = { 0 }, positions = { 0 };
	const struct x86_trace_event *event = NULL;
	const struct code_node *node;
	struct code_value table;
	struct load load;

	ask_line_entry(question);
	while ((event = next_event(question, X86_TRACE_COMPARE, event)))
		if (event->number == 1 && is_load(question, &event->value, &load) &&
		    load.width == 4 && is_body(question, &load.base))
			give(&count, load.offset);
	layout->body_line_count = taken(&count);
	/* struct succ_dict_block: 80 bytes each, after 48 of imm_part. */
	while ((event = next_event(question, X86_TRACE_LOAD, event))) {
		node = code_value_single(&question->trace->nodes, &event->value);
		for (size_t i = 0; i < CODE_TERMS_MAX; i++) {
			table = (struct code_value){ .terms[0] = node->of.terms[i] };
			if (node->of.terms[1 - i].factor == 80 &&
			    is_load(question, &table, &load) && is_body(question, &load.base))
				give(&positions, load.offset);
		}
	}
	layout->body_line_positions = taken(&positions);
	if (layout->body_line_positions != RUBY_LAYOUT_UNKNOWN)
		layout->line_positions_kind = RUBY_LINE_POSITIONS_SUCCINCT;
}

/* True if the value is a member of the execution context; stores its offset. */
static bool is_execution_member(const struct question *question, const struct code_value *value,
				int64_t *ret_offset)
{
	struct ruby_place place;
	struct load load;

	if (!is_load(question, value, &load))
		return false;
	place = place_of(question, &load.base);
	*ret_offset = load.offset;
	return same_place(&place, &question->result->execution);
}

/*
 * ep[0] & VM_FRAME_FLAG_CFRAME of successive frames: the offsets of their ep are the first one's
 * plus a multiple of the frame size.
 */
static void ask_frames(const struct question *question)
{
	struct ruby_stack_layout *layout = &question->result->layout;
	int64_t first = INT64_MAX, next = INT64_MAX, frame;
	const struct x86_trace_event *event = NULL;
	struct answer frames = { 0 };
	struct load flags, ep;

	while ((event = next_event(question, X86_TRACE_TEST, event))) {
		if (event->number != RUBY_FRAME_IS_C || !is_load(question, &event->value, &flags) ||
		    flags.offset != 0 || !is_load(question, &flags.base, &ep) ||
		    !is_execution_member(question, &ep.base, &frame))
			continue;
		give(&frames, frame);
		if (ep.offset < first) {
			next = first;
			first = ep.offset;
		} else if (ep.offset > first && ep.offset < next) {
			next = ep.offset;
		}
	}
	layout->execution_frame = taken(&frames);
	if (layout->execution_frame == RUBY_LAYOUT_UNKNOWN || next == INT64_MAX || first < 0 ||
	    next - first > RUBY_LAYOUT_OFFSET_MAX)
		return;
	layout->frame_ep = (uint32_t)first;
	layout->frame_bytes = (uint32_t)(next - first);
}

/* True if the value is a member of the innermost frame; stores its offset. */
static bool is_frame_member(const struct question *question, const struct code_value *value,
			    int64_t *ret_offset)
{
	const struct ruby_stack_layout *layout = &question->result->layout;
	struct load load;
	int64_t frame;

	if (!is_load(question, value, &load) ||
	    !is_execution_member(question, &load.base, &frame) || frame != layout->execution_frame)
		return false;
	*ret_offset = load.offset;
	return load.offset < layout->frame_bytes;
}

/* pc - iseq->body->iseq_encoded */
static void ask_code(const struct question *question)
{
	struct ruby_stack_layout *layout = &question->result->layout;
	struct answer pc = { 0 }, iseq = { 0 }, code = { 0 };
	const struct x86_trace_event *event = NULL;
	int64_t pc_offset, iseq_offset;
	struct load encoded, body;

	while ((event = next_event(question, X86_TRACE_DIFFERENCE, event))) {
		if (!is_frame_member(question, &event->value, &pc_offset) ||
		    !is_load(question, &event->other, &encoded) ||
		    !is_load(question, &encoded.base, &body) || body.offset != layout->iseq_body ||
		    !is_frame_member(question, &body.base, &iseq_offset))
			continue;
		give(&pc, pc_offset);
		give(&iseq, iseq_offset);
		give(&code, encoded.offset);
	}
	layout->frame_pc = taken(&pc);
	layout->frame_iseq = taken(&iseq);
	layout->body_code = taken(&code);
}

/* vm_stack + 8 * vm_stack_size, with which the frame is compared. */
static void ask_stack(const struct question *question)
{
	struct ruby_stack_layout *layout = &question->result->layout;
	struct answer stack = { 0 }, words = { 0 };
	const struct x86_trace_event *event = NULL;
	const struct code_value *sides[2];
	struct code_value part;
	int64_t offset;

	while ((event = next_event(question, X86_TRACE_DIFFERENCE, event))) {
		sides[0] = &event->value;
		sides[1] = &event->other;
		for (size_t i = 0; i < 2 * CODE_TERMS_MAX; i++) {
			const struct code_term *term = &sides[i / 2]->terms[i % 2];

			part = (struct code_value){ .terms[0] = { term->node, 1 } };
			if (!sides[i / 2]->terms[1].node ||
			    !is_execution_member(question, &part, &offset))
				continue;
			if (term->factor == 8)
				give(&words, offset);
			else if (term->factor == 1)
				give(&stack, offset);
		}
	}
	layout->execution_stack = taken(&stack);
	layout->execution_stack_words = taken(&words);
}

static void ask_profile_frames(const struct question *question)
{
	struct ruby_stack_layout *layout = &question->result->layout;

	ask_frames(question);
	ask_code(question);
	/*
	 * No exported function reads iseq_size: it is what fits between its neighbours (vm_core.h).
	 */
	if (layout->body_type != RUBY_LAYOUT_UNKNOWN &&
	    layout->body_code == layout->body_type + 2 * sizeof(uint32_t))
		layout->body_code_words = layout->body_type + (uint32_t)sizeof(uint32_t);
	ask_stack(question);
}

/* entry->def->type == VM_METHOD_TYPE_ISEQ, by a mask of its lowest bits */
static void ask_definition(const struct question *question)
{
	struct ruby_stack_layout *layout = &question->result->layout;
	struct answer definition = { 0 }, type = { 0 }, mask = { 0 };
	const struct x86_trace_event *event = NULL;
	struct load inner, outer;

	while ((event = next_event(question, X86_TRACE_TEST, event))) {
		if (!is_load(question, &event->value, &inner) || inner.width > 4 ||
		    !is_load(question, &inner.base, &outer) || !is_argument(question, &outer.base))
			continue;
		give(&definition, outer.offset);
		give(&type, inner.offset);
		give(&mask, event->number);
	}
	layout->method_definition = taken(&definition);
	layout->definition_type = taken(&type);
	layout->definition_type_mask = taken(&mask);
}

/* return entry->def->original_id; the entry may be any of several */
static void ask_original_id(const struct question *question)
{
	struct ruby_stack_layout *layout = &question->result->layout;
	const struct x86_trace_event *event = NULL;
	struct answer id = { 0 };
	struct load outer, inner;

	while ((event = next_event(question, X86_TRACE_RETURN, event)))
		if (is_load(question, &event->value, &outer) &&
		    is_load(question, &outer.base, &inner) &&
		    inner.offset == layout->method_definition)
			give(&id, outer.offset);
	layout->definition_original_id = taken(&id);
}

/* return entry->called_id */
static void ask_called_id(const struct question *question)
{
	const struct x86_trace_event *event = NULL;
	struct answer id = { 0 };
	struct load load;

	while ((event = next_event(question, X86_TRACE_RETURN, event)))
		if (is_load(question, &event->value, &load))
			give(&id, load.offset);
	question->result->layout.method_called_id = taken(&id);
}

/* RB_TYPE_P(entry->defined_class, T_ICLASS) */
static void ask_defined_class(const struct question *question)
{
	const struct code_nodes *nodes = &question->trace->nodes;
	const struct x86_trace_event *event = NULL;
	const struct code_node *masked;
	struct answer class = { 0 };
	struct load flags, member;

	while ((event = next_event(question, X86_TRACE_COMPARE, event))) {
		masked = code_value_single(nodes, &event->value);
		if (event->number != RUBY_TYPE_ICLASS || !masked ||
		    masked->kind != CODE_NODE_MASKED || !is_load(question, &masked->of, &flags) ||
		    flags.offset != 0 || !is_load(question, &flags.base, &member) ||
		    !is_argument(question, &member.base))
			continue;
		give(&class, member.offset);
	}
	question->result->layout.method_class = taken(&class);
}

/* return klass->member */
static uint32_t ask_returned_member(const struct question *question)
{
	const struct x86_trace_event *event = NULL;
	struct answer member = { 0 };
	struct load load;

	while ((event = next_event(question, X86_TRACE_RETURN, event)))
		if (is_load(question, &event->value, &load) && is_argument(question, &load.base))
			give(&member, load.offset);
	return taken(&member);
}

/*
 * The one bit of the class's flags that is tested and specific to its type (from 12 on, FL_USHIFT).
 */
static void ask_attached(const struct question *question)
{
	const struct x86_trace_event *event = NULL;
	struct answer bit = { 0 };

	question->result->layout.class_attached = ask_returned_member(question);
	if (question->result->layout.class_attached == RUBY_LAYOUT_UNKNOWN)
		return;
	while ((event = next_event(question, X86_TRACE_TEST, event)))
		if (is_member(question, &event->value, 0) && event->number >= 1 << 12 &&
		    (event->number & (event->number - 1)) == 0)
			give(&bit, event->number);
	question->result->layout.class_singleton_mask = taken(&bit);
}

/* True if the value is vm->objspace->member; stores the load of member. */
static bool is_object_space_member(const struct question *question, const struct code_value *value,
				   struct load *ret_member)
{
	struct ruby_accessor_layout *result = question->result;
	struct ruby_place place;
	struct load space;

	if (!is_load(question, value, ret_member) || !is_load(question, &ret_member->base, &space))
		return false;
	place = place_of(question, &space.base);
	if (place.kind != RUBY_PLACE_VARIABLE && place.kind != RUBY_PLACE_POINTED)
		return false;
	if (space.offset < 0 || space.offset > RUBY_LAYOUT_OFFSET_MAX)
		return false;
	if (result->vm.kind == RUBY_PLACE_NONE) {
		result->vm = place;
		result->layout.vm_object_space = (uint32_t)space.offset;
	}
	return same_place(&place, &result->vm) && space.offset == result->layout.vm_object_space;
}

/* The tested bit of the flags, converted to a byte's offset and a bit in it. */
static void ask_during_gc(const struct question *question)
{
	struct ruby_stack_layout *layout = &question->result->layout;
	struct answer flags = { 0 }, mask = { 0 };
	const struct x86_trace_event *event = NULL;
	struct load member;

	while ((event = next_event(question, X86_TRACE_TEST, event))) {
		uint64_t bits = (uint64_t)event->number;
		unsigned int bit;

		if (bits == 0 || (bits & (bits - 1)) != 0 ||
		    !is_object_space_member(question, &event->value, &member))
			continue;
		bit = (unsigned int)__builtin_ctzll(bits);
		give(&flags, member.offset + bit / 8);
		give(&mask, 1 << bit % 8);
	}
	layout->object_space_flags = taken(&flags);
	layout->gc_flags_mask = taken(&mask);
}

static void ask_gc_count(const struct question *question)
{
	const struct x86_trace_event *event = NULL;
	struct answer count = { 0 };
	struct load member;

	while ((event = next_event(question, X86_TRACE_RETURN, event)))
		if (is_object_space_member(question, &event->value, &member))
			give(&count, member.offset);
	question->result->layout.object_space_count = taken(&count);
}

static void ask(const struct question *question, enum ruby_accessor accessor)
{
	struct ruby_stack_layout *layout = &question->result->layout;

	switch (accessor) {
	case RUBY_ACCESSOR_THREAD_CURRENT:
		return ask_thread_current(question);
	case RUBY_ACCESSOR_ISEQ_LABEL:
		return ask_iseq(question, &layout->body_label);
	case RUBY_ACCESSOR_ISEQ_BASE_LABEL:
		return ask_iseq(question, &layout->body_base_label);
	case RUBY_ACCESSOR_ISEQ_PATH:
		return ask_iseq(question, &layout->body_path);
	case RUBY_ACCESSOR_ISEQ_FIRST_LINE:
		return ask_first_line(question);
	case RUBY_ACCESSOR_ISEQ_METHOD_NAME:
		return ask_method_name(question);
	case RUBY_ACCESSOR_ISEQ_LINE:
		return ask_line(question);
	case RUBY_ACCESSOR_PROFILE_FRAMES:
		return ask_profile_frames(question);
	case RUBY_ACCESSOR_PROFILE_FRAME_PATH:
		return ask_definition(question);
	case RUBY_ACCESSOR_PROFILE_FRAME_CLASS_PATH:
		return ask_defined_class(question);
	case RUBY_ACCESSOR_FRAME_THIS_FUNCTION:
		return ask_original_id(question);
	case RUBY_ACCESSOR_FRAME_CALLEE:
		return ask_called_id(question);
	case RUBY_ACCESSOR_MODULE_NAME:
		layout->class_path = ask_returned_member(question);
		return;
	case RUBY_ACCESSOR_CLASS_ATTACHED:
		return ask_attached(question);
	case RUBY_ACCESSOR_DURING_GC:
		return ask_during_gc(question);
	case RUBY_ACCESSOR_GC_COUNT:
		return ask_gc_count(question);
	case _RUBY_ACCESSOR_MAX:
		return;
	}
}

int ruby_accessors_decode(const struct ruby_accessors *accessors,
			  const struct x86_code_source *source,
			  struct ruby_accessor_layout *ret_layout)
{
	_cleanup_free_ struct x86_trace *trace = x86_trace_new();
	struct ruby_accessor_layout result = { 0 };
	const struct question question = { .trace = trace, .result = &result };
	int r;

	if (!trace)
		return -ENOMEM;
	ruby_stack_layout_forget(&result.layout);
	for (size_t i = 0; i < _RUBY_ACCESSOR_MAX; i++) {
		if (!accessors->list[i].address)
			continue;
		r = x86_trace_run(trace, source, accessors->list[i].address,
				  accessors->list[i].size_bytes, accessors_table[i].depth);
		if (r < 0)
			return r;
		ask(&question, (enum ruby_accessor)i);
	}
	*ret_layout = result;
	return 0;
}
