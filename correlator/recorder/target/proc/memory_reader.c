/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/proc/memory_reader.h"

#include <errno.h>

#include "recorder/target/proc/agent.h"
#include "recorder/target/proc/living_thread.h"

/* A leader that has exited has no memory, while its threads still have it. */
static int read_process_many(const struct memory_reader *reader, const struct memory_span *spans,
			     size_t count)
{
	int r = agent_read_memory(reader->pid, reader->pid, spans, count);
	pid_t living = r == -ESRCH ? living_thread_of(reader->pid) : reader->pid;

	return living == reader->pid ? r : agent_read_memory(reader->pid, living, spans, count);
}

static int read_process(const struct memory_reader *reader, uint64_t address, void *buffer,
			size_t size_bytes)
{
	const struct memory_span span = { address, buffer, size_bytes };

	return read_process_many(reader, &span, 1);
}

struct memory_reader memory_reader_of_process(pid_t pid)
{
	return (struct memory_reader){
		.read = read_process,
		.read_many = read_process_many,
		.pid = pid,
	};
}

int memory_read_many(const struct memory_reader *reader, const struct memory_span *spans,
		     size_t count)
{
	int r = 0;

	if (reader->read_many)
		return reader->read_many(reader, spans, count);
	for (size_t i = 0; i < count && r == 0; i++)
		r = reader->read(reader, spans[i].address, spans[i].buffer, spans[i].size_bytes);
	return r;
}
