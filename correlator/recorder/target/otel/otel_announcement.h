/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * OpenTelemetry's process context of one living process: found in its mappings, read by the rule of
 * its timestamp, and what is kept of it. Holds no resource; single thread; logs what is refused or
 * damaged, three times at most. Facts: OTEP 4719 (names of the mapping, the timestamp's rule).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/otel_record.h>

#include "recorder/target/proc/memory_map.h"
#include "recorder/target/proc/memory_reader.h"

enum {
	/* Of a text as it is kept: escaped, cut. */
	OTEL_DISPLAY_BYTES = 256,
};

enum otel_announcement_state {
	OTEL_ANNOUNCEMENT_MISSING = 0, /* (yet): IDs can be read, attributes not */
	OTEL_ANNOUNCEMENT_READ = 1,
	OTEL_ANNOUNCEMENT_REFUSED = 2, /* of a version that is not known: nothing is to be read */
};

struct otel_announcement {
	const char *const *names; /* of the wanted keys, borrowed; NULL = not OpenTelemetry's */
	size_t key_count;
	enum otel_announcement_state state;
	uint64_t header_address; /* 0 = no mapping was found */
	uint64_t published_ns;
	size_t index_count; /* names in the key map */
	uint8_t key_of_index[OTEL_INDEXES]; /* as otel_config has it */
	size_t names_missing; /* wanted attributes that the key map does not name */
	unsigned int complaints; /* how often something about it was logged */
	/* Valid UTF-8 without control characters; "" = not there. */
	char schema_version[OTEL_DISPLAY_BYTES];
	char service_name[OTEL_DISPLAY_BYTES];
	char service_instance_id[OTEL_DISPLAY_BYTES];
	char environment_name[OTEL_DISPLAY_BYTES];
};

/* names: as above. */
void otel_announcement_init(struct otel_announcement *announcement, const char *const *names,
			    size_t key_count);

/*
 * Reads what is new. 1: there was something; 0; -ESRCH, -EPERM, -ENOMEM. What is refused or damaged
 * is logged, a few times at most.
 */
int otel_announcement_look(struct otel_announcement *announcement, const struct memory_map *map,
			   const struct memory_reader *reader);

/* By one small read: it is another one by now, or gone. False when none was found before. */
bool otel_announcement_has_changed(const struct otel_announcement *announcement,
				   const struct memory_reader *reader);
