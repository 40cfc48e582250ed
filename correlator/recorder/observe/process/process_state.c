/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/process_state.h"

/* One preference corrects a wrong guess about which one is in use; more mean that both are. */
enum {
	PREFERENCES_MAX = 1
};

void process_state_init(struct process_state *state)
{
	*state = (struct process_state){
		.look_pause_ns = PROCESS_LOOK_PAUSE_FIRST_NS,
		.asked_pause_ns = PROCESS_LOOK_PAUSE_FIRST_NS,
		.change_pause_ns = PROCESS_CHANGE_PAUSE_FIRST_NS,
		.probe_pause_ns = PROCESS_PROBE_PAUSE_FIRST_NS,
	};
}

static void look_at(struct process_state *state, uint64_t ns)
{
	state->look_ns = ns > state->young_until_ns ? ns : state->young_until_ns;
}

static void grow(uint64_t *pause_ns, uint64_t max_ns)
{
	*pause_ns *= 2;
	if (*pause_ns > max_ns)
		*pause_ns = max_ns;
}

void process_on_met(struct process_state *state, uint64_t now_ns)
{
	state->look_ns = now_ns;
}

void process_on_forked(struct process_state *state, const struct process_state *parent,
		       bool has_otel, uint64_t now_ns)
{
	state->is_readable = parent && parent->is_readable;
	if (parent && parent->is_unprobed) {
		state->is_unprobed = true;
		state->probe_look_ns = parent->probe_look_ns;
		state->probe_pause_ns = parent->probe_pause_ns;
	}
	if (parent && state->stage == PROCESS_UNSEEN)
		state->stage = PROCESS_FORKED;
	/* The child does not get back the free changes that its parent has used up. */
	if (parent) {
		state->changes = parent->changes;
		state->changed_ns = parent->changed_ns;
		state->change_ns = parent->change_ns;
		state->change_pause_ns = parent->change_pause_ns;
	}
	/* It lacks whatever its parent still lacks, and is as young. */
	if (parent)
		state->young_until_ns = parent->young_until_ns;
	if (!parent || parent->look_ns)
		look_at(state, now_ns);
	else if (has_otel)
		state->look_ns = now_ns + PROCESS_FORK_PAUSE_NS;
}

unsigned int process_on_executed(struct process_state *state, uint64_t now_ns)
{
	/* So is the program that a young one, which was not looked at, becomes. */
	if (state->stage == PROCESS_FORKED || now_ns < state->young_until_ns)
		state->young_until_ns = now_ns + PROCESS_YOUNG_NS;
	if (state->stage != PROCESS_EXITED)
		state->stage = PROCESS_UNSEEN;
	state->is_readable = false;
	state->is_unprobed = false;
	state->probe_look_ns = 0;
	state->probe_pause_ns = PROCESS_PROBE_PAUSE_FIRST_NS;
	state->told_copies = state->preferences = 0;
	state->asked_look_ns = 0;
	state->look_pause_ns = state->asked_pause_ns = PROCESS_LOOK_PAUSE_FIRST_NS;
	state->absent_ktime_ns = now_ns;
	look_at(state, now_ns);
	return PROCESS_FORGET;
}

void process_on_loading(struct process_state *state, uint64_t ktime_ns, uint64_t now_ns)
{
	if (!state->is_loading)
		state->absent_ktime_ns = ktime_ns;
	state->is_loading = true;
	state->look_pause_ns = PROCESS_LOOK_PAUSE_LOADING_NS;
	look_at(state, now_ns);
	state->settle_ns = now_ns + PROCESS_LOAD_SETTLE_NS;
}

void process_on_asked(struct process_state *state, bool has_preferred, uint64_t now_ns)
{
	if (has_preferred) {
		state->preferences++;
		state->asked_look_ns = 0;
	}
	state->is_asked = true;
	look_at(state, state->asked_look_ns > now_ns ? state->asked_look_ns : now_ns);
}

void process_on_news(struct process_state *state, uint64_t now_ns)
{
	uint64_t latest_ns = now_ns + PROCESS_LOOK_PAUSE_FIRST_NS;

	if (!state->look_ns || state->look_ns > latest_ns)
		look_at(state, latest_ns);
}

void process_on_moved(struct process_state *state, uint64_t now_ns)
{
	look_at(state, now_ns);
}

void process_on_postponed(struct process_state *state, uint64_t until_ns)
{
	state->look_ns = until_ns;
}

static void schedule(struct process_state *state, const struct process_findings *findings,
		     uint64_t now_ns)
{
	if (findings->is_complete) {
		state->look_ns = now_ns < state->settle_ns ? state->settle_ns : 0;
		state->look_pause_ns = PROCESS_LOOK_PAUSE_FIRST_NS;
		return;
	}
	if (findings->is_news)
		state->look_pause_ns = PROCESS_LOOK_PAUSE_FIRST_NS;
	/* Its loader is still at work on the publisher. */
	if (findings->is_news && findings->publisher_count && !findings->has_live)
		state->look_pause_ns = PROCESS_LOOK_PAUSE_LOADING_NS;
	state->look_ns = now_ns + state->look_pause_ns;
	grow(&state->look_pause_ns, PROCESS_LOOK_PAUSE_MAX_NS);
}

/* A request that a look did not satisfy is not repeated at once. */
static void answer(struct process_state *state, bool is_news, uint64_t now_ns)
{
	if (is_news)
		state->asked_pause_ns = PROCESS_LOOK_PAUSE_FIRST_NS;
	if (!state->is_asked)
		return;
	state->is_asked = false;
	state->asked_look_ns = now_ns + state->asked_pause_ns;
	grow(&state->asked_pause_ns, PROCESS_LOOK_PAUSE_MAX_NS);
}

/* Logs once per preferred object. */
static unsigned int decide_copies(struct process_state *state,
				  const struct process_findings *findings)
{
	unsigned int told = state->told_copies;

	if (findings->publisher_count < 2 || !findings->has_live || told == 1 + state->preferences)
		return 0;
	state->told_copies = 1 + state->preferences;
	if (!told)
		return PROCESS_SAY_COPIES;
	return process_uses_several(state) ? PROCESS_SAY_COPIES_IN_USE : PROCESS_SAY_COPY_IN_USE;
}

bool process_may_probe(const struct process_state *state, uint64_t now_ns)
{
	return state->probe_look_ns <= now_ns;
}

unsigned int process_on_looked(struct process_state *state, const struct process_findings *findings,
			       uint64_t now_ns)
{
	schedule(state, findings, now_ns);
	answer(state, findings->is_news, now_ns);
	if (findings->is_failed && state->probe_look_ns && process_may_probe(state, now_ns))
		state->probe_look_ns = now_ns + state->probe_pause_ns;
	return findings->is_failed ? 0 : decide_copies(state, findings);
}

unsigned int process_on_probed(struct process_state *state, bool are_placed, uint64_t now_ns)
{
	bool was_unprobed = state->is_unprobed;

	state->is_unprobed = !are_placed;
	state->probe_look_ns = are_placed ? 0 : now_ns + state->probe_pause_ns;
	if (are_placed)
		return 0;
	grow(&state->probe_pause_ns, PROCESS_PROBE_PAUSE_MAX_NS);
	return was_unprobed ? 0 : PROCESS_SAY_UNPROBED;
}

static enum process_stage stage_of(const struct process_findings *findings, bool is_readable)
{
	if (findings->is_complete)
		return PROCESS_COMPLETE;
	return is_readable ? PROCESS_PARTIAL : PROCESS_SILENT;
}

unsigned int process_on_told(struct process_state *state, const struct process_findings *findings,
			     bool is_readable, uint64_t look_ns, uint64_t now_ns)
{
	enum process_stage before = state->stage;
	bool was_readable = state->is_readable;
	unsigned int decisions = 0;

	state->stage = stage_of(findings, is_readable);
	state->is_readable = is_readable;
	if (is_readable && !was_readable) {
		state->pickup_ns = state->absent_ktime_ns ? now_ns - state->absent_ktime_ns : 0;
		decisions = PROCESS_SAY_READ;
	} else if (was_readable && !is_readable) {
		decisions = PROCESS_SAY_UNREAD;
	}
	if (!is_readable && !findings->publisher_count && !state->is_loading)
		state->absent_ktime_ns = look_ns;
	state->is_loading = false;
	if (state->stage == PROCESS_COMPLETE && before != PROCESS_COMPLETE)
		decisions |= PROCESS_SAY_COMPLETE;
	return decisions;
}

bool process_on_change(struct process_state *state, uint64_t now_ns)
{
	if (now_ns - state->changed_ns > PROCESS_CHANGE_QUIET_NS) {
		state->changes = 0;
		state->change_pause_ns = PROCESS_CHANGE_PAUSE_FIRST_NS;
	}
	if (state->changes >= PROCESS_CHANGES_FREE && now_ns < state->change_ns) {
		if (!state->look_ns || state->look_ns > state->change_ns)
			state->look_ns = state->change_ns;
		return false;
	}
	state->changed_ns = now_ns;
	if (++state->changes < PROCESS_CHANGES_FREE)
		return true;
	state->change_ns = now_ns + state->change_pause_ns;
	grow(&state->change_pause_ns, PROCESS_CHANGE_PAUSE_MAX_NS);
	return true;
}

void process_on_exited(struct process_state *state, uint64_t ktime_ns)
{
	state->stage = PROCESS_EXITED;
	state->exit_ktime_ns = ktime_ns;
}

unsigned int process_on_window(const struct process_state *state)
{
	return state->stage == PROCESS_EXITED ? PROCESS_REMOVE : 0;
}

uint64_t process_next_look(const struct process_state *state)
{
	uint64_t look_ns = state->look_ns ? state->look_ns : UINT64_MAX;

	if (state->probe_look_ns && state->probe_look_ns < look_ns)
		look_ns = state->probe_look_ns;
	return state->stage != PROCESS_EXITED ? look_ns : UINT64_MAX;
}

bool process_may_prefer(const struct process_state *state)
{
	return state->preferences <= PREFERENCES_MAX;
}

bool process_uses_several(const struct process_state *state)
{
	return state->preferences > PREFERENCES_MAX;
}
