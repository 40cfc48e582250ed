#include "target/discovery/sighting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "target/proc/memory_map.h"
#include "target/proc/proc_file.h"

enum {
	STAT_BYTES = 1024
};

/* The text behind the given number of fields, which one space ends each, proc(5). */
static const char *skip_fields(const char *text, unsigned int count)
{
	while (text && count--) {
		text = strchr(text, ' ');
		text = text ? text + 1 : NULL;
	}
	return text;
}

int sighting_read(pid_t pid, struct sighting *ret_sighting)
{
	struct sighting sighting = { .start_ticks = 0 };
	struct program *program = &sighting.program;
	char text[STAT_BYTES];
	ssize_t size_bytes = proc_file_read_head(pid, "stat", text, sizeof(text));
	const char *comm, *comm_end;

	if (size_bytes < 0)
		return (int)size_bytes;
	comm = strchr(text, '(');
	comm_end = strrchr(text, ')');
	if (!comm || !comm_end || comm_end < comm)
		return -EINVAL;
	comm++;
	(void)snprintf(sighting.comm, sizeof(sighting.comm), "%.*s", (int)(comm_end - comm), comm);
	/* comm may hold anything; what follows its last ')' is field 3, one space on. */
	comm_end = skip_fields(comm_end, 1 + 22 - 3);
	if (!comm_end ||
	    sscanf(comm_end, "%" SCNu64 " %*u %*d %*u %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &sighting.start_ticks, &program->code_start, &program->code_end,
		   &program->stack_start) != 4)
		return -EINVAL;
	*ret_sighting = sighting;
	return 0;
}

bool sighting_is_same_program(const struct program *a, const struct program *b)
{
	return a->code_start == b->code_start && a->code_end == b->code_end &&
	       a->stack_start == b->stack_start;
}

static uint64_t digest_file(uint64_t digest, const struct memory_map_entry *entry)
{
	const uint64_t words[] = { entry->inode, entry->device_major, entry->device_minor };

	return hash_bytes(digest, words, sizeof(words));
}

/* Of whole paths: gems are below lib/ruby, also with a Ruby that has another name. */
int sighting_read_files(pid_t pid, struct sighting_files *ret_files)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	struct sighting_files files = { 0 };
	int result = memory_map_of_process(pid, &map);

	if (result)
		return result;
	for (size_t i = 0; i < map.count; i++) {
		const struct memory_map_entry *entry = &map.entries[i];

		if (!entry->inode)
			continue;
		files.has_ruby |= strstr(entry->path, "ruby") != NULL;
		if (!entry->is_executable)
			continue;
		files.code_digest = digest_file(files.code_digest, entry);
	}
	*ret_files = files;
	return 0;
}
