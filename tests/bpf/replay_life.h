/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A random life of one thread (unit/bpf/machine/story.h) as steps of a replay, and what it comes to
 * by the model, in which nothing is known of this arithmetic.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "bpf/machine/model.h"
#include "bpf/machine/story.h"
#include "bpf/machine/world.h"
#include "replay.h"

struct life {
	struct world world;
	struct replay *replay;
	struct account_totals totals; /* by the model */
	bool is_on_cpu; /* as was reported so far */
	__u32 count;
};

static inline void life_add(struct life *life, enum replay_operation operation, __u32 argument)
{
	const struct thread *thread = &life->world.threads[0];

	if (life->count == REPLAY_STEPS_MAX)
		return;
	life->replay->steps[life->count++] = (struct replay_step){
		.now_ns = life->world.now_ns,
		.figures = { .exec_ns = thread->exec_ns,
			     .run_delay_ns = thread->run_delay_ns,
			     .voluntary = thread->voluntary,
			     .involuntary = thread->involuntary },
		.operation = operation,
		.argument = argument,
	};
}

/* What any boundary begins with. */
static inline void life_enter_boundary(struct life *life)
{
	const struct thread *thread = &life->world.threads[0];

	if (!life->is_on_cpu) {
		life_add(life, REPLAY_ENTER_UNSEEN, thread->arrived_cpu);
		life->replay->steps[life->count - 1].figures.run_delay_ns =
			life->world.now_ns - thread->arrived_ns;
		life->is_on_cpu = true;
	}
	life_add(life, REPLAY_SETTLE, 0);
}

static inline void life_switch(struct life *life, const struct happening *happening)
{
	const struct thread *thread = &life->world.threads[0];
	__u32 reason = thread->state == STATE_DISK ? OFF_CPU_UNINTERRUPTIBLE : OFF_CPU_SLEEPING;

	if (!happening->is_reported)
		return;
	if (happening->thread == 0) {
		life_enter_boundary(life);
		life_add(life, REPLAY_SWITCH_OUT, thread->is_queued ? OFF_CPU_RUNNABLE : reason);
		life->is_on_cpu = false;
	} else if (happening->next == 0) {
		if (life->is_on_cpu)
			life_add(life, REPLAY_LEAVE_UNSEEN, 0);
		life_add(life, REPLAY_SWITCH_IN, happening->cpu);
		life->is_on_cpu = true;
	}
}

static inline void life_write_up(struct life *life)
{
	const struct thread *thread = &life->world.threads[0];

	if (thread->cpu != CPUS) {
		life_enter_boundary(life);
		life_add(life, REPLAY_EDGE, thread->is_in_call);
	} else {
		life_add(life, REPLAY_COLLECT, thread->state == STATE_RUNNING);
	}
}

static inline void life_sum_up(struct life *life)
{
	static struct ledger ledger;

	model_drain(&life->world, &ledger);
	for (__u32 i = 0; i < ledger.count; i++)
		if (ledger.rows[i].serial == life->world.threads[0].serial)
			account_fold(&life->totals, &ledger.rows[i].totals);
}

static inline void life_go_on(struct life *life, const struct step *step)
{
	struct happening happening;

	if (!world_meet(&life->world, step, &happening))
		return;
	if (happening.kind == STEP_SWITCH)
		life_switch(life, &happening);
	else if (happening.kind == STEP_DRAIN ||
		 (happening.kind == STEP_ITERATE && life->world.threads[0].cpu == CPUS))
		life_write_up(life);
	else if ((happening.kind == STEP_ENTER || happening.kind == STEP_EXIT ||
		  happening.kind == STEP_INTERRUPT) &&
		 happening.thread == 0)
		life_write_up(life);
	model_meet(&life->world, &happening);
	if (happening.kind == STEP_DRAIN)
		life_sum_up(life);
	world_go_on(&life->world, &happening);
}

/* The steps, and what their totals are to be. */
static inline struct account_totals life_tell(const struct story *story, struct replay *ret_replay)
{
	static const __u32 told = 1U << STEP_SWITCH | 1U << STEP_WAKE | 1U << STEP_ENTER |
				  1U << STEP_EXIT | 1U << STEP_INTERRUPT | 1U << STEP_ITERATE;
	/* At its end it is seen, if it has left its CPU unreported. */
	static const struct step last[] = {
		{ .kind = STEP_WAKE },
		{ .kind = STEP_SWITCH, .what = 1 },
		{ .kind = STEP_END },
		{ .kind = STEP_DRAIN },
	};
	struct life life = { .replay = ret_replay, .is_on_cpu = true };

	memset(ret_replay, 0, sizeof(*ret_replay));
	world_begin(&life.world);
	model_begin(&life.world);
	life_add(&life, _REPLAY_MAX, 0);
	ret_replay->steps[0].figures.exec_ns = world_exec_ns(&life.world, &life.world.threads[0]);
	/* What one step of the story comes to, and the end, must find room. */
	for (size_t i = 0; i < story->count && life.count < REPLAY_STEPS_MAX - 16; i++)
		if (told >> story->steps[i].kind & 1)
			life_go_on(&life, &story->steps[i]);
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		life_go_on(&life, &last[i]);
	while (life.count < REPLAY_STEPS_MAX)
		life_add(&life, _REPLAY_MAX, 0);
	return life.totals;
}
