/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/cost/sampling.h"

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void sampling_plan(struct sampling *sampling, uint64_t now_ns, uint64_t window_end_ns,
		   uint64_t random)
{
	uint64_t from_ns = sampling->period_end_ns > now_ns ? sampling->period_end_ns : now_ns;
	uint64_t room_ns, length_ns;

	*sampling = (struct sampling){ UINT64_MAX, UINT64_MAX, sampling->period_end_ns };
	if (from_ns >= window_end_ns)
		return;
	room_ns = lesser(window_end_ns - from_ns, SAMPLING_PERIOD_NS);
	/* Too little is left of this window; the next one has more. */
	if (room_ns < SAMPLING_SAMPLE_NS && from_ns > now_ns)
		return;
	length_ns = lesser(room_ns, SAMPLING_SAMPLE_NS);
	sampling->begin_ns = from_ns;
	if (sampling->period_end_ns)
		sampling->begin_ns += random % (room_ns - length_ns + 1);
	sampling->end_ns = sampling->begin_ns + length_ns;
	sampling->period_end_ns = from_ns + SAMPLING_PERIOD_NS;
}
