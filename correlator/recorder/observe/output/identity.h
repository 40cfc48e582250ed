/* SPDX-License-Identifier: GPL-2.0-only */
/* Identifies the recorder and each record: the fields that all records share. Single thread. */
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
	uint64_t nonce; /* 48 random bits: recorders in containers may all have pid 1 */
	uint64_t record_number; /* of the last record */
	int64_t clock_set_ns; /* for each record from now on */
	char record_id[RECORD_ID_BYTES]; /* of the last record */
};

/* 0 or -errno (logged). */
int identity_read(struct identity *ret_identity);

/*
 * Fills in the fields that every record has; a record without a pid gets our own. The id is unique
 * forever: boot, our own pid, the nonce, a running number. The strings are valid until the next
 * call.
 */
void identity_stamp(struct identity *identity, uint64_t wall_ns, struct record_common *common);
