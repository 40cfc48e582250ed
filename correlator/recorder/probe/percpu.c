/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locates the kernel's per-CPU variables. Without CONFIG_KALLSYMS_ALL the kernel exports none of
 * their addresses to BPF, but its BTF has the distance of each from the per-CPU run queue, which
 * every task leads to.
 */
#include <errno.h>
#include <string.h>

#include <bpf/btf.h>

#include "recorder/probe/open_session.h"

/* Offset of a per-CPU variable in its section. 0 or -ENOENT. */
static int find_offset(const struct btf *btf, const char *name, int64_t *ret_offset)
{
	int variable = btf__find_by_name_kind(btf, name, BTF_KIND_VAR);
	int section = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *type = section > 0 ? btf__type_by_id(btf, (__u32)section) : NULL;

	if (variable <= 0 || !type)
		return -ENOENT;
	for (int i = 0; i < btf_vlen(type); i++) {
		const struct btf_var_secinfo *info = btf_var_secinfos(type) + i;

		if (info->type != (__u32)variable)
			continue;
		*ret_offset = info->offset;
		return 0;
	}
	return -ENOENT;
}

bool percpu_locate(const struct btf *btf, const char *name, int64_t *ret_offset)
{
	int64_t variable, run_queue;

	if (find_offset(btf, name, &variable) < 0 || find_offset(btf, "runqueues", &run_queue) < 0)
		return false;
	*ret_offset = variable - run_queue;
	return true;
}

/* Offset in bytes of a structure's member, also in an anonymous part of it. 0 or -ENOENT. */
static int find_member(const struct btf *btf, __u32 id, const char *name, int64_t *ret_offset)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	const struct btf_member *members =
		type && btf_is_composite(type) ? btf_members(type) : NULL;

	for (__u32 i = 0; members && i < btf_vlen(type); i++) {
		const char *member = btf__name_by_offset(btf, members[i].name_off);
		int64_t inside = 0;

		if (strcmp(member, name) != 0 &&
		    (member[0] || find_member(btf, members[i].type, name, &inside) < 0))
			continue;
		*ret_offset = btf_member_bit_offset(type, i) / 8 + inside;
		return 0;
	}
	return -ENOENT;
}

uint32_t preempt_count_interrupt_bits(const struct btf *btf)
{
	/*
	 * HARDIRQ_MASK | NMI_MASK, include/linux/preempt.h, v5.15 to v7.2. Since v7.3 what was
	 * there counts how often interrupts were disabled, and this per-CPU variable exists.
	 */
	enum {
		BEFORE_7_3 = 0x00ff0000,
		SINCE_7_3 = 0x1f000000,
	};

	return btf__find_by_name_kind(btf, "local_interrupt_disable_state", BTF_KIND_VAR) > 0
		       ? SINCE_7_3
		       : BEFORE_7_3;
}

bool preempt_count_locate(const struct btf *btf, int64_t *ret_offset)
{
	/* From 6.2 to 6.14 the count is a member of this variable. */
	int hot = btf__find_by_name_kind(btf, "pcpu_hot", BTF_KIND_STRUCT);
	int64_t variable, member;

	if (percpu_locate(btf, "__preempt_count", ret_offset))
		return true;
	if (hot <= 0 || find_member(btf, (__u32)hot, "preempt_count", &member) < 0 ||
	    !percpu_locate(btf, "pcpu_hot", &variable))
		return false;
	*ret_offset = variable + member;
	return true;
}
