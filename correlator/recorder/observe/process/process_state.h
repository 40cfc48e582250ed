/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An observed process as a state machine: what is known of it, what happens to it, and what is to
 * be done about it. Each event is a function, which returns decisions; observed.h and the recorder
 * carry them out. Pure: no I/O, no clock, never logs. All times are CLOCK_MONOTONIC.
 *
 *   state      what is known of it                                      it is looked at
 *   UNSEEN     its pid: it was not looked at, or not since its exec     when told to, or at once
 *   FORKED     it runs its parent's program, and is read as that is     as the parent is
 *   SILENT     looked at: no context of it can be read                  again and again
 *   PARTIAL    its contexts are read, something is missing              again and again
 *   COMPLETE   all that was wanted is found                             when something happens
 *   EXITED     its last thread is gone                                  no more
 *
 *   event      from              to           the next look             decisions
 *   met        UNSEEN            same         at once
 *   forked     UNSEEN            FORKED       as the parent's: at once if one is due, after half
 *                                             a second if it publishes by OpenTelemetry, else none
 *   executed   all but EXITED    UNSEEN       at once                   FORGET
 *   loading    all               same         at once, and often
 *   asked      all               same         at once; after a look that found nothing, later
 *   news       all               same         within 10 ms
 *   moved      all               same         at once
 *   postponed  all               same         then: its family's looks have taken too long
 *   looked     all but EXITED    by `told`    none if it is COMPLETE,   ATTACH or LEAN,
 *                                             else after a pause, which CONFIGURE, SAY_COPIES...;
 *                                             doubles while nothing     none if the look failed
 *                                             is found
 *   probed     all but EXITED    same         once more after a pause   SAY_UNPROBED once, where
 *                                             that doubles, if some     some cannot be placed
 *                                             could not be placed
 *   told       all but EXITED    SILENT, PARTIAL or COMPLETE            SAY_READ, SAY_UNREAD,
 *                                                                       SAY_COMPLETE
 *   exited     all               EXITED       none
 *   window     EXITED                         none                      REMOVE
 *
 * A server that boots is looked at often at first, then less: its contexts count from then on. New
 * code that it maps is looked at at once, and again until the loader is done with it.
 *
 * Each time that the kernel side is told something new, all threads of the machine that are
 * observed have to look whether it is theirs. So one process may change PROCESS_CHANGES_FREE times,
 * and then after a pause each, which doubles, up to a second; ten seconds without a change make it
 * free again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#define PROCESS_LOOK_PAUSE_FIRST_NS   (10 * NS_PER_MS)
#define PROCESS_LOOK_PAUSE_LOADING_NS (200 * NS_PER_US)
#define PROCESS_LOOK_PAUSE_MAX_NS     (500 * NS_PER_MS)
/* Within this time after its loader was at work, what it did next is not told (LOAD_PAUSE_NS). */
#define PROCESS_LOAD_SETTLE_NS (2 * NS_PER_MS)
/* Of a fork of what publishes by OpenTelemetry: it will publish a process context of its own, if it
 * lives; most that are forked exec. */
#define PROCESS_FORK_PAUSE_NS (500 * NS_PER_MS)
/* Until it is tried again to place probes that could not be placed. */
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

/* What is to be done; several at a time. */
enum process_decision {
	PROCESS_FORGET = 1 << 0, /* what was known of the program that it ran */
	PROCESS_REMOVE = 1 << 1,
	PROCESS_SAY_READ = 1 << 2, /* its contexts are read from now on: pickup_ns */
	PROCESS_SAY_UNREAD = 1 << 3, /* and no more */
	PROCESS_SAY_COMPLETE = 1 << 4,
	PROCESS_SAY_COPIES = 1 << 5, /* several of its objects publish: one is read */
	PROCESS_SAY_COPY_IN_USE = 1 << 6, /* and that is known to be the one in use */
	PROCESS_SAY_COPIES_IN_USE = 1 << 7, /* or several are */
	PROCESS_SAY_UNPROBED = 1 << 8, /* its probes cannot be placed */
};

struct process_state {
	enum process_stage stage;
	bool is_readable; /* the kernel side was told where its contexts are */
	bool is_loading; /* its loader was at work since the last look */
	bool is_asked; /* the kernel side wants it to be looked at */
	unsigned int preferences; /* how often another object's variable was preferred */
	unsigned int told_copies; /* 1 + preferences when it was last said that several publish */
	uint64_t look_ns; /* when the next look is due; 0 = nothing is missing */
	uint64_t look_pause_ns; /* then */
	uint64_t settle_ns; /* not before then is it known what its loader did; 0 = nothing */
	uint64_t asked_look_ns; /* a look that is asked for: not before */
	uint64_t asked_pause_ns; /* grows while such looks find nothing */
	bool is_unprobed; /* probes of its contexts could not be placed: */
	uint64_t probe_look_ns; /* when that is tried again; 0 = they are */
	uint64_t probe_pause_ns; /* then, if they cannot be; grows until it runs another program */
	uint64_t absent_ktime_ns; /* when it was last known to publish nothing; 0 = never */
	uint64_t pickup_ns; /* from then until it was read; 0 = it published when it was found */
	uint64_t exit_ktime_ns;
	/* What the kernel side is told: */
	unsigned int changes; /* since it was last quiet */
	uint64_t changed_ns; /* the last one */
	uint64_t change_ns; /* the next one: not before */
	uint64_t change_pause_ns; /* then */
};

/* What a look found. */
struct process_findings {
	bool is_failed; /* the look: the process is gone, or may not be read */
	bool is_news; /* something was found that the last look did not */
	bool is_complete; /* all that was wanted is found */
	size_t publisher_count; /* of Ruby's contexts */
	bool has_live; /* one of them is read: the loader is done with it */
	bool has_sites; /* that one has places for probes */
};

void process_state_init(struct process_state *state);

/* Its first account came before anything else was heard of it: its fork event was lost. */
void process_on_met(struct process_state *state, uint64_t now_ns);
/* parent: NULL = not observed. has_otel: it publishes by OpenTelemetry. */
void process_on_forked(struct process_state *state, const struct process_state *parent,
		       bool has_otel, uint64_t now_ns);
unsigned int process_on_executed(struct process_state *state, uint64_t now_ns);
/* It loads or unloads objects, since ktime_ns. */
void process_on_loading(struct process_state *state, uint64_t ktime_ns, uint64_t now_ns);
/* A probe was hit whose context cannot be read. has_preferred: that of another object than before
 * is read from now on, which process_may_prefer allows. */
void process_on_asked(struct process_state *state, bool has_preferred, uint64_t now_ns);
/* What it publishes by OpenTelemetry is another by now. */
void process_on_news(struct process_state *state, uint64_t now_ns);
/* Its publisher is not where it was. */
void process_on_moved(struct process_state *state, uint64_t now_ns);
/* It was due, and will be then. */
void process_on_postponed(struct process_state *state, uint64_t until_ns);
/* now_ns: when the look began. */
unsigned int process_on_looked(struct process_state *state, const struct process_findings *findings,
			       uint64_t now_ns);
/* False: its probes could not be placed a short while ago. */
bool process_may_probe(const struct process_state *state, uint64_t now_ns);
/* In a look that did not fail: those of its contexts are placed, or could not be. */
unsigned int process_on_probed(struct process_state *state, bool are_placed, uint64_t now_ns);
/* After a look that did not fail: the kernel side knows, or could not be told. look_ns: when the
 * look began. */
unsigned int process_on_told(struct process_state *state, const struct process_findings *findings,
			     bool is_readable, uint64_t look_ns, uint64_t now_ns);
/*
 * The kernel side is to be told that something about it has changed. False: not yet; a look is due
 * when it may be.
 */
bool process_on_change(struct process_state *state, uint64_t now_ns);
void process_on_exited(struct process_state *state, uint64_t ktime_ns);
/* The window ends. */
unsigned int process_on_window(const struct process_state *state);

/* When the next look is due; UINT64_MAX = none is. */
uint64_t process_next_look(const struct process_state *state);
/* One mistake about which object's variable is in use is put right; after that, several are. */
bool process_may_prefer(const struct process_state *state);
bool process_uses_several(const struct process_state *state);
