/* SPDX-License-Identifier: GPL-2.0-only */
#include "observe/observed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/state_abi.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "target/proc/process.h"

/* USER_HZ of /proc: 100 on every Linux this runs on (sysconf(_SC_CLK_TCK)). */
#define NS_PER_TICK (10 * NS_PER_MS)

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
	process->books.pid = (uint32_t)pid;
	process->keys = table->keys;
	process_state_init(&process->state);
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

void observed_execute(struct observed *process, uint64_t now_ns)
{
	if (!(process_on_executed(&process->state, now_ns) & PROCESS_FORGET))
		return;
	target_free(TAKE_PTR(process->target));
	process->is_fork = process->is_configured = false;
	process->server = NULL;
}

void observed_ask(struct observed *process, uint64_t address, uint64_t now_ns)
{
	bool has_preferred = process->target && process_may_prefer(&process->state) &&
			     publishers_prefer(&process->target->publishers, address);

	process_on_asked(&process->state, has_preferred, now_ns);
}

void observed_check_publishers(struct observed_table *table, uint64_t now_ns)
{
	for (struct observed *process = table->processes; process; process = process->hh.next) {
		const struct publisher *publisher =
			process->target ? target_publisher(process->target) : NULL;

		if (publisher && !publisher_is_there(publisher, process->pid))
			process_on_moved(&process->state, now_ns);
	}
}

void observed_check_otel(struct observed_table *table, uint64_t now_ns)
{
	if (!table->keys->otel_count)
		return;
	for (struct observed *process = table->processes; process; process = process->hh.next) {
		const struct target *target = process->is_configured ? process->target : NULL;

		/* One that was not there may come; what it says beside the names is not urgent. */
		if (target && (target->otel.announcement.header_address
				       ? target_has_changed(target)
				       : now_ns - process->target_look_ns > NS_PER_S))
			process_on_news(&process->state, now_ns);
	}
}

bool observed_has_otel(const struct observed *process)
{
	return process->target && process->keys->otel_count &&
	       otel_target_is_readable(&process->target->otel);
}

static int open_target(struct observed *process)
{
	struct target_keys keys = key_options_target(process->keys);

	return target_open(process->pid, NULL, &keys, &process->target);
}

/* 1: news; 0; -errno. */
static int look_at_target(const struct observed_table *table, struct observed *process,
			  uint64_t now_ns)
{
	const struct observed *parent =
		process->is_fork ? observed_find(table, process->parent_pid) : NULL;
	int r = process->target ? 0 : open_target(process);

	process->target_look_ns = now_ns;
	if (r < 0)
		return r;
	if (parent && parent->target && !process->is_configured)
		otel_target_inherit(&process->target->otel, &parent->target->otel);
	return target_refresh(process->target);
}

/* 0 or -errno of the look; *ret_findings in any case. */
static int examine(const struct observed_table *table, struct observed *process, uint64_t now_ns,
		   struct process_findings *ret_findings)
{
	int r = look_at_target(table, process, now_ns);
	const struct target *target = process->target;
	const struct publisher *live = target ? target_publisher(target) : NULL;

	*ret_findings = (struct process_findings){
		.is_failed = r < 0,
		.is_news = !process->is_configured || r > 0,
		.is_complete = target && target_is_complete(target),
		.publisher_count = target ? target->publishers.count : 0,
		.has_live = live != NULL,
		.has_sites = live && live->site_count,
	};
	return r < 0 ? r : 0;
}

static void note_process(struct observed *process)
{
	const struct process_info *info = &process->target->info;

	process->server = process_server_name(process->pid);
	(void)snprintf(process->comm, sizeof(process->comm), "%s", info->comm);
	process->parent_pid = info->parent_pid;
	process->books.ns_pid = info->ns_pid;
	process->start_wall_ns =
		clock_wall_ns() - clock_boot_ns() + info->start_ticks * NS_PER_TICK;
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
	int r = 0;

	for (size_t i = 0; i < target->publishers.count && r == 0; i++)
		if (target->publishers.list[i]->site_count)
			r = attach_sites(target->publishers.list[i], session);
	return r;
}

/* Without it what is loaded later is found by looking now and then. */
static void attach_loader(const struct target *target, struct session *session)
{
	if (target->loader_fd >= 0)
		(void)session_attach_loader(session, target->info.pid, target->loader_fd,
					    target->loader_offset);
}

/* 1: the kernel side was told something new; 0; -errno. */
static int configure_otel(struct observed *process, struct session *session)
{
	struct otel_config config;
	int r;

	otel_target_config(&process->target->otel, &config);
	if (process->is_configured && memcmp(&config, &process->otel_config, sizeof(config)) == 0)
		return 0;
	r = session_set_otel(session, process->pid, &config);
	if (r < 0)
		return r;
	process->otel_config = config;
	return 1;
}

/* Tells the kernel side what is known, if that is news to it. */
static int configure(struct observed *process, struct session *session)
{
	struct process_config config;
	int r = 0;

	target_config(process->target, &config);
	/* The kernel side need not ask which one. */
	if (process_uses_several(&process->state)) {
		config.publisher_start = 0;
		config.publisher_end = UINT64_MAX;
	}
	if (!process->keys->ruby_count)
		config.flags &= ~(uint32_t)PROCESS_READY;
	if (observed_has_otel(process)) {
		config.flags |= PROCESS_HAS_OTEL;
		r = configure_otel(process, session);
	}
	if (r < 0)
		return r;
	if (r == 0 && process->is_configured &&
	    memcmp(&config, &process->config, sizeof(config)) == 0)
		return 0;
	r = session_set_process(session, process->pid, &config);
	if (r < 0)
		return r;
	process->is_configured = true;
	process->config = config;
	return 0;
}

/* As the kernel side was told. */
static bool is_readable(const struct observed *process)
{
	return process->is_configured ? process->config.flags & (PROCESS_READY | PROCESS_HAS_OTEL)
				      : process->state.is_readable;
}

static void say_copies(const struct observed *process, unsigned int decisions, bool has_probes)
{
	const struct target *target = process->target;
	const struct publisher *live = target_publisher(target);

	if (decisions & PROCESS_SAY_COPIES)
		log_warning("process %d has %zu loaded objects with a " STATE_SYMBOL
			    " of their own: reading that of %s%s",
			    process->pid, target->publishers.count, live->path,
			    has_probes ? " until another one is seen to be set" : "");
	if (decisions & PROCESS_SAY_COPIES_IN_USE)
		log_warning("process %d sets contexts in several of them: what it sets in others "
			    "than %s is not seen; let the application load one",
			    process->pid, live->path);
	if (decisions & PROCESS_SAY_COPY_IN_USE)
		log_info("process %d: that of %s is the one in use", process->pid, live->path);
}

int observed_look(struct observed_table *table, struct observed *process, struct session *session,
		  uint64_t now_ns, unsigned int *ret_decisions)
{
	bool is_exact = session_get_mode(session) == SESSION_MODE_EXACT;
	struct process_findings findings;
	int r = examine(table, process, now_ns, &findings);
	unsigned int decisions = process_on_looked(&process->state, &findings, now_ns);

	*ret_decisions = 0;
	if (r < 0)
		return r;
	if (findings.is_news)
		note_process(process);
	/* Probes first: no change of context after the first reading is missed. */
	attach_loader(process->target, session);
	if (is_exact && (decisions & PROCESS_ATTACH))
		r = attach_all_sites(process->target, session);
	if (r == 0 && (decisions & PROCESS_CONFIGURE))
		r = configure(process, session);
	say_copies(process, decisions, is_exact && (decisions & PROCESS_ATTACH));
	decisions |= process_on_told(&process->state, &findings, is_readable(process), now_ns,
				     clock_monotonic_ns());
	*ret_decisions = decisions;
	return r;
}

static const char *known(const char *text)
{
	return text[0] ? text : NULL;
}

void observed_describe(const struct observed *process, const char *event,
		       struct process_record *ret_record)
{
	const struct target *target = process->target;

	*ret_record = (struct process_record){
		.common = { .pid = process->books.pid, .ns_pid = process->books.ns_pid },
		.event = event,
		.parent_pid = (uint32_t)process->parent_pid,
		.comm = process->comm,
		.server = process->server,
		.start_ns = process->start_wall_ns,
	};
	if (strcmp(event, "load") == 0 && process->state.pickup_ns) {
		ret_record->has_pickup = true;
		ret_record->pickup_ns = process->state.pickup_ns;
	}
	if (target)
		ret_record->ruby_version = known(target->ruby.version);
	if (target && process->keys->otel_count) {
		const struct otel_announcement *announcement = &target->otel.announcement;

		ret_record->otel_schema = known(announcement->schema_version);
		ret_record->service_name = known(announcement->service_name);
		ret_record->service_instance_id = known(announcement->service_instance_id);
		ret_record->environment_name = known(announcement->environment_name);
	}
}

int observed_find_symbol(void *context, uint64_t id, struct value_snapshot *ret_name)
{
	struct observed *process = context;

	/* A forked child that nobody had to look at yet. */
	if (!process->target && open_target(process) < 0)
		return -EAGAIN;
	if (!process->target->ruby.symbols)
		return -EAGAIN;
	return ruby_symbols_find_name(process->target->ruby.symbols, id, ret_name);
}

uint64_t observed_next_look(const struct observed_table *table)
{
	uint64_t next_ns = UINT64_MAX;

	for (struct observed *process = table->processes; process; process = process->hh.next) {
		uint64_t look_ns = process_next_look(&process->state);

		if (look_ns < next_ns)
			next_ns = look_ns;
	}
	return next_ns;
}
