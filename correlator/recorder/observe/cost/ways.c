/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/cost/ways.h"

#include "base/log.h"
#include "recorder/observe/process/modes.h"

enum {
	LOOKS = 10 /* looks without a process on the long way before its measurement stops */
};

void ways_follow(struct ways *ways, struct session *session, const struct observed_table *table)
{
	if (session_is_lean(session) || !session_has_kernel_split(session))
		return;
	if (modes_has_inexact(table)) {
		ways->looks_without = 0;
		if (!ways->is_long_measured)
			(void)session_start_calibration(session, SESSION_WAY_LONG);
		ways->is_long_measured = true;
	} else if (ways->is_long_measured && ++ways->looks_without == LOOKS) {
		session_end_calibration(session, SESSION_WAY_LONG);
		ways->is_long_measured = false;
	}
}

void ways_give_up(struct ways *ways)
{
	ways->is_long_measured = false;
}

static void measure(struct session *session, enum session_way of, uint64_t since_ns,
		    struct split_way *way)
{
	struct session_ways ways;

	session_read_ways(session, of, since_ns, &ways);
	split_estimate(ways.hot_ns, ways.hot_count, ways.lone_ns, ways.lone_count, ways.slept_ns,
		       ways.slept_count, way);
	log_debug("a system call's way: %.1f ns, give or take %.1f ns (%zu samples), cold %.1f ns "
		  "more, after a sleep %.1f ns more",
		  way->hot_ns, way->spread_ns, ways.hot_count, way->lone_excess_ns,
		  way->slept_excess_ns);
}

void ways_measure(struct session *session, uint64_t since_ns,
		  struct split_way ret_ways[static _SESSION_WAY_MAX])
{
	if (!session_has_kernel_split(session))
		return;
	measure(session, SESSION_WAY_SHORT, since_ns, &ret_ways[SESSION_WAY_SHORT]);
	if (session_has_calibration(session, SESSION_WAY_LONG)) {
		measure(session, SESSION_WAY_LONG, since_ns, &ret_ways[SESSION_WAY_LONG]);
	} else {
		ret_ways[SESSION_WAY_LONG] = ret_ways[SESSION_WAY_SHORT];
		ret_ways[SESSION_WAY_LONG].spread_ns += ret_ways[SESSION_WAY_SHORT].hot_ns;
	}
}

void ways_note(struct observed_table *table, const struct session *session)
{
	bool is_one = session_is_lean(session);

	for (struct observed *process = table->processes; process; process = process->hh.next) {
		enum session_way before = process->books.way;
		bool is_long = process->lean_causes || observed_has_otel(process);

		process->books.way = is_long && !is_one ? SESSION_WAY_LONG : SESSION_WAY_SHORT;
		process->books.has_both_ways = process->books.way != before;
	}
}
