/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A live Ruby 3.1 whose threads go where stacks.rb lets them, and what it says of where they are:
 * Thread#backtrace_locations, which the walk and the names are compared with. STACKS_RB is that
 * file. Included behind cmocka.h.
 */
#pragma once

#include "recorder/symbolize/frame_names.h"
#include "recorder/symbolize/stack_reader.h"
#include "recorder/target/live_ruby.h"
#include "recorder/target/ruby_layouts.h"

enum {
	LOCATION_BYTES = 512,
};

struct known_ruby {
	struct live_ruby ruby;
	struct memory_reader reader;
	struct ruby_symbols *symbols;
	struct frame_names *names;
	char truth[64];
	struct ruby_frames frames;
};

static inline uint64_t known_ruby_ask(struct known_ruby *known, const char *line)
{
	char answer[256];

	assert_true(live_ruby_ask(&known->ruby, line, answer, sizeof(answer)));
	return strtoull(answer, NULL, 10);
}

static inline int known_ruby_setup(void **state)
{
	struct known_ruby *known = calloc(1, sizeof(*known));
	struct ruby_data_range ranges[LIVE_RUBY_RANGES_MAX];
	char line[256];
	int fd;

	*state = known;
	if (!known || !live_ruby_start(&known->ruby))
		return -1;
	(void)snprintf(known->truth, sizeof(known->truth), "/tmp/frame_names_XXXXXX");
	fd = mkstemp(known->truth);
	if (fd < 0)
		return -1;
	(void)close(fd);
	(void)snprintf(line, sizeof(line), "$truth = '%s'; load '%s'; 1", known->truth, STACKS_RB);
	assert_int_equal(known_ruby_ask(known, line), 1);
	known->reader = memory_reader_of_process(known->ruby.pid);
	if (ruby_symbols_new(&known->reader, 0, ranges, live_ruby_ranges(&known->ruby, ranges),
			     &known->symbols) < 0)
		return -1;
	return frame_names_new(&known->reader, &layout_3_1, known->symbols, &known->names);
}

static inline int known_ruby_teardown(void **state)
{
	struct known_ruby *known = *state;

	frame_names_free(known->names);
	ruby_symbols_free(known->symbols);
	live_ruby_stop(&known->ruby);
	(void)unlink(known->truth);
	free(known);
	return 0;
}

static inline void known_ruby_assert_location(const struct frame_name *name, char *location,
					      const char *path, uint32_t line, const char *body)
{
	char *label = strsep(&location, "\t"), *true_path = strsep(&location, "\t");

	if (strcmp(name->label, label) || strcmp(path, true_path) ||
	    line != strtoul(location, NULL, 10))
		fail_msg("%s: %s at %s:%u, and not %s at %s:%s", body, name->label, path, line,
			 label, true_path, location);
}

/*
 * Compares each frame with what Ruby says; a C function has path and line of the Ruby frame that
 * called it. The first so many are not looked at. Returns how many there are.
 */
static inline uint32_t known_ruby_compare(struct known_ruby *known, uint32_t first,
					  const char *body)
{
	static struct frame_name names[RUBY_FRAMES_MAX];
	static char lines[RUBY_FRAMES_MAX][LOCATION_BYTES];
	FILE *truth = fopen(known->truth, "re");
	uint32_t count = known->frames.count - first, caller, there = 0;

	assert_non_null(truth);
	while (there < RUBY_FRAMES_MAX && fgets(lines[there], LOCATION_BYTES, truth)) {
		lines[there][strcspn(lines[there], "\n")] = '\0';
		there++;
	}
	(void)fclose(truth);
	assert_int_equal(count, there);
	assert_int_equal(known->frames.unreadable, 0);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(frame_names_find(known->names, NULL,
						  &known->frames.frames[first + i], &names[i]),
				 0);
	for (uint32_t i = 0; i < count; i++) {
		for (caller = i; caller < count - 1 && names[caller].path[0] == '\0';)
			caller++;
		known_ruby_assert_location(&names[i], lines[i], names[caller].path,
					   names[caller].line, body);
	}
	return count;
}

/* Whether there is such a Ruby; if not, that is said. */
static inline bool known_ruby_is_here(void)
{
	struct live_ruby ruby;
	char version[16];
	bool is_known = live_ruby_start(&ruby) &&
			live_ruby_ask(&ruby, "RUBY_VERSION", version, sizeof(version)) &&
			!strncmp(version, "3.1.", 4);

	live_ruby_stop(&ruby);
	if (!is_known)
		print_message("no ruby 3.1 with fiddle here\n");
	return is_known;
}
