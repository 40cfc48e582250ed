/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A list of boundaries and what the arithmetic makes of it: run natively and, by BPF_PROG_TEST_RUN,
 * in the kernel, from the same text. Also one table to probe.
 */
#pragma once

#include <linux/types.h>

#include <correlator/account.h>
#include <correlator/clock_offset.h>
#include <correlator/context_hash.h>
#include <correlator/missed_switches.h>
#include <correlator/table_probe.h>

enum {
	REPLAY_STEPS_MAX = 128
};

enum replay_operation {
	REPLAY_EDGE = 0,
	REPLAY_SWITCH_OUT = 1,
	REPLAY_SWITCH_IN = 2,
	REPLAY_SETTLE = 3,
	REPLAY_COLLECT = 4,
	REPLAY_MISSED = 5,
	REPLAY_STOLEN = 6,
	REPLAY_EDGES = 7,
	REPLAY_ENTER_UNSEEN = 8,
	REPLAY_CLOCK = 9,
	REPLAY_LEAVE_UNSEEN = 10,
	_REPLAY_MAX,
};

struct replay_step {
	__u64 now_ns;
	__u64 stolen_ns;
	struct kernel_figures figures;
	__u32 operation; /* enum replay_operation */
	__u32 argument; /* mode, reason, CPU or runnable */
};

struct replay {
	/* in */
	struct replay_step steps[REPLAY_STEPS_MAX];
	struct state_header header;
	struct state_pair pairs[STATE_CAPACITY_MAX];
	__u64 wanted_key;
	__u32 position; /* of the step that runs next; 0 begins */
	__u32 reserved;
	struct context_hash_key hash_key;
	struct value_snapshot value;
	/* out */
	struct thread_clock clock;
	struct account_totals totals;
	struct account_totals folded;
	struct clock_offset offset;
	struct missed_switches missed;
	__u64 hash;
	__s32 header_is_sane;
	__s32 slot;
};

/* Asleep, on what is any number: also those that are no reason. */
static inline __u32 replay_off_reason(__u32 argument)
{
	__u32 how = argument % 3;

	return how == OFF_CPU_RUNNABLE ? how : off_cpu_blocked(how, argument >> 8);
}

static inline void replay_step_apply(struct replay *replay, const struct replay_step *step)
{
	struct missed_switch *missed;
	struct edge_times edges;
	__u32 first;

	switch (step->operation) {
	case REPLAY_EDGE:
		account_edge(&replay->clock, &replay->totals, step->now_ns, step->argument & 1);
		break;
	case REPLAY_SWITCH_OUT:
		account_switch_out(&replay->clock, &replay->totals, step->now_ns, &step->figures,
				   replay_off_reason(step->argument));
		break;
	case REPLAY_SWITCH_IN:
		account_switch_in(&replay->clock, &replay->totals, step->now_ns, step->stolen_ns,
				  step->argument);
		break;
	case REPLAY_SETTLE:
		account_settle_gap(&replay->clock, &replay->totals, step->figures.run_delay_ns);
		break;
	case REPLAY_COLLECT:
		account_collect(&replay->clock, &replay->totals, step->now_ns, step->argument & 1);
		break;
	case REPLAY_MISSED:
		missed = missed_switches_next(&replay->missed);
		if (missed) {
			missed->figures = step->figures;
			missed->at_ns = step->now_ns;
			missed->stolen_ns = step->stolen_ns;
			missed->is_out = step->argument & 1;
			missed->off_reason = replay_off_reason(step->argument);
			missed->cpu = step->argument & 7;
			missed_switches_note(&replay->missed);
		}
		if (missed_switches_read(&replay->missed, &first) > 1)
			missed_switch_apply(missed_switches_at(&replay->missed, first),
					    &replay->clock, &replay->totals);
		if (step->argument & 16)
			missed_switches_settled(&replay->missed, first + 1);
		break;
	case REPLAY_EDGES:
		account_edges_open(&edges, &replay->clock);
		account_edges_pass(&edges, step->now_ns, step->argument & 1);
		account_edges_pass(&edges, step->now_ns + step->argument, ~step->argument & 1);
		account_edges_fold(&edges, &replay->clock, &replay->totals);
		break;
	case REPLAY_ENTER_UNSEEN:
		account_enter_unseen(
			&replay->clock, &replay->totals, step->now_ns, step->figures.run_delay_ns,
			account_stolen_at_arrival(step->now_ns, replay->clock.exec_mark_ns,
						  step->figures.exec_ns, step->stolen_ns),
			step->argument);
		break;
	case REPLAY_CLOCK:
		clock_offset_take(&replay->offset, step->figures.exec_ns, step->now_ns);
		break;
	case REPLAY_LEAVE_UNSEEN:
		account_leave_unseen(&replay->clock, &replay->totals, step->now_ns, &step->figures);
		break;
	case REPLAY_STOLEN:
		account_settle_stolen(&replay->clock, &replay->totals, step->stolen_ns);
		break;
	default:
		break;
	}
}

static inline void replay_finish(struct replay *replay)
{
	struct context_hash_state hash;
	struct context_hash_key key = replay->hash_key;

	account_fold(&replay->folded, &replay->totals);
	replay->header_is_sane = table_header_is_sane(&replay->header);
	replay->slot = replay->header_is_sane
			       ? table_probe_find(replay->pairs, replay->header.capacity,
						  replay->wanted_key)
			       : -2;
	context_hash_init(&hash, &key);
	context_hash_add_value(&hash, &replay->value);
	replay->hash = context_hash_final(&hash);
}

/* Runs one step: unrolled by the verifier, a loop over all of them would be too much for it. */
static inline void replay_run(struct replay *replay)
{
	__u32 position = replay->position++;

	if (position == 0)
		account_begin(&replay->clock, &replay->steps[0].figures, replay->steps[0].now_ns, 0,
			      OFF_CPU_RUNNABLE, THREAD_MODE_USER);
	else if (position < REPLAY_STEPS_MAX)
		replay_step_apply(replay, &replay->steps[position]);
	else
		replay_finish(replay);
}
