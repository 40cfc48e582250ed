/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/blocked.h"

#include <errno.h>
#include <string.h>

static const char *const names[_BLOCKED_REASON_MAX] = {
#define NAME(reason, name) [BLOCKED_ON_##reason] = #name,
	BLOCKED_REASONS(NAME)
#undef NAME
};

const char *blocked_name(uint32_t reason)
{
	return names[reason < _BLOCKED_REASON_MAX ? reason : BLOCKED_ON_OTHER];
}

int blocked_find(const char *name, size_t size_bytes)
{
	for (int reason = 0; reason < _BLOCKED_REASON_MAX; reason++)
		if (strlen(names[reason]) == size_bytes &&
		    memcmp(names[reason], name, size_bytes) == 0)
			return reason;
	return -EINVAL;
}
