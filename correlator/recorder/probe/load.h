/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loading the programs as a recording with certain options wants them, and why it failed. Whoever
 * loads owns the skeleton. Single thread.
 */
#pragma once

#include "recorder/probe/refusal.h"
#include "recorder/probe/session.h"

struct correlator_bpf;
struct kernel_offers;
struct bpf_program;

/*
 * Puts the calls of functions that are not in every kernel (COMPAT_CALL, bpf/kernel_compat.bpf.h)
 * into a program that is opened and not loaded yet. False: this kernel has none of them, and the
 * program is as it was.
 */
bool load_calls(struct bpf_program *program, const struct kernel_offers *kernel);

/*
 * Opens, configures and loads. 0, or -errno, and *ret_refusal is what the verifier said. Not logged
 * but at debug level.
 */
int load_programs(const struct session_options *options, struct correlator_bpf **ret_skeleton,
		  struct refusal *ret_refusal);

/*
 * Logs why load_programs() failed, with what the verifier said.
 *   -EPERM    a capability is missing (named in the message), or programs are not allowed here
 *   -ENOTSUP  the kernel lacks something (named in the message)
 */
int load_explain(int error, const struct refusal *refusal);

/* Loads for real, and throws all of it away: 0 or -errno as load_programs(). Not logged. */
int load_try(const struct session_options *options, struct refusal *ret_refusal);
