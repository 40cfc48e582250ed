/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether KVM's host reports the time that it took from each CPU of this guest. */
#include <string.h>

#include <bpf/btf.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "recorder/probe/open_session.h"

void steal_time_read_cpuid(uint32_t leaf, struct cpuid *ret)
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
	static const char kvm[3 * sizeof(uint32_t)] = "KVMKVMKVM";
	struct cpuid cpuid;

	read(CPUID_HYPERVISOR, &cpuid);
	if (memcmp((uint32_t[]){ cpuid.ebx, cpuid.ecx, cpuid.edx }, kvm, sizeof(kvm)) != 0)
		return false;
	read(CPUID_KVM_FEATURES, &cpuid);
	return cpuid.eax & (1U << KVM_FEATURE_STEAL_TIME);
}
