/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel answers about ourselves: bpf/observer.bpf.h over a forged task and its files. */
#include "bpf/native_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

UNIT_TEST_ALONE;

static uint64_t native_now(void);
static long native_copy(void *buffer, uint32_t size_bytes, const void *address);
static long native_copy_text(char *buffer, uint32_t size_bytes, const void *address);

#define bpf_ktime_get_ns native_now
#undef bpf_probe_read_kernel
#define bpf_probe_read_kernel	  native_copy
#define bpf_probe_read_kernel_str native_copy_text

/* Here what is read is ours. */
#undef bpf_core_field_exists
#define bpf_core_field_exists(...) 1
#undef bpf_core_field_offset
#define bpf_core_field_offset(type, field) offsetof(type, field)
#undef BPF_CORE_READ
#define READ_ONE(source, field)			    ((source)->field)
#define READ_TWO(source, first, second)		    ((source)->first->second)
#define READ_MANY(source, first, second, name, ...) name
#define BPF_CORE_READ(...)			    READ_MANY(__VA_ARGS__, READ_TWO, READ_ONE, 0)(__VA_ARGS__)

#include "observer.bpf.h"

enum {
	NOW_NS = 12345,
	LEVEL = 2,
	EXT4_MAGIC = 0xef53,
	PAGE_BYTES = 4096,
};

#define MAPPED_AT UINT64_C(0x7f0000000000)

static struct {
	struct file_system_type type;
	struct super_block super_block;
	struct inode inode;
	struct file file;
	struct vm_area_struct___tree mapping;
	struct mm_struct___tree memory;
	struct time_namespace clocks;
	struct nsproxy namespaces;
} kernel;

static union {
	struct pid pid;
	uint64_t room[1 + 2 * (LEVEL + 1)];
} number;

static uint64_t native_now(void)
{
	return NOW_NS;
}

static long native_copy(void *buffer, uint32_t size_bytes, const void *address)
{
	memcpy(buffer, address, size_bytes);
	return 0;
}

static long native_copy_text(char *buffer, uint32_t size_bytes, const void *address)
{
	(void)snprintf(buffer, size_bytes, "%s", (const char *)address);
	return (long)strlen(buffer) + 1;
}

long native_read_user(void *buffer, __u32 size_bytes, const void *address)
{
	(void)address;
	memset(buffer, 0, size_bytes);
	return -EFAULT;
}

void *native_find(const void *map, const void *key)
{
	(void)map;
	(void)key;
	return NULL;
}

static int set_up(void **state)
{
	struct task_struct *task = bpf_get_current_task_btf();

	(void)state;
	_Static_assert(sizeof(*task) <= sizeof(native_task), "room for a task");
	kernel.type.name = "ext4";
	kernel.super_block = (struct super_block){ .s_magic = EXT4_MAGIC, .s_type = &kernel.type };
	kernel.inode.i_sb = &kernel.super_block;
	kernel.file.f_inode = &kernel.inode;
	kernel.mapping = (struct vm_area_struct___tree){ .vm_start = MAPPED_AT,
							 .vm_end = MAPPED_AT + PAGE_BYTES,
							 .vm_file = &kernel.file };
	kernel.memory.mm_rb.rb_node = &kernel.mapping.vm_rb;
	task->mm = (struct mm_struct *)&kernel.memory;
	task->thread_pid = &number.pid;
	kernel.clocks.offsets.boottime = (struct timespec64){ .tv_sec = 3, .tv_nsec = 4 };
	kernel.namespaces.time_ns = &kernel.clocks;
	task->nsproxy = &kernel.namespaces;
	return 0;
}

static int ask(uint64_t address, uint64_t part)
{
	uint64_t room[2] = { address, part };

	return identify_file((struct bpf_raw_tracepoint_args *)room);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(observer_identifies_deepest_pid_namespace)
{
	number.pid.level = LEVEL;
	for (int level = 0; level <= LEVEL; level++)
		number.pid.numbers[level] =
			(struct upid){ .nr = 100 + level, .ns = (void *)&number.room[level] };
	assert_int_equal(identify_observer(NULL), 0);
	assert_int_equal(observer_level, LEVEL);
	assert_int_equal(observer_namespace, (uintptr_t)&number.room[LEVEL]);
	assert_int_equal(observer_ktime_ns, NOW_NS);
	assert_int_equal(observer_boot_offset_ns, 3000000004);
}

FIXTURE_TEST(observer_reports_inode_address_in_three_parts)
{
	uintptr_t inode = (uintptr_t)&kernel.inode;

	assert_int_equal(ask(MAPPED_AT, 0), inode & 0x3fffff);
	assert_int_equal(ask(MAPPED_AT, 1), inode >> 22 & 0x3fffff);
	assert_int_equal(ask(MAPPED_AT, 2), inode >> 44);
	assert_int_equal(ask(MAPPED_AT, 3), -EINVAL);
	assert_int_equal(ask(MAPPED_AT, UINT64_MAX), -EINVAL);
}

FIXTURE_TEST(observer_reports_no_file_where_none_is_mapped)
{
	for (uint64_t part = 0; part < FILE_INODE_PARTS; part++) {
		assert_int_equal(ask(MAPPED_AT + PAGE_BYTES, part), -ENOENT);
		kernel.mapping.vm_file = NULL;
		assert_int_equal(ask(MAPPED_AT, part), -ENOENT);
		kernel.mapping.vm_file = &kernel.file;
	}
}

FIXTURE_TEST(observer_refuses_fuse_files_except_virtiofs)
{
	static const struct {
		const char *name;
		int status;
	} systems[] = {
		{ "fuse", -EOPNOTSUPP },    { "fuseblk", -EOPNOTSUPP },	  { "virtiofs", 0 },
		{ "virtiof", -EOPNOTSUPP }, { "virtiofsd", -EOPNOTSUPP }, { "", -EOPNOTSUPP },
	};
	int part = ask(MAPPED_AT, 1);

	assert_true(part >= 0);
	for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++) {
		kernel.type.name = systems[i].name;
		kernel.super_block.s_magic = FUSE_MAGIC;
		assert_int_equal(ask(MAPPED_AT, 1), systems[i].status ?: part);
		/* By its name alone no other is. */
		kernel.super_block.s_magic = EXT4_MAGIC;
		assert_int_equal(ask(MAPPED_AT, 1), part);
	}
}
