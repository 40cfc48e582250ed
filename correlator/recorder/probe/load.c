/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/probe/load.h"

#include <errno.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <correlator/io_counts.h>
#include <correlator/stacks.h>
#include <correlator/syscall_counts.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/random.h"
#include "recorder/probe/features.h"
#include "recorder/probe/open_session.h"

enum {
	TRIED_ENTRIES = 16
};

DEFINE_CLEANUP(struct correlator_bpf *, correlator_bpf__destroy);

static int draw_hash_key(struct correlator_bpf *skeleton)
{
	struct context_hash_key key;
	int r = random_bytes(&key, sizeof(key));

	if (r < 0)
		return r;
	memcpy((void *)&skeleton->rodata->hash_key, &key, sizeof(key));
	return 0;
}

static void set_map_sizes(struct correlator_bpf *skeleton, const struct session_options *options)
{
	if (options->contexts_max)
		(void)bpf_map__set_max_entries(skeleton->maps.contexts, options->contexts_max);
	if (options->accounts_max) {
		(void)bpf_map__set_max_entries(skeleton->maps.accounts_a, options->accounts_max);
		(void)bpf_map__set_max_entries(skeleton->maps.accounts_b, options->accounts_max);
	}
	if (!options->watches_otel)
		(void)bpf_map__set_max_entries(skeleton->maps.otel_processes, 1);
	if (options->strangers == STRANGERS_NONE) {
		(void)bpf_map__set_max_entries(skeleton->maps.watched, 1);
		(void)bpf_map__set_max_entries(skeleton->maps.strangers,
					       (uint32_t)sysconf(_SC_PAGESIZE));
	}
	if (options->has_callers)
		(void)bpf_map__set_max_entries(skeleton->maps.tips, TIPS_WITH_STACKS_RING_BYTES);
	if (options->ring_bytes)
		(void)bpf_map__set_max_entries(skeleton->maps.events, options->ring_bytes);
	if (options->stint_ring_bytes)
		(void)bpf_map__set_max_entries(skeleton->maps.stints, options->stint_ring_bytes);
	(void)bpf_map__set_autocreate(skeleton->maps.stints, options->has_timeline);
	(void)bpf_map__set_autocreate(skeleton->maps.stalls, options->stall_least_ns > 0);
}

/* Without the sampler, its maps are not created and its program is not loaded. */
static void set_sampler(struct correlator_bpf *skeleton, bool is_on)
{
	struct bpf_map *maps[] = {
		skeleton->maps.samples,	      skeleton->maps.samples_a,
		skeleton->maps.samples_b,     skeleton->maps.stacks,
		skeleton->maps.stacks_told,   skeleton->maps.stack_scratch,
		skeleton->maps.stack_layouts, skeleton->maps.tips,
		skeleton->maps.tips_told,     skeleton->maps.tip_scratch,
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		(void)bpf_map__set_autocreate(maps[i], is_on);
	(void)bpf_program__set_autoload(skeleton->progs.on_sample, is_on);
}

/* Likewise for the maps and the program of waits. */
static void set_wait_stacks(struct correlator_bpf *skeleton, bool is_on)
{
	(void)bpf_map__set_autocreate(skeleton->maps.waits, is_on);
	(void)bpf_map__set_autocreate(skeleton->maps.waits_a, is_on);
	(void)bpf_map__set_autocreate(skeleton->maps.waits_b, is_on);
	(void)bpf_program__set_autoload(skeleton->progs.on_leaving_cpu, is_on);
}

/* Likewise for the maps of system calls by number. */
static void set_syscalls(struct correlator_bpf *skeleton, bool is_on)
{
	uint32_t room = SYSCALLS_PER_ACCOUNT * bpf_map__max_entries(skeleton->maps.accounts_a);

	(void)bpf_map__set_autocreate(skeleton->maps.syscalls, is_on);
	(void)bpf_map__set_autocreate(skeleton->maps.syscalls_a, is_on);
	(void)bpf_map__set_autocreate(skeleton->maps.syscalls_b, is_on);
	(void)bpf_map__set_max_entries(skeleton->maps.syscalls_a, room);
	(void)bpf_map__set_max_entries(skeleton->maps.syscalls_b, room);
}

/* Likewise for the maps of what is read and written. */
static void set_io(struct correlator_bpf *skeleton, bool is_on)
{
	uint32_t room = IO_PER_ACCOUNT * bpf_map__max_entries(skeleton->maps.accounts_a);

	(void)bpf_map__set_autocreate(skeleton->maps.io, is_on);
	(void)bpf_map__set_autocreate(skeleton->maps.io_a, is_on);
	(void)bpf_map__set_autocreate(skeleton->maps.io_b, is_on);
	(void)bpf_map__set_autocreate(skeleton->maps.io_paths, is_on);
	(void)bpf_map__set_autocreate(skeleton->maps.io_openings, is_on);
	(void)bpf_map__set_max_entries(skeleton->maps.io_a, room);
	(void)bpf_map__set_max_entries(skeleton->maps.io_b, room);
}

/*
 * See COMPAT_CALL (bpf/kernel_compat.bpf.h). The instructions are those of the opened object, not
 * yet loaded. function: 0 = the kernel does not have it. False: it is called, and does not exist.
 */
static bool put_call(struct bpf_program *program, __s32 mark, __s32 function)
{
	struct bpf_insn *instructions = (struct bpf_insn *)bpf_program__insns(program);
	bool is_called = false;

	for (size_t i = 0; i < bpf_program__insn_cnt(program); i++) {
		if (instructions[i].code != (BPF_ALU64 | BPF_MOV | BPF_K) ||
		    instructions[i].imm != mark)
			continue;
		is_called = true;
		if (function)
			instructions[i] = (struct bpf_insn){ .code = BPF_JMP | BPF_CALL,
							     .src_reg = BPF_PSEUDO_KFUNC_CALL,
							     .imm = function };
	}
	return function || !is_called;
}

bool load_calls(struct bpf_program *program, const struct kernel_offers *kernel)
{
	bool is_complete = put_call(program, CALL_PREEMPT_DISABLE, kernel->preempt_disable_id);

	is_complete &= put_call(program, CALL_PREEMPT_ENABLE, kernel->preempt_enable_id);
	is_complete &= put_call(program, CALL_CAST, kernel->cast_id);
	return is_complete;
}

void load_casts(struct correlator_bpf *skeleton, const struct kernel_offers *kernel)
{
	struct session_config *config = (struct session_config *)&skeleton->rodata->session;

	config->can_cast = load_calls(skeleton->progs.on_sched_switch, kernel) &&
			   load_calls(skeleton->progs.on_context_change, kernel);
}

/* Sets what must be known before load: constants, and which programs are wanted. */
static int configure(struct correlator_bpf *skeleton, const struct session_options *options,
		     const struct kernel_offers *kernel)
{
	struct session_config *config = (struct session_config *)&skeleton->rodata->session;

	config->follow_forks = options->follow_forks;
	config->watches_otel = options->watches_otel;
	config->late_keys = options->late_keys;
	config->request_key = options->request_key;
	config->tells_strangers = options->strangers;
	config->has_steal_time = kernel->has_steal_time;
	config->steal_time_offset = kernel->steal_time_offset;
	config->has_timeline = options->has_timeline;
	config->stall_least_ns = options->stall_least_ns;
	config->preempt_count_offset =
		session_wants_wakers(options) ? kernel->preempt_count_offset : 0;
	config->interrupt_bits = kernel->interrupt_bits;
	(void)bpf_program__set_autoload(skeleton->progs.on_waking, session_wants_wakers(options));
	if (options->stall_least_ns)
		(void)bpf_program__set_autoload(kernel->tells_file_faults
							? skeleton->progs.on_file_fault
							: skeleton->progs.on_page_read,
						true);
	(void)bpf_program__set_autoload(skeleton->progs.on_prepare_exec, kernel->tells_execs);
	config->reads_at_exec_calls = !kernel->tells_execs;
	config->has_children = options->has_children;
	(void)bpf_map__set_autocreate(skeleton->maps.origins, options->has_children);
	config->has_stacks = options->stacks_hz > 0;
	config->has_native = options->has_native;
	config->has_callers = options->has_callers;
	config->has_wait_stacks = options->has_wait_stacks;
	set_sampler(skeleton, config->has_stacks);
	set_wait_stacks(skeleton, options->has_wait_stacks);
	if (!options->has_kernel_split) {
		(void)bpf_program__set_autoload(skeleton->progs.on_sys_enter, false);
		(void)bpf_program__set_autoload(skeleton->progs.on_sys_exit, false);
	}
	load_casts(skeleton, kernel);
	config->is_lean = options->is_lean;
	if (options->is_lean)
		(void)bpf_program__set_autoload(skeleton->progs.on_context_change, false);
	(void)bpf_program__set_autoload(skeleton->progs.read_sleepers, kernel->can_read_tasks);
	(void)bpf_program__set_autoload(
		load_calls(skeleton->progs.collect_tasks_undisturbed, kernel)
			? skeleton->progs.collect_tasks_undisturbed
			: skeleton->progs.collect_tasks,
		true);
	set_map_sizes(skeleton, options);
	config->contexts_max = bpf_map__max_entries(skeleton->maps.contexts);
	config->accounts_max = bpf_map__max_entries(skeleton->maps.accounts_a);
	config->has_syscalls = options->counts_syscalls;
	set_syscalls(skeleton, options->counts_syscalls);
	config->has_io = options->counts_io;
	set_io(skeleton, options->counts_io);
	if (kernel->has_uprobe_multi) {
		(void)bpf_program__set_expected_attach_type(
			skeleton->progs.on_context_change,
			(enum bpf_attach_type)FEATURE_ATTACH_TYPE_UPROBE_MULTI);
		(void)bpf_program__set_expected_attach_type(
			skeleton->progs.on_load,
			(enum bpf_attach_type)FEATURE_ATTACH_TYPE_UPROBE_MULTI);
	}
	return draw_hash_key(skeleton);
}

int load_programs(const struct session_options *options, struct correlator_bpf **ret_skeleton,
		  struct refusal *ret_refusal)
{
	_cleanup_(correlator_bpf__destroyp) struct correlator_bpf *skeleton = NULL;
	struct kernel_offers asked;
	int r;

	if (!options->kernel)
		features_ask_kernel(&asked);
	refusal_listen(ret_refusal);
	skeleton = correlator_bpf__open();
	r = skeleton ? configure(skeleton, options, options->kernel ? options->kernel : &asked)
		     : -errno;
	if (r == 0)
		r = correlator_bpf__load(skeleton);
	refusal_listen(NULL);
	if (r == 0)
		*ret_skeleton = TAKE_PTR(skeleton);
	return r;
}

/* Logs each absent feature, with what to do. Returns their number. */
static int name_absent_features(void)
{
	struct feature features[FEATURES_MAX];
	size_t count = features_look(features);
	int absent = 0;

	for (size_t i = 0; i < count; i++) {
		if (features[i].state != FEATURE_ABSENT)
			continue;
		(void)log_error(ENOTSUP, "this kernel lacks %s: %s", features[i].name,
				features[i].remedy);
		absent++;
	}
	return absent;
}

static int quote_verifier(int error, const struct refusal *refusal)
{
	(void)log_error(
		ENOTSUP,
		"the kernel's verifier refuses the program %s (%s); its last lines (-v shows all):",
		refusal->program, strerror(-error));
	for (size_t i = 0; i < REFUSAL_LINES_MAX && refusal->lines[i][0]; i++)
		(void)log_error(ENOTSUP, "  %s", refusal->lines[i]);
	return -ENOTSUP;
}

int load_explain(int error, const struct refusal *refusal)
{
	char missing[256];

	if (error == -EMFILE || error == -ENFILE)
		return log_error_errno(error, "cannot load the BPF programs (allow more open "
					      "files: ulimit -n, or LimitNOFILE= of the unit)");
	if (!refusal->program[0] && (error == -EPERM || error == -EACCES) &&
	    features_missing_capabilities(missing, sizeof(missing)) > 0)
		return log_error(EPERM,
				 "not allowed to load BPF programs: missing %s "
				 "(run as root; `correlator doctor' says how a group may)",
				 missing);
	if (name_absent_features() > 0)
		return -ENOTSUP;
	if (refusal->program[0])
		return quote_verifier(error, refusal);
	if (error == -EPERM || error == -EACCES)
		return log_error(EPERM, "the kernel does not allow BPF programs to be loaded here "
					"(a container or lockdown?); see `correlator doctor`");
	return log_error(ENOTSUP,
			 "the kernel refused the BPF programs: %s; "
			 "`correlator record -v` shows why",
			 strerror(-error));
}

int load_try(const struct session_options *options, struct refusal *ret_refusal)
{
	struct session_options small = *options;
	struct correlator_bpf *skeleton = NULL;
	int r;

	/* The programs are the same, and 60 MB of maps are not prepared for nothing. */
	small.contexts_max = small.accounts_max = TRIED_ENTRIES;
	r = load_programs(&small, &skeleton, ret_refusal);

	correlator_bpf__destroy(skeleton);
	return r;
}
