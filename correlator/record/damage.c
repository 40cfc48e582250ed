#include "record/damage.h"

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

bool damage_end(struct damage *damage)
{
	bool was_open = damage->is_open;

	damage->is_open = false;
	return was_open && damage->places <= DAMAGE_SAID_MAX;
}
