/* What spool.c and spool_load.c share; nobody else includes this. */
#pragma once

#include "queue/spool.h"

enum {
	SPOOL_NAME_BYTES = 128
};

struct spool {
	struct store store;
	int fd; /* the directory */
	int lock_fd;
	uint64_t last_number; /* of the segments so far, those of earlier processes included */
};

extern const struct store_type spool_type;

void spool_name_open(const struct segment *segment, char ret_name[static SPOOL_NAME_BYTES]);
void spool_name_sealed(const struct segment *segment, char ret_name[static SPOOL_NAME_BYTES]);
