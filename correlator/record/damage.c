/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/damage.h"

#include <inttypes.h>

#include "base/log.h"

enum {
	SAID_MAX = 8 /* ranges logged one by one; then only the total */
};

void damage_add(struct damage *damage, uint64_t offset, uint64_t size_bytes, int error,
		const char *what)
{
	if (!damage->is_open) {
		damage->is_open = true;
		damage->places++;
		damage->offset = offset;
		damage->last_bytes = 0;
		damage->error = error;
		damage->what = what;
	}
	damage->last_bytes += size_bytes;
	damage->bytes += size_bytes;
}

void damage_end(struct damage *damage)
{
	if (damage->is_open && damage->places <= SAID_MAX)
		log_warning("%s: byte %" PRIu64 ": %s; %" PRIu64 " bytes are %s", damage->name,
			    damage->offset, damage->what, damage->last_bytes, damage->fate);
	damage->is_open = false;
}

void damage_finish(struct damage *damage)
{
	damage_end(damage);
	if (damage->places > SAID_MAX)
		log_warning("%s: damaged in %" PRIu64 " places: %" PRIu64 " bytes are %s in all",
			    damage->name, damage->places, damage->bytes, damage->fate);
}
