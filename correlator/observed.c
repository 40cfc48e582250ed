#include "observed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/log.h"
#include "target/process.h"

/* USER_HZ of /proc: 100 on every Linux this runs on (sysconf(_SC_CLK_TCK)). */
#define NS_PER_TICK 10000000ULL

/* A server that boots is looked at often at first, then less: its contexts count from then on. */
enum {
	LOOK_PAUSE_FIRST_NS = 10 * 1000 * 1000,
	LOOK_PAUSE_MAX_NS = 500 * 1000 * 1000
};

void observed_table_deinit(struct observed_table *table)
{
	struct observed *process, *next;

	HASH_ITER(hh, table->processes, process, next) {
		observed_remove(table, process);
	}
}

struct observed *observed_find(const struct observed_table *table, pid_t pid)
{
	struct observed *process;

	HASH_FIND(hh, table->processes, &pid, sizeof(pid), process);
	return process;
}

struct observed *observed_add(struct observed_table *table, pid_t pid, pid_t parent_pid,
			      const char *comm)
{
	struct observed *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->pid = pid;
	process->parent_pid = parent_pid;
	process->keys = table->keys;
	process->retry_pause_ns = LOOK_PAUSE_FIRST_NS;
	(void)snprintf(process->comm, sizeof(process->comm), "%s", comm);
	HASH_ADD(hh, table->processes, pid, sizeof(process->pid), process);
	return process;
}

void observed_remove(struct observed_table *table, struct observed *process)
{
	HASH_DEL(table->processes, process);
	ruby_target_free(process->target);
	free(process);
}

void observed_forget_image(struct observed *process, uint64_t now_ns)
{
	ruby_target_free(TAKE_PTR(process->target));
	process->is_configured = false;
	process->server = NULL;
	process->retry_pause_ns = LOOK_PAUSE_FIRST_NS;
	process->retry_ns = now_ns + process->retry_pause_ns;
}

static int attach_sites(const struct ruby_target *target, struct session *session)
{
	uint64_t offsets[PROBE_SITES_MAX];

	for (size_t i = 0; i < target->site_count; i++)
		offsets[i] = target->sites[i].file_offset;
	if (!target->is_publishing || session_get_mode(session) != SESSION_MODE_EXACT)
		return 0;
	if (!target->site_count || target->publisher_fd < 0) {
		log_warning("no function of %s that changes the context was found to probe: "
			    "recording lean from now on",
			    target->publisher_path);
		return session_step_down(session, SESSION_MODE_LEAN);
	}
	return session_attach_uprobes(session, target->publisher_fd, offsets, target->site_count);
}

static void schedule(struct observed *process, uint64_t now_ns, bool found_something)
{
	if (process->target && ruby_target_is_complete(process->target)) {
		process->retry_ns = 0;
		return;
	}
	if (found_something)
		process->retry_pause_ns = LOOK_PAUSE_FIRST_NS;
	process->retry_ns = now_ns + process->retry_pause_ns;
	process->retry_pause_ns *= 2;
	if (process->retry_pause_ns > LOOK_PAUSE_MAX_NS)
		process->retry_pause_ns = LOOK_PAUSE_MAX_NS;
}

static int open_target(struct observed *process)
{
	return ruby_target_open(process->pid, process->keys->names, process->keys->count,
				&process->target);
}

int observed_look(struct observed_table *table, struct observed *process, struct session *session,
		  uint64_t now_ns)
{
	struct process_config config;
	bool is_news = !process->is_configured;
	int result;

	if (process->target)
		result = ruby_target_refresh(process->target, table->keys->names);
	else
		result = open_target(process);
	is_news |= result > 0;
	schedule(process, now_ns, is_news);
	if (result < 0 || !is_news)
		return result;
	process->is_configured = true;
	process->server = process_server_name(process->pid);
	(void)snprintf(process->comm, sizeof(process->comm), "%s", process->target->info.comm);
	process->parent_pid = process->target->info.parent_pid;
	process->ns_pid = process->target->info.ns_pid;
	process->start_wall_ns = duration_wall_ns() - duration_boot_ns() +
				 process->target->info.start_ticks * NS_PER_TICK;
	ruby_target_config(process->target, &config);
	/* Probes first: no change of context after the first reading is missed. */
	result = attach_sites(process->target, session);
	return result ? result : session_set_process(session, process->pid, &config);
}

int observed_find_symbol(void *context, uint64_t id, struct value_snapshot *ret_name)
{
	struct observed *process = context;

	/* A forked child that nobody had to look at yet. */
	if (!process->target && open_target(process))
		return -EAGAIN;
	if (!process->target->symbols)
		return -EAGAIN;
	return ruby_symbols_find_name(process->target->symbols, id, ret_name);
}

uint64_t observed_next_look(const struct observed_table *table)
{
	uint64_t next = UINT64_MAX;

	for (struct observed *process = table->processes; process; process = process->hh.next)
		if (process->retry_ns && process->retry_ns < next && !process->has_exited)
			next = process->retry_ns;
	return next;
}
