/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_behaviour.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recorder/target/ruby/ruby_classes.h"
#include "recorder/target/ruby/ruby_evidence.h"
#include "recorder/target/ruby/ruby_iseqs.h"
#include "recorder/target/ruby/ruby_main_thread.h"
#include "recorder/target/ruby/ruby_methods.h"
#include "recorder/target/ruby/ruby_vm_frames.h"

/* Adds the evidence that follows if frames have this shape. */
static void look_at_frames(struct ruby_evidence *evidence, struct ruby_vm_frames *frames,
			   const struct ruby_frame_shape *shape)
{
	if (!ruby_vm_frames_read(evidence, frames, shape))
		return;
	ruby_methods_look(evidence, frames);
	ruby_iseqs_look(evidence, frames);
}

/*
 * If every Ruby method on the stack passes a block, the word of block_code looks like that of the
 * iseq. But no frame runs in the code of the block that it passes.
 */
static bool runs_in_its_code(struct ruby_evidence *evidence, struct ruby_vm_frames *frames,
			     const struct ruby_frame_shape *shape)
{
	struct ruby_behaviour *kept = evidence->result, trial = { 0 };
	bool runs;

	evidence->result = &trial;
	look_at_frames(evidence, frames, shape);
	runs = trial.fields[RUBY_LAYOUT_FIELD(frame_pc)].count > 0;
	evidence->result = kept;
	return runs;
}

/* Keeps only the shapes that the program counters confirm, if they confirm any. */
static void choose_shapes(struct ruby_evidence *evidence, struct ruby_vm_frames *frames,
			  struct ruby_frame_shapes *shapes)
{
	struct ruby_frame_shapes confirmed = { .count = 0 };

	for (size_t i = 0; i < shapes->count; i++)
		if (runs_in_its_code(evidence, frames, &shapes->list[i]))
			confirmed.list[confirmed.count++] = shapes->list[i];
	if (confirmed.count > 0)
		*shapes = confirmed;
}

static void look_at_stack(struct ruby_evidence *evidence, struct ruby_vm_frames *frames)
{
	struct ruby_frame_shapes shapes;

	ruby_vm_frames_find_shapes(evidence, frames, &shapes);
	if (shapes.count > 1)
		choose_shapes(evidence, frames, &shapes);
	for (size_t i = 0; i < shapes.count; i++)
		look_at_frames(evidence, frames, &shapes.list[i]);
}

int ruby_behaviour_look(const struct memory_reader *reader,
			const struct ruby_behaviour_hints *hints,
			struct ruby_behaviour *ret_behaviour)
{
	_cleanup_free_ struct ruby_vm_frames *frames = calloc(1, sizeof(*frames));
	struct ruby_behaviour result = { 0 };
	struct ruby_evidence evidence;
	int r;

	if (!frames)
		return -ENOMEM;
	ruby_evidence_init(&evidence, reader, hints->string_layout, &result);
	frames->skipped_quarters = hints->skipped_quarters < 4 ? hints->skipped_quarters : 3;
	r = ruby_main_thread_find(&evidence, hints, &frames->stack);
	if (r == 0) {
		ruby_classes_look(&evidence, hints);
		look_at_stack(&evidence, frames);
	}
	/* If the process ended during the look, none of this describes it. */
	if (evidence.failure)
		r = evidence.failure;
	if (r == 0)
		*ret_behaviour = result;
	return r;
}
