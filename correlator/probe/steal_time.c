/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where KVM's host writes the time that it took from each CPU of this guest. The kernel exports no
 * address of the per-CPU variable to BPF (CONFIG_KALLSYMS_ALL may be off), but its BTF says how far
 * it is from the per-CPU run queue, to which every task leads.
 */
#include <errno.h>
#include <string.h>

#include <bpf/btf.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "probe/open_session.h"

/* Elsewhere all is 0: no hypervisor has that name. */
static void read_cpuid(uint32_t leaf, struct cpuid *ret)
{
	*ret = (struct cpuid){ 0 };
#ifdef __x86_64__
	__cpuid(leaf, ret->eax, ret->ebx, ret->ecx, ret->edx);
#else
	(void)leaf;
#endif
}

bool steal_time_is_told(read_cpuid_fn read)
{
	enum {
		CPUID_HYPERVISOR = 0x40000000,
		CPUID_KVM_FEATURES = 0x40000001,
		KVM_FEATURE_STEAL_TIME = 5
	};
	struct cpuid cpuid;
	char name[12];

	read(CPUID_HYPERVISOR, &cpuid);
	memcpy(name, &cpuid.ebx, 4);
	memcpy(name + 4, &cpuid.ecx, 4);
	memcpy(name + 8, &cpuid.edx, 4);
	if (memcmp(name, "KVMKVMKVM\0\0\0", sizeof(name)) != 0)
		return false;
	read(CPUID_KVM_FEATURES, &cpuid);
	return cpuid.eax & (1U << KVM_FEATURE_STEAL_TIME);
}

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

bool steal_time_locate(const struct btf *btf, int64_t *ret_offset)
{
	int64_t steal_time, run_queue;

	if (find_offset(btf, "steal_time", &steal_time) < 0 ||
	    find_offset(btf, "runqueues", &run_queue) < 0)
		return false;
	*ret_offset = steal_time - run_queue;
	return true;
}

bool steal_time_find(int64_t *ret_offset)
{
	struct btf *btf = steal_time_is_told(read_cpuid) ? btf__load_vmlinux_btf() : NULL;
	bool is_found = btf && steal_time_locate(btf, ret_offset);

	btf__free(btf);
	return is_found;
}
