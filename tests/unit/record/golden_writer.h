/* SPDX-License-Identifier: GPL-2.0-only */
/* Golden recordings being written: what their records begin with. */
#pragma once

#include <stdio.h>

#include "record/record_encode.h"

struct golden {
	struct record_encoder *encoder;
	unsigned int recording; /* part of each id */
	unsigned int number; /* of the next record */
	char record_id[32];
};

/* Valid until the next one. */
static inline struct record_common next_common(struct golden *golden)
{
	(void)snprintf(golden->record_id, sizeof(golden->record_id), "b0071d:4242:%u:%u",
		       golden->recording, ++golden->number);
	return (struct record_common){
		.wall_ns = 1700000001123456789,
		.record_id = golden->record_id,
		.host_name = "web-1",
		.pid = 4242,
	};
}
