/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_candidates.h"

bool ruby_candidates_tell(const struct ruby_candidates *candidates)
{
	return candidates->count > 0 && candidates->count <= RUBY_CANDIDATES_MAX;
}

bool ruby_candidates_have(const struct ruby_candidates *candidates, uint32_t value)
{
	for (uint32_t i = 0; i < candidates->count && i < RUBY_CANDIDATES_MAX; i++)
		if (candidates->values[i] == value)
			return ruby_candidates_tell(candidates);
	return false;
}

void ruby_candidates_add(struct ruby_candidates *candidates, uint32_t value)
{
	if (ruby_candidates_have(candidates, value))
		return;
	if (candidates->count < RUBY_CANDIDATES_MAX)
		candidates->values[candidates->count] = value;
	candidates->count++;
}
