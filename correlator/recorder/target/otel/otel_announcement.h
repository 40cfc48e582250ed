/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * OpenTelemetry's process context of one living process: finds it in the mappings, reads it by the
 * protocol of its timestamp, and keeps what is needed. Holds no resource; single thread; logs what
 * is refused or damaged, at most three times. Facts: OTEP 4719 (names of the mapping, the
 * timestamp's protocol).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/otel_record.h>

#include "recorder/target/proc/memory_map.h"
#include "recorder/target/proc/memory_reader.h"

enum {
	/* Size of a stored text, which is escaped and truncated. */
	OTEL_DISPLAY_BYTES = 256,
};

enum otel_announcement_state {
	OTEL_ANNOUNCEMENT_MISSING = 0, /* so far: IDs can be read, attributes cannot */
	OTEL_ANNOUNCEMENT_READ = 1,
	OTEL_ANNOUNCEMENT_REFUSED = 2, /* of an unknown version: nothing may be read */
};

struct otel_announcement {
	const char *const *names; /* by key, borrowed; NULL = not OpenTelemetry's */
	size_t key_count;
	enum otel_announcement_state state;
	uint64_t header_address; /* 0 = no mapping was found */
	uint64_t published_ns;
	size_t index_count; /* names in the key map */
	uint8_t key_of_index[OTEL_INDEXES]; /* see otel_config */
	size_t names_missing; /* wanted attributes that the key map does not name */
	unsigned int complaints; /* number of warnings logged */
	/* Valid UTF-8 without control characters; "" = absent. */
	char schema_version[OTEL_DISPLAY_BYTES];
	char service_name[OTEL_DISPLAY_BYTES];
	char service_instance_id[OTEL_DISPLAY_BYTES];
	char environment_name[OTEL_DISPLAY_BYTES];
};

/* names: see the field. */
void otel_announcement_init(struct otel_announcement *announcement, const char *const *names,
			    size_t key_count);

/*
 * Reads the context if it is new. 1: something was new; 0; -ESRCH, -EPERM, -ENOMEM. Logs what is
 * refused or damaged, at most three times.
 */
int otel_announcement_look(struct otel_announcement *announcement, const struct memory_map *map,
			   const struct memory_reader *reader);

/*
 * True if the context was republished or is gone; one small read. False when none was found before.
 */
bool otel_announcement_has_changed(const struct otel_announcement *announcement,
				   const struct memory_reader *reader);
