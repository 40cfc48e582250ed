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

/* KVM as the hypervisor, and it keeps the figure: Documentation/virt/kvm/x86/cpuid.rst. */
static bool host_tells_steal_time(void)
{
#ifdef __x86_64__
	enum {
		CPUID_HYPERVISOR = 0x40000000,
		CPUID_KVM_FEATURES = 0x40000001,
		KVM_FEATURE_STEAL_TIME = 5
	};
	unsigned int eax, ebx, ecx, edx;
	char name[12];

	__cpuid(CPUID_HYPERVISOR, eax, ebx, ecx, edx);
	memcpy(name, &ebx, 4);
	memcpy(name + 4, &ecx, 4);
	memcpy(name + 8, &edx, 4);
	if (memcmp(name, "KVMKVMKVM\0\0\0", sizeof(name)) != 0)
		return false;
	__cpuid(CPUID_KVM_FEATURES, eax, ebx, ecx, edx);
	return eax & (1U << KVM_FEATURE_STEAL_TIME);
#else
	return false;
#endif
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
	struct btf *btf = host_tells_steal_time() ? btf__load_vmlinux_btf() : NULL;
	bool is_found = btf && steal_time_locate(btf, ret_offset);

	btf__free(btf);
	return is_found;
}
