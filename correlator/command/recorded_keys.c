/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/recorded_keys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "reader/aggregate/grouping.h"

int recorded_keys_refuse(const struct recording *recording, const char *key, const char *advice)
{
	char names[1024] = "none";
	struct text_writer writer;

	if (recording->key_count > 0)
		text_writer_init(&writer, names, sizeof(names));
	for (size_t i = 0; i < recording->key_count; i++) {
		text_writer_put(&writer, ", ", i > 0 ? 2 : 0);
		text_writer_put(&writer, recording->keys[i], strlen(recording->keys[i]));
	}
	return log_error(ENOENT, "no record has the key %s; keys that occur: %s (%s)", key, names,
			 advice);
}

int recorded_keys_check(const struct recording *recording, const char *key, const char *option)
{
	char advice[64];

	if (grouping_is_by_field(key) || recording_has_key(recording, key))
		return 0;
	(void)snprintf(advice, sizeof(advice), "choose with %s", option);
	return recorded_keys_refuse(recording, key, advice);
}

int recorded_keys_check_filter(const struct recording *recording, const struct filter *filter)
{
	int r = 0;

	for (size_t i = 0; i < filter->condition_count && r == 0; i++)
		r = recorded_keys_check(recording, filter->conditions[i].key, "--where");
	return r;
}

int recorded_keys_explain_nothing(const struct recording *recording, const struct filter *filter)
{
	int r = recorded_keys_check_filter(recording, filter);

	if (r == 0 && (filter->condition_count > 0 || filter->since.is_set || filter->until.is_set))
		log_warning("no record matches --where, --since and --until");
	return r;
}

void recorded_keys_warn_given_up(uint64_t given_up)
{
	if (given_up > 0)
		log_warning("%" PRIu64
			    " records are taken as without a key that their requests had "
			    "later: too many waited for it (take less with --since and --until)",
			    given_up);
}
