/* Options that more than one subcommand takes. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include <correlator/limits.h>

/* The wanted keys: what they are called in the target, and in the records. */
struct key_options {
	const char *names[KEYS_MAX]; /* Ruby symbol; allocated by key_options_add */
	const char *record_names[KEYS_MAX]; /* field in records */
	size_t count;
};

/*
 * Adds "KEY" or "KEY=NAME". 0, or -EINVAL, logged: empty, too many, twice, or a NAME that is a
 * field of the records already.
 */
int key_options_add(struct key_options *keys, const char *text);
void key_options_deinit(struct key_options *keys);

/* Parses a process ID. 0, or -EINVAL (logged). */
int options_parse_pid(const char *text, pid_t *ret_pid);
