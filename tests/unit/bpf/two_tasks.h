/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel of two tasks for the programs, compiled natively: the one that runs, and another. What a
 * single program does is seen in the maps of a few processes, the threads' states and the rings.
 * Included once by each test program; whole stories are told by machine/.
 */
#pragma once

#include "bpf/native_kernel.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/target/forged_memory.h"

static uint64_t native_now(void);
static void *native_current(void);
static void *native_storage(const void *map, const void *task, uint64_t flags);
static long native_update(const void *map, const void *key, const void *value, uint64_t flags);
static long native_delete(const void *map, const void *key);
static long native_copy(void *buffer, uint32_t size_bytes, const void *address);
static long native_copy_text(void *buffer, uint32_t size_bytes, const void *address);
static void *native_reserve(const void *ring, uint64_t size_bytes, uint64_t flags);
static void native_submit(const void *event, uint64_t flags);
static bool native_is_in_call(const void *task);
static bool native_is_in_exec(const void *task);
static bool native_is_32_bit_call(const void *task);

#undef bpf_get_current_task_btf
#undef bpf_probe_read_kernel
#undef bpf_ringbuf_reserve
#undef bpf_core_field_exists
#define bpf_core_field_exists(...)		   1
#define bpf_get_current_task_btf()		   ((struct task_struct *)native_current())
#define bpf_ktime_get_ns			   native_now
#define bpf_get_smp_processor_id()		   0
#define bpf_task_storage_get(map, task, start, to) native_storage(map, task, to)
#define bpf_map_update_elem			   native_update
#define bpf_map_delete_elem			   native_delete
#define bpf_probe_read_kernel			   native_copy
#define bpf_probe_read_kernel_str		   native_copy_text
#define bpf_ringbuf_reserve			   native_reserve
#define bpf_ringbuf_submit			   native_submit
#define bpf_ringbuf_output(...)			   0 /* the slices': not looked at */
/* A function of the C library's. */
#define on_exit program_on_exit

#include "kernel_compat.bpf.h"

/* Of registers, which do not exist, and of another machine: tags in the top byte, and a thread
 * pointer that is saved late. */
#define compat_is_in_syscall	      native_is_in_call
#define compat_is_in_exec	      native_is_in_exec
#define compat_call_is_32_bit	      native_is_32_bit_call
#define compat_keeps_thread_pointer() true
#define compat_thread_pointer(task)   ((task)->thread.fsbase)
#define compat_untag(pointer)	      ((pointer) & ~(UINT64_C(0xff) << 56))

/* From here on kernel memory is ours. */
#undef bpf_core_field_offset
#define bpf_core_field_offset(type, field) offsetof(type, field)
#undef BPF_CORE_READ
#define READ_ONE(source, field)			      ((source)->field)
#define READ_TWO(source, first, second)		      ((source)->first->second)
#define READ_THREE(source, first, second, third)      ((source)->first->second->third)
#define READ_MANY(source, one, two, three, name, ...) name
#define BPF_CORE_READ(...)			      READ_MANY(__VA_ARGS__, READ_THREE, READ_TWO, READ_ONE, 0)(__VA_ARGS__)

#include "maps.bpf.h"

#include "bpf/settable_session.h"

#include "lifecycle.bpf.h"
#include "uprobe.bpf.h"
#include "waking.bpf.h"

enum {
	LIFE = 1077, /* of the process of the task that runs, */
	IMAGE = 1078, /* the program that it runs now, */
	TGID = 77,
	TID = 78,
	OWN_TGID = 7, /* and in its own namespace */
	OWN_TID = 8,
	OTHER_LIFE = 1099, /* of the other one */
	OTHER_TGID = 99,
	OTHER_TID = 99,
	FAMILY = 3,
	NOW_NS = 5000000,
	START_TICKS = 1234,
	OTHER_START_TICKS = 5678,
	PROCESSES = 8,
	EVENTS = 8,
};

struct told {
	struct event event;
	const void *ring;
	uint64_t flags;
};

/* What the maps have under one number. */
struct native_process {
	uint64_t life; /* or, in the maps that are by pid, that; 0 = free */
	bool is_pid, has_config, has_books, has_otel, is_watched, has_origin;
	struct process_life known;
	struct process_config config;
	struct process_books books;
	struct otel_config otel;
	struct origin origin;
};

static struct {
	uint64_t now_ns;
	struct task_struct current, other;
	union {
		struct pid pid;
		uint64_t room[8];
	} pids[3]; /* the task's that runs, its leader's, the other one's */
	struct task_struct leader;
	struct rq run_queue;
	struct cfs_rq cfs;
	struct edge_slot edge_slot;
	struct thread_state states[2];
	struct otel_thread otel_states[2];
	bool has_state[2], has_otel_state[2];
	bool has_no_storage, has_no_ring, has_no_slot, is_in_call, is_in_exec, is_32_bit_call;
	struct native_process processes[PROCESSES];
	const void *full; /* map */
	const void *unreadable; /* kernel address */
	const void *dying_at; /* map in which the other one is looked for when it dies */
	/* Of a test's own maps; NULL: it has none. 1: it is none of them. */
	void *(*find)(const void *map, const void *key);
	long (*update)(const void *map, const void *key, const void *value, uint64_t flags);
	bool (*remove)(const void *map, const void *key); /* false: it is none of them */
	struct stall stall; /* the last one */
	size_t stall_count;
	struct told told[EVENTS];
	size_t told_count;
} kernel;

static struct forged_memory memory;

static uint64_t native_now(void)
{
	return kernel.now_ns;
}

static void *native_current(void)
{
	return &kernel.current;
}

static bool native_is_in_call(const void *task)
{
	(void)task;
	return kernel.is_in_call;
}

static bool native_is_in_exec(const void *task)
{
	(void)task;
	return kernel.is_in_exec;
}

static bool native_is_32_bit_call(const void *task)
{
	(void)task;
	return kernel.is_32_bit_call;
}

static void *native_storage(const void *map, const void *task, uint64_t flags)
{
	size_t i = task == &kernel.other;
	bool *is_there;

	if (task != &kernel.current && task != &kernel.other)
		abort();
	is_there = map == &threads ? &kernel.has_state[i] : &kernel.has_otel_state[i];

	if (flags == BPF_LOCAL_STORAGE_GET_F_CREATE && !kernel.has_no_storage)
		*is_there = true;
	if (!*is_there)
		return NULL;
	return map == &threads ? (void *)&kernel.states[i] : (void *)&kernel.otel_states[i];
}

static bool is_by_pid(const void *map)
{
	return map == &watched || map == &lives;
}

static struct native_process *find_free(void)
{
	size_t i = 0;

	while (i < PROCESSES && kernel.processes[i].life)
		i++;
	return i < PROCESSES ? &kernel.processes[i] : NULL;
}

static struct native_process *find_number(uint64_t number, bool is_pid)
{
	for (size_t i = 0; i < PROCESSES; i++)
		if (number && kernel.processes[i].life == number &&
		    kernel.processes[i].is_pid == is_pid)
			return &kernel.processes[i];
	return NULL;
}

static uint64_t number_of(const void *map, const void *key)
{
	return is_by_pid(map) ? *(const uint32_t *)key : *(const uint64_t *)key;
}

static struct native_process *entry_of(const void *map, const void *key)
{
	return find_number(number_of(map, key), is_by_pid(map));
}

static struct native_process *process_of(uint64_t life)
{
	return find_number(life, false);
}

static struct native_process *pid_of(uint32_t tgid)
{
	return find_number(tgid, true);
}

/* Not inlined: the size of a key is that of its map's. */
__attribute__((noipa)) void *native_find(const void *map, const void *key)
{
	struct native_process *process;

	void *found = kernel.find ? kernel.find(map, key) : NULL;

	if (found)
		return found;
	if (map == kernel.dying_at)
		kernel.other.__state = TASK_STATE_DEAD;
	if (map == &edge_slots)
		return kernel.has_no_slot ? NULL : &kernel.edge_slot;
	if (map != &processes && map != &books && map != &otel_processes && map != &watched &&
	    map != &origins && map != &lives)
		return NULL;
	process = entry_of(map, key);
	if (!process)
		return NULL;
	if (map == &processes)
		return process->has_config ? &process->config : NULL;
	if (map == &books)
		return process->has_books ? &process->books : NULL;
	if (map == &otel_processes)
		return process->has_otel ? &process->otel : NULL;
	if (map == &origins)
		return process->has_origin ? &process->origin : NULL;
	if (map == &lives)
		return process->known.life ? &process->known : NULL;
	return process->is_watched ? &process->is_watched : NULL;
}

__attribute__((noipa)) static long native_update(const void *map, const void *key,
						 const void *value, uint64_t flags)
{
	struct native_process *process = entry_of(map, key);
	long r = kernel.update ? kernel.update(map, key, value, flags) : 1;

	if (r <= 0)
		return r;
	if (map == kernel.full || (flags == BPF_EXIST && !native_find(map, key)))
		return -E2BIG;
	if (!process)
		process = find_free();
	if (!process)
		abort();
	process->life = number_of(map, key);
	process->is_pid = is_by_pid(map);
	if (map == &processes) {
		process->config = *(const struct process_config *)value;
		process->has_config = true;
	} else if (map == &books) {
		process->books = *(const struct process_books *)value;
		process->has_books = true;
	} else if (map == &otel_processes) {
		process->otel = *(const struct otel_config *)value;
		process->has_otel = true;
	} else if (map == &origins) {
		process->origin = *(const struct origin *)value;
		process->has_origin = true;
	} else if (map == &lives) {
		process->known = *(const struct process_life *)value;
	} else if (map == &watched) {
		process->is_watched = *(const uint32_t *)value == 1;
	} else {
		abort();
	}
	return 0;
}

__attribute__((noipa)) static long native_delete(const void *map, const void *key)
{
	struct native_process *process = entry_of(map, key);

	if (kernel.remove && kernel.remove(map, key))
		return 0;
	if (!process)
		return -ENOENT;
	if (map == &books)
		process->has_books = false;
	else if (map == &otel_processes)
		process->has_otel = false;
	else if (map == &watched)
		process->is_watched = false;
	else if (map == &origins)
		process->has_origin = false;
	else
		abort();
	return 0;
}

/* As the kernel's: what cannot be read is zeroed. */
static long native_copy(void *buffer, uint32_t size_bytes, const void *address)
{
	if (address == kernel.unreadable) {
		memset(buffer, 0, size_bytes);
		return -EFAULT;
	}
	memcpy(buffer, address, size_bytes);
	return 0;
}

static long native_copy_text(void *buffer, uint32_t size_bytes, const void *address)
{
	if (address == kernel.unreadable || size_bytes == 0)
		return -EFAULT;
	return 1 + snprintf(buffer, size_bytes, "%s", (const char *)address);
}

/* As the kernel's, which knows no flags here. */
static void *native_reserve(const void *ring, uint64_t size_bytes, uint64_t flags)
{
	struct told *told = &kernel.told[kernel.told_count];

	if (ring == &stalls && !kernel.has_no_ring && size_bytes == sizeof(kernel.stall)) {
		memset(&kernel.stall, 0xa5, sizeof(kernel.stall));
		return &kernel.stall;
	}
	if (kernel.has_no_ring || flags || size_bytes != sizeof(told->event))
		return NULL;
	if (kernel.told_count == EVENTS)
		abort();
	/* What was there before. */
	memset(&told->event, 0xa5, sizeof(told->event));
	told->ring = ring;
	return &told->event;
}

static void native_submit(const void *event, uint64_t flags)
{
	struct told *told = &kernel.told[kernel.told_count];

	if (event == &kernel.stall && flags == BPF_RB_NO_WAKEUP) {
		kernel.stall_count++;
		return;
	}
	kernel.told_count++;
	if (event != &told->event)
		abort();
	told->flags = flags;
}

long native_read_user(void *buffer, __u32 size_bytes, const void *address)
{
	const struct memory_reader reader = forged_reader(&memory);
	int r = forged_read(&reader, (uint64_t)address, buffer, size_bytes);

	if (r < 0)
		memset(buffer, 0, size_bytes);
	return r;
}

static void set_pid(size_t i, unsigned int level, int seen, int own)
{
	struct pid *pid = &kernel.pids[i].pid;

	pid->level = level;
	pid->numbers[0] = (struct upid){ .nr = seen, .ns = (void *)&kernel.pids[0] };
	pid->numbers[level] = (struct upid){ .nr = own, .ns = (void *)&kernel.pids[level] };
}

static void begin_tasks(void)
{
	set_pid(0, 1, TID, OWN_TID);
	set_pid(1, 1, TGID, OWN_TGID);
	set_pid(2, 0, OTHER_TID, OTHER_TID);
	kernel.leader =
		(struct task_struct){ .pid = TGID,
				      .tgid = TGID,
				      .start_boottime = (__u64)START_TICKS * LIFE_NS_PER_TICK,
				      .thread_pid = &kernel.pids[1].pid };
	kernel.leader.group_leader = &kernel.leader;
	kernel.cfs.rq = &kernel.run_queue;
	kernel.current = (struct task_struct){ .se.cfs_rq = &kernel.cfs,
					       .pid = TID,
					       .tgid = TGID,
					       .thread_pid = &kernel.pids[0].pid,
					       .group_leader = &kernel.leader,
					       .mm = (void *)&kernel.current,
					       .comm = "puma worker" };
	kernel.other =
		(struct task_struct){ .pid = OTHER_TID,
				      .tgid = OTHER_TGID,
				      .start_boottime = (__u64)OTHER_START_TICKS * LIFE_NS_PER_TICK,
				      .thread_pid = &kernel.pids[2].pid,
				      .group_leader = &kernel.other,
				      .mm = (void *)&kernel.other,
				      .comm = "the other" };
}

/* The task that runs is a thread of an observed process whose contexts can be read. */
static int begin_two_tasks(void **state)
{
	struct thread_state *thread = &kernel.states[0];

	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	memset(&memory, 0, sizeof(memory));
	memset(&native_session, 0, sizeof(native_session));
	memset(&processes_share, 0, sizeof(processes_share));
	memset(&stalls_paid_ns, 0, sizeof(stalls_paid_ns));
	observer_level = 0;
	observer_namespace = 0;
	generation = 5;
	current_epoch = open_epoch = 0;
	leaving_threads = is_stopped = 0;
	last_life = OTHER_LIFE - 1;
	observer_boot_offset_ns = 0;
	kernel.now_ns = NOW_NS;
	begin_tasks();
	kernel.processes[0].life = LIFE;
	kernel.processes[0].has_config = kernel.processes[0].has_books = true;
	kernel.processes[0].config = (struct process_config){ .flags = PROCESS_READY,
							      .generation = 1,
							      .reading = 1,
							      .family = FAMILY,
							      .image = IMAGE };
	kernel.processes[0].books.image = IMAGE;
	kernel.processes[1] = (struct native_process){
		.life = TGID,
		.is_pid = true,
		.known = { .life = LIFE, .start_ticks = START_TICKS },
	};
	kernel.has_state[0] = true;
	thread->is_ready = thread->is_begun = 1;
	thread->tgid = TGID;
	thread->life = LIFE;
	thread->image = IMAGE;
	thread->tid = TID;
	thread->serial = 1;
	thread->memory = (uint64_t)(uintptr_t)kernel.current.mm;
	thread->generation = generation;
	thread->config = kernel.processes[0].config;
	thread->clock.mark_ns = NOW_NS - 100;
	thread->clock.mode = THREAD_MODE_USER;
	thread->tls_resolution = TLS_RESOLVED;
	thread->tls_address = forged_take(&memory, sizeof(uint64_t));
	return 0;
}
