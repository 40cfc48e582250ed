/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An observed process as a state machine: what is known about it, the events that happen to it, and
 * what to do about them. Each event is a function that returns decisions; observed.h and the
 * recorder carry them out. Pure: no I/O, no clock, never logs. All times are CLOCK_MONOTONIC.
 *
 *   state      meaning                                                  next look
 *   UNSEEN     pid known; not looked at yet, or not since its exec      on request, or at once
 *   FORKED     runs its parent's program, and is read like its parent   as its parent
 *   SILENT     looked at: none of its contexts can be read              again and again
 *   PARTIAL    its contexts are read, something is missing              again and again
 *   COMPLETE   everything wanted is found                               on an event
 *   EXITED     its last thread is gone                                  none
 *
 *   event      from              to           next look                 decisions
 *   met        UNSEEN            same         at once
 *   forked     UNSEEN            FORKED       at once if the parent's is pending, after half a
 *                                             second if it publishes by OpenTelemetry, else none
 *   executed   FORKED            UNSEEN       when it is not young      FORGET
 *              all but EXITED    UNSEEN       at once                   FORGET
 *   loading    all               same         at once, and often
 *   asked      all               same         at once; after a look that found nothing, later
 *   news       all               same         within 10 ms
 *   moved      all               same         at once
 *   postponed  all               same         later: looks at its family have taken too long
 *   looked     all but EXITED    by `told`    none if it is COMPLETE,   ATTACH or LEAN,
 *                                             else after a pause, which CONFIGURE, SAY_COPIES...;
 *                                             doubles while nothing     none if the look failed
 *                                             is found
 *   probed     all but EXITED    same         if some probes could not  SAY_UNPROBED once, if
 *                                             be placed: after a pause, some cannot be placed
 *                                             which doubles
 *   told       all but EXITED    SILENT, PARTIAL or COMPLETE            SAY_READ, SAY_UNREAD,
 *                                                                       SAY_COMPLETE
 *   exited     all               EXITED       none
 *   window     EXITED                         none                      REMOVE
 *
 * A server that boots is looked at often at first, then less often: its contexts count from then
 * on. New code that it maps is looked at at once, and again until the loader is done with it.
 *
 * A program that a process starts in a child is young for PROCESS_YOUNG_NS, in which it is not
 * looked at, whatever happens: most such programs end by then, a look takes a millisecond, and no
 * Ruby has begun to run Ruby code.
 *
 * Each update of the kernel side makes all observed threads of the machine check whether it
 * concerns them. So a process may change PROCESS_CHANGES_FREE times at will, and then once per
 * pause, which doubles, up to a second. Ten seconds without a change reset this.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#define PROCESS_LOOK_PAUSE_FIRST_NS   (10 * NS_PER_MS)
#define PROCESS_LOOK_PAUSE_LOADING_NS (200 * NS_PER_US)
#define PROCESS_LOOK_PAUSE_MAX_NS     (500 * NS_PER_MS)
/* For this long after a loader event, later events may be suppressed (LOAD_PAUSE_NS). */
#define PROCESS_LOAD_SETTLE_NS (2 * NS_PER_MS)
/*
 * First look at a fork of a process that publishes by OpenTelemetry. If the fork lives, it
 * publishes a process context of its own; but most forks exec.
 */
#define PROCESS_FORK_PAUSE_NS (500 * NS_PER_MS)
#define PROCESS_YOUNG_NS      (20 * NS_PER_MS)
/* Pause before another attempt to place probes that could not be placed. */
#define PROCESS_PROBE_PAUSE_FIRST_NS NS_PER_S
#define PROCESS_PROBE_PAUSE_MAX_NS   (300 * NS_PER_S)

#define PROCESS_CHANGE_PAUSE_FIRST_NS (10 * NS_PER_MS)
#define PROCESS_CHANGE_PAUSE_MAX_NS   NS_PER_S
#define PROCESS_CHANGE_QUIET_NS	      (10 * NS_PER_S)

enum {
	PROCESS_CHANGES_FREE = 16
};

enum process_stage {
	PROCESS_UNSEEN = 0,
	PROCESS_FORKED,
	PROCESS_SILENT,
	PROCESS_PARTIAL,
	PROCESS_COMPLETE,
	PROCESS_EXITED,
};

/* Decisions to carry out; several at a time. */
enum process_decision {
	PROCESS_FORGET = 1 << 0, /* forget the program that it ran */
	PROCESS_REMOVE = 1 << 1,
	PROCESS_SAY_READ = 1 << 2, /* its contexts are read from now on; see pickup_ns */
	PROCESS_SAY_UNREAD = 1 << 3, /* its contexts are no longer read */
	PROCESS_SAY_COMPLETE = 1 << 4,
	PROCESS_SAY_COPIES = 1 << 5, /* several of its objects publish: one is read */
	PROCESS_SAY_COPY_IN_USE = 1 << 6, /* the one that is read is known to be in use */
	PROCESS_SAY_COPIES_IN_USE = 1 << 7, /* several of them are in use */
	PROCESS_SAY_UNPROBED = 1 << 8, /* its probes cannot be placed */
};

struct process_state {
	enum process_stage stage;
	bool is_readable; /* the kernel side knows where its contexts are */
	bool is_loading; /* its loader was at work since the last look */
	bool is_asked; /* the kernel side requests a look */
	unsigned int preferences; /* how often another object's variable was preferred */
	unsigned int told_copies; /* 1 + preferences when the copies were last logged; 0 = never */
	uint64_t look_ns; /* when the next look is due; 0 = nothing is missing */
	uint64_t young_until_ns; /* no look before; 0 = it was never young */
	uint64_t look_pause_ns; /* pause after that look */
	uint64_t settle_ns; /* effects of its loader may go unreported until then; 0 = none */
	uint64_t asked_look_ns; /* earliest time of a requested look */
	uint64_t asked_pause_ns; /* grows while requested looks find nothing */
	bool is_unprobed; /* its context probes could not be placed */
	uint64_t probe_look_ns; /* when to try again to place them; 0 = they are placed */
	uint64_t probe_pause_ns; /* pause after a failed attempt; grows until an exec */
	uint64_t absent_ktime_ns; /* when it was last known to publish nothing; 0 = never */
	uint64_t pickup_ns; /* from absent_ktime_ns until it was read; 0 = published when found */
	uint64_t exit_ktime_ns;
	/* Updates of the kernel side: */
	unsigned int changes; /* since the last quiet period */
	uint64_t changed_ns; /* time of the last one */
	uint64_t change_ns; /* earliest time of the next one */
	uint64_t change_pause_ns; /* pause after that one */
};

/* The findings of a look. */
struct process_findings {
	bool is_failed; /* the look failed: the process is gone, or may not be read */
	bool is_news; /* found something that the last look did not find */
	bool is_complete; /* everything wanted is found */
	size_t publisher_count; /* publishers of Ruby contexts */
	bool has_live; /* one of them is read; the loader is done with it */
	bool has_sites; /* that one has places for probes */
};

void process_state_init(struct process_state *state);

/* Its first account arrived before any other news of it: its fork event was lost. */
void process_on_met(struct process_state *state, uint64_t now_ns);
/* parent: NULL = not observed. has_otel: the parent may publish by OpenTelemetry. */
void process_on_forked(struct process_state *state, const struct process_state *parent,
		       bool has_otel, uint64_t now_ns);
unsigned int process_on_executed(struct process_state *state, uint64_t now_ns);
/* It has been loading or unloading objects since ktime_ns. */
void process_on_loading(struct process_state *state, uint64_t ktime_ns, uint64_t now_ns);
/*
 * A probe was hit whose context cannot be read. has_preferred: from now on the context of another
 * object is read, which process_may_prefer() allows.
 */
void process_on_asked(struct process_state *state, bool has_preferred, uint64_t now_ns);
/* Its OpenTelemetry process context may have changed. */
void process_on_news(struct process_state *state, uint64_t now_ns);
/* Its publisher is no longer where it was. */
void process_on_moved(struct process_state *state, uint64_t now_ns);
/* A due look is postponed to until_ns. */
void process_on_postponed(struct process_state *state, uint64_t until_ns);
/* now_ns: when the look began. */
unsigned int process_on_looked(struct process_state *state, const struct process_findings *findings,
			       uint64_t now_ns);
/* False: its probes could not be placed recently; wait before another attempt. */
bool process_may_probe(const struct process_state *state, uint64_t now_ns);
/* In a look that did not fail: its context probes are placed, or could not be. */
unsigned int process_on_probed(struct process_state *state, bool are_placed, uint64_t now_ns);
/*
 * After a look that did not fail: the kernel side is up to date, or could not be updated. look_ns:
 * when the look began.
 */
unsigned int process_on_told(struct process_state *state, const struct process_findings *findings,
			     bool is_readable, uint64_t look_ns, uint64_t now_ns);
/*
 * Requests to update the kernel side about a change of the process. False: not yet; a look is
 * scheduled for when it may be.
 */
bool process_on_change(struct process_state *state, uint64_t now_ns);
void process_on_exited(struct process_state *state, uint64_t ktime_ns);
/* The window ends. */
unsigned int process_on_window(const struct process_state *state);

/* When the next look is due; UINT64_MAX = none is. */
uint64_t process_next_look(const struct process_state *state);
/*
 * The first wrong guess about which object's variable is in use is corrected; after that, several
 * are in use.
 */
bool process_may_prefer(const struct process_state *state);
bool process_uses_several(const struct process_state *state);
