/* SPDX-License-Identifier: GPL-2.0-only */
/* Who makes the records, and which is which: what is the same in each of them. Single thread. */
#pragma once

#include <stdint.h>

#include "record/record.h"

enum {
	HOST_NAME_BYTES = 256,
	BOOT_ID_BYTES = 40,
	RECORD_ID_BYTES = 80,
};

struct identity {
	char host_name[HOST_NAME_BYTES];
	char boot_id[BOOT_ID_BYTES];
	uint32_t pid; /* our own */
	uint64_t nonce; /* 48 random bits: as process 1 of its container each has that pid */
	uint64_t record_number; /* of the last record */
	int64_t clock_set_ns; /* for each record from here on */
	char record_id[RECORD_ID_BYTES]; /* of the last record */
};

/* 0 or -errno (logged). */
int identity_read(struct identity *ret_identity);

/*
 * Fills in what every record has but whom it is about: without a pid it is about ourselves. The id
 * is unique for good: boot, our own pid, the nonce, a running number. The texts live until the next
 * call.
 */
void identity_stamp(struct identity *identity, uint64_t wall_ns, struct record_common *common);
