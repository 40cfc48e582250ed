/* SPDX-License-Identifier: GPL-2.0-only */
/* What of the ring of stacks is handed on; the clocks and the maps are bpf.test_session's. */
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include <correlator/stacks.h>

#include "base/cleanup.h"
#include "recorder/probe/open_session.h"

static const struct stack_message *heard; /* the last time */
static unsigned int times;

static void hear(void *context, const struct stack_message *message)
{
	assert_ptr_equal(context, &heard);
	heard = message;
	times++;
}

/* How often it is heard of a message of so many bytes that says it has so many frames. */
static unsigned int forward(session_stack_fn on_stack, uint32_t count, size_t size_bytes)
{
	/* Of just these bytes, so that the sanitizer sees a read beyond them. */
	_cleanup_free_ uint8_t *message = calloc(1, size_bytes);
	struct session session = { 0 };

	assert_non_null(message);
	if (size_bytes >= offsetof(struct stack_message, frames.frames))
		memcpy(message + offsetof(struct stack_message, frames.count), &count,
		       sizeof(count));
	session_on_stacks(&session, on_stack, &heard);
	times = 0;
	assert_int_equal(samples_forward_stack(&session, message, size_bytes), 0);
	if (times)
		assert_ptr_equal(heard, message);
	return times;
}

/* Bytes of a message of so many frames. */
static size_t bytes_of(size_t count)
{
	return offsetof(struct stack_message, frames.frames) + count * sizeof(struct ruby_frame);
}

TEST(samples_forward_complete_message_once)
{
	assert_int_equal(forward(hear, 0, bytes_of(0)), 1);
	assert_int_equal(forward(hear, 3, bytes_of(3)), 1);
	/* Whatever is behind it. */
	assert_int_equal(forward(hear, 3, bytes_of(3) + 7), 1);
	assert_int_equal(forward(hear, RUBY_FRAMES_MAX, bytes_of(RUBY_FRAMES_MAX)), 1);
}

TEST(samples_drop_truncated_message)
{
	assert_int_equal(forward(hear, 3, bytes_of(3) - 1), 0);
	assert_int_equal(forward(hear, 1, bytes_of(0)), 0);
	assert_int_equal(forward(hear, 0, bytes_of(0) - 1), 0);
	assert_int_equal(forward(hear, 0, 1), 0);
}

TEST(samples_drop_message_with_too_many_frames)
{
	assert_int_equal(forward(hear, RUBY_FRAMES_MAX + 1, bytes_of(RUBY_FRAMES_MAX + 1)), 0);
}

TEST(samples_are_dropped_without_listener)
{
	assert_int_equal(forward(NULL, 3, bytes_of(3)), 0);
}
