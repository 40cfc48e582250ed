/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel programs' own text, compiled natively, cut into at any instruction: a process steps
 * through one program, and at each instruction in turn another process runs another program over
 * the same memory, as an interrupt, a preemption or another CPU would. Whatever the order, the
 * books balance to the nanosecond: a clock of our own stands still but where a switch says.
 */
#include "bpf/native_kernel.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t native_now(void);
static void *native_current(void);
static void *native_storage(const void *map, const void *task);
static long native_refuse(void);
static long native_refuse_into(void *buffer);
static bool native_has_fields(void);

#undef bpf_get_current_task_btf
#undef bpf_probe_read_kernel
#undef bpf_core_field_exists
#define bpf_core_field_exists(...)	     native_has_fields()
#define bpf_get_current_task_btf()	     ((struct task_struct *)native_current())
#define bpf_ktime_get_ns()		     native_now()
#define bpf_get_smp_processor_id()	     0
#define bpf_task_storage_get(map, task, ...) native_storage(map, task)
#define bpf_map_update_elem(...)	     native_refuse()
#define bpf_map_delete_elem(...)	     native_refuse()
#define bpf_copy_from_user_task(...)	     native_refuse()
#define bpf_probe_read_kernel(buffer, ...)   native_refuse_into(buffer)
/* A function of the C library's. */
#define on_exit program_on_exit

#include "collect.bpf.h"
#include "lifecycle.bpf.h"
#include "sched.bpf.h"
#include "syscall.bpf.h"

enum {
	TGID = 77,
	SERIAL = 5,
	SHARED_BYTES = 1 << 20,
	PAIRS = 14 /* of cuts, where both are cut: of each as many places */
};

/* The thread's life, in nanoseconds. It enters the kernel, and may lose its CPU meanwhile. */
enum {
	BEGIN_NS = 1000,
	CALL_NS = 2000,
	OUT_NS = 3000,
	IN_NS = 5000,
	END_NS = 9000,
	STOLEN_NS = 70
};

enum who {
	FIRST = 0,
	SECOND = 1
};

/* What both processes see. */
static struct {
	struct edge_slot slot;
	struct thread_state thread;
	struct process_books process;
	struct process_config config;
	struct pt_regs *registers; /* their address is the thread's mark; none are read */
	struct pt_regs *other_registers;
	struct thread_state other_thread; /* that gets the CPU meanwhile */
	struct task_struct other_task;
	bool runs_other;
	uint64_t now_ns;
	struct task_struct task;
	struct task_struct idle;
	bool has_fields; /* which not every kernel has */
	struct cfs_rq cfs;
	struct rq run_queue;
	uint64_t exec_ns;
	uint64_t stolen_ns;
	void (*run[2])(void);
	volatile uint32_t has_begun[2];
	volatile uint32_t has_ended[2];
} * shared;
static pid_t processes_of[2];

static uint64_t native_now(void)
{
	return shared->now_ns;
}

static void *native_current(void)
{
	return shared->runs_other ? &shared->other_task : &shared->task;
}

static long native_refuse(void)
{
	return -ENOENT;
}

static long native_refuse_into(void *buffer)
{
	(void)buffer;
	return -ENOENT;
}

static bool native_has_fields(void)
{
	return shared->has_fields;
}

static void *native_storage(const void *map, const void *task)
{
	if (map == &threads && task == &shared->other_task)
		return &shared->other_thread;
	return map == &threads && task == &shared->task ? &shared->thread : NULL;
}

__attribute__((noipa)) void *native_find(const void *map, const void *key)
{
	(void)key;
	if (map == &books)
		return &shared->process;
	if (map == &edge_slots)
		return &shared->slot;
	return map == &processes ? &shared->config : NULL;
}

__attribute__((noipa)) long native_read_user(void *buffer, __u32 size_bytes, const void *address)
{
	(void)address;
	memset(buffer, 0, size_bytes);
	return -EFAULT;
}

/* The programs, with what the tracepoints give them. */

static void enter_call(void)
{
	unsigned long long arguments[] = { (uintptr_t)&shared->registers, 0 };

	(void)on_sys_enter(arguments);
}

static void leave_call(void)
{
	unsigned long long arguments[] = { (uintptr_t)&shared->registers, 0 };

	(void)on_sys_exit(arguments);
}

static void switch_tasks(struct task_struct *from, struct task_struct *to)
{
	unsigned long long arguments[] = { 0, (uintptr_t)from, (uintptr_t)to };

	(void)on_sched_switch(arguments);
}

static void switch_away(uint64_t now_ns, uint64_t exec_ns)
{
	shared->now_ns = now_ns;
	shared->task.se.sum_exec_runtime = exec_ns;
	shared->task.__state = 1;
	switch_tasks(&shared->task, &shared->idle);
}

static void switch_back(void)
{
	shared->now_ns = IN_NS;
	shared->task.__state = TASK_STATE_RUNNING;
	switch_tasks(&shared->idle, &shared->task);
}

static void lose_cpu(void)
{
	switch_away(OUT_NS, OUT_NS - BEGIN_NS);
	switch_back();
}

/* Another observed thread has the CPU meanwhile, and calls the system. */
static void lose_cpu_to_another(void)
{
	unsigned long long call[] = { (uintptr_t)&shared->other_registers, 0 };

	shared->now_ns = OUT_NS;
	shared->task.se.sum_exec_runtime = OUT_NS - BEGIN_NS;
	shared->task.__state = 1;
	switch_tasks(&shared->task, &shared->other_task);
	shared->runs_other = true;
	(void)on_sys_enter(call);
	(void)on_sys_exit(call);
	shared->runs_other = false;
	shared->now_ns = IN_NS;
	shared->other_task.se.sum_exec_runtime = IN_NS - OUT_NS;
	shared->other_task.__state = 1;
	shared->task.__state = TASK_STATE_RUNNING;
	switch_tasks(&shared->other_task, &shared->task);
}

static void interrupt(void)
{
	shared->now_ns = OUT_NS;
	(void)collect_current(NULL);
}

static void iterate(uint32_t phase)
{
	struct bpf_iter__task context = { .task = &shared->task };

	collect_phase = phase;
	(void)collect_tasks(&context);
}

static void flush(void)
{
	current_epoch = 1;
	iterate(COLLECT_PHASE_FLUSH);
}

static void register_again(void)
{
	registration_pass = 2;
	iterate(COLLECT_PHASE_REGISTER);
}

static void become_another_program(void)
{
	unsigned long long arguments[] = { (uintptr_t)&shared->task };

	(void)on_exec(arguments);
}

/* A thread that runs since BEGIN_NS, in user mode. */
static void set_up(bool is_armed)
{
	const struct kernel_figures nothing = { 0 };
	struct thread_state *thread = &shared->thread;

	memset(&shared->slot, 0, sizeof(shared->slot));
	memset(&shared->process, 0, sizeof(shared->process));
	memset(&shared->task, 0, sizeof(shared->task));
	shared->task.mm = (void *)&shared->task;
	memset(thread, 0, sizeof(*thread));
	thread->memory = (uintptr_t)shared->task.mm;
	shared->process.live_threads = 1;
	shared->task.pid = TGID;
	shared->task.tgid = TGID;
	shared->now_ns = BEGIN_NS;
	thread->tgid = TGID;
	thread->serial = SERIAL;
	thread->knowledge = CONTEXT_KNOWN;
	thread->confirmed_ns = BEGIN_NS;
	thread->is_ready = 1;
	thread->is_begun = 1;
	account_begin(&thread->clock, &nothing, BEGIN_NS, 0, OFF_CPU_RUNNABLE, THREAD_MODE_USER);
	thread->clock.last_cpu = 1;
	if (is_armed)
		edge_arm(&shared->slot, thread, (uintptr_t)&shared->registers, registrations);
	shared->now_ns = CALL_NS;
}

static struct account_totals charged(void)
{
	struct account_totals totals = shared->thread.pending;

	for (unsigned int epoch = 0; epoch < 2; epoch++)
		account_fold(&totals, &shared->process.epochs[epoch].overflow);
	return totals;
}

/* Ends the life; off_ns of it were off the CPU. */
static void assert_balanced(uint64_t off_ns, unsigned int calls)
{
	const uint64_t exec_ns = END_NS - BEGIN_NS - off_ns;
	struct account_totals totals;

	switch_away(END_NS, exec_ns);
	totals = charged();
	assert_int_equal(totals.user_ns + totals.kernel_ns, exec_ns);
	assert_int_equal(totals.run_queue_ns + totals.blocked_ns, off_ns);
	assert_int_equal(totals.stolen_ns, 0);
	assert_int_equal(shared->process.losses[COUNTER_SWITCH_UNSEEN], 0);
	assert_int_equal(totals.syscalls, calls);
	assert_int_equal(shared->thread.is_busy, 0);
	assert_int_equal(shared->slot.is_busy, 0);
}

/* The two processes: each stops before each program that it runs. */

static void serve(enum who who)
{
	const pid_t self = getpid();

	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (;;) {
		/* Not raise(): what it does afterwards would be stepped through each time. */
		(void)syscall(SYS_tgkill, self, self, SIGUSR1);
		shared->has_begun[who] = 1;
		shared->run[who]();
		shared->has_ended[who] = 1;
	}
}

static int await_stop(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	return WSTOPSIG(status);
}

static void finish(enum who who)
{
	assert_int_equal(ptrace(PTRACE_CONT, processes_of[who], NULL, NULL), 0);
	assert_int_equal(await_stop(processes_of[who]), SIGUSR1);
}

static void step(enum who who)
{
	assert_int_equal(ptrace(PTRACE_SINGLESTEP, processes_of[who], NULL, NULL), 0);
	assert_int_equal(await_stop(processes_of[who]), SIGTRAP);
}

/* Runs so many instructions of the program; false: it has no more. */
static bool advance(enum who who, unsigned int instructions)
{
	while (!shared->has_begun[who])
		step(who);
	while (instructions-- && !shared->has_ended[who])
		step(who);
	return !shared->has_ended[who];
}

static void start(void (*first)(void), void (*second)(void))
{
	shared->run[FIRST] = first;
	shared->run[SECOND] = second;
	for (enum who who = FIRST; who <= SECOND; who++) {
		shared->has_begun[who] = 0;
		shared->has_ended[who] = 0;
	}
}

/* Of a program, as it runs by itself. */
static unsigned int count_instructions(enum who who)
{
	unsigned int count = 0;

	while (advance(who, 1))
		count++;
	finish(who);
	return count;
}

/* At each instruction of the first, the second runs. Prepares, and checks, each time anew. */
static void cut_once(void (*prepare)(void), void (*first)(void), void (*second)(void),
		     void (*check)(void))
{
	unsigned int at = 0;
	bool is_cut = true;

	for (; is_cut; at++) {
		prepare();
		start(first, second);
		is_cut = advance(FIRST, at);
		finish(SECOND);
		finish(FIRST);
		check();
	}
	assert_in_range(at, 20, 5000);
}

/* The first up to an instruction, the second up to one of its own, and both to their ends. */
static void cut_twice(void (*prepare)(void), void (*first)(void), void (*second)(void),
		      void (*check)(void))
{
	unsigned int counts[2];

	for (enum who who = FIRST; who <= SECOND; who++) {
		prepare();
		start(first, second);
		counts[who] = count_instructions(who);
	}
	for (unsigned int i = 0; i < PAIRS * PAIRS; i++) {
		/* An even net, a little off each time. */
		unsigned int here = (i / PAIRS * counts[FIRST] + i % PAIRS) / PAIRS;
		unsigned int there = (i % PAIRS * counts[SECOND] + i / PAIRS) / PAIRS;

		prepare();
		start(first, second);
		(void)advance(FIRST, here);
		(void)advance(SECOND, there);
		finish(FIRST);
		finish(SECOND);
		check();
	}
}

static void prepare_armed(void)
{
	set_up(true);
}

static void prepare_long_way(void)
{
	set_up(false);
}

static void check_a_call(void)
{
	assert_balanced(0, 1);
}

static void check_a_call_and_a_switch(void)
{
	assert_balanced(IN_NS - OUT_NS, 1);
}

static void an_interrupt_cuts_into_an_edge(void **state)
{
	(void)state;
	cut_once(prepare_armed, enter_call, interrupt, check_a_call);
	cut_once(prepare_long_way, enter_call, interrupt, check_a_call);
}

static void a_preemption_cuts_into_an_edge(void **state)
{
	(void)state;
	cut_once(prepare_armed, enter_call, lose_cpu, check_a_call_and_a_switch);
	cut_once(prepare_long_way, enter_call, lose_cpu, check_a_call_and_a_switch);
}

/* There is a call in the slot, and the next edge goes the long way. */
static void prepare_used_slot(void)
{
	const struct kernel_figures nothing = { 0 };
	struct thread_state *other = &shared->other_thread;

	set_up(true);
	enter_call();
	leave_call();
	shared->slot.registrations++;
	memset(other, 0, sizeof(*other));
	memset(&shared->other_task, 0, sizeof(shared->other_task));
	shared->other_task.mm = (void *)&shared->other_task;
	shared->other_task.pid = TGID + 1;
	shared->other_task.tgid = TGID;
	other->tgid = TGID;
	other->tid = TGID + 1;
	other->serial = SERIAL + 1;
	other->memory = (uintptr_t)shared->other_task.mm;
	other->knowledge = CONTEXT_KNOWN;
	other->confirmed_ns = BEGIN_NS;
	other->is_ready = other->is_begun = 1;
	account_begin(&other->clock, &nothing, BEGIN_NS, 1, OFF_CPU_SLEEPING, THREAD_MODE_USER);
}

static void check_two_calls_and_a_switch(void)
{
	assert_balanced(IN_NS - OUT_NS, 2);
}

/* Which finds the slot of the one that was cut, who has his books, but has not emptied it yet. */
static void another_thread_cuts_into_an_edge(void **state)
{
	(void)state;
	cut_once(prepare_used_slot, enter_call, lose_cpu_to_another, check_two_calls_and_a_switch);
}

static void check_a_switch(void)
{
	assert_balanced(IN_NS - OUT_NS, 0);
}

/* The slot of the edge that was cut is taken until its thread runs on. */
static void lose_cpu_and_be_flushed(void)
{
	switch_away(OUT_NS, OUT_NS - BEGIN_NS);
	flush();
	switch_back();
}

static void a_flush_meets_a_thread_preempted_in_an_edge(void **state)
{
	(void)state;
	cut_once(prepare_armed, enter_call, lose_cpu_and_be_flushed, check_a_call_and_a_switch);
	cut_once(prepare_armed, leave_call, lose_cpu_and_be_flushed, check_a_switch);
}

static void a_preemption_cuts_into_a_way_back(void **state)
{
	(void)state;
	cut_once(prepare_armed, leave_call, lose_cpu, check_a_switch);
}

static void prepare_asleep(void)
{
	set_up(false);
	current_epoch = 0;
	switch_away(OUT_NS, OUT_NS - BEGIN_NS);
}

static void a_flush_meets_a_switch_in(void **state)
{
	(void)state;
	cut_twice(prepare_asleep, switch_back, flush, check_a_switch);
	cut_twice(prepare_asleep, flush, switch_back, check_a_switch);
}

static void switch_back_and_call(void)
{
	switch_back();
	enter_call();
}

/* Whom the flush has met asleep, and who runs on while the books are held. */
static void a_flush_meets_a_call(void **state)
{
	(void)state;
	cut_once(prepare_asleep, flush, switch_back_and_call, check_a_call_and_a_switch);
}

/* Found by the pass before, and still asleep: its books are to begin. */
static void prepare_found(void)
{
	set_up(false);
	shared->thread.is_begun = 0;
	shared->thread.found_in_pass = 1;
	shared->task.se.sum_exec_runtime = OUT_NS - BEGIN_NS;
	shared->task.__state = 1;
}

/* However it began, what it ran since it got its CPU is its own, and nothing of before is. */
static void check_begun(void)
{
	struct account_totals totals;

	/* The next round of interrupts: begins what the iterator left to the thread itself. */
	shared->now_ns = IN_NS;
	(void)collect_current(NULL);
	switch_away(END_NS, OUT_NS - BEGIN_NS + END_NS - IN_NS);
	totals = charged();
	assert_true(shared->thread.is_begun);
	assert_int_equal(totals.user_ns + totals.kernel_ns, END_NS - IN_NS);
	assert_int_equal(totals.stolen_ns, 0);
	assert_int_equal(shared->process.losses[COUNTER_SWITCH_UNSEEN], 0);
	assert_int_equal(shared->process.live_threads, 1);
}

static void registration_meets_a_switch_in(void **state)
{
	(void)state;
	cut_once(prepare_found, register_again, switch_back, check_begun);
	cut_twice(prepare_found, switch_back, register_again, check_begun);
	cut_twice(prepare_found, register_again, switch_back, check_begun);
}

static void books_begin_at_whatever_boundary_is_first(void **state)
{
	void (*const boundaries[])(void) = { enter_call, leave_call };

	(void)state;
	for (size_t i = 0; i < sizeof(boundaries) / sizeof(boundaries[0]); i++) {
		struct account_totals totals;

		set_up(false);
		memset(&shared->thread.clock, 0, sizeof(shared->thread.clock));
		shared->thread.is_begun = 0;
		boundaries[i]();
		switch_away(END_NS, END_NS - CALL_NS);
		totals = charged();
		assert_int_equal(totals.user_ns + totals.kernel_ns, END_NS - CALL_NS);
		assert_int_equal(totals.stolen_ns, 0);
	}
}

static void hold_books(void)
{
	if (thread_try_hold(&shared->thread))
		thread_release(&shared->thread);
}

static void prepare_exec(void)
{
	set_up(true);
	shared->thread.tls_resolution = TLS_RESOLVED;
	shared->thread.has_passed_probe = 1;
	shared->thread.context_hash = CONTEXT_HASH_FIRST;
	shared->thread.config.flags = PROCESS_READY;
}

static void check_exec(void)
{
	(void)collect_current(NULL);
	/* Nothing of the old image is left once the next boundary has passed. */
	assert_int_not_equal(shared->thread.tls_resolution, TLS_RESOLVED);
	assert_int_equal(shared->thread.has_passed_probe, 0);
	assert_int_equal(shared->thread.config.flags, 0);
	assert_int_equal(shared->thread.has_missed_exec, 0);
	assert_int_equal(shared->thread.context_hash, CONTEXT_HASH_NONE);
}

static void an_exec_meets_whoever_holds_the_books(void **state)
{
	(void)state;
	cut_twice(prepare_exec, become_another_program, hold_books, check_exec);
	cut_twice(prepare_exec, hold_books, become_another_program, check_exec);
}

static void end_life(void)
{
	unsigned long long arguments[] = { (uintptr_t)&shared->task };

	(void)program_on_exit(arguments);
}

static void a_thread_that_nobody_meets_any_more_is_counted_until_its_last_switch(void **state)
{
	(void)state;
	set_up(false);
	leaving_threads = 0;
	end_life();
	assert_int_equal(leaving_threads, 1);
	/* Once. */
	end_life();
	assert_int_equal(leaving_threads, 1);
	shared->task.__state = TASK_STATE_DEAD;
	shared->now_ns = END_NS;
	switch_tasks(&shared->task, &shared->idle);
	assert_int_equal(leaving_threads, 0);
	assert_int_equal(shared->process.live_threads, 0);
}

/* A tick: the kernel brings the run queue's figures up to now. */
static void update_run_queue(void)
{
	struct task_struct *task = &shared->task;

	shared->run_queue.clock = shared->now_ns;
	shared->run_queue.clock_task = shared->now_ns - STOLEN_NS;
	task->se.sum_exec_runtime += shared->run_queue.clock_task - task->se.exec_start;
	task->se.exec_start = shared->run_queue.clock_task;
}

static void read_figures(void)
{
	is_any_clock_offset_seen = 1;
	shared->exec_ns = exec_runtime_now(&shared->task, shared->now_ns);
	shared->stolen_ns = stolen_from_cpu(shared->now_ns);
}

static void prepare_figures(void)
{
	set_up(false);
	shared->has_fields = true;
	shared->task.se.cfs_rq = &shared->cfs;
	shared->cfs.rq = &shared->run_queue;
	shared->now_ns = BEGIN_NS + STOLEN_NS;
	shared->task.se.exec_start = BEGIN_NS;
	update_run_queue();
	shared->now_ns = CALL_NS;
}

static void check_figures(void)
{
	shared->has_fields = false;
	assert_int_equal(shared->exec_ns, CALL_NS - STOLEN_NS - BEGIN_NS);
	assert_int_equal(shared->stolen_ns, STOLEN_NS);
}

static void an_update_cuts_into_a_reading_of_the_run_queue(void **state)
{
	(void)state;
	cut_once(prepare_figures, read_figures, update_run_queue, check_figures);
}

static int set_up_processes(void **state)
{
	cpu_set_t one;

	(void)state;
	/* Only one of us runs at a time: on one CPU a step wakes up no other. */
	CPU_ZERO(&one);
	CPU_SET((unsigned int)sched_getcpu(), &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	shared =
		mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || sizeof(*shared) > SHARED_BYTES)
		return -1;
	for (enum who who = FIRST; who <= SECOND; who++) {
		processes_of[who] = fork();
		if (!processes_of[who])
			serve(who);
		if (await_stop(processes_of[who]) != SIGUSR1)
			return -1;
	}
	return 0;
}

static int kill_processes(void **state)
{
	(void)state;
	for (enum who who = FIRST; who <= SECOND; who++) {
		(void)kill(processes_of[who], SIGKILL);
		(void)waitpid(processes_of[who], NULL, 0);
	}
	return munmap(shared, SHARED_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interrupt_cuts_into_an_edge),
		cmocka_unit_test(a_preemption_cuts_into_an_edge),
		cmocka_unit_test(a_preemption_cuts_into_a_way_back),
		cmocka_unit_test(a_flush_meets_a_thread_preempted_in_an_edge),
		cmocka_unit_test(a_flush_meets_a_switch_in),
		cmocka_unit_test(a_flush_meets_a_call),
		cmocka_unit_test(another_thread_cuts_into_an_edge),
		cmocka_unit_test(registration_meets_a_switch_in),
		cmocka_unit_test(books_begin_at_whatever_boundary_is_first),
		cmocka_unit_test(an_exec_meets_whoever_holds_the_books),
		cmocka_unit_test(
			a_thread_that_nobody_meets_any_more_is_counted_until_its_last_switch),
		cmocka_unit_test(an_update_cuts_into_a_reading_of_the_run_queue),
	};

	return cmocka_run_group_tests(tests, set_up_processes, kill_processes);
}
