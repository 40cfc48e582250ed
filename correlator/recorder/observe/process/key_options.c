/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/key_options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/edit_distance.h"
#include "base/log.h"
#include "record/record_fields.h"

/* Names that receivers interpret themselves, and names that `report` uses for processes. */
static const char *const reserved_names[] = {
	"tag", "host", "timestamp", "source_type", "message", "log", "time", "date", "comm", "ppid",
};

static bool is_reserved(const char *name)
{
	for (size_t i = 0; i < sizeof(reserved_names) / sizeof(reserved_names[0]); i++) {
		if (strcmp(name, reserved_names[i]) == 0)
			return true;
	}
	return record_fields_are_taken(name);
}

static bool is_otel(const char *key)
{
	return strncmp(key, OTEL_KEY_PREFIX, strlen(OTEL_KEY_PREFIX)) == 0;
}

static int check_names(const struct key_options *keys, const char *key, const char *name)
{
	if (!key[0] || !name[0])
		return log_error(EINVAL, "-k takes KEY or KEY=NAME, neither of them empty");
	if (strcmp(key, OTEL_KEY_PREFIX) == 0)
		return log_error(EINVAL, "-k " OTEL_KEY_PREFIX " wants a name behind it: trace_id, "
					 "span_id, or an attribute's");
	if (is_reserved(name))
		return log_error(EINVAL,
				 "-k %s: records have a field `%s` already; give the key "
				 "another name in them: -k %s=NAME",
				 key, name, key);
	for (size_t i = 0; i < keys->count; i++)
		if (strcmp(keys->record_names[i], name) == 0)
			return log_error(EINVAL, "-k: two keys are called `%s`", name);
	for (size_t i = 0; is_otel(key) && i < keys->count; i++)
		if (strcmp(keys->names[i], key) == 0)
			return log_error(EINVAL, "-k %s: asked for twice", key);
	if (keys->count == KEYS_MAX)
		return log_error(EINVAL, "-k: at most %d keys", KEYS_MAX);
	return 0;
}

static bool is_ruby_key(const struct key_options *keys, size_t key, const char *name)
{
	return keys->ruby_names[key] && strcmp(keys->ruby_names[key], name) == 0;
}

static void find_late_keys(struct key_options *keys)
{
	keys->late = keys->request = 0;
	for (size_t i = 0; i < keys->count && !keys->request; i++)
		if (is_ruby_key(keys, i, REQUEST_KEY))
			keys->request = (uint32_t)i + 1;
	for (size_t i = 0; i < keys->count && keys->request; i++)
		if (is_ruby_key(keys, i, LATE_KEY))
			keys->late |= 1U << i;
}

int key_options_add(struct key_options *keys, const char *text)
{
	_cleanup_free_ char *key = strdup(text);
	_cleanup_free_ char *name = NULL;
	char *equals;
	int r;

	if (!key)
		return log_error_errno(ENOMEM, "-k %s", text);
	equals = strchr(key, '=');
	if (equals)
		*equals = '\0';
	name = strdup(equals ? equals + 1 : key);
	if (!name)
		return log_error_errno(ENOMEM, "-k %s", text);
	r = check_names(keys, key, name);
	if (r < 0)
		return r;
	if (is_otel(key)) {
		keys->otel_names[keys->count] = key + strlen(OTEL_KEY_PREFIX);
		keys->otel_count++;
	} else {
		keys->ruby_names[keys->count] = key;
		keys->ruby_count++;
	}
	keys->names[keys->count] = TAKE_PTR(key);
	keys->record_names[keys->count++] = TAKE_PTR(name);
	find_late_keys(keys);
	return 0;
}

struct target_keys key_options_target(const struct key_options *keys)
{
	return (struct target_keys){
		.ruby_names = keys->ruby_names,
		.otel_names = keys->otel_names,
		.count = keys->count,
		.wants_ruby = keys->ruby_count > 0,
		.wants_otel = keys->otel_count > 0,
	};
}

const char *key_options_nearest(const char *name)
{
	static const char *const known[] = { REQUEST_KEY, LATE_KEY, "trace_id",
					     "parent_request_id" };
	unsigned int nearest = edit_distance_of_slips(name);
	const char *found = NULL;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		unsigned int distance = edit_distance(name, known[i]);

		if (distance > 0 && distance < nearest) {
			nearest = distance;
			found = known[i];
		}
	}
	return found;
}

void key_options_deinit(struct key_options *keys)
{
	for (size_t i = 0; i < keys->count; i++) {
		free((char *)keys->names[i]);
		free((char *)keys->record_names[i]);
	}
	memset(keys, 0, sizeof(*keys));
}
