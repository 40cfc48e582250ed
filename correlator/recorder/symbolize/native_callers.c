/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/native_callers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "recorder/symbolize/unwind_frame.h"

/* A rule, for a part of a file: one for each address would be read thousands of times. */
struct known_rule {
	uint64_t serial; /* of the file */
	struct unwind_rule rule; /* without steps: the file has none there */
};

struct native_callers {
	struct native_names *names;
	struct known_rule **rules; /* by serial and address, without overlaps */
	size_t count;
	size_t capacity;
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
	while (callers->count > 0)
		free(callers->rules[--callers->count]);
}

void native_callers_free(struct native_callers *callers)
{
	if (!callers)
		return;
	forget(callers);
	free(callers->rules);
	free(callers);
}

/* The number of the first rule that ends behind an address: the only one that may hold there. */
static size_t search(const struct native_callers *callers, uint64_t serial, uint64_t address)
{
	size_t low = 0, high = callers->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct known_rule *known = callers->rules[middle];

		if (known->serial < serial ||
		    (known->serial == serial && known->rule.end <= address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Makes the range that the file states have the address, and leave out what the rules before and
 * behind hold for; NULL: there is none. */
static void limit_range(struct unwind_rule *rule, uint64_t address, uint64_t serial,
			const struct known_rule *before, const struct known_rule *behind)
{
	if (address < rule->begin || address >= rule->end) {
		rule->begin = address;
		rule->end = address + 1;
	}
	if (before && before->serial == serial && before->rule.end > rule->begin)
		rule->begin = before->rule.end;
	if (behind && behind->serial == serial && behind->rule.begin < rule->end)
		rule->end = behind->rule.begin;
}

/* Takes ownership of a rule for an address of which none is known. False: no memory. */
static bool keep_rule(struct native_callers *callers, struct known_rule *known, uint64_t address)
{
	size_t number;

	if (callers->count >= NATIVE_RULES_MAX)
		forget(callers);
	if (array_reserve(&callers->rules, &callers->capacity, callers->count + 1) < 0) {
		free(known);
		return false;
	}
	number = search(callers, known->serial, address);
	limit_range(&known->rule, address, known->serial,
		    number > 0 ? callers->rules[number - 1] : NULL,
		    number < callers->count ? callers->rules[number] : NULL);
	memmove(callers->rules + number + 1, callers->rules + number,
		(callers->count - number) * sizeof(struct known_rule *));
	callers->rules[number] = known;
	callers->count++;
	return true;
}

/* NULL: no memory, or the file did not answer. */
static struct known_rule *read_rule(struct native_callers *callers,
				    const struct native_place *place,
				    struct native_process *process)
{
	struct known_rule *known = calloc(1, sizeof(*known));
	int r = -ENOMEM;

	if (known && place->file)
		r = unwind_rule_read(place->file, native_process_pid(process), place->path,
				     place->address, &known->rule);
	else if (known)
		r = unwind_rule_read_vdso(place->address, &known->rule);

	if (r == -EPIPE)
		native_process_note_cost(process);
	/* A rule that keeps libdw busy is not asked for again. */
	if (r < 0 && r != -ENOENT && r != -ENOTSUP && r != -EPIPE) {
		free(known);
		return NULL;
	}
	if (r < 0)
		known->rule = (struct unwind_rule){ 0 };
	known->serial = place->serial;
	return keep_rule(callers, known, place->address) ? known : NULL;
}

/* NULL: not known, or not yet. */
static const struct unwind_rule *find_rule(struct native_callers *callers,
					   const struct native_place *place,
					   struct native_process *process, bool may_read)
{
	size_t number = search(callers, place->serial, place->address);
	struct known_rule *known = number < callers->count ? callers->rules[number] : NULL;

	if (known && (known->serial != place->serial || known->rule.begin > place->address))
		known = NULL;
	if (!known && may_read && !native_process_is_costly(process))
		known = read_rule(callers, place, process);
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
