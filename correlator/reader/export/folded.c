/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/display.h"
#include "reader/profile/code_place.h"
#include "reader/profile/stack_sums.h"

/* Replaces ';', which separates frames in a folded line. */
static void put_text(char *text, FILE *out)
{
	for (char *at = text; *at; at++)
		if (*at == ';')
			*at = ':';
	(void)fputs(text, out);
}

/* Puts a frame's name, escaped as for a screen; for a Ruby method with its location, which
 * distinguishes methods of the same name. */
static void put_name(const struct frame *frame, FILE *out)
{
	char text[FRAMES_TEXT_ESCAPED_BYTES];

	(void)display_escape(frame->name->bytes, frame->name->size_bytes, text, sizeof(text));
	put_text(text, out);
	/* The suffix by which FlameGraph's own tools mark and colour kernel frames. */
	if (frame->kind == FRAME_KIND_KERNEL)
		(void)fputs("_[k]", out);
	if (frame->kind != FRAME_KIND_RUBY)
		return;
	code_place_write(frame->file, frame->kind, frame->first_line, text);
	put_text(text, out);
}

static void put_stack(const struct frame *innermost, const struct frame **path, int64_t spent_ns,
		      FILE *out)
{
	size_t count = 0;

	for (const struct frame *frame = innermost; frame; frame = frame->parent)
		path[count++] = frame;
	while (count-- > 0) {
		put_name(path[count], out);
		(void)fputc(count > 0 ? ';' : ' ', out);
	}
	(void)fprintf(out, "%" PRId64 "\n", spent_ns);
}

int folded_print(const struct stacks *stacks, FILE *out)
{
	_cleanup_free_ const struct frame **path = calloc(FRAMES_DEPTH_MAX, sizeof(struct frame *));
	_cleanup_(stack_sums_deinit) struct stack_sums sums;
	const struct stack_sum *sum = NULL;

	if (stack_sums_init(&sums, stacks) < 0 || !path)
		return -ENOMEM;
	stack_sums_add_all(&sums, stacks);
	while ((sum = stack_sums_next(&sums, sum)))
		if (sum->spent_ns > 0)
			put_stack(sum->frame, path, sum->spent_ns, out);
	if (stacks->sums.unsampled_ns > 0)
		(void)fprintf(out, "%s %" PRId64 "\n", stacks_nowhere_name(stacks),
			      stacks->sums.unsampled_ns);
	return 0;
}
