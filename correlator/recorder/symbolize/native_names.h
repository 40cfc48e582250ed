/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names a process's native code: maps an address to the file that is mapped there, and to the
 * function in that file, by its symbols (.symtab, that of its debug file, .dynsym), else by the
 * function's start (.eh_frame_hdr). Code that the process generated has the names of perf_map.h.
 * One object for all processes, which share the data read from files, and one per process; owned by
 * the code that names its stacks; single thread; does not log.
 *
 * All data comes from the target: reads and the cache are bounded; the functions of the least
 * recently used files are dropped first. Between a sample and its naming a mapping may have been
 * replaced: the first lookup at a time (now_ns) checks that the file is still mapped there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "recorder/symbolize/frame_name.h"
#include "recorder/target/elf/object_file.h"

enum {
	NATIVE_FUNCTIONS_BYTES_MAX = 96 * 1024 * 1024, /* of all files' functions */
	NATIVE_STARTS_MAX = 16384, /* cached starts of functions without a name */
	NATIVE_CODE_MAX = 8192, /* code mappings of one process; more are ignored */
	NATIVE_PATHS_BYTES_MAX = 1024 * 1024, /* for the paths of these */
	/* Per process: after this number of calls of a library that did not return in time
	 * (agent.h) nothing more of it is given to one. */
	NATIVE_COSTLY_CALLS_MAX = 8,
};

struct native_names;
struct native_process;

struct native_name {
	/*
	 * "SHA256_Transform"; "libcrypto.so.3+0x1234": a function without a name, by its address in
	 * its file; "[libcrypto.so.3]": function not known; "[vdso]"; FRAME_UNKNOWN; "": code that
	 * the process generated, and has given no name (perf_map.h).
	 */
	char label[FRAME_LABEL_BYTES];
	char path[FRAME_PATH_BYTES]; /* of the file, as the process sees it; "" = none */
	bool is_ruby; /* in the file with Ruby's interpreter, or generated */
};

/* files: shared by the observed processes, borrowed; NULL = none. Returns NULL: out of memory. */
struct native_names *native_names_new(struct object_files *files);
void native_names_free(struct native_names *names);
DEFINE_CLEANUP(struct native_names *, native_names_free);

/* Where code of a process is. */
struct native_place {
	/* With an ELF image; held until the next lookup; NULL = the vDSO of 64-bit processes. */
	const struct object_file *file;
	const char *path; /* as the process sees it; valid as long as file */
	uint64_t serial; /* of the file: never used for another one */
	uint64_t address; /* its virtual address in the file; its distance from the vDSO's start */
	uint64_t begin, end; /* the mapping, in the process */
	bool is_ruby; /* in the file with Ruby's interpreter */
};

/* Memory used by cached functions, for monitoring. */
size_t native_names_size_bytes(const struct native_names *names);

/* State of one process image. NULL: out of memory. */
struct native_process *native_process_new(pid_t pid);
void native_process_free(struct native_process *process);
pid_t native_process_pid(const struct native_process *process);
/* A library did not return in time when it was given something of the process. */
void native_process_note_cost(struct native_process *process);
bool native_process_is_costly(const struct native_process *process);
DEFINE_CLEANUP(struct native_process *, native_process_free);

/*
 * Finds the file that the code at an address of the process is in. 0; -ENXIO: in no file, or in one
 * that is not ELF; -ENOENT: not known, or not yet; arguments as below.
 */
int native_names_place(struct native_names *names, struct native_process *process, uint64_t address,
		       uint64_t now_ns, bool may_read, struct native_place *ret_place);

/*
 * Names the code at an address of the process. may_read: if false, reads neither new files nor the
 * mappings, which takes some ms; names are less precise then. now_ns: CLOCK_MONOTONIC; the same for
 * all frames of a stack.
 */
void native_names_find(struct native_names *names, struct native_process *process, uint64_t address,
		       uint64_t now_ns, bool may_read, struct native_name *ret_name);
