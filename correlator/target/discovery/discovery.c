/* SPDX-License-Identifier: GPL-2.0-only */
#include "target/discovery/discovery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/clock.h"
#include "base/hash.h"
#include "target/discovery/process_filter.h"
#include "target/proc/memory_map.h"
#include "target/proc/proc_file.h"
#include "target/proc/process.h"
#include "target/target.h"

#define PAUSE_FIRST_NS (50 * NS_PER_MS)
#define PAUSE_MAX_NS   (2000 * NS_PER_MS)
/* A program may be seen before its loader is done: an answer given later than this is final. */
#define SETTLE_NS (2000 * NS_PER_MS)
#define NEVER_NS  UINT64_MAX

enum {
	CGROUP_BYTES_MAX = 64 * 1024 /* a dozen hierarchies of at most PATH_MAX each */
};

struct known_process {
	pid_t pid;
	uint64_t start_ticks;
	uint64_t look_number; /* of the last look that saw it */
	struct process_program program;
	uint64_t code_digest; /* of the files that code is mapped from */
	uint64_t code_digest_ns; /* when it was first seen so; 0 = not looked at */
	uint64_t next_look_ns;
	uint64_t pause_ns;
	bool is_settled; /* no news to expect while code_digest stays */
	bool is_unreadable;
	bool is_reported;
	UT_hash_handle hh;
};

struct discovery {
	struct process_filter filter;
	struct target_keys keys;
	pid_t own_pid;
	struct known_process *processes; /* uthash, by pid */
	uint64_t look_number;
};

/* The files that a process has mapped. */
struct mapped_files {
	uint64_t code_digest; /* of device and inode of those that code runs from, by address */
	bool has_ruby; /* a path, file name or folder, holds "ruby" */
};

/* One discovery_look. */
struct look {
	struct discovery *discovery;
	uint64_t now_ns;
	discovery_found_fn on_found;
	void *user;
};

int discovery_new(const char *comm, const char *cgroup, const struct target_keys *keys,
		  struct discovery **ret_discovery)
{
	_cleanup_(discovery_freep) struct discovery *discovery = calloc(1, sizeof(*discovery));
	int r;

	if (!discovery)
		return -ENOMEM;
	discovery->own_pid = getpid();
	discovery->keys = *keys;
	r = process_filter_init(comm, cgroup, &discovery->filter);
	if (r < 0)
		return r;
	*ret_discovery = TAKE_PTR(discovery);
	return 0;
}

static void forget(struct discovery *discovery, struct known_process *process)
{
	HASH_DEL(discovery->processes, process);
	free(process);
}

void discovery_free(struct discovery *discovery)
{
	struct known_process *process, *next;

	if (!discovery)
		return;
	HASH_ITER(hh, discovery->processes, process, next) {
		forget(discovery, process);
	}
	process_filter_deinit(&discovery->filter);
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

/* A process that runs another program is looked at as a new one is. */
static void set_program(struct known_process *process, const struct process_program *program)
{
	process->program = *program;
	process->code_digest = process->code_digest_ns = process->next_look_ns = 0;
	process->pause_ns = PAUSE_FIRST_NS;
	process->is_settled = process->is_unreadable = false;
}

static struct known_process *remember(struct discovery *discovery, pid_t pid,
				      const struct process_info *info)
{
	struct known_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->pid = pid;
	process->start_ticks = info->start_ticks;
	process->look_number = discovery->look_number;
	set_program(process, &info->program);
	HASH_ADD(hh, discovery->processes, pid, sizeof(process->pid), process);
	return process;
}

static struct known_process *recall(struct discovery *discovery, pid_t pid, uint64_t start_ticks)
{
	struct known_process *process;

	HASH_FIND(hh, discovery->processes, &pid, sizeof(pid), process);
	if (process && process->start_ticks != start_ticks) {
		forget(discovery, process);
		return NULL;
	}
	if (process)
		process->look_number = discovery->look_number;
	return process;
}

/* What a failure to look means: our own is passed on, the process's is its own affair. */
static int judge_failure(const struct look *look, struct known_process *process, int r)
{
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return r;
	process->is_unreadable = r == -EPERM || r == -EACCES;
	/* Not sooner: what is refused is logged each time. */
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

/* Looks at what may be Ruby. is_final: what is missing now will not come with this code. */
static int look_inside(const struct look *look, struct known_process *process,
		       struct memory_map *map, bool is_final)
{
	_cleanup_(target_freep) struct target *target = NULL;
	int r = target_open(process->pid, map, &look->discovery->keys, &target);

	if (r < 0) {
		r = judge_failure(look, process, r);
		process->is_settled = is_final && r == 0 && !process->is_unreadable;
		return r;
	}
	/* Another process by now: the next look tells. */
	if (target->info.start_ticks != process->start_ticks)
		return 0;
	if (publishes_what_is_wanted(target)) {
		r = look->on_found(look->user, TAKE_PTR(target));
		process->is_reported = r >= 0;
		if (!process->is_reported)
			process->next_look_ns = 0;
		return r < 0 ? r : 0;
	}
	/* A variable that is there but not relocated may wait for its first use (lazy TLSDESC). */
	process->is_settled =
		is_final && (target->publishers.count == 0 || !target->keys.wants_ruby);
	if (process->is_settled && !target->ruby.is_ruby)
		process->next_look_ns = NEVER_NS;
	return 0;
}

static void schedule(struct known_process *process, uint64_t now_ns)
{
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

/* Of whole paths: gems are below lib/ruby, also with a Ruby that has another name. */
static struct mapped_files look_at_files(const struct memory_map *map)
{
	struct mapped_files files = { 0 };

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

static int look_at_program(const struct look *look, struct known_process *process)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	struct mapped_files files;
	bool is_final;
	int r = memory_map_of_process(process->pid, &map);

	schedule(process, look->now_ns);
	process->is_unreadable = false;
	if (r < 0)
		return judge_failure(look, process, r);
	files = look_at_files(&map);
	if (!process->code_digest_ns || files.code_digest != process->code_digest) {
		process->code_digest = files.code_digest;
		process->code_digest_ns = look->now_ns;
		process->is_settled = false;
	}
	is_final = look->now_ns - process->code_digest_ns >= SETTLE_NS;
	if (!files.has_ruby) {
		process->next_look_ns = is_final ? NEVER_NS : process->code_digest_ns + SETTLE_NS;
		return 0;
	}
	if (process->is_settled || !is_in_cgroup(look->discovery, process->pid))
		return 0;
	return look_inside(look, process, &map, is_final);
}

static int look_at_process(const struct look *look, pid_t pid)
{
	struct discovery *discovery = look->discovery;
	struct known_process *process;
	struct process_info info;

	if (pid == discovery->own_pid || process_glance(pid, &info) < 0)
		return 0;
	process = recall(discovery, pid, info.start_ticks);
	if (info.program.code_start == PROCESS_CODE_NONE ||
	    info.program.code_start == PROCESS_CODE_HIDDEN ||
	    !process_filter_has_comm(&discovery->filter, info.comm))
		return 0;
	if (!process) {
		process = remember(discovery, pid, &info);
		if (!process)
			return -ENOMEM;
	}
	if (!process_is_same_program(&process->program, &info.program))
		set_program(process, &info.program);
	if (process->is_reported || process->next_look_ns > look->now_ns)
		return 0;
	return look_at_program(look, process);
}

static void forget_the_gone(struct discovery *discovery)
{
	struct known_process *process, *next;

	HASH_ITER(hh, discovery->processes, process, next) {
		if (process->look_number != discovery->look_number)
			forget(discovery, process);
	}
}

int discovery_look(struct discovery *discovery, uint64_t now_ns, discovery_found_fn on_found,
		   void *user)
{
	const struct look look = { discovery, now_ns, on_found, user };
	_cleanup_free_ pid_t *pids = NULL;
	size_t count;
	int r = proc_file_list_ids("/proc", &pids, &count);

	if (r < 0)
		return r;
	discovery->look_number++;
	for (size_t i = 0; i < count; i++) {
		r = look_at_process(&look, pids[i]);
		if (r < 0)
			return r;
	}
	forget_the_gone(discovery);
	return 0;
}
