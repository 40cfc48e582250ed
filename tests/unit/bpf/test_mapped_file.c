/* SPDX-License-Identifier: GPL-2.0-only */
/* A process's mappings as kernels before 5.17 keep them: bpf/kernel_compat.bpf.h over such a tree.
 */
#include "bpf/native_kernel.h"

#include <string.h>

#include "unit_test.h"

/* Here what is read is ours. */
#undef BPF_CORE_READ
#define BPF_CORE_READ(source, field) ((source)->field)
#undef bpf_core_field_offset
#define bpf_core_field_offset(type, field) offsetof(type, field)
#include "kernel_compat.bpf.h"

UNIT_TEST_ALONE;

enum {
	MAPPINGS = 1000,
	BYTES = 0x2000, /* each of them, and as much is free behind it */
};

static struct vm_area_struct___tree mappings[MAPPINGS];
static struct file files[MAPPINGS];
static struct mm_struct___tree memory;
static struct task_struct task = { .mm = (struct mm_struct *)&memory };

long native_read_user(void *buffer, __u32 size_bytes, const void *address)
{
	(void)buffer;
	(void)size_bytes;
	(void)address;
	return -1;
}

void *native_find(const void *map, const void *key)
{
	(void)map;
	(void)key;
	return NULL;
}

static uint64_t start_of(size_t number)
{
	return 0x10000 + 2 * (uint64_t)BYTES * number;
}

/* A balanced tree of those from first on. */
static struct rb_node *plant(size_t first, size_t count)
{
	size_t middle = first + count / 2;

	if (!count)
		return NULL;
	mappings[middle] = (struct vm_area_struct___tree){
		.vm_start = start_of(middle),
		.vm_end = start_of(middle) + BYTES,
		.vm_file = &files[middle],
		.vm_rb = { .rb_left = plant(first, middle - first),
			   .rb_right = plant(middle + 1, first + count - middle - 1) },
	};
	return &mappings[middle].vm_rb;
}

TEST(mapped_file_is_found_for_each_mapped_address)
{
	struct file *file;

	memory.mm_rb.rb_node = plant(0, MAPPINGS);
	for (size_t i = 0; i < MAPPINGS; i++) {
		assert_int_equal(compat_mapped_file(&task, start_of(i), &file), 0);
		assert_ptr_equal(file, &files[i]);
		assert_int_equal(compat_mapped_file(&task, start_of(i) + BYTES - 1, &file), 0);
		assert_ptr_equal(file, &files[i]);
	}
}

TEST(mapped_file_is_null_for_unmapped_address)
{
	struct file *file;

	memory.mm_rb.rb_node = plant(0, MAPPINGS);
	for (size_t i = 0; i < MAPPINGS; i++) {
		assert_int_equal(compat_mapped_file(&task, start_of(i) + BYTES, &file), 0);
		assert_null(file);
	}
	assert_int_equal(compat_mapped_file(&task, 0, &file), 0);
	assert_null(file);
	memory.mm_rb.rb_node = NULL;
	assert_int_equal(compat_mapped_file(&task, start_of(0), &file), 0);
	assert_null(file);
}
