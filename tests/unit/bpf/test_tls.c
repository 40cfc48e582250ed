/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a thread's variable is, in the layouts of glibc and musl: bpf/tls.bpf.h. */
#include "bpf/native_kernel.h"

#include "unit_test.h"

#include "kernel_compat.bpf.h"
/* On every machine: the register as a field, and tags in the top byte. */
#define compat_thread_pointer(task) ((task)->thread.fsbase)
#define compat_untag(pointer)	    ((pointer) & ~(UINT64_C(0xff) << 56))

#include "tls.bpf.h"

#include "recorder/target/forged_memory.h"

UNIT_TEST_ALONE;

enum {
	MODULES = 3,
	BLOCK_BYTES = 64,
	OFFSET = 24,
	POINTER_AT = 8, /* of the DTV's address, from the thread pointer */
	NOT_YET = 1, /* glibc: the block is not made before it is touched */
};

struct dtv {
	uint64_t address;
	uint64_t blocks[MODULES + 1];
};

static struct forged_memory memory;
static struct task_struct task;
static struct tls_location tls;
static struct dtv dtv;

long native_read_user(void *buffer, __u32 size_bytes, const void *address)
{
	const struct memory_reader reader = forged_reader(&memory);
	int r = forged_read(&reader, (uint64_t)address, buffer, size_bytes);

	if (r < 0)
		memset(buffer, 0, size_bytes);
	return r;
}

void *native_find(const void *map, const void *key)
{
	(void)map;
	(void)key;
	return NULL;
}

static void write_block(uint64_t module, uint64_t block)
{
	forged_write_u64(&memory, dtv.address + module * tls.dtv_entry_bytes, block);
}

static void set_dtv(uint64_t address)
{
	forged_write_u64(&memory, task.thread.fsbase + POINTER_AT, address);
}

/* The length, then the blocks of modules 1 to MODULES. */
static void make_dtv(uint32_t entry_bytes, uint32_t has_length)
{
	uint64_t place;

	memset(&memory, 0, sizeof(memory));
	task.thread.fsbase = forged_take(&memory, BLOCK_BYTES);
	place = forged_take(&memory, (MODULES + 2) * (size_t)entry_bytes);
	tls = (struct tls_location){ .model = TLS_MODEL_DYNAMIC,
				     .dtv_pointer_offset = POINTER_AT,
				     .dtv_entry_bytes = entry_bytes,
				     .dtv_has_length = has_length,
				     .offset = OFFSET };
	dtv.address = place + entry_bytes;
	forged_write_u64(&memory, has_length ? place : dtv.address, MODULES);
	set_dtv(dtv.address);
	for (uint64_t module = 1; module <= MODULES; module++) {
		dtv.blocks[module] = forged_take(&memory, BLOCK_BYTES);
		write_block(module, dtv.blocks[module]);
	}
}

static uint32_t locate(uint64_t module, __u64 *ret_address)
{
	tls.module = module;
	return tls_locate(&tls, &task, ret_address);
}

static void make_glibc(void)
{
	make_dtv(16, 1);
}

static void make_musl(void)
{
	make_dtv(8, 0);
}

static void (*const layouts[])(void) = { make_glibc, make_musl };

TEST(tls_finds_variable_in_block_of_each_module)
{
	__u64 address;

	for (size_t i = 0; i < 2; i++) {
		layouts[i]();
		for (uint64_t module = 1; module <= MODULES; module++) {
			assert_int_equal(locate(module, &address), TLS_RESOLVED);
			assert_int_equal(address, dtv.blocks[module] + OFFSET);
		}
		tls.offset = -OFFSET;
		assert_int_equal(locate(2, &address), TLS_RESOLVED);
		assert_int_equal(address, dtv.blocks[2] - OFFSET);
	}
}

/* musl: below it. */
TEST(tls_accepts_dtv_pointer_on_either_side_of_thread_pointer)
{
	__u64 address;

	make_musl();
	task.thread.fsbase += 2 * (uint64_t)POINTER_AT;
	tls.dtv_pointer_offset = -POINTER_AT;
	assert_int_equal(locate(2, &address), TLS_RESOLVED);
	assert_int_equal(address, dtv.blocks[2] + OFFSET);
}

TEST(tls_is_unallocated_before_thread_sees_dlopen)
{
	__u64 address;

	for (size_t i = 0; i < 2; i++) {
		layouts[i]();
		/* What lies there is not its own. */
		write_block(MODULES + 1, dtv.blocks[1]);
		assert_int_equal(locate(MODULES + 1, &address), TLS_UNALLOCATED);
	}
}

TEST(tls_is_unallocated_if_block_was_never_touched)
{
	const uint64_t values[] = { 0, UINT64_MAX, NOT_YET };
	__u64 address;

	for (size_t i = 0; i < 3; i++) {
		make_glibc();
		write_block(2, values[i]);
		assert_int_equal(locate(2, &address), TLS_UNALLOCATED);
	}
}

TEST(tls_is_unresolved_if_memory_is_unreadable)
{
	const uint64_t pointers[] = { 0, 8, FORGED_BASE + 1, FORGED_BASE + FORGED_BYTES + 4096 };
	__u64 address, last = FORGED_BASE + FORGED_BYTES;

	for (size_t i = 0; i < 4; i++) {
		make_glibc();
		set_dtv(pointers[i]);
		assert_int_equal(locate(2, &address), TLS_UNRESOLVED);
	}
	/* Its length is there still, */
	make_glibc();
	forged_write_u64(&memory, last - tls.dtv_entry_bytes, MODULES);
	set_dtv(last);
	assert_int_equal(locate(2, &address), TLS_UNRESOLVED);
	/* or where the thread is is not. */
	task.thread.fsbase = last;
	assert_int_equal(locate(2, &address), TLS_UNRESOLVED);
	task.thread.fsbase = 0;
	assert_int_equal(locate(2, &address), TLS_UNRESOLVED);
	tls.model = TLS_MODEL_STATIC;
	assert_int_equal(locate(0, &address), TLS_UNRESOLVED);
}

/* Fails, and leaves what looks like an answer. */
static long read_in_vain(struct task_struct *of, __u64 address, __u64 *ret_word)
{
	long r = tls_read_current(of, address, ret_word);

	return address == of->thread.fsbase + POINTER_AT ? -EFAULT : r;
}

TEST(tls_ignores_result_of_failed_read)
{
	__u64 address;

	make_glibc();
	tls.module = 2;
	assert_int_equal(tls_locate_by(tls_read_current, &tls, &task, &address), TLS_RESOLVED);
	assert_int_equal(tls_locate_by(read_in_vain, &tls, &task, &address), TLS_UNRESOLVED);
}

TEST(tls_strips_tags_from_addresses)
{
	__u64 address;

	make_glibc();
	set_dtv(dtv.address | UINT64_C(0x5a) << 56);
	write_block(2, dtv.blocks[2] | UINT64_C(0xa5) << 56);
	assert_int_equal(locate(2, &address), TLS_RESOLVED);
	assert_int_equal(address, dtv.blocks[2] + OFFSET);
}

TEST(tls_does_not_follow_misaligned_pointer)
{
	__u64 address;

	make_glibc();
	/* As of a DTV one byte on, whose words are those of this one. */
	memmove(memory.bytes + 1, memory.bytes, FORGED_BYTES - 1);
	task.thread.fsbase++;
	set_dtv(dtv.address + 1);
	assert_int_equal(locate(2, &address), TLS_UNRESOLVED);
}

TEST(tls_finds_static_variable_beside_thread_pointer)
{
	__u64 address;

	make_glibc();
	tls.model = TLS_MODEL_STATIC;
	assert_int_equal(locate(0, &address), TLS_RESOLVED);
	assert_int_equal(address, task.thread.fsbase + OFFSET);
	tls.offset = -OFFSET;
	assert_int_equal(locate(0, &address), TLS_RESOLVED);
	assert_int_equal(address, task.thread.fsbase - OFFSET);
}

TEST(tls_is_unresolved_without_location)
{
	__u64 address;

	make_glibc();
	tls.model = TLS_MODEL_NONE;
	assert_int_equal(locate(2, &address), TLS_UNRESOLVED);
}
