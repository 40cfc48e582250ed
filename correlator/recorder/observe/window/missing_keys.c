/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/missing_keys.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

void missing_keys_note(struct missing_keys *missing, const struct key_options *keys,
		       const struct context *context)
{
	for (size_t key = 0; context && key < keys->count; key++)
		if (context->values[key])
			missing->found |= UINT32_C(1) << key;
	missing->has_contexts |= context != NULL;
}

static bool is_missing(const struct missing_keys *missing, const struct key_options *keys,
		       size_t key)
{
	return !((missing->found | keys->late) & UINT32_C(1) << key);
}

bool missing_keys_lacks_some(const struct missing_keys *missing, const struct key_options *keys)
{
	for (size_t key = 0; key < keys->count; key++)
		if (is_missing(missing, keys, key))
			return true;
	return false;
}

static void add_name(struct missing_keys *missing, const char *text)
{
	char name[MISSING_KEYS_NAME_BYTES];

	(void)text_escape(text, strlen(text), 0, name, sizeof(name));
	for (size_t i = 0; i < missing->name_count; i++)
		if (strcmp(missing->names[i], name) == 0)
			return;
	if (missing->name_count < MISSING_KEYS_NAMES_MAX)
		(void)strcpy(missing->names[missing->name_count++], name);
}

void missing_keys_see(struct missing_keys *missing, const struct seen_keys *seen,
		      ruby_value_symbol_fn find_symbol, void *context)
{
	char text[VALUE_TEXT_BYTES];

	for (size_t i = 0; i < SEEN_KEYS_MAX; i++) {
		struct value_snapshot name;

		if (seen->keys[i] && find_symbol(context, seen->keys[i], &name) == 0 &&
		    ruby_value_text(&name, NULL, NULL, text) >= 0)
			add_name(missing, text);
	}
}

/* "; contexts have: request_id, endpoint", short enough for a log line. */
static void describe_names(const struct missing_keys *missing, char *ret_text, size_t text_bytes)
{
	struct text_writer writer;

	text_writer_init(&writer, ret_text, text_bytes);
	for (size_t i = 0; i < missing->name_count; i++) {
		text_writer_put(&writer, i ? ", " : "; contexts have: ", i ? 2 : 17);
		text_writer_put(&writer, missing->names[i], strlen(missing->names[i]));
	}
}

void missing_keys_say(const struct missing_keys *missing, const struct key_options *keys)
{
	char names[MISSING_KEYS_NAMES_MAX * (MISSING_KEYS_NAME_BYTES + 2) + 16] = "";

	describe_names(missing, names, sizeof(names));
	for (size_t key = 0; key < keys->count && missing->has_contexts; key++) {
		const char *nearest = key_options_nearest(keys->names[key]);

		if (!is_missing(missing, keys, key))
			continue;
		if (nearest && missing->name_count == 0)
			log_warning("no context had the key %s: did you mean %s?", keys->names[key],
				    nearest);
		else
			log_warning("no context had the key %s%s", keys->names[key], names);
	}
}
