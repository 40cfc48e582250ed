/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/probe/features.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/rights.h"
#include "recorder/probe/load.h"
#include "recorder/probe/open_session.h"

/* Capability numbers newer than the build machine's headers may know:
 * include/uapi/linux/capability.h. */
enum {
	CAPABILITY_SYS_PTRACE = 19,
	CAPABILITY_SYS_ADMIN = 21,
	CAPABILITY_PERFMON = 38,
	CAPABILITY_BPF = 39
};

static bool has_capability(cap_value_t capability)
{
	cap_t set = cap_get_proc();
	cap_flag_value_t value = CAP_CLEAR;

	if (!set)
		return false;
	(void)cap_get_flag(set, capability, CAP_EFFECTIVE, &value);
	(void)cap_free(set);
	return value == CAP_SET;
}

int features_missing_capabilities(char *ret_names, size_t names_bytes)
{
	static const struct {
		cap_value_t capability;
		const char *name;
		bool admin_is_enough;
	} wanted[] = {
		{ CAPABILITY_BPF, "CAP_BPF", true },
		{ CAPABILITY_PERFMON, "CAP_PERFMON", true },
		{ CAPABILITY_SYS_PTRACE, "CAP_SYS_PTRACE", false },
	};
	bool is_admin = has_capability(CAPABILITY_SYS_ADMIN);
	size_t used = 0;
	int missing = 0;

	ret_names[0] = '\0';
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (has_capability(wanted[i].capability) || (is_admin && wanted[i].admin_is_enough))
			continue;
		used += (size_t)snprintf(ret_names + used, names_bytes - used, "%s%s",
					 missing ? ", " : "", wanted[i].name);
		if (used >= names_bytes)
			used = names_bytes - 1;
		missing++;
	}
	return missing;
}

bool features_has_helper(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, "bpf_func_id", BTF_KIND_ENUM);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	__u32 count = type ? btf_vlen(type) : 0;

	for (__u32 i = 0; i < count; i++)
		if (!strcmp(btf__name_by_offset(btf, btf_enum(type)[i].name_off), name))
			return true;
	return false;
}

static void find_calls(const struct btf *btf, struct kernel_offers *offers)
{
	int disable = btf__find_by_name_kind(btf, "bpf_preempt_disable", BTF_KIND_FUNC);
	int enable = btf__find_by_name_kind(btf, "bpf_preempt_enable", BTF_KIND_FUNC);
	int cast = btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC);

	if (cast > 0)
		offers->cast_id = cast;
	if (disable <= 0 || enable <= 0)
		return;
	offers->preempt_disable_id = disable;
	offers->preempt_enable_id = enable;
}

/* btf may be NULL. */
static struct kernel_offers find_offers(const struct btf *btf)
{
	struct kernel_offers offers = { 0 };

	if (!btf)
		return offers;
	offers.has_uprobe_multi =
		btf__find_by_name_kind(btf, "bpf_uprobe_multi_link", BTF_KIND_STRUCT) > 0;
	offers.can_read_tasks = features_has_helper(btf, "BPF_FUNC_copy_from_user_task");
	offers.can_walk_stacks = features_has_helper(btf, "BPF_FUNC_loop");
	offers.tells_file_faults =
		btf__find_by_name_kind(btf, "btf_trace_mm_filemap_fault", BTF_KIND_TYPEDEF) > 0;
	offers.tells_execs =
		btf__find_by_name_kind(btf, "btf_trace_sched_prepare_exec", BTF_KIND_TYPEDEF) > 0;
	find_calls(btf, &offers);
	offers.has_steal_time = steal_time_is_told(steal_time_read_cpuid) &&
				percpu_locate(btf, "steal_time", &offers.steal_time_offset);
	(void)preempt_count_locate(btf, &offers.preempt_count_offset);
	offers.interrupt_bits = preempt_count_interrupt_bits(btf);
	return offers;
}

/* Mapping them costs half as much as 1,400 reads of a page; kernels before 6.16 refuse it. */
static struct btf *map_types(void)
{
	_cleanup_fd_ int fd = open(FEATURE_BTF_PATH, O_RDONLY | O_CLOEXEC);
	struct stat status;
	struct btf *btf;
	void *bytes;

	if (fd < 0 || fstat(fd, &status) < 0 || status.st_size <= 0 || status.st_size > UINT32_MAX)
		return NULL;
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (bytes == MAP_FAILED)
		return NULL;
	btf = btf__new(bytes, (__u32)status.st_size);
	(void)munmap(bytes, (size_t)status.st_size);
	return btf;
}

static struct btf *load_types(void)
{
	struct btf *btf = map_types();

	return btf ? btf : btf__load_vmlinux_btf();
}

void features_ask_kernel(struct kernel_offers *ret_offers)
{
	struct btf *btf = load_types();

	*ret_offers = find_offers(btf);
	btf__free(btf);
}

bool features_may_probe(const struct kernel_offers *offers)
{
	return offers->has_uprobe_multi || has_capability(CAPABILITY_SYS_ADMIN);
}

static struct feature *add(struct feature *features, size_t *count, const char *name,
			   enum feature_state state, const char *remedy)
{
	struct feature *feature = &features[(*count)++];

	feature->name = name;
	feature->state = state;
	feature->remedy = remedy;
	feature->detail[0] = '\0';
	return feature;
}

static void look_at_kernel(struct feature *features, size_t *count)
{
	struct utsname system;
	struct feature *feature;

	if (!uname(&system)) {
		feature = add(features, count, "kernel", FEATURE_PRESENT, "");
		(void)snprintf(feature->detail, sizeof(feature->detail), "%.60s %.40s",
			       system.release, system.machine);
	}
	add(features, count, "BTF",
	    access(FEATURE_BTF_PATH, R_OK) ? FEATURE_ABSENT : FEATURE_PRESENT,
	    "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y (5.15 or newer)");
}

/* The order matters: chgrp(1) removes a file's capabilities. */
#define GRANT                                                                          \
	"run as root, or let the members of a group do it: groupadd -rf " RIGHTS_GROUP \
	"; b=$(command -v correlator); chgrp " RIGHTS_GROUP " $b && chmod 750 $b && "  \
	"setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep $b"

/* True if our file grants capabilities to everybody. */
static bool may_everybody_run_it(void)
{
	struct stat status;

	return getauxval(AT_SECURE) && stat("/proc/self/exe", &status) == 0 &&
	       (status.st_mode & S_IXOTH);
}

static void look_at_rights(struct feature *features, size_t *count)
{
	if (!rights_are_given())
		return;
	add(features, count, "processes of others",
	    rights_reach_others() ? FEATURE_PRESENT : FEATURE_OPTIONAL_ABSENT,
	    "only your own are observed: those of others are for root, and members of the group " RIGHTS_GROUP
	    " (usermod -aG " RIGHTS_GROUP " USER, and log in anew)");
	if (may_everybody_run_it())
		add(features, count, "kept to a group", FEATURE_OPTIONAL_ABSENT,
		    "everybody may run this binary, with what it was given: chgrp " RIGHTS_GROUP
		    ", chmod 750, and then setcap again");
}

static void look_at_capabilities(struct feature *features, size_t *count,
				 const struct kernel_offers *offers)
{
	bool is_admin = has_capability(CAPABILITY_SYS_ADMIN);

	add(features, count, "CAP_BPF",
	    is_admin || has_capability(CAPABILITY_BPF) ? FEATURE_PRESENT : FEATURE_ABSENT, GRANT);
	add(features, count, "CAP_PERFMON",
	    is_admin || has_capability(CAPABILITY_PERFMON) ? FEATURE_PRESENT : FEATURE_ABSENT,
	    GRANT);
	add(features, count, "CAP_SYS_PTRACE",
	    has_capability(CAPABILITY_SYS_PTRACE) ? FEATURE_PRESENT : FEATURE_OPTIONAL_ABSENT,
	    "without it only processes of your own user can be read, and where yama's "
	    "kernel.yama.ptrace_scope is 1 not even those");
	if (!features_may_probe(offers))
		add(features, count, "CAP_SYS_ADMIN", FEATURE_OPTIONAL_ABSENT,
		    "before Linux 6.6 uprobes need it: recordings are made as with --lean");
	look_at_rights(features, count);
}

static void look_at_hooks(struct feature *features, size_t *count, const struct btf *btf)
{
	static const struct {
		const char *name;
		const char *type;
		__u32 kind;
		const char *remedy;
		bool is_optional;
	} hooks[] = {
		{ "sched_switch", "btf_trace_sched_switch", BTF_KIND_TYPEDEF,
		  "needs a kernel with tracepoints (CONFIG_TRACEPOINTS=y)", false },
		{ "task_newtask", "btf_trace_task_newtask", BTF_KIND_TYPEDEF,
		  "needs a kernel with tracepoints (CONFIG_TRACEPOINTS=y)", false },
		{ "sched_process_exec", "btf_trace_sched_process_exec", BTF_KIND_TYPEDEF,
		  "needs a kernel with tracepoints (CONFIG_TRACEPOINTS=y)", false },
		{ "sched_process_exit", "btf_trace_sched_process_exit", BTF_KIND_TYPEDEF,
		  "needs a kernel with tracepoints (CONFIG_TRACEPOINTS=y)", false },
		{ "task_rename", "btf_trace_task_rename", BTF_KIND_TYPEDEF,
		  "needs a kernel with tracepoints (CONFIG_TRACEPOINTS=y)", false },
		{ "sys_enter", "btf_trace_sys_enter", BTF_KIND_TYPEDEF,
		  "needs CONFIG_FTRACE_SYSCALLS=y; without it use --no-kernel-split", true },
		{ "sys_exit", "btf_trace_sys_exit", BTF_KIND_TYPEDEF,
		  "needs CONFIG_FTRACE_SYSCALLS=y; without it use --no-kernel-split", true },
		{ "sched_prepare_exec", "btf_trace_sched_prepare_exec", BTF_KIND_TYPEDEF,
		  "before 6.10, with --no-kernel-split, what a thread did right before an exec may be of "
		  "no known context",
		  true },
		{ "task iterator", "bpf_iter__task", BTF_KIND_STRUCT,
		  "needs a kernel of 5.8 or newer", false },
		{ "uprobe", "uprobe", BTF_KIND_STRUCT,
		  "needs CONFIG_UPROBES=y; without it use --lean", true },
		{ "uprobe_multi link", "bpf_uprobe_multi_link", BTF_KIND_STRUCT,
		  "before 6.6 uprobes go by perf events, which cost more and need CAP_SYS_ADMIN",
		  true },
	};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		bool is_there = btf__find_by_name_kind(btf, hooks[i].type, hooks[i].kind) > 0;
		enum feature_state absent =
			hooks[i].is_optional ? FEATURE_OPTIONAL_ABSENT : FEATURE_ABSENT;

		add(features, count, hooks[i].name, is_there ? FEATURE_PRESENT : absent,
		    hooks[i].remedy);
	}
}

static bool has_member(const struct btf *btf, const char *type_name, const char *name)
{
	int id = btf__find_by_name_kind(btf, type_name, BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	for (__u32 i = 0; type && i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), name))
			return true;
	return false;
}

/* arm64's BPF JIT has them since 5.18, x86-64's since 5.12: loading a program shows it. */
static bool has_atomic_fetch(void)
{
	const struct bpf_insn program[] = {
		{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW,
		  .dst_reg = BPF_REG_10,
		  .src_reg = BPF_REG_1,
		  .off = -8,
		  .imm = BPF_FETCH }, /* BPF_ADD is 0 */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, NULL, "GPL", program,
			       sizeof(program) / sizeof(program[0]), NULL);

	if (fd < 0)
		return fd == -EPERM || fd == -EACCES; /* then something else is missing */
	(void)close(fd);
	return true;
}

/* BTF does not show it: 5.10 has the structures, 5.11 the storage for programs other than ours. */
static void look_at_task_storage(struct feature *features, size_t *count)
{
	bool is_there = libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT,
						BPF_FUNC_task_storage_get, NULL) != 0;

	add(features, count, "task storage", is_there ? FEATURE_PRESENT : FEATURE_ABSENT,
	    "needs a kernel of 5.15 or newer");
}

/* Checks the first function, because data can be at 0. */
static bool are_addresses_told(void)
{
	_cleanup_file_ FILE *list = fopen("/proc/kallsyms", "re");
	unsigned long long address = 0;
	char line[1024], type = '\0';

	while (list && type != 'T' && type != 't' && fgets(line, sizeof(line), list))
		if (sscanf(line, "%llx %c", &address, &type) != 2)
			type = '\0';
	return (type == 'T' || type == 't') && address;
}

size_t features_look(struct feature ret_features[static FEATURES_MAX])
{
	struct btf *btf = load_types();
	const struct kernel_offers offers = find_offers(btf);
	size_t count = 0;

	look_at_kernel(ret_features, &count);
	look_at_capabilities(ret_features, &count, &offers);
	if (btf) {
		look_at_hooks(ret_features, &count, btf);
		add(ret_features, &count, "reading of sleeping threads",
		    offers.can_read_tasks ? FEATURE_PRESENT : FEATURE_OPTIONAL_ABSENT,
		    "before 5.18 threads that sleep from the start on are `unknown` until they "
		    "run");
		add(ret_features, &count, "walking of Ruby stacks",
		    offers.can_walk_stacks ? FEATURE_PRESENT : FEATURE_OPTIONAL_ABSENT,
		    "before 5.17 there is no `record --stacks`");
		add(ret_features, &count, "names of the kernel's functions",
		    are_addresses_told() ? FEATURE_PRESENT : FEATURE_OPTIONAL_ABSENT,
		    "/proc/kallsyms hides addresses: the kernel's frames of `record --stacks` are "
		    "`[kernel]`; needs sysctl kernel.kptr_restrict=0, or CAP_SYSLOG");
		add(ret_features, &count, "run-queue time",
		    has_member(btf, "sched_info", "run_delay") ? FEATURE_PRESENT : FEATURE_ABSENT,
		    "boot a kernel built with CONFIG_SCHED_INFO=y (CONFIG_SCHEDSTATS or "
		    "CONFIG_TASK_DELAY_ACCT)");
		btf__free(btf);
	}
	add(ret_features, &count, "atomic operations",
	    has_atomic_fetch() ? FEATURE_PRESENT : FEATURE_ABSENT,
	    "needs a kernel of 5.15 or newer, on arm64 of 5.18");
	look_at_task_storage(ret_features, &count);
	return count;
}
