/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/discovery/discovery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/limits.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "recorder/target/discovery/process_filter.h"
#include "recorder/target/proc/memory_map.h"
#include "recorder/target/proc/proc_file.h"
#include "recorder/target/proc/process.h"
#include "recorder/target/target.h"

#define PAUSE_FIRST_NS (50 * NS_PER_MS)
#define PAUSE_MAX_NS   (2000 * NS_PER_MS)
/* Delay after a loader event of a candidate; such looks are at least PAUSE_FIRST_NS apart. */
#define PAUSE_LOADING_NS (1 * NS_PER_MS)
/* A program may be seen before its loader is done; later than this the result is final. */
#define SETTLE_NS (2000 * NS_PER_MS)
/* Between two passes over /proc, and between two pieces of one pass. */
#define PASS_PAUSE_NS  (60 * NS_PER_S)
#define PIECE_PAUSE_NS (50 * NS_PER_MS)
#define NEVER_NS       UINT64_MAX

enum {
	CGROUP_BYTES_MAX = 64 * 1024, /* a dozen hierarchies of at most PATH_MAX each */
	PIECE_PIDS = 64, /* takes about 0.6 ms */
	LOOKS_MAX = 64, /* per call, about 30 ms: events must not wait longer */
};

struct known_process {
	pid_t pid;
	uint64_t start_ticks; /* 0 = reported by discovery_expect(), not seen yet */
	uint64_t pass_number; /* last pass that saw it */
	struct process_program program;
	uint64_t code_digest; /* hash of the files that code is mapped from */
	uint64_t news_ns; /* time code_digest changed or an event came; 0 = not looked at */
	uint64_t look_ns; /* time of the last look */
	uint64_t next_look_ns;
	uint64_t pause_ns;
	struct target *target; /* a candidate's; NULL = no candidate. Owned. */
	bool is_watched; /* the owner reports its forks and loader events */
	bool is_outside; /* not in the cgroup at the last look */
	bool is_unreadable;
	bool is_reported;
	UT_hash_handle hh;
};

/* A pass over /proc. */
struct pass {
	uint64_t number;
	pid_t *pids; /* NULL = no pass in progress. Owned. */
	size_t count;
	size_t next;
	uint64_t due_ns; /* time of the next pass, or piece of one */
	bool is_wanted; /* start another pass right after this one */
	size_t hidden_count; /* in this pass so far */
};

struct discovery {
	struct process_filter filter;
	struct target_keys keys;
	struct object_files *files; /* borrowed */
	pid_t own_pid;
	struct known_process *processes; /* uthash, by pid */
	struct pass pass;
	uint64_t told_ns; /* time of the last discovery_expect() */
	uint64_t next_look_ns;
	size_t hidden_count; /* in the last pass: processes whose details /proc hides from us */
};

/* The files that a process has mapped. */
struct target_files {
	uint64_t code_digest; /* hash of device and inode of the files mapped as code, by address */
	bool has_ruby; /* a mapped path, in file or directory name, contains "ruby" */
};

/* One discovery_look. */
struct look {
	struct discovery *discovery;
	uint64_t now_ns;
	const struct discovery_owner *owner; /* NULL = no callbacks any more */
};

int discovery_new(const char *comm, const char *cgroup, const struct target_keys *keys,
		  struct object_files *files, struct discovery **ret_discovery)
{
	_cleanup_(discovery_freep) struct discovery *discovery = calloc(1, sizeof(*discovery));
	int r;

	if (!discovery)
		return -ENOMEM;
	discovery->own_pid = getpid();
	discovery->keys = *keys;
	discovery->files = files;
	r = process_filter_init(comm, cgroup, &discovery->filter);
	if (r < 0)
		return r;
	*ret_discovery = TAKE_PTR(discovery);
	return 0;
}

/* The process is no candidate any more. */
static void drop_target(const struct look *look, struct known_process *process)
{
	if (process->is_watched && look->owner)
		look->owner->on_dropped(look->owner->user, process->pid);
	process->is_watched = false;
	target_free(TAKE_PTR(process->target));
}

static void forget(const struct look *look, struct known_process *process)
{
	drop_target(look, process);
	HASH_DEL(look->discovery->processes, process);
	free(process);
}

void discovery_free(struct discovery *discovery)
{
	const struct look look = { .discovery = discovery };
	struct known_process *process, *next;

	if (!discovery)
		return;
	HASH_ITER(hh, discovery->processes, process, next) {
		forget(&look, process);
	}
	process_filter_deinit(&discovery->filter);
	free(discovery->pass.pids);
	free(discovery);
}

static bool is_in_cgroup(const struct discovery *discovery, pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	size_t size_bytes;

	if (!discovery->filter.cgroup)
		return true;
	return proc_file_read(pid, "cgroup", CGROUP_BYTES_MAX, &text, &size_bytes) == 0 &&
	       process_filter_has_cgroup(&discovery->filter, text);
}

/* A process that runs another program is treated like a new one. */
static void set_program(const struct look *look, struct known_process *process,
			const struct process_program *program)
{
	drop_target(look, process);
	process->program = *program;
	process->code_digest = process->news_ns = process->look_ns = 0;
	process->next_look_ns = look->now_ns;
	process->pause_ns = PAUSE_FIRST_NS;
	process->is_outside = process->is_unreadable = false;
}

static struct known_process *find(const struct discovery *discovery, pid_t pid)
{
	struct known_process *process;

	HASH_FIND(hh, discovery->processes, &pid, sizeof(pid), process);
	return process;
}

static struct known_process *remember(struct discovery *discovery, pid_t pid)
{
	struct known_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->pid = pid;
	HASH_ADD(hh, discovery->processes, pid, sizeof(process->pid), process);
	if (process->hh.tbl)
		return process;
	free(process);
	return NULL;
}

/* Handles a failed look: passes on errors of our own, keeps those of the process in its state. */
static int judge_failure(const struct look *look, struct known_process *process, int r)
{
	drop_target(look, process);
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	process->is_unreadable = r == -EPERM || r == -EACCES;
	/* No sooner, because each look logs the refusal again. */
	process->pause_ns = PAUSE_MAX_NS;
	process->next_look_ns = look->now_ns + PAUSE_MAX_NS;
	return 0;
}

static bool publishes_what_is_wanted(const struct target *target)
{
	return target->ruby.is_ruby &&
	       ((target->keys.wants_ruby && target_publisher(target)) ||
		(target->keys.wants_otel && otel_target_is_readable(&target->otel)));
}

/* A variable that is present but not relocated may wait for its first use (lazy TLSDESC). */
static bool may_come_by_itself(const struct target *target)
{
	return (target->keys.wants_ruby && target->publishers.count > 0) ||
	       (target->keys.wants_otel && target->otel.publishers.count > 0);
}

static int report(const struct look *look, struct known_process *process)
{
	struct target *target = TAKE_PTR(process->target);
	int r;

	/* From now on the owner watches it. */
	process->is_watched = false;
	process->next_look_ns = NEVER_NS;
	r = look->owner->on_found(look->owner->user, target);
	process->is_reported = r >= 0;
	if (!process->is_reported)
		process->next_look_ns = look->now_ns;
	return r < 0 ? r : 0;
}

/* Judges what was found in a process with a target. */
static int judge(const struct look *look, struct known_process *process)
{
	struct target *target = process->target;
	bool is_final = look->now_ns - process->news_ns >= SETTLE_NS;

	/* The pid belongs to another process now: the next look sees it. */
	if (target->info.start_ticks != process->start_ticks) {
		drop_target(look, process);
		return 0;
	}
	if (publishes_what_is_wanted(target))
		return report(look, process);
	if (!target->ruby.is_ruby) {
		drop_target(look, process);
		process->next_look_ns = is_final ? NEVER_NS : process->next_look_ns;
		return 0;
	}
	/* Makes its next refresh look at it again. */
	target->is_fresh = false;
	if (!process->is_watched)
		process->is_watched = look->owner->on_candidate(look->owner->user, target) == 0;
	if (is_final && process->is_watched && !may_come_by_itself(target))
		process->next_look_ns = NEVER_NS;
	return 0;
}

static void schedule(struct known_process *process, uint64_t now_ns)
{
	process->look_ns = now_ns;
	process->next_look_ns = now_ns + process->pause_ns;
	process->pause_ns *= 2;
	if (process->pause_ns > PAUSE_MAX_NS)
		process->pause_ns = PAUSE_MAX_NS;
}

static uint64_t digest_file(uint64_t digest, const struct memory_map_entry *entry)
{
	const uint64_t words[] = { entry->inode, entry->device_major, entry->device_minor };

	return hash_bytes(digest, words, sizeof(words));
}

/* Checks whole paths: gems lie below lib/ruby even if the Ruby binary has another name. */
static struct target_files look_at_files(const struct memory_map *map)
{
	struct target_files files = { 0 };

	for (size_t i = 0; i < map->count; i++) {
		const struct memory_map_entry *entry = &map->entries[i];

		if (entry->inode == 0)
			continue;
		files.has_ruby |= strstr(entry->path, "ruby") != NULL;
		if (entry->is_executable)
			files.code_digest = digest_file(files.code_digest, entry);
	}
	return files;
}

static int look_at_candidate(const struct look *look, struct known_process *process)
{
	int r = target_refresh(process->target);

	if (r < 0)
		return judge_failure(look, process, r);
	if (r > 0)
		process->news_ns = look->now_ns;
	return judge(look, process);
}

static int look_at_program(const struct look *look, struct known_process *process)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	struct discovery *discovery = look->discovery;
	struct target_files files;
	int r;

	schedule(process, look->now_ns);
	if (process->is_outside && !is_in_cgroup(discovery, process->pid))
		return 0;
	process->is_outside = process->is_unreadable = false;
	if (process->target)
		return look_at_candidate(look, process);
	r = memory_map_of_process(process->pid, &map);
	if (r < 0)
		return judge_failure(look, process, r);
	files = look_at_files(&map);
	if (!process->news_ns || files.code_digest != process->code_digest)
		process->news_ns = look->now_ns;
	process->code_digest = files.code_digest;
	if (!files.has_ruby) {
		process->next_look_ns = look->now_ns - process->news_ns >= SETTLE_NS
						? NEVER_NS
						: process->news_ns + SETTLE_NS;
		return 0;
	}
	process->is_outside = !is_in_cgroup(discovery, process->pid);
	if (process->is_outside)
		return 0;
	r = target_open(process->pid, &map, &discovery->keys, discovery->files, &process->target);
	return r < 0 ? judge_failure(look, process, r) : judge(look, process);
}

/* Looks up or adds the process and updates it from info; NULL: out of memory. */
static struct known_process *meet(const struct look *look, pid_t pid,
				  const struct process_info *info)
{
	struct discovery *discovery = look->discovery;
	struct known_process *process = find(discovery, pid);

	if (process && process->start_ticks && process->start_ticks != info->start_ticks) {
		forget(look, process);
		process = NULL;
	}
	if (!process)
		process = remember(discovery, pid);
	if (!process)
		return NULL;
	process->pass_number = discovery->pass.number;
	if (!process->start_ticks || !process_is_same_program(&process->program, &info->program))
		set_program(look, process, &info->program);
	process->start_ticks = info->start_ticks;
	if (process->is_reported)
		process->next_look_ns = NEVER_NS;
	return process;
}

static int look_at_process(const struct look *look, pid_t pid)
{
	struct discovery *discovery = look->discovery;
	struct known_process *process = find(discovery, pid);
	struct process_info info = { 0 };
	bool is_gone = pid == discovery->own_pid || process_glance(pid, &info) < 0;

	if (!is_gone && info.program.code_start == PROCESS_CODE_HIDDEN &&
	    process_filter_has_comm(&discovery->filter, info.comm))
		discovery->pass.hidden_count += is_in_cgroup(discovery, pid);
	if (is_gone || info.program.code_start == PROCESS_CODE_NONE ||
	    info.program.code_start == PROCESS_CODE_HIDDEN ||
	    !process_filter_has_comm(&discovery->filter, info.comm)) {
		/* A reported process stays reported, even if its name has changed. */
		if (process && !is_gone && process->is_reported)
			process->next_look_ns = NEVER_NS;
		else if (process)
			forget(look, process);
		return 0;
	}
	process = meet(look, pid, &info);
	if (!process)
		return -ENOMEM;
	return process->next_look_ns <= look->now_ns ? look_at_program(look, process) : 0;
}

static int begin_pass(struct discovery *discovery)
{
	struct pass *pass = &discovery->pass;
	int r = proc_file_list_ids("/proc", &pass->pids, &pass->count);

	if (r < 0)
		return r;
	pass->next = 0;
	pass->number++;
	pass->is_wanted = false;
	return 0;
}

static void end_pass(const struct look *look)
{
	struct pass *pass = &look->discovery->pass;
	struct known_process *process, *next;

	free(TAKE_PTR(pass->pids));
	look->discovery->hidden_count = pass->hidden_count;
	pass->hidden_count = 0;
	pass->due_ns = look->now_ns + (pass->is_wanted ? PIECE_PAUSE_NS : PASS_PAUSE_NS);
	HASH_ITER(hh, look->discovery->processes, process, next) {
		if (process->pass_number != pass->number && process->start_ticks)
			forget(look, process);
	}
}

/* Processes the next piece; the first pass is done in one piece. */
static int go_over_processes(const struct look *look)
{
	struct pass *pass = &look->discovery->pass;
	size_t end;
	int r = 0;

	if (!pass->pids)
		r = begin_pass(look->discovery);
	end = pass->number == 1 || pass->count - pass->next < PIECE_PIDS ? pass->count
									 : pass->next + PIECE_PIDS;
	while (r == 0 && pass->next < end)
		r = look_at_process(look, pass->pids[pass->next++]);
	pass->due_ns = look->now_ns + PIECE_PAUSE_NS;
	if (r == 0 && pass->next == pass->count)
		end_pass(look);
	return r;
}

static int look_at_due(const struct look *look)
{
	struct known_process *process, *next;
	int looks = 0, r = 0;

	HASH_ITER(hh, look->discovery->processes, process, next) {
		if (process->next_look_ns > look->now_ns)
			continue;
		if (looks++ == LOOKS_MAX)
			break;
		r = look_at_process(look, process->pid);
		if (r < 0)
			break;
	}
	return r;
}

static uint64_t find_next_look(const struct discovery *discovery, uint64_t now_ns)
{
	const struct known_process *process = discovery->processes;
	uint64_t next_ns = discovery->pass.due_ns, told_ns = discovery->told_ns;

	/* An event wakes us up at most once per STRANGERS_PAUSE_NS (discovery.h). */
	if (now_ns < told_ns + STRANGERS_PAUSE_NS && told_ns + STRANGERS_PAUSE_NS < next_ns)
		next_ns = told_ns + STRANGERS_PAUSE_NS;
	for (; process; process = process->hh.next)
		if (process->next_look_ns < next_ns)
			next_ns = process->next_look_ns;
	return next_ns;
}

int discovery_look(struct discovery *discovery, uint64_t now_ns,
		   const struct discovery_owner *owner)
{
	const struct look look = { discovery, now_ns, owner };
	int r = now_ns >= discovery->pass.due_ns ? go_over_processes(&look) : 0;

	if (r == 0)
		r = look_at_due(&look);
	discovery->next_look_ns = find_next_look(discovery, now_ns);
	return r;
}

uint64_t discovery_next_look(const struct discovery *discovery)
{
	return discovery->next_look_ns;
}

void discovery_expect(struct discovery *discovery, pid_t pid, uint64_t now_ns)
{
	struct known_process *process = find(discovery, pid);
	uint64_t look_ns = now_ns + PAUSE_FIRST_NS;

	discovery->told_ns = now_ns;
	/* Without memory the next pass finds the process. */
	if (!process && !(process = remember(discovery, pid)))
		return;
	if (process->target) {
		look_ns = process->look_ns + PAUSE_FIRST_NS;
		if (look_ns < now_ns + PAUSE_LOADING_NS)
			look_ns = now_ns + PAUSE_LOADING_NS;
		process->news_ns = now_ns;
		process->pause_ns = PAUSE_FIRST_NS;
	}
	if (!process->next_look_ns || look_ns < process->next_look_ns)
		process->next_look_ns = look_ns;
	if (look_ns < discovery->next_look_ns)
		discovery->next_look_ns = look_ns;
}

void discovery_expect_any(struct discovery *discovery, uint64_t now_ns)
{
	discovery->pass.is_wanted = true;
	if (discovery->pass.pids)
		return;
	discovery->pass.due_ns = discovery->next_look_ns = now_ns;
}

size_t discovery_unreadable(const struct discovery *discovery)
{
	const struct known_process *process = discovery->processes;
	size_t count = discovery->hidden_count;

	for (; process; process = process->hh.next)
		count += process->is_unreadable;
	return count;
}
