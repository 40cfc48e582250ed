#include "observe/observed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/state_abi.h>

#include "base/clock.h"
#include "base/log.h"
#include "target/proc/process.h"

/* USER_HZ of /proc: 100 on every Linux this runs on (sysconf(_SC_CLK_TCK)). */
#define NS_PER_TICK 10000000ULL

/*
 * A server that boots is looked at often at first, then less: its contexts count from then on. New
 * code that it maps is looked at at once, and again until the loader is done with it.
 */
enum {
	LOOK_PAUSE_FIRST_NS = 10 * 1000 * 1000,
	LOOK_PAUSE_LOADING_NS = 200 * 1000,
	LOOK_PAUSE_MAX_NS = 500 * 1000 * 1000
};

/* Once is a mistake about which is in use; more often, both are. */
enum {
	PREFERENCES_MAX = 1
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
	process->retry_pause_ns = process->asked_pause_ns = LOOK_PAUSE_FIRST_NS;
	(void)snprintf(process->comm, sizeof(process->comm), "%s", comm);
	HASH_ADD(hh, table->processes, pid, sizeof(process->pid), process);
	return process;
}

void observed_remove(struct observed_table *table, struct observed *process)
{
	HASH_DEL(table->processes, process);
	target_free(process->target);
	free(process);
}

void observed_forget_image(struct observed *process, uint64_t now_ns)
{
	target_free(TAKE_PTR(process->target));
	process->is_fork = false;
	process->is_configured = process->is_readable = false;
	process->server = NULL;
	process->told_copies = process->preferences = 0;
	process->asked_look_ns = 0;
	process->retry_pause_ns = process->asked_pause_ns = LOOK_PAUSE_FIRST_NS;
	process->absent_ktime_ns = process->retry_ns = now_ns;
}

void observed_note_loading(struct observed *process, uint64_t ktime_ns, uint64_t now_ns)
{
	if (!process->is_loading)
		process->absent_ktime_ns = ktime_ns;
	process->is_loading = true;
	process->retry_pause_ns = LOOK_PAUSE_LOADING_NS;
	process->retry_ns = now_ns;
}

void observed_note_question(struct observed *process, uint64_t address, uint64_t now_ns)
{
	struct target *target = process->target;

	if (target && process->preferences <= PREFERENCES_MAX &&
	    publishers_prefer(&target->publishers, address)) {
		process->preferences++;
		process->asked_look_ns = 0;
	}
	process->is_asked = true;
	process->retry_ns = process->asked_look_ns > now_ns ? process->asked_look_ns : now_ns;
}

void observed_check_publishers(struct observed_table *table, uint64_t now_ns)
{
	for (struct observed *process = table->processes; process; process = process->hh.next) {
		const struct publisher *publisher =
			process->target ? target_publisher(process->target) : NULL;

		if (publisher && !publisher_is_there(publisher, process->pid))
			process->retry_ns = now_ns;
	}
}

static int attach_sites(const struct publisher *publisher, struct session *session)
{
	uint64_t offsets[PROBE_SITES_MAX];

	for (size_t i = 0; i < publisher->site_count; i++)
		offsets[i] = publisher->sites[i].file_offset;
	return session_attach_uprobes(session, publisher->fd, offsets, publisher->site_count);
}

/* Each object that publishes: a probe tells which of several is in use. */
static int attach_all_sites(const struct target *target, struct session *session)
{
	const struct publisher *live = target_publisher(target);
	int result = 0;

	for (size_t i = 0; i < target->publishers.count && !result; i++) {
		const struct publisher *publisher = target->publishers.list[i];

		if (session_get_mode(session) != SESSION_MODE_EXACT)
			return 0;
		if (publisher->site_count)
			result = attach_sites(publisher, session);
		else if (publisher == live)
			result = session_step_down(session, SESSION_MODE_LEAN);
	}
	return result;
}

/* Without it what is loaded later is found by looking now and then. */
static void attach_loader(const struct target *target, struct session *session)
{
	if (target->loader_fd >= 0)
		(void)session_attach_loader(session, target->info.pid, target->loader_fd,
					    target->loader_offset);
}

static void tell_copies(struct observed *process, bool has_probes)
{
	const struct target *target = process->target;
	const struct publisher *live = target_publisher(target);

	if (target->publishers.count < 2 || !live ||
	    process->told_copies == 1 + process->preferences)
		return;
	if (!process->told_copies)
		log_warning("process %d has %zu loaded objects with a " STATE_SYMBOL
			    " of their own: reading that of %s%s",
			    process->pid, target->publishers.count, live->path,
			    has_probes ? " until another one is seen to be set" : "");
	else if (process->preferences > PREFERENCES_MAX)
		log_warning("process %d sets contexts in several of them: what it sets in others "
			    "than %s is not seen; let the application load one",
			    process->pid, live->path);
	else
		log_info("process %d: that of %s is the one in use", process->pid, live->path);
	process->told_copies = 1 + process->preferences;
}

/* A question that a look does not answer is not asked again at once. */
static void note_answer(struct observed *process, uint64_t now_ns, bool found_something)
{
	if (found_something)
		process->asked_pause_ns = LOOK_PAUSE_FIRST_NS;
	if (!process->is_asked)
		return;
	process->is_asked = false;
	process->asked_look_ns = now_ns + process->asked_pause_ns;
	process->asked_pause_ns *= 2;
	if (process->asked_pause_ns > LOOK_PAUSE_MAX_NS)
		process->asked_pause_ns = LOOK_PAUSE_MAX_NS;
}

static void schedule(struct observed *process, uint64_t now_ns, bool found_something)
{
	const struct target *target = process->target;

	if (observed_is_complete(process)) {
		process->retry_ns = 0;
		process->retry_pause_ns = LOOK_PAUSE_FIRST_NS;
		return;
	}
	if (found_something)
		process->retry_pause_ns = LOOK_PAUSE_FIRST_NS;
	/* Its loader is at work on it. */
	if (found_something && target && target->publishers.count && !target_publisher(target))
		process->retry_pause_ns = LOOK_PAUSE_LOADING_NS;
	process->retry_ns = now_ns + process->retry_pause_ns;
	process->retry_pause_ns *= 2;
	if (process->retry_pause_ns > LOOK_PAUSE_MAX_NS)
		process->retry_pause_ns = LOOK_PAUSE_MAX_NS;
}

static int open_target(struct observed *process)
{
	struct target_keys keys = key_options_target(process->keys);

	return target_open(process->pid, NULL, &keys, &process->target);
}

bool observed_is_complete(const struct observed *process)
{
	return process->target && target_is_complete(process->target);
}

bool observed_has_otel(const struct observed *process)
{
	return process->target && process->keys->otel_count &&
	       otel_target_is_readable(&process->target->otel);
}

void observed_expect_otel(struct observed *process, uint64_t now_ns)
{
	if (!process->retry_ns || process->retry_ns > now_ns + LOOK_PAUSE_FIRST_NS)
		process->retry_ns = now_ns + LOOK_PAUSE_FIRST_NS;
}

void observed_check_otel(struct observed *process, uint64_t now_ns)
{
	if (!process->is_configured || !process->keys->otel_count)
		return;
	/* One that was not there may come; what it says beside the names is not urgent. */
	if (process->target->otel.announcement.header_address
		    ? target_has_changed(process->target)
		    : now_ns - process->otel_look_ns > NS_PER_S)
		observed_expect_otel(process, now_ns);
}

/* 1: news; 0; -errno. */
static int look_at_target(const struct observed_table *table, struct observed *process,
			  uint64_t now_ns)
{
	const struct observed *parent =
		process->is_fork ? observed_find(table, process->parent_pid) : NULL;
	int result = process->target ? 0 : open_target(process);

	process->otel_look_ns = now_ns;
	if (result < 0)
		return result;
	if (parent && parent->target && !process->is_configured)
		otel_target_inherit(&process->target->otel, &parent->target->otel);
	return target_refresh(process->target);
}

/* 1: the kernel side was told something new; 0; -errno. */
static int configure_otel(struct observed *process, struct session *session)
{
	struct otel_config config;
	int result;

	otel_target_config(&process->target->otel, &config);
	if (process->is_configured && !memcmp(&config, &process->otel_config, sizeof(config)))
		return 0;
	result = session_set_otel(session, process->pid, &config);
	if (result)
		return result;
	process->otel_config = config;
	return 1;
}

static void note_process(struct observed *process)
{
	const struct process_info *info = &process->target->info;

	process->server = process_server_name(process->pid);
	(void)snprintf(process->comm, sizeof(process->comm), "%s", info->comm);
	process->parent_pid = info->parent_pid;
	process->ns_pid = info->ns_pid;
	process->start_wall_ns =
		clock_wall_ns() - clock_boot_ns() + info->start_ticks * NS_PER_TICK;
}

/* Tells the kernel side what is known, if that is news to it. */
static int configure(struct observed *process, struct session *session)
{
	struct process_config config;
	int result = 0;

	target_config(process->target, &config);
	/* Several are in use: the kernel side need not ask which one. */
	if (process->preferences > PREFERENCES_MAX) {
		config.publisher_start = 0;
		config.publisher_end = UINT64_MAX;
	}
	if (!process->keys->ruby_count)
		config.flags &= ~(uint32_t)PROCESS_READY;
	if (observed_has_otel(process)) {
		config.flags |= PROCESS_HAS_OTEL;
		result = configure_otel(process, session);
	}
	if (result < 0)
		return result;
	if (!result && process->is_configured && !memcmp(&config, &process->config, sizeof(config)))
		return 0;
	result = session_set_process(session, process->pid, &config);
	if (result)
		return result;
	process->is_configured = true;
	process->is_readable = config.flags & (PROCESS_READY | PROCESS_HAS_OTEL);
	process->config = config;
	return 0;
}

int observed_look(struct observed_table *table, struct observed *process, struct session *session,
		  uint64_t now_ns)
{
	bool is_news = !process->is_configured;
	int result = look_at_target(table, process, now_ns);

	is_news |= result > 0;
	schedule(process, now_ns, is_news);
	note_answer(process, now_ns, is_news);
	if (result < 0)
		return result;
	if (is_news)
		note_process(process);
	/* Probes first: no change of context after the first reading is missed. */
	attach_loader(process->target, session);
	result = attach_all_sites(process->target, session);
	if (!result)
		result = configure(process, session);
	tell_copies(process, session_get_mode(session) == SESSION_MODE_EXACT);
	if (!process->is_readable && !process->target->publishers.count && !process->is_loading)
		process->absent_ktime_ns = now_ns;
	process->is_loading = false;
	return result;
}

int observed_find_symbol(void *context, uint64_t id, struct value_snapshot *ret_name)
{
	struct observed *process = context;

	/* A forked child that nobody had to look at yet. */
	if (!process->target && open_target(process))
		return -EAGAIN;
	if (!process->target->ruby.symbols)
		return -EAGAIN;
	return ruby_symbols_find_name(process->target->ruby.symbols, id, ret_name);
}

uint64_t observed_next_look(const struct observed_table *table)
{
	uint64_t next = UINT64_MAX;

	for (struct observed *process = table->processes; process; process = process->hh.next)
		if (process->retry_ns && process->retry_ns < next && !process->has_exited)
			next = process->retry_ns;
	return next;
}
