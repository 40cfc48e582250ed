/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/native_callers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash_table.h"
#include "recorder/symbolize/unwind_frame.h"

struct rule_key {
	uint64_t serial; /* of the file */
	uint64_t address; /* virtual address in the file */
};

struct known_rule {
	struct rule_key key;
	struct unwind_rule rule; /* without steps: the file has none */
	UT_hash_handle hh;
};

struct native_callers {
	struct native_names *names;
	struct known_rule *rules; /* uthash, by key */
};

struct native_callers *native_callers_new(struct native_names *names)
{
	struct native_callers *callers = calloc(1, sizeof(*callers));

	if (callers)
		callers->names = names;
	return callers;
}

static void forget(struct native_callers *callers)
{
	struct known_rule *known, *next;

	HASH_ITER(hh, callers->rules, known, next) {
		HASH_DEL(callers->rules, known);
		free(known);
	}
}

void native_callers_free(struct native_callers *callers)
{
	if (!callers)
		return;
	forget(callers);
	free(callers);
}

/* NULL: no memory, or the file did not answer. */
static struct known_rule *read_rule(struct native_callers *callers, const struct rule_key *key,
				    const struct native_place *place,
				    struct native_process *process)
{
	struct known_rule *known = calloc(1, sizeof(*known));
	int r = -ENOMEM;

	if (known && place->file)
		r = unwind_rule_read(place->file, native_process_pid(process), place->path,
				     key->address, &known->rule);
	else if (known)
		r = unwind_rule_read_vdso(key->address, &known->rule);

	if (r == -EPIPE)
		native_process_note_cost(process);
	/* A rule that keeps libdw busy is not asked for again. */
	if (r < 0 && r != -ENOENT && r != -ENOTSUP && r != -EPIPE) {
		free(known);
		return NULL;
	}
	if (r < 0)
		known->rule = (struct unwind_rule){ 0 };
	known->key = *key;
	if (HASH_COUNT(callers->rules) >= NATIVE_RULES_MAX)
		forget(callers);
	HASH_ADD(hh, callers->rules, key, sizeof(known->key), known);
	if (known->hh.tbl)
		return known;
	free(known);
	return NULL;
}

/* NULL: not known, or not yet. */
static const struct unwind_rule *find_rule(struct native_callers *callers,
					   const struct native_place *place,
					   struct native_process *process, bool may_read)
{
	const struct rule_key key = { place->serial, place->address };
	struct known_rule *known;

	HASH_FIND(hh, callers->rules, &key, sizeof(key), known);
	if (!known && may_read && !native_process_is_costly(process))
		known = read_rule(callers, &key, place, process);
	return known && known->rule.step_count > 0 ? &known->rule : NULL;
}

void native_callers_find(struct native_callers *callers, struct native_process *process,
			 const struct user_stack *stack, uint64_t now_ns, bool may_read,
			 struct native_frames *ret_frames)
{
	const struct unwind_machine *machine = unwind_own_machine();
	const struct unwind_rule *rule;
	struct unwind_frame frame;
	struct native_place place;
	bool is_call = false; /* the frame's code has called: it may continue behind its function */
	int r;

	unwind_frame_begin(machine, stack, &frame);
	*ret_frames = (struct native_frames){ .end = NATIVE_END_CUT };
	while (ret_frames->count < NATIVE_FRAMES_MAX) {
		uint64_t address = frame.pc - is_call;

		r = native_names_place(callers->names, process, address, now_ns, may_read, &place);
		if (r == 0 && place.is_ruby && is_call) {
			ret_frames->end = NATIVE_END_WHOLE;
			return;
		}
		ret_frames->addresses[ret_frames->count++] = address;
		if (r == -ENXIO)
			ret_frames->end = NATIVE_END_GENERATED;
		if (r == 0 && place.is_ruby)
			ret_frames->end = NATIVE_END_WHOLE;
		if (r < 0 || place.is_ruby)
			return;
		rule = find_rule(callers, &place, process, may_read);
		if (!rule)
			return;
		r = unwind_frame_step(machine, rule, stack, &frame);
		if (r == -ENODATA)
			ret_frames->end = NATIVE_END_WHOLE;
		if (r < 0)
			return;
		is_call = !rule->is_signal;
	}
}
