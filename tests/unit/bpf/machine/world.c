/* SPDX-License-Identifier: GPL-2.0-only */
#include "world.h"

#include <string.h>

enum {
	START_NS = 10 * 1000 * 1000,
	FIRST_TID = 200,
	TAKES_FREE_TGID = 0x40, /* of a fork's step */
/* Whether the end of its own clone is seen as the end of a system call. */
#ifdef __aarch64__
	NEW_THREAD_IS_IN_CALL = 0,
#else
	NEW_THREAD_IS_IN_CALL = 1,
#endif
};

/* How a thread leaves its CPU. */
enum leaving {
	LEAVES_PREEMPTED = 0,
	LEAVES_ASLEEP = 1,
	LEAVES_FOR_DISK = 2,
	LEAVES_IDLE = 3,
	LEAVES_PREEMPTED_ASLEEP = 4, /* on its way to sleep */
	LEAVES_YIELDING = 5,
	_LEAVES_MAX,
};

static uint64_t task_clock_ns(const struct world *world, uint32_t cpu)
{
	return world->now_ns - world->cpus[cpu].stolen_ns;
}

uint64_t world_exec_ns(const struct world *world, const struct thread *thread)
{
	if (thread->cpu == CPUS)
		return thread->exec_ns;
	return thread->exec_ns + task_clock_ns(world, thread->cpu) - thread->exec_start_ns;
}

/* The kernel brings the figures of a CPU up to now. */
static void tick(struct world *world, uint32_t cpu)
{
	struct thread *thread = &world->threads[world->cpus[cpu].thread];

	world->cpus[cpu].clock_ns = world->now_ns;
	if (world->cpus[cpu].thread == NOBODY)
		return;
	thread->exec_ns = world_exec_ns(world, thread);
	thread->exec_start_ns = task_clock_ns(world, cpu);
}

static struct thread *make_thread(struct world *world, uint32_t i, uint32_t process)
{
	struct thread *thread = &world->threads[i];

	*thread = (struct thread){
		.is_living = true,
		.process = process,
		.serial = ++world->last_serial,
		.cpu = CPUS,
		.edges_cpu = CPUS,
		.is_queued = true,
		.queued_ns = world->now_ns,
		.is_in_call = NEW_THREAD_IS_IN_CALL,
	};
	thread->tid = FIRST_TID + thread->serial;
	thread->started = thread->serial;
	return thread;
}

/* What a thread has by the time that it comes to be observed is nobody's. */
static struct thread *find_thread(struct world *world, uint32_t i, uint32_t table)
{
	struct thread *thread = make_thread(world, i, 0);

	thread->is_observed = true;
	thread->started = 1;
	thread->exec_ns = 70000;
	thread->run_delay_ns = 900;
	thread->voluntary = 3;
	thread->involuntary = 5;
	thread->table = table;
	thread->changes = 2 * table;
	return thread;
}

/* Three threads of one process, which have lived for a while when they come to be observed. */
void world_begin(struct world *world)
{
	struct thread *thread;

	memset(world, 0, sizeof(*world));
	for (uint32_t i = 0; i < THREADS; i++)
		world->threads[i] = (struct thread){ .cpu = CPUS, .edges_cpu = CPUS };
	world->now_ns = START_NS;
	world->window = 1;
	world->generation = 1;
	world->last_life = 1;
	world->sees_edges = true;
	world->processes[0] = (struct process){ .tgid = FIRST_TID + 1,
						.life = 1,
						.image = 1,
						.standing = PROCESS_OBSERVED,
						.is_ready = true,
						.generation = 1,
						.reading = 1 };
	for (uint32_t table = 1; table <= TABLES; table++)
		world->values[table] = 1 + (table - 1) % VALUES;
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		world->cpus[cpu] = (struct cpu){ .thread = NOBODY, .clock_ns = START_NS };
	thread = find_thread(world, 0, 1);
	thread->arrived_cpu = 0;
	thread->is_queued = false;
	thread->is_in_call = false;
	thread->cpu = 0;
	thread->exec_start_ns = thread->arrived_ns = START_NS - 500;
	world->cpus[0].thread = 0;
	thread = find_thread(world, 1, 2);
	thread->is_queued = false;
	thread->state = STATE_DISK;
	(void)find_thread(world, 2, 0);
}

void world_begin_strangers(struct world *world)
{
	struct thread *thread = make_thread(world, STRANGER, STRANGERS_PROCESS);

	thread->table = 3;
	thread->changes = 8;
	world->processes[STRANGERS_PROCESS] =
		(struct process){ .tgid = thread->tid, .standing = PROCESS_STRANGER };
}

const struct thread *world_next_thread(const struct world *world, uint32_t process,
				       const struct thread *after)
{
	const struct thread *thread = after ? after + 1 : world->threads;

	for (; thread < world->threads + THREADS; thread++)
		if (thread->is_living && thread->process == process)
			return thread;
	return NULL;
}

static bool is_alone(const struct world *world, const struct thread *thread)
{
	const struct thread *other = NULL;

	while ((other = world_next_thread(world, thread->process, other)))
		if (other != thread)
			return false;
	return true;
}

static bool is_all_lean(const struct world *world)
{
	for (uint32_t i = 0; i < PROCESSES; i++)
		if (world->processes[i].standing == PROCESS_OBSERVED &&
		    !world->processes[i].is_lean)
			return false;
	return true;
}

static bool can_be_unreported(const struct thread *thread, bool is_leaving)
{
	return !thread->is_unseen && !thread->is_held && !thread->is_leaving &&
	       !(is_leaving && thread->has_called);
}

static void leave(struct world *world, struct thread *thread, enum leaving how)
{
	static const uint32_t states[] = {
		[LEAVES_PREEMPTED] = STATE_RUNNING,
		[LEAVES_ASLEEP] = STATE_SLEEPING,
		[LEAVES_FOR_DISK] = STATE_DISK,
		[LEAVES_IDLE] = STATE_IDLE,
		[LEAVES_PREEMPTED_ASLEEP] = STATE_SLEEPING,
		[LEAVES_YIELDING] = STATE_RUNNING,
	};
	bool is_preempted = how == LEAVES_PREEMPTED || how == LEAVES_PREEMPTED_ASLEEP;

	thread->state = states[how];
	thread->is_queued = is_preempted || thread->state == STATE_RUNNING;
	thread->queued_ns = world->now_ns;
	thread->cpu = CPUS;
	if (is_preempted || thread->state == STATE_RUNNING)
		thread->involuntary++;
	else
		thread->voluntary++;
}

static bool meet_switch(struct world *world, const struct step *step, struct happening *ret)
{
	enum leaving how = (step->what & 7) % _LEAVES_MAX;
	struct thread *from = &world->threads[ret->thread], *to;

	ret->next = world->is_stopped ? NOBODY : (step->what >> 3 & 7) % (THREADS + 1);
	to = &world->threads[ret->next];
	if (ret->next != NOBODY && (!to->is_living || to->cpu != CPUS || !to->is_queued))
		ret->next = NOBODY;
	if (ret->next == ret->thread)
		return false;
	if ((ret->thread != NOBODY && from->noted == NOTED_MAX) ||
	    (ret->next != NOBODY && to->noted == NOTED_MAX))
		return false;
	ret->is_last = ret->thread != NOBODY && from->is_leaving && how == LEAVES_ASLEEP;
	ret->is_reported = (step->who >> 1 & 7) != 7 ||
			   (ret->thread != NOBODY && !can_be_unreported(from, true)) ||
			   (ret->next != NOBODY && !can_be_unreported(to, false));
	ret->is_preempted = how == LEAVES_PREEMPTED || how == LEAVES_PREEMPTED_ASLEEP;
	tick(world, ret->cpu);
	if (ret->thread != NOBODY) {
		leave(world, from, how);
		from->is_unseen = !ret->is_reported;
		from->noted = from->is_held ? from->noted + 1 : 0;
		/* Who sees it go writes up what the short way kept. */
		if (!from->is_held && ret->is_reported)
			from->edges_cpu = CPUS;
		else if (from->is_held && from->has_called && from->edges_cpu == CPUS)
			from->edges_cpu = ret->cpu;
	}
	if (ret->is_last)
		from->state = STATE_DEAD;
	if (ret->next != NOBODY) {
		to->noted = to->is_held ? to->noted + 1 : 0;
		to->arrived_cpu = ret->cpu;
		to->arrived_ns = world->now_ns;
		to->waited_from_ns = to->queued_ns;
		to->stolen_at_arrival_ns = world->cpus[ret->cpu].stolen_ns;
		to->exec_start_ns = task_clock_ns(world, ret->cpu);
	}
	return true;
}

static bool meet_wake(struct world *world, const struct step *step)
{
	struct thread *thread = &world->threads[step->who % THREADS];

	if (!thread->is_living || thread->cpu != CPUS || thread->is_queued)
		return false;
	thread->is_queued = true;
	thread->queued_ns = world->now_ns;
	thread->state = STATE_RUNNING;
	return true;
}

static void store(struct thread *thread, uint32_t table)
{
	thread->table = table;
	thread->changes++;
}

static bool meet_store(struct world *world, struct thread *thread, const struct step *step)
{
	const struct process *process = &world->processes[thread->process];

	if (thread->is_storing)
		store(thread, thread->next_table);
	else if (process->is_lean || process->standing == PROCESS_STRANGER ||
		 (step->what < 32 && !world->mode.counts_changes))
		/* Our gem does not store where no probe can be. */
		store(thread, step->what % (TABLES + 1));
	else
		return false;
	thread->is_storing = false;
	return true;
}

/* Another state at the address of one that was freed: its threads have stored in between. */
static bool meet_rewrite(struct world *world, uint32_t table, uint32_t value)
{
	if (!is_all_lean(world))
		return false;
	for (uint32_t i = 0; i < THREADS && world->mode.counts_changes; i++)
		if (world->threads[i].is_living && world->threads[i].table == table &&
		    (world->threads[i].cpu == CPUS || world->threads[i].is_in_call))
			return false;
	world->values[table] = value;
	for (uint32_t i = 0; i < THREADS; i++)
		if (world->threads[i].table == table)
			store(&world->threads[i], table);
	return true;
}

/* The thread's memory cannot be read, or can be again. Not where the programs may know the context
 * by what our gem has told them: the model does not. */
static bool meet_hide(const struct world *world, struct thread *thread)
{
	if (!thread->is_living || (!thread->is_hidden && world->mode.counts_changes &&
				   !world->processes[thread->process].is_lean))
		return false;
	thread->is_hidden = !thread->is_hidden;
	return true;
}

static bool meet_create(struct world *world, const struct step *step, struct happening *ret)
{
	const struct thread *parent = &world->threads[ret->thread];
	struct thread *child;

	ret->next = step->what % THREADS;
	ret->process = parent->process;
	if (world->threads[ret->next].is_living)
		return false;
	if (step->kind == STEP_FORK) {
		ret->process = (step->what >> 3) % PROCESSES;
		if (world->processes[ret->process].standing != PROCESS_NONE)
			return false;
	}
	child = make_thread(world, ret->next, ret->process);
	child->is_observed = parent->is_observed;
	if (step->kind != STEP_FORK) {
		child->started = parent->started;
		return true;
	}
	child->is_observed &= world->mode.follows;
	child->table = parent->table;
	child->changes = parent->changes;
	if (world->free_tgid && step->what & TAKES_FREE_TGID) {
		child->tid = world->free_tgid;
		world->free_tgid = 0;
	}
	return true;
}

/* As the programs do. */
static uint64_t number_life(struct world *world)
{
	return world->is_stopped ? 0 : ++world->last_life;
}

/* The process is a new one only once the program has made it. */
static void go_on_from_fork(struct world *world, const struct happening *happening)
{
	struct process *child = &world->processes[happening->process];
	struct thread *thread = &world->threads[happening->next];

	if (thread->is_observed) {
		*child = world->processes[world->threads[happening->thread].process];
		child->is_half_found = false;
		child->tgid = thread->tid;
		child->life = child->image = number_life(world);
	} else if (world->mode.finds) {
		*child = (struct process){ .tgid = thread->tid, .standing = PROCESS_STRANGER };
	} else {
		/* Nobody will ever observe it: it leaves this world. */
		*thread = (struct thread){ .cpu = CPUS, .edges_cpu = CPUS };
	}
}

/* What a program has set before anything of it was known, no probe has seen. */
static void set_unseen(struct world *world, uint32_t process, uint32_t table)
{
	for (uint32_t i = 0; i < THREADS; i++)
		if (world->threads[i].is_living && world->threads[i].process == process)
			store(&world->threads[i], table);
}

static bool meet_configure(struct world *world, const struct step *step, struct happening *ret)
{
	struct process *process = &world->processes[step->who % PROCESSES];

	ret->process = step->who % PROCESSES;
	world->generation++;
	if (process->standing != PROCESS_OBSERVED)
		return true;
	if (!process->is_ready || step->what & 1)
		process->reading = world->generation;
	world->was_unknown[process->image % IMAGES_MAX] |= !process->is_ready;
	if (!process->is_ready)
		set_unseen(world, ret->process, step->what % (TABLES + 1));
	if (process->is_ready && !(step->what & 2) && !world->is_full)
		process->is_lean = !process->is_lean;
	process->is_lean |= world->mode.is_lean;
	world->has_been_lean |= process->is_lean;
	process->is_ready = true;
	process->generation = world->generation;
	return true;
}

/* The search passes over a process that is about to run another program: the exec's event makes it
 * look again. */
static bool can_be_found(const struct world *world, uint32_t process)
{
	bool is_running_on = false;

	for (uint32_t i = 0; i < THREADS; i++) {
		if (world->processes[i % PROCESSES].is_half_found)
			return false;
		if (!world->threads[i].is_living || world->threads[i].process != process)
			continue;
		if (world->threads[i].has_new_memory)
			return false;
		is_running_on |= !world->threads[i].is_leaving;
	}
	return is_running_on && world->processes[process].standing == PROCESS_STRANGER;
}

/* A search finds a stranger: first its threads, and then those whose books have not begun. */
static bool meet_find(struct world *world, const struct step *step, struct happening *ret)
{
	struct process *process = &world->processes[ret->process = step->who % PROCESSES];

	if (world->is_ending || world->is_stopped)
		return false;
	ret->is_first = !process->is_half_found;
	if (process->is_half_found) {
		process->is_half_found = false;
		return true;
	}
	if (!can_be_found(world, ret->process))
		return false;
	*process = (struct process){ .tgid = process->tgid,
				     .life = ++world->last_life,
				     .image = world->last_life,
				     .standing = PROCESS_OBSERVED,
				     .is_half_found = true,
				     .is_ready = step->what & 1,
				     .is_lean = world->mode.is_lean && step->what & 1,
				     .generation = ++world->generation,
				     .reading = world->generation };
	/* Nobody has counted the changes up to its first boundary. */
	world->was_unknown[process->image % IMAGES_MAX] = true;
	for (uint32_t i = 0; i < THREADS; i++)
		if (world->threads[i].process == ret->process && world->threads[i].is_living) {
			world->threads[i].is_observed = !world->threads[i].is_leaving;
			world->threads[i].is_unseen = false;
		}
	return true;
}

/* Whether what the short way keeps there is of another thread, whose books were held. */
static bool has_edges_of_another(const struct world *world, uint32_t cpu)
{
	for (uint32_t i = 0; i < THREADS; i++)
		if (world->threads[i].edges_cpu == cpu && world->cpus[cpu].thread != i)
			return true;
	return false;
}

/* What the thread that runs on a CPU does. */
static bool meet_current(struct world *world, const struct step *step, struct happening *ret)
{
	struct thread *thread = &world->threads[ret->thread];

	if (ret->thread == NOBODY || (step->kind != STEP_EXIT && thread->is_leaving))
		return false;
	if ((step->kind == STEP_ENTER || step->kind == STEP_EXIT) &&
	    has_edges_of_another(world, ret->cpu))
		return false;
	switch (step->kind) {
	case STEP_ENTER:
		/* A probe without a store is another gem's. */
		if (thread->is_in_call || (thread->is_storing && world->mode.counts_changes))
			return false;
		thread->is_storing = false;
		thread->is_in_call = thread->has_called = true;
		thread->call = (enum call)(step->what % _CALL_MAX);
		return true;
	case STEP_PROBE:
		if (thread->is_in_call || thread->is_storing ||
		    !world->processes[thread->process].is_ready)
			return false;
		thread->next_table = step->what % (TABLES + 1);
		thread->is_storing = true;
		return true;
	case STEP_STORE:
		return !thread->is_in_call && meet_store(world, thread, step);
	default:
		break;
	}
	/* One that is killed leaves from where it is. */
	if ((!thread->is_in_call && step->kind != STEP_LEAVE) || thread->is_leaving)
		return false;
	switch (step->kind) {
	case STEP_EXIT:
		/* There is no way back to the old program. */
		if (thread->has_new_memory)
			return false;
		thread->is_in_call = thread->is_in_exec = false;
		thread->has_called = true;
		return true;
	case STEP_CREATE:
	case STEP_FORK:
		return !thread->is_in_exec && meet_create(world, step, ret);
	case STEP_EXEC:
		if (!is_alone(world, thread) ||
		    (!world->mode.tells_execs && thread->call != CALL_EXEC))
			return false;
		thread->call = CALL_EXEC;
		return true;
	case STEP_LEAVE:
		thread->is_leaving = true;
		thread->has_no_memory = step->what & 1;
		return true;
	default:
		return step->kind == STEP_RENAME && thread->call != CALL_EXEC;
	}
}

/* Of its collections. */
static void count_collections(const struct world *world, struct thread *thread,
			      const struct step *step)
{
	uint64_t is_inside = thread->gc_time & 1;

	thread->times_gc = true;
	switch (step->what % 8) {
	case 0:
		thread->gc_time -= 2 * (uint64_t)step->after_ns;
		return;
	case 1:
		thread->gc_time += (uint64_t)step->what << 50;
		return;
	case 2:
		thread->gc_runs += UINT64_C(1) << (step->what % 64);
		return;
	default:
		thread->gc_time = (world->now_ns - (thread->gc_time >> 1)) << 1 | !is_inside;
		thread->gc_runs += !is_inside && step->what % 8 > 5;
	}
}

/* What its gem says of a thread that runs: mostly the truth. */
static bool meet_count(struct world *world, const struct step *step)
{
	struct thread *thread = &world->threads[world->cpus[step->who % CPUS].thread];

	if (!thread->is_living || thread->is_leaving)
		return false;
	if (!thread->has_counters) {
		thread->has_counters = true;
		/* An old Ruby does not tell of the GVL. */
		thread->counts_gvl = thread->serial % 4;
		thread->times_gc |= !thread->counts_gvl;
	}
	if (step->what & 0x80) {
		count_collections(world, thread, step);
		return true;
	}
	switch (step->what % 8) {
	case 0:
		thread->wait_ns -= step->after_ns;
		return true;
	case 1:
		thread->wait_ns += (uint64_t)step->what << 50;
		return true;
	case 2:
		thread->waits += UINT64_C(1) << (step->what % 64);
		return true;
	case 3:
		thread->wait_ns += 2 * (uint64_t)step->after_ns;
		thread->waits++;
		return true;
	default:
		if (!thread->ready_ns) {
			thread->ready_ns = world->now_ns - step->after_ns;
			return true;
		}
		thread->wait_ns += world->now_ns - thread->ready_ns;
		thread->waits++;
		thread->ready_ns = 0;
		return true;
	}
}

static bool meet_holder(struct world *world, const struct step *step, struct happening *ret)
{
	struct thread *thread = &world->threads[ret->thread = step->who % THREADS];

	if (!thread->is_living || thread->is_unseen || !thread->is_observed ||
	    world->processes[thread->process].is_half_found ||
	    thread->is_held != (step->kind == STEP_RELEASE))
		return false;
	thread->is_held = step->kind == STEP_HOLD;
	return true;
}

static bool meet_userspace(struct world *world, const struct step *step)
{
	switch (step->kind) {
	case STEP_ITERATE:
		for (uint32_t i = 0; i < THREADS; i++)
			if (world->threads[i].cpu != CPUS && world->threads[i].is_unseen)
				return false;
		return true;
	case STEP_END:
	case STEP_STOP:
		if (world->is_ending || world->is_stopped)
			return false;
		world->is_stopped = step->kind == STEP_STOP;
		world->window++;
		world->is_ending = true;
		return true;
	case STEP_DRAIN:
		return world->is_ending;
	case STEP_SPLIT:
		/* Right behind a flush, so that no window mixes two. */
		if (world->mode.counts_syscalls || !world->mode.has_split || world->is_ending ||
		    world->seeks_mode || world->is_stopped)
			return false;
		world->sees_edges = !world->sees_edges;
		world->seeks_mode = world->sees_edges;
		return true;
	case STEP_FILL:
		if (world->has_been_lean)
			return false;
		world->is_full = !world->is_full;
		return true;
	default:
		return false;
	}
}

static bool meet_rest(struct world *world, const struct step *step, struct happening *ret)
{
	uint32_t thread = step->who % THREADS;

	switch (step->kind) {
	case STEP_WAKE:
		return meet_wake(world, step);
	case STEP_REWRITE:
		return meet_rewrite(world, 1 + step->who % TABLES, 1 + step->what % VALUES);
	case STEP_HIDE:
		return meet_hide(world, &world->threads[thread]);
	case STEP_CONFIGURE:
		return meet_configure(world, step, ret);
	case STEP_FIND:
		return meet_find(world, step, ret);
	case STEP_COUNT:
		return meet_count(world, step);
	case STEP_HOLD:
	case STEP_RELEASE:
		return meet_holder(world, step, ret);
	default:
		return meet_userspace(world, step);
	}
}

/* The time that passes, but for what is stolen of it, belongs to the contexts in force. */
static void pass(struct world *world, uint64_t ns, uint32_t stolen_cpu, uint64_t stolen_ns)
{
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		const struct thread *thread = &world->threads[world->cpus[cpu].thread];
		uint64_t ran_ns = cpu == stolen_cpu ? ns - stolen_ns : ns;

		if (world->cpus[cpu].thread != NOBODY && thread->is_observed)
			world->ran_ns[world->processes[thread->process].image % IMAGES_MAX]
				     [world->values[thread->table]] += ran_ns;
	}
	world->stolen_ns += stolen_ns;
	world->now_ns += ns;
}

bool world_meet(struct world *world, const struct step *step, struct happening *ret)
{
	bool is_theft = step->kind == STEP_STEAL;
	uint32_t cpu = step->who % CPUS;

	*ret = (struct happening){
		.kind = step->kind, .cpu = cpu, .thread = world->cpus[cpu].thread, .next = NOBODY
	};
	pass(world, step->after_ns, cpu, is_theft ? step->after_ns / 2 : 0);
	switch (step->kind) {
	case STEP_SWITCH:
		return meet_switch(world, step, ret);
	case STEP_STEAL:
		world->cpus[cpu].stolen_ns += step->after_ns / 2;
		tick(world, cpu);
		return true;
	case STEP_INTERRUPT:
		return true;
	case STEP_ENTER:
	case STEP_EXIT:
	case STEP_PROBE:
	case STEP_STORE:
	case STEP_CREATE:
	case STEP_FORK:
	case STEP_LEAVE:
	case STEP_EXEC:
	case STEP_RENAME:
		return meet_current(world, step, ret);
	default:
		return meet_rest(world, step, ret);
	}
}

static void go_on_from_switch(struct world *world, const struct happening *happening)
{
	struct thread *thread;

	world->cpus[happening->cpu].thread = happening->next;
	if (happening->is_last)
		world->threads[happening->thread] =
			(struct thread){ .cpu = CPUS, .edges_cpu = CPUS };
	if (happening->next == NOBODY)
		return;
	thread = &world->threads[happening->next];
	thread->run_delay_ns += world->now_ns - thread->queued_ns;
	thread->is_queued = thread->has_called = false;
	thread->is_unseen = !happening->is_reported;
	thread->cpu = happening->cpu;
}

/* First it tells, then its memory is another, and then it is another image: no thread-local yet. */
static void go_on_from_exec(struct world *world, struct thread *thread)
{
	struct process *process = &world->processes[thread->process];

	if (thread->is_in_exec && !thread->has_new_memory) {
		thread->has_new_memory = true;
		thread->image++;
		return;
	}
	if (thread->is_in_exec || world->mode.tells_execs)
		thread->is_unseen = false;
	if (!thread->is_in_exec) {
		thread->is_in_exec = true;
		return;
	}
	thread->is_in_exec = thread->has_new_memory = false;
	thread->table = 0;
	thread->changes = 0;
	thread->is_hidden = thread->has_counters = false;
	thread->ready_ns = thread->wait_ns = thread->waits = 0;
	thread->gc_time = thread->gc_runs = 0;
	thread->counts_gvl = thread->times_gc = false;
	*process = (struct process){ .tgid = process->tgid,
				     .life = process->life,
				     .standing = process->standing };
	if (process->standing == PROCESS_OBSERVED)
		process->image = number_life(world);
}

/* An observed process has ended with its last observed thread. */
static bool has_threads(const struct world *world, uint32_t process)
{
	const struct thread *thread = NULL;

	while ((thread = world_next_thread(world, process, thread)))
		if (thread->is_observed || world->processes[process].standing == PROCESS_STRANGER)
			return true;
	return false;
}

/* Whoever waits for the process may have its pid before its last thread is off its CPU. */
static bool stays(const struct world *world, uint32_t process)
{
	const struct thread *thread = NULL;

	while ((thread = world_next_thread(world, process, thread)))
		if (!thread->has_no_memory)
			return true;
	return false;
}

/* What waited for their books is written up. */
static void go_on_from_flush(struct world *world)
{
	for (uint32_t i = 0; i < THREADS; i++) {
		struct thread *thread = &world->threads[i];

		if (thread->is_held || thread->is_leaving)
			continue;
		thread->noted = 0;
		thread->edges_cpu = CPUS;
	}
}

static void go_on_from_interrupts(struct world *world)
{
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		world->threads[world->cpus[cpu].thread].is_unseen = false;
}

/* Userspace forgets processes that are gone, once all of their windows are drained. */
static void go_on_from_drain(struct world *world)
{
	world->is_ending = world->seeks_mode = false;
	go_on_from_flush(world);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		struct process *process = &world->processes[i];

		if (process->standing == PROCESS_OBSERVED ? process->is_gone
							  : !has_threads(world, i))
			*process = (struct process){ .standing = PROCESS_NONE };
		else
			process->is_gone = !has_threads(world, i);
	}
}

void world_go_on(struct world *world, const struct happening *happening)
{
	struct thread *thread = &world->threads[happening->thread];

	switch (happening->kind) {
	case STEP_SWITCH:
		go_on_from_switch(world, happening);
		break;
	case STEP_ITERATE:
		go_on_from_flush(world);
		break;
	case STEP_EXEC:
		go_on_from_exec(world, thread);
		break;
	case STEP_FORK:
		go_on_from_fork(world, happening);
		break;
	case STEP_DRAIN:
		go_on_from_drain(world);
		go_on_from_interrupts(world);
		break;
	case STEP_FIND:
		if (!happening->is_first)
			go_on_from_interrupts(world);
		break;
	case STEP_ENTER:
	case STEP_EXIT:
		thread->is_unseen &= !world->sees_edges;
		break;
	case STEP_INTERRUPT:
	case STEP_RENAME:
		thread->is_unseen = false;
		break;
	case STEP_LEAVE:
		thread->is_unseen = false;
		thread->has_no_memory = true;
		if (!stays(world, thread->process))
			world->free_tgid = world->processes[thread->process].tgid;
		break;
	default:
		break;
	}
}
