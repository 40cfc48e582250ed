/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the host writes what it stole, by types as a kernel's and as none has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"
#include <bpf/btf.h>

#include "recorder/probe/open_session.h"

/* Types of a kernel whose per-CPU section has these variables, each 64 bytes behind the last. */
static struct btf *make_types(const char *section, const char *const *names, size_t count,
			      uint32_t begin)
{
	struct btf *btf = btf__new_empty();
	int integer, variables[4];

	assert_non_null(btf);
	integer = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	assert_true(integer > 0);
	for (size_t i = 0; i < count; i++)
		variables[i] = btf__add_var(btf, names[i], BTF_VAR_GLOBAL_ALLOCATED, integer);
	assert_true(btf__add_datasec(btf, section, 4096) > 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(
			btf__add_datasec_var_info(btf, variables[i], begin + 64 * (uint32_t)i, 8),
			0);
	return btf;
}

static bool locate(const char *section, const char *const *names, size_t count, int64_t *ret_offset)
{
	struct btf *btf = make_types(section, names, count, 128);
	bool is_found = percpu_locate(btf, "steal_time", ret_offset);

	btf__free(btf);
	return is_found;
}

TEST(steal_time_offset_is_relative_to_run_queue)
{
	static const char *const before[] = { "steal_time", "other", "runqueues" };
	static const char *const behind[] = { "runqueues", "steal_time" };
	static const char *const first[] = { "other", "another", "runqueues", "steal_time" };
	int64_t offset = 0;

	assert_true(locate(".data..percpu", before, 3, &offset));
	assert_int_equal(offset, -128);
	assert_true(locate(".data..percpu", behind, 2, &offset));
	assert_int_equal(offset, 64);
	assert_true(locate(".data..percpu", first, 4, &offset));
	assert_int_equal(offset, 64);
}

TEST(steal_time_is_not_located_without_both_variables)
{
	static const char *const one[] = { "steal_time", "other" };
	static const char *const other[] = { "other", "runqueues" };
	static const char *const both[] = { "steal_time", "runqueues" };
	int64_t offset = 77;

	assert_false(locate(".data..percpu", one, 2, &offset));
	assert_false(locate(".data..percpu", other, 2, &offset));
	assert_false(locate(".data..percpu", NULL, 0, &offset));
	assert_false(locate(".data", both, 2, &offset));
	assert_int_equal(offset, 77);
}

/* What cpuid(1) shows as "KVMKVMKVM": Documentation/virt/kvm/x86/cpuid.rst. */
static const struct cpuid kvm = { .ebx = 0x4b4d564b, .ecx = 0x564b4d56, .edx = 0x4d };
static struct cpuid hypervisor, features;

static void read_cpuid(uint32_t leaf, struct cpuid *ret)
{
	/* Neither leaf says anything of what another hypervisor has elsewhere. */
	*ret = (struct cpuid){ .eax = ~0U, .ebx = kvm.ebx, .ecx = kvm.ecx, .edx = kvm.edx + 1 };
	if (leaf == 0x40000000)
		*ret = hypervisor;
	else if (leaf == 0x40000001)
		*ret = features;
}

TEST(steal_time_is_reported_if_kvm_feature_bit_is_set)
{
	hypervisor = kvm;
	for (uint32_t bit = 0; bit < 32; bit++) {
		features = (struct cpuid){ .eax = 1U << bit };
		assert_int_equal(steal_time_is_told(read_cpuid), bit == 5);
		features.eax = ~features.eax;
		assert_int_equal(steal_time_is_told(read_cpuid), bit != 5);
	}
	features = (struct cpuid){ .ebx = ~0U, .ecx = ~0U, .edx = ~0U };
	assert_false(steal_time_is_told(read_cpuid));
}

/* There the same bit means something else. */
TEST(steal_time_is_not_reported_by_other_hypervisor)
{
	features = (struct cpuid){ .eax = ~0U };
	hypervisor = (struct cpuid){ .ebx = kvm.ecx, .ecx = kvm.ebx, .edx = kvm.edx };
	assert_false(steal_time_is_told(read_cpuid));
	for (size_t i = 0; i < 12; i++) {
		hypervisor = kvm;
		((char *)&hypervisor.ebx)[i] ^= 1;
		assert_false(steal_time_is_told(read_cpuid));
	}
	hypervisor = (struct cpuid){ 0 };
	assert_false(steal_time_is_told(read_cpuid));
}

/* The manufacturer as the kernel read it; none = no processor of x86. */
static void read_vendor(char ret_vendor[static 64])
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	assert_non_null(file);
	*ret_vendor = '\0';
	while (!*ret_vendor && fgets(line, sizeof(line), file))
		(void)sscanf(line, "vendor_id : %63s", ret_vendor);
	(void)fclose(file);
}

/* Leaf 0: the manufacturer's name, in the order of Intel's manual. */
TEST(steal_time_cpuid_returns_vendor_of_processor)
{
	struct cpuid cpuid = { .ebx = ~0U };
	char expected[64], vendor[13] = "";

	read_vendor(expected);
	steal_time_read_cpuid(0, &cpuid);
	memcpy(vendor, &cpuid.ebx, 4);
	memcpy(vendor + 4, &cpuid.edx, 4);
	memcpy(vendor + 8, &cpuid.ecx, 4);
	assert_string_equal(vendor, expected);
}
