/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading another process's memory, or a forged one in tests. Everything in target/ that decodes
 * the target's data takes a memory_reader, so it can be tested and fuzzed without a process. Any
 * thread; holds no resource; does not log. Facts: process_vm_readv(2).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One piece of a batched read. */
struct memory_span {
	uint64_t address;
	void *buffer;
	size_t size_bytes;
};

struct memory_reader {
	/*
	 * Copies exactly size_bytes from address into buffer: 0, or -EFAULT when any byte is
	 * unreadable (buffer contents are then undefined), -ESRCH when the process is gone, -EPERM
	 * when it may not be read, -ETIMEDOUT when the memory does not arrive in time (agent.h).
	 */
	int (*read)(const struct memory_reader *reader, uint64_t address, void *buffer,
		    size_t size_bytes);
	/*
	 * Optional (NULL: memory_read_many calls read for each). Copies every span: 0, or an error
	 * as above when any of them is unreadable (the buffers' contents are then undefined).
	 */
	int (*read_many)(const struct memory_reader *reader, const struct memory_span *spans,
			 size_t count);
	pid_t pid; /* for the live reader */
	const void *context;
};

/*
 * Reads a live process by process_vm_readv(2), called in another process of ours (agent.h); neither
 * stops nor writes to it. Needs the PTRACE_MODE_ATTACH_REALCREDS check to pass (same user, or
 * CAP_SYS_PTRACE). Holds no resource.
 */
struct memory_reader memory_reader_of_process(pid_t pid);

/* Copies count spans (no limit) with few system calls. Errors as read_many. */
int memory_read_many(const struct memory_reader *reader, const struct memory_span *spans,
		     size_t count);

static inline int memory_read(const struct memory_reader *reader, uint64_t address, void *buffer,
			      size_t size_bytes)
{
	return reader->read(reader, address, buffer, size_bytes);
}

static inline int memory_read_u64(const struct memory_reader *reader, uint64_t address,
				  uint64_t *ret_value)
{
	return reader->read(reader, address, ret_value, sizeof(*ret_value));
}
