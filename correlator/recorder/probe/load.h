/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads the programs that a recording with given options needs, and explains failures. The caller
 * owns the skeleton. Single thread.
 */
#pragma once

#include "recorder/probe/refusal.h"
#include "recorder/probe/session.h"

struct correlator_bpf;
struct kernel_offers;
struct bpf_program;

/*
 * Patches calls of functions that not every kernel has (COMPAT_CALL, bpf/kernel_compat.bpf.h) into
 * a program that is opened but not yet loaded. False: this kernel lacks one that the program calls;
 * its instruction is unchanged.
 */
bool load_calls(struct bpf_program *program, const struct kernel_offers *kernel);

/*
 * Patches casts (compat_cast(), bpf/kernel_compat.bpf.h) into the programs that make some, and sets
 * session.can_cast. Between open and load.
 */
void load_casts(struct correlator_bpf *skeleton, const struct kernel_offers *kernel);

/*
 * Opens, configures and loads. 0, or -errno, and *ret_refusal has the verifier's messages. Logged
 * at debug level only.
 */
int load_programs(const struct session_options *options, struct correlator_bpf **ret_skeleton,
		  struct refusal *ret_refusal);

/*
 * Logs why load_programs() failed, with the verifier's messages. Returns:
 *   -EPERM    a capability is missing (named in the message), or programs are not allowed here
 *   -ENOTSUP  the kernel lacks something (named in the message) or refuses a program
 *   -EMFILE, -ENFILE: too many open files
 */
int load_explain(int error, const struct refusal *refusal);

/* Loads the programs, with small maps, and discards them: 0 or -errno as load_programs(). Not
 * logged. */
int load_try(const struct session_options *options, struct refusal *ret_refusal);
