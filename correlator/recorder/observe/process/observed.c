/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/observed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/life.h>
#include <correlator/state_abi.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "recorder/target/proc/agent.h"
#include "recorder/target/proc/process.h"

#define REASON_NO_SITE	"the object that publishes has no function known to change the context"
#define REASON_HAS_SITE "the object that publishes has functions known to change the context"
#define REASON_PROBES	"uprobes could be placed again"
#define REASON_UNSEEN                                                                           \
	"its contexts change and no uprobe is passed, as if its gem's file had been copied up " \
	"(overlayfs) since it was loaded; a restart mends that"

void observed_table_deinit(struct observed_table *table)
{
	struct observed *process, *next;

	HASH_ITER(hh, table->processes, process, next) {
		observed_remove(table, process);
	}
}

struct observed *observed_find(const struct observed_table *table, uint64_t life)
{
	struct observed *process;

	HASH_FIND(hh, table->processes, &life, sizeof(life), process);
	return process;
}

struct observed *observed_find_pid(const struct observed_table *table, pid_t pid,
				   uint64_t start_ticks)
{
	struct observed *process = table->processes;

	while (process &&
	       !(process->pid == pid && (!start_ticks || process->start_ticks == start_ticks) &&
		 process->state.stage != PROCESS_EXITED))
		process = process->hh.next;
	return process;
}

static struct family *join_family(const struct observed *parent)
{
	struct family *family = parent ? parent->family : calloc(1, sizeof(*family));

	if (family)
		family->members++;
	return family;
}

static void leave_family(struct family *family)
{
	if (--family->members == 0)
		free(family);
}

struct observed *observed_add(struct observed_table *table, uint64_t life, pid_t pid,
			      uint64_t parent_life, const char *comm)
{
	const struct observed *parent = parent_life ? observed_find(table, parent_life) : NULL;
	struct observed *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->family = join_family(parent);
	if (!process->family) {
		free(process);
		return NULL;
	}
	process->life = process->image = life;
	process->parent_life = parent_life;
	process->pid = pid;
	process->parent_pid = parent ? parent->pid : 0;
	process->books.pid = (uint32_t)pid;
	process->keys = table->keys;
	process->files = table->files;
	process_state_init(&process->state);
	(void)snprintf(process->comm, sizeof(process->comm), "%s", comm);
	HASH_ADD(hh, table->processes, life, sizeof(process->life), process);
	if (process->hh.tbl)
		return process;
	leave_family(process->family);
	free(process);
	return NULL;
}

void observed_set_parent(struct observed_table *table, struct observed *process,
			 uint64_t parent_life)
{
	struct observed *parent = observed_find(table, parent_life);

	process->parent_life = parent_life;
	process->parent_pid = parent ? parent->pid : process->parent_pid;
	if (!parent || parent->family == process->family)
		return;
	leave_family(process->family);
	process->family = join_family(parent);
}

void observed_remove(struct observed_table *table, struct observed *process)
{
	HASH_DEL(table->processes, process);
	process_stacks_forget(&process->stacks);
	target_free(process->target);
	leave_family(process->family);
	free(process);
}

void observed_execute(struct observed *process, uint64_t image, uint64_t now_ns)
{
	process->image = image;
	if (!(process_on_executed(&process->state, now_ns) & PROCESS_FORGET))
		return;
	process_stacks_forget(&process->stacks);
	target_free(TAKE_PTR(process->target));
	process->is_fork = process->is_configured = process->lacks_bound = false;
	process->books.mixes_threads = false;
	process->server = NULL;
	/* The record of the exec carries the mode. */
	process->lean_causes &= LEAN_BUDGET;
	process->books.unseen = (struct unseen_changes){ 0 };
	process->is_mode_new = false;
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

		/* A missing announcement may appear; its contents besides names are not urgent. */
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

uint64_t observed_may_look_ns(const struct observed *process, uint64_t now_ns)
{
	return look_budget_next_ns(&process->family->looks, now_ns);
}

static uint64_t look_cpu_ns(void)
{
	return clock_thread_cpu_ns() + agent_cpu_ns();
}

static void spend(struct observed *process, uint64_t since_cpu_ns)
{
	look_budget_spend(&process->family->looks, clock_monotonic_ns(),
			  look_cpu_ns() - since_cpu_ns);
}

/* The pid may have been reused. */
static int check_target(struct observed *process)
{
	if (!process->start_ticks || process->target->info.start_ticks == process->start_ticks)
		return 0;
	target_free(TAKE_PTR(process->target));
	return -ESRCH;
}

static int open_target(struct observed *process)
{
	struct target_keys keys = key_options_target(process->keys);
	int r = target_open(process->pid, NULL, &keys, process->files, &process->target);

	return r < 0 ? r : check_target(process);
}

/* 1: news; 0; -errno. */
static int look_at_target(const struct observed_table *table, struct observed *process,
			  uint64_t now_ns)
{
	const struct observed *parent =
		process->is_fork ? observed_find(table, process->parent_life) : NULL;
	int r = process->target ? check_target(process) : open_target(process);

	process->target_look_ns = now_ns;
	if (r < 0)
		return r;
	if (parent && parent->target && !process->is_configured)
		otel_target_inherit(&process->target->otel, &parent->target->otel);
	return target_refresh(process->target);
}

/* 0 or -errno of the look; always sets *ret_findings. */
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
		.publisher_count = target ? publishers_count_variables(&target->publishers) : 0,
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
	/* Set once, for good: distinguishes processes that had the same pid. */
	if (!process->start_wall_ns)
		process->start_wall_ns =
			clock_wall_ns() - clock_boot_ns() + info->start_ticks * LIFE_NS_PER_TICK;
}

int observed_identify_file(void *file, bool is_fresh, uint64_t *ret_inode)
{
	return object_file_identify(file, is_fresh, ret_inode);
}

/* The files of a process to place probes in, and the offsets that the probes refer to. */
struct wanted_probes {
	struct session_probe probes[SESSION_PROBES_MAX];
	const char *paths[SESSION_PROBES_MAX]; /* NULL = the loader */
	uint64_t offsets[PUBLISHERS_MAX][SESSION_PROBE_OFFSETS_MAX];
	size_t count;
};

_Static_assert(PUBLISHERS_MAX + 1 <= (int)SESSION_PROBES_MAX &&
		       (int)PROBE_SITES_MAX + 1 <= (int)SESSION_PROBE_OFFSETS_MAX,
	       "a process's probes have room");

static void want_sites(struct wanted_probes *wanted, const struct publisher *publisher,
		       bool wants_fibers, uint64_t offsets[static SESSION_PROBE_OFFSETS_MAX])
{
	size_t count = publisher->site_count;

	if (!publisher->site_count)
		return;
	for (size_t i = 0; i < publisher->site_count; i++)
		offsets[i] = publisher->sites[i].file_offset;
	if (wants_fibers && publisher->has_fiber_site)
		offsets[count++] = publisher->fiber_site.file_offset;
	wanted->paths[wanted->count] = publisher->path;
	wanted->probes[wanted->count++] = (struct session_probe){
		.kind = SESSION_PROBE_CONTEXT,
		.fd = object_file_fd(publisher->file),
		.identify = observed_identify_file,
		.file = publisher->file,
		.file_offsets = offsets,
		.count = count,
	};
}

/*
 * Probes each object that publishes: a hit shows which of several is in use. And the loader:
 * without that probe, later loads are found only by polling.
 */
static void want_probes(const struct target *target, bool wants_sites, bool wants_fibers,
			struct wanted_probes *ret_wanted)
{
	ret_wanted->count = 0;
	for (size_t i = 0; wants_sites && i < target->publishers.count; i++)
		want_sites(ret_wanted, target->publishers.list[i], wants_fibers,
			   ret_wanted->offsets[i]);
	if (!target->loader)
		return;
	ret_wanted->paths[ret_wanted->count] = NULL;
	ret_wanted->probes[ret_wanted->count++] = (struct session_probe){
		.kind = SESSION_PROBE_LOADER,
		.fd = object_file_fd(target->loader),
		.identify = observed_identify_file,
		.file = target->loader,
		.file_offsets = &target->loader_offset,
		.count = 1,
	};
}

static const char *remedy_of(int error)
{
	switch (-error) {
	case EOPNOTSUPP:
		return "put it on a file system of the kernel's";
	case ETIMEDOUT:
		return "see why its file system does not answer";
	case EMFILE:
	case ENFILE:
		return "allow more open files (ulimit -n, LimitNOFILE= of the unit)";
	case ENOSPC:
		return "observe fewer processes, or those of fewer images";
	case EPERM:
	case EACCES:
		return "`correlator doctor` says which capability is missing";
	default:
		return "see that its file is on a file system whose files can be mapped";
	}
}

static const char *reason_of(int error)
{
	/* A server that stops answering would block all forks of the machine (session.h). */
	return error == -EOPNOTSUPP ? "a process answers for that file (FUSE)" : strerror(-error);
}

static void set_cause(struct observed *process, enum lean_cause cause, bool is_on,
		      const char *reason)
{
	unsigned int before = process->lean_causes;
	bool is_other;

	process->lean_causes = is_on ? before | cause : before & ~(unsigned int)cause;
	is_other = !before != !process->lean_causes;
	process->is_mode_new |= is_other;
	if (is_other || process->lean_causes & ~before)
		(void)snprintf(process->mode_reason, sizeof(process->mode_reason), "%s", reason);
}

/* Sets the mode in the kernel side and in config. Failure for an ended process does not matter. */
static void tell_mode(struct observed *process, struct session *session)
{
	(void)session_set_lean(session, process->life, process->lean_causes);
	process->config.flags &= ~(uint32_t)PROCESS_IS_LEAN;
	process->config.flags |= process->lean_causes ? PROCESS_IS_LEAN : 0;
}

static void note_attached(struct observed *process, int r)
{
	char reason[MODE_REASON_BYTES];

	(void)snprintf(reason, sizeof(reason), "uprobes cannot be placed: %s", reason_of(r));
	set_cause(process, LEAN_NO_PROBE, r < 0, r < 0 ? reason : REASON_PROBES);
}

/* Places the wanted probes, if an attempt is due; logs once if that fails. */
static void place_probes(struct observed *process, struct session *session, uint64_t now_ns)
{
	struct wanted_probes wanted;
	size_t failed = 0;
	int r = 0;

	if (!process_may_probe(&process->state, now_ns))
		return;
	want_probes(process->target, !(process->lean_causes & (LEAN_BUDGET | LEAN_UNSEEN)),
		    session_has_timeline(session), &wanted);
	session_set_probes(session, process->life, wanted.probes, wanted.count);
	while (failed < wanted.count && !(wanted.paths[failed] && wanted.probes[failed].error))
		failed++;
	if (failed < wanted.count)
		r = wanted.probes[failed].error;
	if (process_on_probed(&process->state, r == 0, now_ns) & PROCESS_SAY_UNPROBED)
		log_warning("cannot place probes in %s for process %d (%s): %s; %s; it is tried "
			    "again",
			    wanted.paths[failed], process->pid, process->comm, reason_of(r),
			    remedy_of(r));
	note_attached(process, r);
}

/*
 * Uses probes if possible, else lean. A process that flips stays lean, with growing back-off. While
 * a loader is at work, findings say nothing yet.
 */
static void choose_mode(struct observed *process, struct session *session,
			const struct process_findings *findings, uint64_t now_ns)
{
	if (findings->has_live && !findings->has_sites && !session_is_lean(session))
		set_cause(process, LEAN_NO_SITE, true, REASON_NO_SITE);
	/*
	 * Also if it is lean: of several objects that publish, another one's probe shows which is
	 * in use.
	 */
	place_probes(process, session, now_ns);
	if ((process->lean_causes & LEAN_NO_SITE) && findings->has_live && findings->has_sites &&
	    process_on_change(&process->state, now_ns))
		set_cause(process, LEAN_NO_SITE, false, REASON_HAS_SITE);
}

/* 0 or -errno (logged). */
static int configure_otel(struct observed *process, struct session *session,
			  const struct otel_config *config)
{
	int r = session_set_otel(session, process->life, config);

	if (r < 0)
		return log_error_errno(r, "cannot configure OpenTelemetry in process %d (%s)",
				       process->pid, process->comm);
	process->otel_config = *config;
	return 0;
}

static void describe(const struct observed *process, struct process_config *ret_config,
		     struct otel_config *ret_otel)
{
	struct process_config config;

	target_config(process->target, &config);
	/* The kernel side need not ask which one is in use. */
	if (process_uses_several(&process->state)) {
		config.publisher_start = 0;
		config.publisher_end = UINT64_MAX;
	}
	config.image = process->image;
	if (!process->keys->ruby_count)
		config.flags &= ~(uint32_t)PROCESS_READY;
	if (process->lean_causes)
		config.flags |= PROCESS_IS_LEAN;
	*ret_otel = process->otel_config;
	if (observed_has_otel(process)) {
		config.flags |= PROCESS_HAS_OTEL;
		otel_target_config(&process->target->otel, ret_otel);
	}
	*ret_config = config;
}

/* Updates the kernel side if anything is new, at a limited rate. */
static int configure(struct observed *process, struct session *session, uint64_t now_ns)
{
	struct process_config config;
	struct otel_config otel;
	bool has_news;
	int r = 0;

	describe(process, &config, &otel);
	if (process->is_configured && ((config.flags ^ process->config.flags) & PROCESS_IS_LEAN))
		tell_mode(process, session);
	has_news = !process->is_configured ||
		   memcmp(&config, &process->config, sizeof(config)) != 0 ||
		   memcmp(&otel, &process->otel_config, sizeof(otel)) != 0;
	if (!has_news || !process_on_change(&process->state, now_ns))
		return 0;
	if ((config.flags & PROCESS_HAS_OTEL) &&
	    (!process->is_configured || memcmp(&otel, &process->otel_config, sizeof(otel)) != 0))
		r = configure_otel(process, session, &otel);
	if (r < 0)
		return r;
	r = session_set_process(session, process->life, process->parent_life, &config);
	if (r == -EDQUOT)
		return r;
	if (r < 0)
		return log_error_errno(r, "cannot configure process %d (%s)", process->pid,
				       process->comm);
	process->is_configured = true;
	process->config = config;
	process->lacks_bound = ((config.flags & PROCESS_READY) && !config.changes_words) ||
			       (config.flags & PROCESS_HAS_OTEL);
	return 0;
}

/* According to the config that the kernel side has. */
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
			    process->pid, publishers_count_variables(&target->publishers),
			    live->path, has_probes ? " until another one is seen to be set" : "");
	if (decisions & PROCESS_SAY_COPIES_IN_USE)
		log_warning("process %d sets contexts in several of them: what it sets in others "
			    "than %s is not seen; let the application load one",
			    process->pid, live->path);
	if (decisions & PROCESS_SAY_COPY_IN_USE)
		log_info("process %d: that of %s is the one in use", process->pid, live->path);
}

static void note_threads(struct observed *process)
{
	bool mixes_threads = target_mixes_threads(process->target);

	if (mixes_threads && !process->books.mixes_threads)
		log_warning("process %d (%s): Ruby's threads share native ones (RUBY_MN_THREADS), "
			    "and %s does not follow them: what a request is charged may be "
			    "another's, and is flagged mixed_threads; the gem `correlator` "
			    "follows them",
			    process->pid, process->comm, target_publisher(process->target)->path);
	process->books.mixes_threads = mixes_threads;
}

/* Takes the image from the kernel side: an EXEC event may be lost, or not read yet. */
static void follow_image(struct observed *process, struct session *session, uint64_t now_ns)
{
	struct process_books books;

	if (session_get_books(session, process->life, &books) == 0 && books.image != process->image)
		observed_execute(process, books.image, now_ns);
}

int observed_look(struct observed_table *table, struct observed *process, struct session *session,
		  uint64_t now_ns, unsigned int *ret_decisions)
{
	uint64_t since_cpu_ns = look_cpu_ns();
	struct process_findings findings;
	unsigned int decisions;
	int r;

	follow_image(process, session, now_ns);
	r = examine(table, process, now_ns, &findings);
	decisions = process_on_looked(&process->state, &findings, now_ns);

	spend(process, since_cpu_ns);
	*ret_decisions = 0;
	if (r < 0)
		return r;
	if (findings.is_news) {
		note_process(process);
		note_threads(process);
	}
	/* Probes first, so that no change of context after the first reading is missed. */
	choose_mode(process, session, &findings, now_ns);
	r = configure(process, session, now_ns);
	say_copies(process, decisions, !session_is_lean(session) && !process->lean_causes);
	decisions |= process_on_told(&process->state, &findings, is_readable(process), now_ns,
				     clock_monotonic_ns());
	*ret_decisions = decisions;
	return r;
}

static void become_lean(struct observed *process, struct session *session, enum lean_cause cause,
			const char *reason)
{
	set_cause(process, cause, true, reason);
	/* Every boundary reads before the probes go: no change is missed in between. */
	tell_mode(process, session);
	session_drop_context_probes(session, process->life);
}

void observed_check_probes(struct observed *process, struct session *session)
{
	if (!process->lean_causes && !session_is_lean(session) &&
	    unseen_changes_tell(&process->books.unseen))
		become_lean(process, session, LEAN_UNSEEN, REASON_UNSEEN);
}

void observed_step_down(struct observed *process, struct session *session, const char *reason)
{
	become_lean(process, session, LEAN_BUDGET, reason);
}

void observed_step_up(struct observed *process, struct session *session, const char *reason)
{
	set_cause(process, LEAN_BUDGET, false, reason);
	if (process->lean_causes)
		return;
	/* A child that was never looked at: the look will find where its probes belong. */
	if (!process->target) {
		process_on_met(&process->state, clock_monotonic_ns());
		return;
	}
	place_probes(process, session, clock_monotonic_ns());
	tell_mode(process, session);
}

void observed_inherit_mode(struct observed *child, const struct observed *parent,
			   struct session *session)
{
	session_inherit_probes(session, parent->life, child->life);
	child->lacks_bound = parent->lacks_bound;
	child->lean_causes = parent->lean_causes;
	child->budget_turn = parent->budget_turn;
	/* The parent's mode may have changed since the fork. */
	tell_mode(child, session);
}

enum watch_mode observed_mode(const struct observed *process)
{
	if (process->lean_causes)
		return WATCH_MODE_LEAN;
	return observed_has_otel(process) ? WATCH_MODE_PARTLY_LEAN : WATCH_MODE_EXACT;
}

static const char *known(const char *text)
{
	return text[0] ? text : NULL;
}

void observed_describe(const struct observed *process, enum process_event event,
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
		.has_bound = !process->lacks_bound,
	};
	if (event == PROCESS_EVENT_LOAD && process->state.pickup_ns) {
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

struct target *observed_target(struct observed *process)
{
	uint64_t now_ns = clock_monotonic_ns(), since_cpu_ns = look_cpu_ns();

	/* A forked child that was never looked at. */
	if (!process->target) {
		if (observed_may_look_ns(process, now_ns) > now_ns || open_target(process) < 0)
			return NULL;
		spend(process, since_cpu_ns);
	}
	return process->target;
}

bool observed_has_pid(const struct observed *process)
{
	struct process_info info;

	return !process->start_ticks || process_glance(process->pid, &info) < 0 ||
	       info.start_ticks == process->start_ticks;
}

int observed_find_symbol(void *context, uint64_t id, struct value_snapshot *ret_name)
{
	const struct target *target = observed_target(context);
	struct ruby_symbols *symbols = target ? target->ruby.symbols : NULL;
	bool is_cached;
	int r;

	if (!symbols)
		return -EAGAIN;
	is_cached = ruby_symbols_has_name(symbols, id);
	r = ruby_symbols_find_name(symbols, id, ret_name);
	if (is_cached || observed_has_pid(context))
		return r;
	/* The pid was reused, and the name may come from the memory of another process. */
	ruby_symbols_forget_name(symbols, id);
	return -EAGAIN;
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
