/* SPDX-License-Identifier: GPL-2.0-only */
#include "bpf/native_kernel.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "machine.h"

static uint64_t native_now(void);
static uint32_t native_cpu(void);
static void *native_current(void);
static void *native_storage(const void *map, const struct task_struct *task);
static void *native_find_of_cpu(const void *map, uint32_t cpu);
static long native_update(void *map, const void *key, const void *value, uint64_t flags);
static long native_delete(void *map, const void *key);
static long native_copy(void *buffer, uint32_t size_bytes, const void *address);
static void *native_reserve(uint64_t size_bytes);
static void native_submit(const void *event);
static long native_output(const void *data, uint64_t size_bytes);
static int64_t native_call_number(const struct task_struct *task);
static bool native_call_is_32_bit(const struct task_struct *task);
static uint32_t native_file_mode(const struct task_struct *task);
static uint64_t native_start_ticks(const struct task_struct *task);

#undef bpf_get_current_task_btf
#undef bpf_probe_read_kernel
#undef bpf_ringbuf_reserve
#undef bpf_core_field_exists
#undef bpf_core_enum_value_exists
#define bpf_core_field_exists(...)		  1
#define bpf_core_enum_value_exists(...)		  1
#define bpf_get_current_task_btf()		  ((struct task_struct *)native_current())
#define bpf_ktime_get_ns			  native_now
#define bpf_get_smp_processor_id		  native_cpu
#define bpf_task_storage_get(map, task, ...)	  native_storage(map, task)
#define bpf_map_lookup_percpu_elem(map, key, cpu) native_find_of_cpu(map, cpu)
#define bpf_map_update_elem(map, key, value, ...) native_update(map, key, value, __VA_ARGS__)
#define bpf_map_delete_elem			  native_delete
#define bpf_probe_read_kernel			  native_copy
#define bpf_ringbuf_reserve(ring, size, ...)	  native_reserve(size)
#define bpf_ringbuf_submit(event, ...)		  native_submit(event)
#define bpf_ringbuf_output(map, data, size, ...)  native_output(data, size)
#define bpf_copy_from_user_task(...)		  (-EFAULT)
/* A function of the C library's. */
#define on_exit program_on_exit

#include "kernel_compat.bpf.h"
/* Of the registers of a task, which do not exist. */
#define compat_is_in_syscall(task) (native_call_number(task) >= 0)
#define compat_is_in_exec(task)	   (native_call_number(task) == SYS_execve)
#define compat_call(task)	   ((struct compat_call){ native_call_number(task), 0 })
#define compat_call_is_32_bit	   native_call_is_32_bit

#include "identity.bpf.h"
#include "maps.bpf.h"
#include "open_file.bpf.h"
/* By its process, whatever that has run since. */
#define identity_start_ticks native_start_ticks
/* And of the files that it has open. */
#define open_file_mode(task, descriptor) native_file_mode(task)

#include "bpf/settable_session.h"

#include "collect.bpf.h"
#include "lifecycle.bpf.h"
#include "sched.bpf.h"
#include "syscall.bpf.h"
#include "uprobe.bpf.h"

#include "bpf/probe_arguments.h"

enum {
	MAP_ROOM = 512,
	SYSCALLS_ROOM = 4 * MAP_ROOM,
	WAITS_ROOM = 4 * MAP_ROOM,
	NUMBERS = 5, /* of system calls, so far from each other: */
	NUMBERS_APART = 7,
	CONTEXTS_ROOM = 64,
	FAMILY = 7,
	STALL_LEAST_NS = 500,
	KEY = 300 << 4 | 1,
	STRANGERS_PID = 1001,
	VARIABLE_OFFSET = 16,
	COUNTERS_OFFSET = 8, /* from there, */
	CHANGES_WORDS = -1, /* and the count of changes */
	/* How far the run queues' clock is behind ours. */
	CLOCK_SKEW_NS = 1234567,
};

#define THREAD_POINTER	UINT64_C(0x7f5500000000)
#define TABLE		UINT64_C(0x7f6600000000)
#define COUNTERS	UINT64_C(0x7f5600000000)
#define BLOCK_BYTES	UINT64_C(0x1000) /* of a thread's variables, its counters, and a table */
#define PUBLISHER_START UINT64_C(0x7f7700000000)
#define PUBLISHER_END	(PUBLISHER_START + 0x1000)

struct accounts_map {
	struct account_key keys[MAP_ROOM];
	struct account accounts[MAP_ROOM];
	uint32_t count;
};

struct syscalls_map {
	struct syscall_key keys[SYSCALLS_ROOM];
	struct syscall_sums sums[SYSCALLS_ROOM];
	uint32_t count;
};

struct waits_map {
	struct sample_key keys[WAITS_ROOM];
	struct wait_sums sums[WAITS_ROOM];
	uint32_t count;
};

/* Standing of a context in userspace (recorder/observe/window/contexts.h). */
enum context_standing {
	CONTEXT_FORGOTTEN = 0, /* or not met yet */
	CONTEXT_NAMED = 1, /* by the last drain */
	CONTEXT_RETIRED = 2, /* no more: its snapshot was removed, its texts are still there */
	CONTEXT_RETIRED_LONG = 3, /* two drains ago: the next one forgets it */
};

struct machine_process {
	uint64_t life; /* 0 = free */
	bool has_origin;
	struct origin origin;
	struct process_config config;
	struct process_books books;
};

static struct {
	const struct world *world;
	uint32_t cpu; /* that a program runs on */
	struct task_struct *current;
	struct task_struct tasks[THREADS];
	struct task_struct strangers[CPUS];
	char memories[STORY_STEPS_MAX]; /* address spaces: whose is told by where */
	struct thread_state states[THREADS];
	bool has_state[THREADS];
	uint64_t registers[THREADS + CPUS]; /* their addresses are the threads' marks */
	struct cfs_rq cfs[CPUS];
	struct rq run_queues[CPUS];
	struct edge_slot edge_slots[CPUS];
	struct clock_offset clock_offsets[CPUS];
	struct machine_process processes[PROCESSES];
	uint32_t contexts_count;
	bool is_published[CONTEXTS_ROOM]; /* in the map */
	enum context_standing standings[CONTEXTS_ROOM];
	struct process_life lives[TGIDS];
	bool watched[TGIDS];
	uint64_t events[_EVENT_KIND_MAX], event_lives[_EVENT_KIND_MAX];
	uint64_t event_tgids[_EVENT_KIND_MAX], event_details[_EVENT_KIND_MAX];
	struct event event;
	struct stall stall;
	uint64_t wrong_stalls;
	uint32_t stints_count;
	uint64_t last_stack; /* each wait is in one of its own */
	/* What is behind their counts is never looked at, and not cleared. */
	struct accounts_map accounts[2];
	struct syscalls_map syscalls[2];
	struct waits_map waits[2];
	uint64_t hashes[CONTEXTS_ROOM];
	struct context_snapshot snapshots[CONTEXTS_ROOM];
	struct stint stints[LEDGER_STINTS]; /* since the last drain */
} machine;

/* The helpers. */

static uint64_t native_now(void)
{
	return machine.world->now_ns;
}

static uint32_t native_cpu(void)
{
	return machine.cpu;
}

static void *native_current(void)
{
	return machine.current;
}

static int64_t native_call_number(const struct task_struct *task)
{
	static const int64_t numbers[_CALL_MAX] = {
		[CALL_CLONE] = SYS_clone,	 [CALL_READ_SOCKET] = SYS_read,
		[CALL_READ_PIPE] = SYS_readv,	 [CALL_READ_FILE] = SYS_pread64,
		[CALL_READ_TERMINAL] = SYS_read, [CALL_READ_NOTHING] = SYS_read,
		[CALL_CONNECT] = SYS_connect,	 [CALL_POLL] = SYS_ppoll,
		[CALL_FUTEX] = SYS_futex,	 [CALL_NANOSLEEP] = SYS_clock_nanosleep,
		[CALL_WAIT] = SYS_wait4,	 [CALL_FSYNC] = SYS_fsync,
		[CALL_MUNMAP] = SYS_munmap,	 [CALL_FLOCK] = SYS_flock,
		[CALL_32_BIT] = SYS_futex,	 [CALL_UNHEARD_OF] = 100000,
		[CALL_EXEC] = SYS_execve,
	};
	const struct thread *thread = &machine.world->threads[task - machine.tasks];

	return thread->is_in_call ? numbers[thread->call] : -1;
}

static bool native_call_is_32_bit(const struct task_struct *task)
{
	const struct thread *thread = &machine.world->threads[task - machine.tasks];

	/* Of one that enters it, number and way are the story's (on_sys_enter). */
	return thread->cpu == CPUS && thread->is_in_call && thread->call == CALL_32_BIT;
}

static uint32_t native_file_mode(const struct task_struct *task)
{
	switch (machine.world->threads[task - machine.tasks].call) {
	case CALL_READ_SOCKET:
		return S_IFSOCK | 0777;
	case CALL_READ_PIPE:
		return S_IFIFO | 0600;
	case CALL_READ_FILE:
		return S_IFREG | 0644;
	case CALL_READ_TERMINAL:
		return S_IFCHR | 0620;
	default:
		return 0;
	}
}

static uint64_t native_start_ticks(const struct task_struct *task)
{
	return machine.world->threads[task - machine.tasks].started;
}

static void *native_storage(const void *map, const struct task_struct *task)
{
	ptrdiff_t i = task - machine.tasks;

	if (map != &threads || i < 0 || i >= THREADS)
		return NULL;
	return machine.has_state[i] ? &machine.states[i] : NULL;
}

static struct machine_process *find_process(uint64_t life)
{
	for (uint32_t i = 0; i < PROCESSES; i++)
		if (machine.processes[i].life == life)
			return &machine.processes[i];
	return NULL;
}

static uint32_t find_context(uint64_t hash)
{
	uint32_t i = 0;

	while (i < machine.contexts_count && machine.hashes[i] != hash)
		i++;
	return i;
}

static void *find_account(struct accounts_map *map, const struct account_key *key)
{
	for (uint32_t i = 0; i < map->count; i++)
		if (!memcmp(&map->keys[i], key, sizeof(*key)))
			return &map->accounts[i];
	return NULL;
}

static struct syscall_sums *find_syscall(struct syscalls_map *map, const struct syscall_key *key)
{
	for (uint32_t i = 0; i < map->count; i++)
		if (!memcmp(&map->keys[i], key, sizeof(*key)))
			return &map->sums[i];
	return NULL;
}

static struct wait_sums *find_wait(struct waits_map *map, const struct sample_key *key)
{
	for (uint32_t i = 0; i < map->count; i++)
		if (!memcmp(&map->keys[i], key, sizeof(*key)))
			return &map->sums[i];
	return NULL;
}

static void *native_find_of_cpu(const void *map, uint32_t cpu)
{
	if (map == &edge_slots)
		return &machine.edge_slots[cpu];
	return &machine.clock_offsets[cpu];
}

/* Not inlined: the size of a key is that of its map's. */
__attribute__((noipa)) void *native_find(const void *map, const void *key)
{
	struct machine_process *process;

	if (map == &edge_slots || map == &clock_offsets)
		return native_find_of_cpu(map, machine.cpu);
	if (map == &accounts)
		return &machine.accounts[*(const uint32_t *)key];
	if (map == &syscalls)
		return &machine.syscalls[*(const uint32_t *)key];
	if (map == &waits)
		return &machine.waits[*(const uint32_t *)key];
	for (uint32_t i = 0; i < 2; i++) {
		if (map == &machine.accounts[i])
			return find_account(&machine.accounts[i], key);
		if (map == &machine.syscalls[i])
			return find_syscall(&machine.syscalls[i], key);
		if (map == &machine.waits[i])
			return find_wait(&machine.waits[i], key);
	}
	if (map == &contexts) {
		uint32_t i = find_context(*(const uint64_t *)key);

		return i < machine.contexts_count && machine.is_published[i] ? &machine.snapshots[i]
									     : NULL;
	}
	if (map == &lives) {
		struct process_life *known = &machine.lives[*(const uint32_t *)key];

		return known->life ? known : NULL;
	}
	if (map == &watched) {
		bool *is_watched = &machine.watched[*(const uint32_t *)key];

		return *is_watched ? is_watched : NULL;
	}
	if (map != &processes && map != &books && map != &origins)
		abort();
	process = find_process(*(const uint64_t *)key);
	if (!process)
		return NULL;
	if (map == &origins)
		return process->has_origin ? &process->origin : NULL;
	return map == &processes ? (void *)&process->config : (void *)&process->books;
}

static long open_account(struct accounts_map *map, const struct account_key *key,
			 const struct account *account)
{
	if (machine.world->is_full || map->count == MAP_ROOM)
		return -E2BIG;
	if (find_account(map, key))
		return -EEXIST;
	map->keys[map->count] = *key;
	map->accounts[map->count++] = *account;
	return 0;
}

static long open_syscall(struct syscalls_map *map, const struct syscall_key *key,
			 const struct syscall_sums *sums)
{
	if (map->count == SYSCALLS_ROOM || find_syscall(map, key))
		abort();
	map->keys[map->count] = *key;
	map->sums[map->count++] = *sums;
	return 0;
}

static long open_wait(struct waits_map *map, const struct sample_key *key,
		      const struct wait_sums *sums)
{
	if (map->count == WAITS_ROOM || find_wait(map, key))
		abort();
	map->keys[map->count] = *key;
	map->sums[map->count++] = *sums;
	return 0;
}

static long publish_context(uint64_t hash, const struct context_snapshot *snapshot)
{
	uint32_t i = find_context(hash);

	if (i == CONTEXTS_ROOM)
		return -E2BIG;
	if (i < machine.contexts_count && machine.is_published[i])
		return -EEXIST;
	machine.contexts_count += i == machine.contexts_count;
	machine.hashes[i] = hash;
	machine.snapshots[i] = *snapshot;
	machine.is_published[i] = true;
	return 0;
}

__attribute__((noipa)) static long native_update(void *map, const void *key, const void *value,
						 uint64_t flags)
{
	struct machine_process *process;

	for (uint32_t i = 0; i < 2; i++) {
		if (map == &machine.accounts[i])
			return open_account(&machine.accounts[i], key, value);
		if (map == &machine.syscalls[i])
			return open_syscall(&machine.syscalls[i], key, value);
		if (map == &machine.waits[i])
			return open_wait(&machine.waits[i], key, value);
	}
	if (map == &contexts)
		return publish_context(*(const uint64_t *)key, value);
	if (map == &lives) {
		machine.lives[*(const uint32_t *)key] = *(const struct process_life *)value;
		return 0;
	}
	if (map == &watched) {
		machine.watched[*(const uint32_t *)key] = true;
		return 0;
	}
	if (map != &processes && map != &books && map != &origins)
		abort();
	process = find_process(*(const uint64_t *)key);
	if (!process && flags != BPF_EXIST)
		process = find_process(0);
	if (!process)
		return -ENOENT;
	process->life = *(const uint64_t *)key;
	if (map == &origins) {
		process->has_origin = true;
		process->origin = *(const struct origin *)value;
	} else if (map == &processes)
		process->config = *(const struct process_config *)value;
	else
		process->books = *(const struct process_books *)value;
	return 0;
}

__attribute__((noipa)) static long native_delete(void *map, const void *key)
{
	if (map == &watched)
		machine.watched[*(const uint32_t *)key] = false;
	for (uint32_t i = 0; i < 2; i++) {
		struct accounts_map *from = &machine.accounts[i];
		struct account *account = map == from ? find_account(from, key) : NULL;

		if (!account)
			continue;
		from->count--;
		from->keys[account - from->accounts] = from->keys[from->count];
		*account = from->accounts[from->count];
	}
	return 0;
}

static long native_copy(void *buffer, uint32_t size_bytes, const void *address)
{
	if ((uintptr_t)address < UINT16_MAX)
		return -EFAULT;
	memcpy(buffer, address, size_bytes);
	return 0;
}

static void *native_reserve(uint64_t size_bytes)
{
	if (size_bytes == sizeof(machine.event))
		return &machine.event;
	return size_bytes == sizeof(machine.stall) ? &machine.stall : NULL;
}

/* A wait is told as what was charged for it: blocked or waiting for a CPU, all the time. */
static void submit_stall(const struct stall *stall)
{
	/* A hog's parts leave out stolen time, so they need not add up. */
	if (stall->flags & STALL_IS_HOG)
		return;
	if (stall->end_ns < stall->start_ns + native_session.stall_least_ns ||
	    stall->blocked_ns + stall->run_queue_ns != stall->end_ns - stall->start_ns ||
	    stall->context_hash < CONTEXT_HASH_FIRST)
		machine.wrong_stalls++;
}

static void native_submit(const void *event)
{
	if (event == &machine.stall) {
		submit_stall(event);
		return;
	}
	machine.events[machine.event.kind]++;
	machine.event_lives[machine.event.kind] += machine.event.life;
	machine.event_tgids[machine.event.kind] += machine.event.tgid + machine.event.parent_tgid;
	machine.event_details[machine.event.kind] += machine.event.detail;
	/* Of whom it is, when. */
	if (machine.event.ktime_ns != machine.world->now_ns)
		abort();
	if (machine.event.kind != EVENT_KIND_STRANGER && !atoi(machine.event.comm))
		abort();
}

static long native_output(const void *data, uint64_t size_bytes)
{
	if (size_bytes != sizeof(struct stint) || machine.stints_count == LEDGER_STINTS)
		abort();
	memcpy(&machine.stints[machine.stints_count++], data, size_bytes);
	return 0;
}

/* User memory: a thread's counters, and where they are. */
static bool read_counters(void *buffer, uint64_t size_bytes, uint64_t at)
{
	uint64_t counted = (at - COUNTERS) / BLOCK_BYTES;
	uint64_t thread = (at - THREAD_POINTER) / BLOCK_BYTES;
	const struct thread *from;
	struct gem_thread counters;
	uint32_t flags;

	if (at >= COUNTERS && counted < THREADS && !machine.world->threads[counted].is_hidden) {
		from = &machine.world->threads[counted];
		flags = (from->counts_gvl ? GEM_THREAD_COUNTS_GVL : 0) |
			(from->times_gc ? GEM_THREAD_TIMES_GC : 0);
		counters = (struct gem_thread){ .version = 1,
						.flags = flags,
						.serial = from->serial,
						.ready_ns = from->ready_ns,
						.wait_ns = from->wait_ns,
						.waits = from->waits,
						.gc_time = from->gc_time,
						.gc_runs = from->gc_runs };
		memcpy(buffer, (const char *)&counters + (at - COUNTERS) % BLOCK_BYTES, size_bytes);
		return true;
	}
	if (at < THREAD_POINTER || thread >= THREADS ||
	    at % BLOCK_BYTES != VARIABLE_OFFSET + COUNTERS_OFFSET ||
	    machine.world->threads[thread].is_hidden)
		return false;
	if (machine.world->threads[thread].has_counters)
		counted = COUNTERS + thread * BLOCK_BYTES;
	else
		counted = 0;
	memcpy(buffer, &counted, size_bytes);
	return true;
}

/* The address of a table, and a number that another table there does not have. */
static uint64_t address_of(uint32_t table)
{
	return table ? TABLE + table * BLOCK_BYTES : 0;
}

static uint64_t serial_of(uint32_t table)
{
	return table ? 1 + table + (uint64_t)(TABLES + 1) * machine.world->values[table] : 0;
}

/* User memory: each thread's variable, and the tables. */
__attribute__((noipa)) long native_read_user(void *buffer, __u32 size_bytes, const void *address)
{
	uint64_t at = (uint64_t)(uintptr_t)address, words[64] = { 1, 2, [4] = KEY };
	uint64_t thread = (at - THREAD_POINTER) / BLOCK_BYTES;
	uint64_t table = (at - TABLE) / BLOCK_BYTES;

	memset(buffer, 0, size_bytes);
	if (read_counters(buffer, size_bytes, at))
		return 0;
	if (at >= TABLE && table <= TABLES) {
		words[5] = machine.world->values[table] << 1 | 1;
		memcpy(buffer, (const char *)words + at % BLOCK_BYTES, size_bytes);
		return 0;
	}
	if (at < THREAD_POINTER || thread >= THREADS || machine.world->threads[thread].is_hidden)
		return -EFAULT;
	/* At the address that the last program had it at, the next one has whatever it likes. */
	table = machine.world->threads[thread].has_new_memory
			? 1
			: machine.world->threads[thread].table;
	words[VARIABLE_OFFSET / 8] = address_of(table);
	words[VARIABLE_OFFSET / 8 + CHANGES_WORDS] = machine.world->threads[thread].changes;
	memcpy(buffer, (const char *)words + at % BLOCK_BYTES, size_bytes);
	return 0;
}

/* What the kernel shows of the world. */

static void show_thread(uint32_t i)
{
	const struct thread *thread = &machine.world->threads[i];
	struct task_struct *task = &machine.tasks[i];

	(void)snprintf(task->comm, sizeof(task->comm), "%u", thread->serial);
	task->pid = (int)thread->tid;
	task->tgid = (int)machine.world->processes[thread->process].tgid;
	task->__state = thread->state;
	task->on_cpu = thread->cpu != CPUS;
	task->on_rq = task->on_cpu || thread->is_queued;
	task->mm = thread->has_no_memory ? NULL : (void *)&machine.memories[thread->image];
	task->se.sum_exec_runtime = thread->exec_ns;
	task->se.exec_start = thread->exec_start_ns - CLOCK_SKEW_NS;
	task->sched_info.run_delay = thread->run_delay_ns;
	task->sched_info.last_arrival = thread->arrived_ns - CLOCK_SKEW_NS;
	task->nvcsw = thread->voluntary;
	task->nivcsw = thread->involuntary;
	task->thread.fsbase = THREAD_POINTER + i * BLOCK_BYTES;
	if (task->on_cpu)
		task->se.cfs_rq = &machine.cfs[thread->cpu];
}

static void show_cpu(uint32_t cpu)
{
	const struct cpu *from = &machine.world->cpus[cpu];

	machine.run_queues[cpu].clock = from->clock_ns - CLOCK_SKEW_NS;
	machine.run_queues[cpu].clock_task = from->clock_ns - CLOCK_SKEW_NS - from->stolen_ns;
}

static struct task_struct *task_of(uint32_t thread, uint32_t cpu)
{
	return thread == NOBODY ? &machine.strangers[cpu] : &machine.tasks[thread];
}

static void show(const struct world *world)
{
	machine.world = world;
	for (uint32_t i = 0; i < THREADS; i++)
		show_thread(i);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		show_cpu(cpu);
}

/* The programs, with what the tracepoints give them. */

/* Another value means something to the kernel, of an iterator's: go on, or again. */
static void end_program(int value)
{
	if (value)
		abort();
}

static void go_to(uint32_t cpu)
{
	machine.cpu = cpu;
	machine.current = task_of(machine.world->cpus[cpu].thread, cpu);
}

static void switch_tasks(const struct happening *happening)
{
	struct task_struct *from = task_of(happening->thread, happening->cpu);
	struct task_struct *to = task_of(happening->next, happening->cpu);
	unsigned long long arguments[] = { happening->is_preempted, (uintptr_t)from,
					   (uintptr_t)to };

	from->se.cfs_rq = to->se.cfs_rq = &machine.cfs[happening->cpu];
	if (happening->is_reported && happening->thread < THREADS)
		machine.states[happening->thread].waited.next_stack =
			STACK_NO_RUBY + ++machine.last_stack;
	if (happening->is_reported)
		end_program(on_sched_switch(arguments));
	/* Its storage goes with the task; the programs that are stopped leave it. */
	if (happening->is_last) {
		machine.has_state[happening->thread] = false;
		memset(&machine.states[happening->thread], 0, sizeof(machine.states[0]));
	}
}

static void pass_edge(const struct happening *happening)
{
	uint32_t mark = happening->thread == NOBODY ? THREADS + happening->cpu : happening->thread;
	uint64_t number = NUMBERS_APART * (machine.world->now_ns % NUMBERS);
	unsigned long long arguments[] = { (uintptr_t)&machine.registers[mark], number };

	if (!machine.world->sees_edges)
		return;
	if (happening->thread != NOBODY &&
	    machine.world->threads[happening->thread].call == CALL_EXEC)
		arguments[1] = SYS_execve;
	if (happening->kind == STEP_ENTER)
		end_program(on_sys_enter(arguments));
	else
		end_program(on_sys_exit(arguments));
}

static void pass_probe(const struct happening *happening)
{
	const struct thread *thread = &machine.world->threads[happening->thread];
	struct uprobe_registers registers = { .instruction_pointer = PUBLISHER_START };

	set_argument(&registers, 1, address_of(thread->next_table));
	set_argument(&registers, 3, thread->is_hidden ? 0 : serial_of(thread->next_table));
	end_program(on_context_change(&registers));
}

static void make_thread(const struct happening *happening)
{
	unsigned long long arguments[] = { (uintptr_t)&machine.tasks[happening->next], 0 };

	machine.has_state[happening->next] = machine.world->threads[happening->next].is_observed;
	if (happening->kind == STEP_FORK)
		machine.tasks[happening->next].tgid = machine.tasks[happening->next].pid;
	end_program(on_new_task(arguments));
	machine.has_state[happening->next] = machine.states[happening->next].is_ready;
}

static void of_current(int (*program)(unsigned long long *context))
{
	unsigned long long arguments[] = { (uintptr_t)machine.current, 0 };

	end_program(program(arguments));
}

/* An exec in its steps: it tells; its memory is another; it has the program's name, and tells. */
static void go_through_exec(const struct thread *thread)
{
	if (!thread->is_in_exec) {
		if (machine.world->mode.tells_execs)
			of_current(on_prepare_exec);
	} else if (thread->has_new_memory) {
		of_current(on_rename);
		of_current(on_exec);
	}
}

static void interrupt_all(void)
{
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		go_to(cpu);
		end_program(collect_current(NULL));
	}
}

/* Those that are on their way out may be off the list of tasks. */
static void iterate(uint32_t phase)
{
	collect_phase = phase;
	stragglers = 0;
	go_to(0);
	machine.current = &machine.strangers[0];
	for (uint32_t i = 0; i < THREADS; i++) {
		struct bpf_iter__task context = { .task = &machine.tasks[i] };

		if (machine.world->threads[i].is_living && !machine.world->threads[i].is_leaving)
			end_program(phase == COLLECT_PHASE_FLUSH
					    ? collect_tasks(&context)
					    : collect_tasks_undisturbed(&context));
	}
}

static void flush(void)
{
	seeks_mode = machine.world->seeks_mode;
	interrupt_all();
	iterate(COLLECT_PHASE_FLUSH);
	iterate(COLLECT_PHASE_FLUSH_LATE);
	seeks_mode = 0;
	open_epoch = current_epoch;
}

/* Userspace. */

static void configure(uint32_t i)
{
	const struct process *process = &machine.world->processes[i];
	struct machine_process *known =
		process->standing == PROCESS_OBSERVED ? find_process(process->life) : NULL;

	if (known) {
		struct process_config *config = &known->config;

		config->tls = (struct tls_location){ .model = TLS_MODEL_STATIC,
						     .offset = VARIABLE_OFFSET };
		config->key_ids[0] = KEY;
		config->key_count = 1;
		config->thread_offset = COUNTERS_OFFSET;
		config->changes_words = machine.world->mode.counts_changes ? CHANGES_WORDS : 0;
		config->flags = (process->is_ready ? PROCESS_READY | PROCESS_HAS_THREADS : 0) |
				(process->is_lean ? PROCESS_IS_LEAN : 0) |
				(machine.world->mode.counts_changes ? PROCESS_TELLS_SERIALS : 0);
		config->publisher_start = PUBLISHER_START;
		config->publisher_end = PUBLISHER_END;
		config->generation = process->generation;
		config->reading = process->reading;
		config->family = FAMILY;
		config->image = process->image;
	}
	generation = machine.world->generation;
}

/* Registers the threads of processes that are known: with those that live they get storage. */
static void register_threads(const struct world *world)
{
	for (uint32_t i = 0; i < THREADS; i++)
		if (world->threads[i].is_living && world->threads[i].is_observed)
			machine.has_state[i] = true;
	registration_pass++;
	iterate(COLLECT_PHASE_REGISTER);
}

static uint64_t start_ticks_of(const struct world *world, uint32_t process)
{
	const struct thread *thread = world_next_thread(world, process, NULL);

	if (!thread)
		abort();
	return thread->started;
}

/* A search has found a process. */
static void find(const struct world *world, const struct happening *happening)
{
	const struct process *process = &world->processes[happening->process];
	struct machine_process *found = find_process(0);

	if (!happening->is_first) {
		interrupt_all();
		register_threads(world);
		interrupt_all();
		return;
	}
	*found = (struct machine_process){ .life = process->life, .books.image = process->image };
	last_life = world->last_life;
	machine.lives[process->tgid] =
		(struct process_life){ process->life, start_ticks_of(world, happening->process) };
	machine.watched[process->tgid] = false;
	share_add(&processes_share, FAMILY);
	configure(happening->process);
	register_threads(world);
}

void machine_begin(const struct world *world)
{
	uint32_t observed = 0;

	memset(&machine, 0, offsetof(typeof(machine), accounts));
	machine.accounts[0].count = machine.accounts[1].count = 0;
	machine.syscalls[0].count = machine.syscalls[1].count = 0;
	machine.waits[0].count = machine.waits[1].count = 0;
	memset(&syscalls_share, 0, sizeof(syscalls_share));
	memset(&stalls_paid_ns, 0, sizeof(stalls_paid_ns));
	sees_syscalls = 1;
	native_session = (struct session_config){
		.follow_forks = world->mode.follows,
		.tells_strangers = world->mode.finds ? STRANGERS_BY_NAME : STRANGERS_NONE,
		.contexts_max = CONTEXTS_ROOM,
		.accounts_max = 4 * MAP_ROOM,
		.has_timeline = world->mode.has_timeline,
		.has_children = world->mode.has_children,
		.has_syscalls = world->mode.counts_syscalls,
		.reads_at_exec_calls = !world->mode.tells_execs,
		.has_wait_stacks = world->mode.tells_waits,
		.stall_least_ns = world->mode.tells_stalls ? STALL_LEAST_NS : 0
	};
	memset(&accounts_share, 0, sizeof(accounts_share));
	memset(&contexts_share, 0, sizeof(contexts_share));
	memset(&processes_share, 0, sizeof(processes_share));
	is_stopped = 0;
	last_serial = leaving_threads = registrations = open_epoch = 0;
	/* Another CPU has compared its clocks. */
	is_any_clock_offset_seen = 1;
	any_clock_offset_ns = CLOCK_SKEW_NS;
	machine.processes[0].life = machine.processes[0].books.image = world->processes[0].life;
	machine.lives[world->processes[0].tgid] =
		(struct process_life){ world->processes[0].life, world->threads[0].started };
	last_life = world->last_life;
	share_add(&processes_share, FAMILY);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		machine.cfs[cpu].rq = &machine.run_queues[cpu];
		machine.strangers[cpu].pid = machine.strangers[cpu].tgid = STRANGERS_PID + (int)cpu;
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		observed += world->threads[i].is_observed;
		machine.tasks[i].se.cfs_rq = &machine.cfs[0];
	}
	show(world);
	configure(0);
	current_epoch = open_epoch = world->window;
	registration_pass = 0;
	for (uint32_t pass = 0; pass < 2; pass++) {
		register_threads(world);
		/* The first finds them; those that are off the CPU begin with the second. */
		if (stragglers != (pass == 0 ? observed : 0))
			abort();
		interrupt_all();
	}
}

void machine_meet(const struct world *world, const struct happening *happening)
{
	show(world);
	go_to(happening->cpu);
	switch (happening->kind) {
	case STEP_SWITCH:
		switch_tasks(happening);
		break;
	case STEP_ENTER:
	case STEP_EXIT:
		pass_edge(happening);
		break;
	case STEP_PROBE:
		pass_probe(happening);
		break;
	case STEP_INTERRUPT:
		end_program(collect_current(NULL));
		break;
	case STEP_ITERATE:
		iterate(COLLECT_PHASE_FLUSH);
		break;
	case STEP_END:
	case STEP_STOP:
		is_stopped = world->is_stopped;
		registrations += is_stopped;
		current_epoch = world->window;
		break;
	case STEP_DRAIN:
		flush();
		break;
	case STEP_CREATE:
	case STEP_FORK:
		make_thread(happening);
		break;
	case STEP_LEAVE:
		of_current(program_on_exit);
		break;
	case STEP_EXEC:
		go_through_exec(&machine.world->threads[happening->thread]);
		break;
	case STEP_RENAME:
		of_current(on_rename);
		break;
	case STEP_CONFIGURE:
		configure(happening->process);
		break;
	case STEP_FIND:
		find(world, happening);
		break;
	case STEP_HOLD:
	case STEP_RELEASE:
		machine.states[happening->thread].is_busy = happening->kind == STEP_HOLD;
		break;
	default:
		break;
	}
}

static uint32_t context_of(uint64_t hash)
{
	uint32_t i = find_context(hash);

	if (hash == CONTEXT_HASH_NONE)
		return 0;
	if (i == machine.contexts_count ||
	    (!machine.is_published[i] && machine.standings[i] == CONTEXT_FORGOTTEN))
		return LEDGER_UNKNOWN;
	return (uint32_t)(machine.snapshots[i].values[0].raw >> 1);
}

static void drain_accounts(struct accounts_map *map, struct share_table *share, struct ledger *ret)
{
	for (uint32_t i = 0; i < map->count; i++) {
		const struct account *account = &map->accounts[i];

		ret->rows[ret->count++] = (struct ledger_row){
			.serial = map->keys[i].thread_serial,
			.context_hash = map->keys[i].context_hash,
			.context = context_of(map->keys[i].context_hash),
			.owner = account->image,
			.tid = account->tid,
			.name = (uint32_t)atoi(account->comm),
			.is_inherited = account->flags & ACCOUNT_INHERITED,
			.is_of_origin = (account->flags & ACCOUNT_OF_ORIGIN) != 0,
			.counts_gvl = !!(account->flags & ACCOUNT_COUNTS_GVL),
			.times_gc = !!(account->flags & ACCOUNT_COUNTS_GC),
			.first_ns = account->first_ns,
			.last_ns = account->last_ns,
			.totals = account->totals,
		};
		share_remove(share, FAMILY);
	}
	map->count = 0;
}

static bool is_named(const struct ledger *drained, uint64_t hash)
{
	for (uint32_t row = 0; row < drained->count; row++)
		if (drained->rows[row].context_hash == hash)
			return true;
	return false;
}

static void retire_contexts(const struct ledger *drained)
{
	for (uint32_t i = 0; i < machine.contexts_count; i++) {
		enum context_standing *standing = &machine.standings[i];

		if (is_named(drained, machine.hashes[i])) {
			*standing = CONTEXT_NAMED;
		} else if (*standing == CONTEXT_NAMED) {
			*standing = CONTEXT_RETIRED;
			if (machine.is_published[i])
				share_remove(&contexts_share, FAMILY);
			machine.is_published[i] = false;
		} else {
			*standing = *standing == CONTEXT_RETIRED ? CONTEXT_RETIRED_LONG
								 : CONTEXT_FORGOTTEN;
		}
	}
}

/* Those of overflow to their processes'. */
static void drain_syscalls(struct syscalls_map *map, const struct world *world, struct ledger *ret)
{
	for (uint32_t i = 0; i < map->count; i++) {
		const struct account_key *key = &map->keys[i].account;

		for (uint32_t row = 0; row < ret->count; row++) {
			if (ret->rows[row].serial != key->thread_serial ||
			    ret->rows[row].context_hash != key->context_hash)
				continue;
			ret->rows[row].calls += map->sums[i].calls;
			ret->rows[row].inside_ns += map->sums[i].inside_ns;
		}
		for (uint32_t process = 0; process < PROCESSES; process++)
			if (key->context_hash == CONTEXT_HASH_OVERFLOW &&
			    world->processes[process].life == key->life)
				ret->overflow_calls[process] += map->sums[i].calls;
	}
	map->count = 0;
}

static void drain_waits(struct waits_map *map, const struct world *world, struct ledger *ret)
{
	for (uint32_t i = 0; i < map->count; i++) {
		const struct sample_key *key = &map->keys[i];

		if (key->stack != STACK_NOT_SEEN && map->sums[i].waits > 1)
			ret->waits_told_twice++;
		for (uint32_t row = 0; row < ret->count; row++)
			if (ret->rows[row].serial == key->account.thread_serial &&
			    ret->rows[row].context_hash == key->account.context_hash)
				wait_sums_add(&ret->rows[row].waited, &map->sums[i]);
		for (uint32_t process = 0; process < PROCESSES; process++)
			if (key->account.context_hash == CONTEXT_HASH_OVERFLOW &&
			    world->processes[process].life == key->account.life)
				wait_sums_add(&ret->overflow_waited[process], &map->sums[i]);
	}
	map->count = 0;
}

static void drain_process(uint32_t i, const struct world *world, uint32_t parity,
			  struct ledger *ret)
{
	struct machine_process *process = find_process(world->processes[i].life);
	struct epoch_books *epoch;

	if (!process || world->processes[i].standing != PROCESS_OBSERVED)
		return;
	epoch = &process->books.epochs[parity];
	ret->overflow[i] = epoch->overflow;
	ret->exec_ns[i] = epoch->exec_ns;
	memset(epoch, 0, sizeof(*epoch));
	memcpy(ret->losses[i], process->books.losses, sizeof(ret->losses[i]));
	/* Waits of which a switch was missed or not reported: the model knows nothing of stalls. */
	ret->losses[i][COUNTER_STALL_LOST] = 0;
	ret->live_threads[i] = process->books.live_threads;
	if (world->processes[i].is_gone) {
		process->life = 0;
		process->has_origin = false;
		share_remove(&processes_share, process->config.family);
	}
}

void machine_drain(const struct world *world, struct ledger *ret)
{
	uint32_t parity = (world->window - 1) & 1;

	ledger_clear(ret);
	drain_accounts(&machine.accounts[parity], &accounts_share[parity], ret);
	retire_contexts(ret);
	drain_syscalls(&machine.syscalls[parity], world, ret);
	memset(&syscalls_share[parity], 0, sizeof(syscalls_share[0]));
	drain_waits(&machine.waits[parity], world, ret);
	for (uint32_t i = 0; i < PROCESSES; i++)
		drain_process(i, world, parity, ret);
	ret->stints = machine.stints;
	ret->stints_count = machine.stints_count;
	machine.stints_count = 0;
	memcpy(ret->events, machine.events, sizeof(ret->events));
	memcpy(ret->event_lives, machine.event_lives, sizeof(ret->event_lives));
	memcpy(ret->event_tgids, machine.event_tgids, sizeof(ret->event_tgids));
	memcpy(ret->event_details, machine.event_details, sizeof(ret->event_details));
	ret->stragglers = stragglers;
	ret->leaving_threads = leaving_threads;
	ret->wrong_stalls = machine.wrong_stalls;
	ret->accounts_held = accounts_share[parity].used + accounts_share[parity].used_by[FAMILY];
	ret->processes_held = processes_share.used_by[FAMILY];
}
