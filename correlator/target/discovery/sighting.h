/*
 * What a passing look at a process shows: cheap enough to be had of every process of the machine.
 * Any thread; nothing is kept. Does not log.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <correlator/limits.h>

/* What a process runs: an exec draws the addresses anew. */
struct program {
	uint64_t code_start; /* or enum program_code */
	uint64_t code_end;
	uint64_t stack_start;
};

/* In place of an address, fs/proc/array.c do_task_stat(), v6.18. */
enum program_code {
	PROGRAM_CODE_NONE = 0, /* a kernel thread, or a zombie */
	PROGRAM_CODE_HIDDEN = 1, /* we may not read the process (ptrace(2), access mode checking) */
};

struct sighting {
	char comm[COMM_BYTES];
	uint64_t start_ticks; /* since boot: with the pid, the process's identity */
	struct program program;
};

/* The files that a process has mapped. */
struct sighting_files {
	uint64_t code_digest; /* of device and inode of those that code runs from, by address */
	bool has_ruby; /* a path, file name or folder, holds "ruby" */
};

/* From /proc/PID/stat, one read. 0, -ESRCH, -EINVAL (not as proc(5)), -errno. */
int sighting_read(pid_t pid, struct sighting *ret_sighting);

/* From /proc/PID/maps, as memory_map_of_process; takes the process's mmap lock for its length. */
int sighting_read_files(pid_t pid, struct sighting_files *ret_files);

bool sighting_is_same_program(const struct program *a, const struct program *b);
