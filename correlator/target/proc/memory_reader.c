/* SPDX-License-Identifier: GPL-2.0-only */
#include "target/proc/memory_reader.h"

#include <errno.h>
#include <sys/uio.h>

/* Spans per system call: two arrays of iovecs of 4 KiB each on the stack (IOV_MAX is 1024). */
enum {
	SPANS_PER_CALL = 256
};

/* A short count means that the bytes behind it are unreadable: process_vm_readv(2). */
static int transfer_result(ssize_t copied, size_t wanted_bytes)
{
	if (copied < 0)
		return -errno;
	return (size_t)copied == wanted_bytes ? 0 : -EFAULT;
}

static int read_process(const struct memory_reader *reader, uint64_t address, void *buffer,
			size_t size_bytes)
{
	struct iovec local = { .iov_base = buffer, .iov_len = size_bytes };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size_bytes };

	return transfer_result(process_vm_readv(reader->pid, &local, 1, &remote, 1, 0), size_bytes);
}

static int read_process_batch(pid_t pid, const struct memory_span *spans, size_t count)
{
	struct iovec local[SPANS_PER_CALL], remote[SPANS_PER_CALL];
	size_t wanted_bytes = 0;

	for (size_t i = 0; i < count; i++) {
		local[i] = (struct iovec){ spans[i].buffer, spans[i].size_bytes };
		remote[i].iov_base = (void *)(uintptr_t)spans[i].address;
		remote[i].iov_len = spans[i].size_bytes;
		wanted_bytes += spans[i].size_bytes;
	}
	return transfer_result(process_vm_readv(pid, local, count, remote, count, 0), wanted_bytes);
}

static int read_process_many(const struct memory_reader *reader, const struct memory_span *spans,
			     size_t count)
{
	while (count > 0) {
		size_t batch = count < SPANS_PER_CALL ? count : SPANS_PER_CALL;
		int r = read_process_batch(reader->pid, spans, batch);

		if (r < 0)
			return r;
		spans += batch;
		count -= batch;
	}
	return 0;
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
