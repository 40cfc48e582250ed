/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What native code of a process is called: an address to the file that is mapped there, and to the
 * function of that file, by its symbols (.symtab, that of its debug file, .dynsym), else by where
 * the function begins
 * (.eh_frame_hdr). One object for all processes, which share what was read of a file, and one for
 * each process; owned by whoever names its stacks; single thread; does not log.
 *
 * All of it is the target's: what is read is bounded, what is kept too, the functions of files
 * that were not asked for the longest first to go. Between a sample and its name a mapping may have
 * become another one: each time it is asked whether the file is still mapped there.
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
	NATIVE_STARTS_MAX = 16384, /* functions without a name that are remembered */
	NATIVE_CODE_MAX = 8192, /* mappings of one process that are code, and are looked at */
	NATIVE_PATHS_BYTES_MAX = 1024 * 1024, /* and their paths */
};

struct native_names;
struct native_process;

struct native_name {
	/*
	 * "SHA256_Transform"; "libcrypto.so.3+0x1234", a function without a name by the address
	 * that it has in its file; "[libcrypto.so.3]", when not even that is known; "[vdso]";
	 * FRAME_UNKNOWN; "" of code that is no file's, as compilers at run time make it.
	 */
	char label[FRAME_LABEL_BYTES];
	char path[FRAME_PATH_BYTES]; /* of the file, as the process has it; "" = none */
	bool is_ruby; /* of the file that has Ruby's interpreter */
};

/* files: those that the observed processes share, borrowed; NULL = none. NULL: no memory. */
struct native_names *native_names_new(struct object_files *files);
void native_names_free(struct native_names *names);
DEFINE_CLEANUP(struct native_names *, native_names_free);

/* Memory that functions take, for those who watch it. */
size_t native_names_size_bytes(const struct native_names *names);

/* One process image. NULL: no memory. */
struct native_process *native_process_new(pid_t pid);
void native_process_free(struct native_process *process);
DEFINE_CLEANUP(struct native_process *, native_process_free);

/*
 * What has the code at an address of the process. may_read: false: no file is read that was not,
 * nor the mappings, which takes some ms; what is not known without is less well named. now_ns:
 * CLOCK_MONOTONIC.
 */
void native_names_find(struct native_names *names, struct native_process *process, uint64_t address,
		       uint64_t now_ns, bool may_read, struct native_name *ret_name);
