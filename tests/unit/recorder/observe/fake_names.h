/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Ruby's frames are called and where they are, for tests of who asks: all of
 * recorder/symbolize/frame_names.h, and ruby_target_find_stack(). Included once a test program.
 */
#pragma once

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/symbolize/frame_names.h"
#include "recorder/target/ruby/ruby_target.h"

/* Of the frames in tests. */
enum {
	FAKE_NAMELESS = 0x80, /* object */
	FAKE_FIRST_LINE = 3,
};

struct frame_names {
	char made;
};

static struct fake_names {
	/* The search for the layout: what it says. */
	enum ruby_stack_state state;
	int search_error; /* 0 = none */
	struct ruby_stack_layout layout;
	unsigned int searches;
	pid_t pid;
	bool is_musl;
	size_t remarks_before; /* that the report had */
	/* The names. */
	int error; /* of each question; 0 = none */
	unsigned int made, freed;
	struct memory_reader reader; /* that the last ones were made with */
	const struct ruby_stack_layout *layout_given;
	const struct ruby_symbols *symbols;
	const struct stack_sighting *sighting; /* that they were last to be prepared for */
} fake_names;

int ruby_target_find_stack(const struct ruby_target *target, pid_t pid, bool is_musl,
			   struct ruby_stack_layout *ret_layout,
			   struct ruby_stack_report *ret_report)
{
	(void)target;
	fake_names.searches++;
	fake_names.pid = pid;
	fake_names.is_musl = is_musl;
	fake_names.remarks_before = ret_report->remark_count;
	ret_report->state = fake_names.state;
	ret_report->remark_count = 1;
	(void)strcpy(ret_report->remarks[0], "frame_pc: 8, and not 0");
	if (fake_names.search_error == 0)
		*ret_layout = fake_names.layout;
	return fake_names.search_error;
}

int frame_names_new(const struct memory_reader *reader, const struct ruby_stack_layout *layout,
		    struct ruby_symbols *symbols, struct frame_names **ret_names)
{
	*ret_names = calloc(1, sizeof(**ret_names));
	if (!*ret_names)
		return -ENOMEM;
	fake_names.made++;
	fake_names.reader = *reader;
	fake_names.layout_given = layout;
	fake_names.symbols = symbols;
	return 0;
}

void frame_names_free(struct frame_names *names)
{
	fake_names.freed += names != NULL;
	free(names);
}

/* Called by its object; Ruby's run in the line that is their pc. */
int frame_names_find(struct frame_names *names, struct stack_sighting *sighting,
		     const struct ruby_frame *frame, struct frame_name *ret_name)
{
	uint64_t object = ruby_frame_object(frame);

	(void)names;
	if (sighting != fake_names.sighting)
		return -EINVAL;
	if (fake_names.error)
		return fake_names.error;
	*ret_name = (struct frame_name){ .label = FRAME_UNKNOWN };
	if (object == FAKE_NAMELESS)
		return 0;
	(void)snprintf(ret_name->label, sizeof(ret_name->label), "method_%" PRIu64, object);
	if (ruby_frame_is_ruby(frame)) {
		(void)strcpy(ret_name->path, "app.rb");
		ret_name->line = (uint32_t)frame->pc;
		ret_name->first_line = FAKE_FIRST_LINE;
	}
	return 0;
}

void frame_names_prepare(struct frame_names *names, const struct stack_sighting *sighting)
{
	(void)names;
	fake_names.sighting = sighting;
}
