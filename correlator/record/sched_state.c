/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/sched_state.h"

#include <errno.h>

static const struct {
	const char *name;
	const char *title;
} infos[_SCHED_STATE_MAX] = {
#define INFO(state, name, title) [SCHED_##state] = { #name, title },
	SCHED_STATES(INFO)
#undef INFO
};

const char *sched_state_name(enum sched_state state)
{
	return infos[state].name;
}

const char *sched_state_title(enum sched_state state)
{
	return infos[state].title;
}

int sched_state_find(struct record_text name)
{
	for (int state = 0; state < _SCHED_STATE_MAX; state++)
		if (record_text_is(name, infos[state].name))
			return state;
	return -EINVAL;
}
