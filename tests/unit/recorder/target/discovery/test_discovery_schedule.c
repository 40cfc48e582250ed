/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When discovery looks at whom, over a machine that does not exist: what it asks of processes is
 * answered here, and time is a number.
 */
#include "recorder/target/discovery/discovery.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include <correlator/limits.h>

#include "failing_memory.h"
#include "recorder/target/proc/memory_map.h"
#include "recorder/target/proc/proc_file.h"

UNIT_TEST_ALONE;

#define MS UINT64_C(1000000)

enum {
	FIRST_PID = 100000, /* never our own */
	PROCESSES_MAX_HERE = 300,
};

struct forged_process {
	bool is_there;
	struct process_info info;
	const char *path; /* of the one file that it maps */
	const char *cgroup;
	bool is_file_code;
	bool is_ruby;
	bool publishes;
	bool publishes_otel;
	bool may_come_by_itself; /* it has the variable, which is not located yet */
	bool may_come_by_otel;
	bool is_replaced; /* once it was glanced at: its pid is another one's by now */
	int map_error;
	int open_error;
	int refresh_result;
	size_t map_count; /* how often its mappings were read */
	size_t glance_count;
	size_t refresh_count;
};

/* One machine at a time: what stands in for /proc is handed nothing else. */
static struct machine {
	struct forged_process processes[PROCESSES_MAX_HERE];
	size_t count;
	size_t list_count; /* how often /proc was listed */
	int list_error;
	size_t targets; /* that are open */
} machine;

struct bench {
	struct discovery *discovery;
	uint64_t now_ns;
	size_t found, candidates, dropped;
	pid_t last; /* that something was told of */
	int found_answer, candidate_answer;
};

static struct forged_process *process_of(pid_t pid)
{
	size_t at = (size_t)(pid - FIRST_PID);

	return at < machine.count && machine.processes[at].is_there ? &machine.processes[at] : NULL;
}

int process_glance(pid_t pid, struct process_info *ret_info)
{
	struct forged_process *process = process_of(pid);

	if (!process)
		return -ESRCH;
	process->glance_count++;
	*ret_info = process->info;
	return 0;
}

bool process_is_same_program(const struct process_program *a, const struct process_program *b)
{
	return a->code_start == b->code_start;
}

int proc_file_list_ids(const char *path, pid_t **ret_ids, size_t *ret_count)
{
	pid_t *ids = calloc(PROCESSES_MAX_HERE, sizeof(*ids));

	assert_string_equal(path, "/proc");
	machine.list_count++;
	if (machine.list_error) {
		free(ids);
		return machine.list_error;
	}
	*ret_count = 0;
	for (size_t i = 0; i < machine.count; i++)
		if (machine.processes[i].is_there)
			ids[(*ret_count)++] = FIRST_PID + (pid_t)i;
	*ret_ids = ids;
	return 0;
}

int proc_file_read(pid_t pid, const char *name, size_t limit_bytes, char **ret_text,
		   size_t *ret_size_bytes)
{
	const struct forged_process *process = process_of(pid);

	(void)limit_bytes;
	assert_string_equal(name, "cgroup");
	if (!process)
		return -ESRCH;
	*ret_text = strdup(process->cgroup);
	*ret_size_bytes = strlen(process->cgroup);
	return 0;
}

int memory_map_of_process(pid_t pid, struct memory_map *ret_map)
{
	struct forged_process *process = process_of(pid);

	if (!process)
		return -ESRCH;
	process->map_count++;
	if (process->map_error)
		return process->map_error;
	ret_map->entries = calloc(1, sizeof(*ret_map->entries));
	ret_map->entries[0].path = process->path;
	ret_map->entries[0].inode =
		process->path[0] == '/' ? (uint64_t)(uintptr_t)process->path : 0;
	ret_map->entries[0].is_executable = process->is_file_code;
	ret_map->count = 1;
	return 0;
}

void memory_map_deinit(struct memory_map *map)
{
	free(map->entries);
	*map = (struct memory_map){ 0 };
}

static void fill_target(struct target *target, const struct forged_process *process)
{
	target->info = process->info;
	target->info.start_ticks += process->is_replaced;
	target->ruby.is_ruby = process->is_ruby;
	target->publishers.count = process->may_come_by_itself;
	target->otel.publishers.count = process->may_come_by_otel;
}

int target_open(pid_t pid, struct memory_map *map, const struct target_keys *keys,
		struct object_files *files, struct target **ret_target)
{
	const struct forged_process *process = process_of(pid);
	struct target *target;

	(void)files;
	assert_non_null(process);
	assert_int_equal(map->count, 1);
	if (process->open_error)
		return process->open_error;
	target = calloc(1, sizeof(*target));
	target->keys = *keys;
	target->is_fresh = true;
	fill_target(target, process);
	machine.targets++;
	*ret_target = target;
	return 0;
}

void target_free(struct target *target)
{
	machine.targets -= target != NULL;
	free(target);
}

int target_refresh(struct target *target)
{
	struct forged_process *process = process_of(target->info.pid);

	if (!process)
		return -ESRCH;
	process->refresh_count++;
	/* Else it would say what was there when it was opened. */
	assert_false(target->is_fresh);
	if (process->refresh_result < 0)
		return process->refresh_result;
	fill_target(target, process);
	return process->refresh_result;
}

const struct publisher *target_publisher(const struct target *target)
{
	static const struct publisher some;

	return process_of(target->info.pid)->publishes ? &some : NULL;
}

bool otel_target_is_readable(const struct otel_target *otel)
{
	const struct target *target =
		(const struct target *)((const char *)otel - offsetof(struct target, otel));

	return process_of(target->info.pid)->publishes_otel;
}

static int note_found(void *user, struct target *target)
{
	struct bench *bench = user;

	bench->found++;
	bench->last = target->info.pid;
	target_free(target);
	return bench->found_answer;
}

static int note_candidate(void *user, const struct target *target)
{
	struct bench *bench = user;

	bench->candidates++;
	bench->last = target->info.pid;
	return bench->candidate_answer;
}

static void note_dropped(void *user, pid_t pid)
{
	struct bench *bench = user;

	bench->dropped++;
	bench->last = pid;
}

static const struct target_keys ruby_contexts = { .wants_ruby = true };

static void open_bench(struct bench *bench, const char *comm, const char *cgroup,
		       const struct target_keys *keys)
{
	*bench = (struct bench){ .now_ns = 1000 * MS };
	assert_int_equal(discovery_new(comm, cgroup, keys, NULL, &bench->discovery), 0);
}

static int set_up(void **state)
{
	struct bench *bench = malloc(sizeof(*bench));

	machine = (struct machine){ 0 };
	open_bench(bench, NULL, NULL, &ruby_contexts);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	discovery_free(bench->discovery);
	discovery_free(NULL);
	assert_int_equal(machine.targets, 0);
	free(bench);
	return 0;
}

static struct forged_process *add_process(const char *path)
{
	struct forged_process *process = &machine.processes[machine.count];

	assert_true(machine.count < PROCESSES_MAX_HERE);
	*process = (struct forged_process){
		.is_there = true, .path = path, .cgroup = "0::/a\n", .is_file_code = true
	};
	process->info.pid = FIRST_PID + (pid_t)machine.count++;
	process->info.start_ticks = 77;
	process->info.program.code_start = 0x400000;
	(void)snprintf(process->info.comm, sizeof(process->info.comm), "puma");
	return process;
}

static struct forged_process *add_ruby(void)
{
	struct forged_process *process = add_process("/usr/bin/ruby");

	process->is_ruby = true;
	return process;
}

static int look_at(struct bench *bench, uint64_t now_ns)
{
	const struct discovery_owner owner = { note_found, note_candidate, note_dropped, bench };

	bench->now_ns = now_ns;
	return discovery_look(bench->discovery, now_ns, &owner);
}

static int look_after(struct bench *bench, uint64_t pause_ns)
{
	return look_at(bench, bench->now_ns + pause_ns);
}

static uint64_t pause_ms(const struct bench *bench)
{
	return (discovery_next_look(bench->discovery) - bench->now_ns) / MS;
}

/* Looks when it is due, and not before; returns after how many ms that was. */
static uint64_t look_when_due(struct bench *bench, struct forged_process *process)
{
	uint64_t due_ns = discovery_next_look(bench->discovery), begin_ns = bench->now_ns;
	size_t glances = process->glance_count;

	assert_int_equal(look_at(bench, due_ns - 1), 0);
	assert_int_equal(process->glance_count, glances);
	assert_int_equal(look_at(bench, due_ns), 0);
	return (due_ns - begin_ns) / MS;
}

#define FORGED(test) TEST_WITH(test, set_up, tear_down)

FORGED(discovery_doubles_pauses_from_50_ms_to_2_s)
{
	static const uint64_t pauses_ms[] = { 50, 100, 200, 400, 800, 1600, 2000, 2000, 2000 };
	struct bench *bench = *state;
	struct forged_process *process = add_ruby();

	bench->candidate_answer = -ENOSPC;
	assert_int_equal(look_after(bench, 0), 0);
	for (size_t i = 0; i < sizeof(pauses_ms) / sizeof(*pauses_ms); i++) {
		assert_int_equal(bench->candidates, i + 1);
		assert_int_equal(look_when_due(bench, process), pauses_ms[i]);
	}
	assert_int_equal(process->map_count, 1);
	assert_int_equal(process->refresh_count, sizeof(pauses_ms) / sizeof(*pauses_ms));
}

FORGED(discovery_retries_unreadable_process_every_2_s_and_counts_it)
{
	static const int errors[] = { -EACCES, -EPERM, -EFAULT, -EIO, -ESRCH };
	struct bench *bench = *state;

	for (size_t i = 0; i < 2 * sizeof(errors) / sizeof(*errors); i++) {
		struct forged_process *process = add_ruby();
		int error = errors[i / 2];
		bool is_private = error == -EACCES || error == -EPERM;

		/* Its mappings, or what is in them. */
		*(i % 2 ? &process->map_error : &process->open_error) = error;
		discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
		assert_int_equal(look_after(bench, 50 * MS), 0);
		assert_int_equal(discovery_unreadable(bench->discovery), is_private);
		for (int look = 2; look < 5; look++) {
			assert_int_equal(look_after(bench, 2000 * MS - 1), 0);
			assert_int_equal(process->map_count, look - 1);
			assert_int_equal(look_after(bench, 1), 0);
			assert_int_equal(process->map_count, look);
			assert_int_equal(pause_ms(bench), 2000);
		}
		assert_int_equal(discovery_unreadable(bench->discovery), is_private);
		process->map_error = process->open_error = 0;
		process->publishes = true;
		assert_int_equal(look_after(bench, 2000 * MS), 0);
		assert_int_equal(bench->last, process->info.pid);
		assert_int_equal(discovery_unreadable(bench->discovery), 0);
		process->is_there = false;
		bench->now_ns += 100000 * MS;
		while (discovery_next_look(bench->discovery) < bench->now_ns)
			assert_int_equal(look_after(bench, 0), 0);
	}
	assert_int_equal(bench->found, 2 * sizeof(errors) / sizeof(*errors));
}

FORGED(discovery_drops_candidate_that_became_unreadable)
{
	struct bench *bench = *state;
	struct forged_process *process = add_ruby();

	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(bench->candidates, 1);
	process->refresh_result = -EACCES;
	assert_int_equal(look_when_due(bench, process), 50);
	assert_int_equal(bench->dropped, 1);
	assert_int_equal(machine.targets, 0);
	assert_int_equal(discovery_unreadable(bench->discovery), 1);
	assert_int_equal(look_when_due(bench, process), 2000);
	assert_int_equal(bench->candidates, 2);
	assert_int_equal(bench->dropped, 1);
	assert_int_equal(discovery_unreadable(bench->discovery), 0);
}

FORGED(discovery_returns_own_resource_error_and_retries)
{
	static const int errors[] = { -ENOMEM, -EMFILE, -ENFILE };
	struct bench *bench = *state;

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		struct forged_process *process = add_ruby();

		process->open_error = errors[i];
		process->publishes = true;
		discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
		assert_int_equal(look_after(bench, 50 * MS), errors[i]);
		assert_int_equal(discovery_unreadable(bench->discovery), 0);
		process->open_error = 0;
		assert_int_equal(look_after(bench, 50 * MS), 0);
		assert_int_equal(bench->found, i + 1);
	}
}

FORGED(discovery_stops_pass_on_own_resource_error)
{
	struct bench *bench = *state;

	assert_int_equal(look_after(bench, 0), 0);
	for (size_t i = 0; i < 3; i++) {
		struct forged_process *process = add_ruby();

		process->publishes = true;
		discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
	}
	bench->found_answer = -EMFILE;
	assert_int_equal(look_after(bench, 50 * MS), -EMFILE);
	assert_int_equal(bench->found, 1);
	bench->found_answer = 0;
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(bench->found, 1 + 3);
}

FORGED(discovery_answer_is_final_after_2_s)
{
	struct bench *bench = *state;
	struct forged_process *process = add_process("/bin/sh");
	uint64_t begin_ns = bench->now_ns;

	assert_int_equal(look_at(bench, begin_ns), 0);
	/* What has no file of Ruby's need not be looked at in between. */
	assert_int_equal(look_when_due(bench, process), 2000);
	assert_int_equal(process->map_count, 2);
	assert_true(pause_ms(bench) > 50000);
	assert_int_equal(look_after(bench, 60000 * MS), 0);
	assert_int_equal(process->map_count, 2);
	/* Other code starts it anew. */
	process = add_process("/bin/sh");
	discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
	assert_int_equal(look_after(bench, 50 * MS), 0);
	process->path = "/bin/bash";
	assert_int_equal(look_when_due(bench, process), 2000);
	assert_int_equal(look_when_due(bench, process), 2000);
	assert_int_equal(process->map_count, 3);
	assert_true(pause_ms(bench) > 50000);
}

FORGED(discovery_polls_process_with_ruby_path_until_final)
{
	struct bench *bench = *state;
	struct forged_process *process = add_process("/usr/lib/ruby/x.so");
	uint64_t sum_ms = 0;

	assert_int_equal(look_after(bench, 0), 0);
	while (pause_ms(bench) < 10000)
		sum_ms += look_when_due(bench, process);
	assert_int_equal(sum_ms, 50 + 100 + 200 + 400 + 800 + 1600);
	assert_int_equal(process->map_count, 7);
	assert_int_equal(bench->candidates, 0);
	assert_int_equal(machine.targets, 0);
}

FORGED(discovery_leaves_watched_candidate_alone_once_settled)
{
	struct bench *bench = *state;
	struct forged_process *process = add_ruby();

	assert_int_equal(look_after(bench, 0), 0);
	for (int looks = 0; looks < 6; looks++)
		(void)look_when_due(bench, process);
	assert_true(pause_ms(bench) > 50000);
	assert_int_equal(bench->candidates, 1);
	/* With the variable there it may begin to publish without any news. */
	process->may_come_by_itself = true;
	process->refresh_result = 1;
	discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
	assert_int_equal(look_after(bench, 50 * MS), 0);
	process->refresh_result = 0;
	for (int looks = 0; looks < 20; looks++)
		assert_true(look_when_due(bench, process) <= 2000);
	process->publishes = true;
	(void)look_when_due(bench, process);
	assert_int_equal(bench->found, 1);
	assert_int_equal(bench->dropped, 0);
}

FORGED(discovery_news_of_candidate_restart_settling)
{
	struct bench *bench = *state;
	struct forged_process *process = add_ruby();

	assert_int_equal(look_after(bench, 0), 0);
	for (int looks = 0; looks < 5; looks++)
		(void)look_when_due(bench, process);
	process->refresh_result = 1;
	assert_int_equal(look_when_due(bench, process), 1600);
	process->refresh_result = 0;
	assert_int_equal(look_when_due(bench, process), 2000);
	assert_true(pause_ms(bench) > 50000);
}

FORGED(discovery_looks_at_loading_process_every_50_ms_at_most)
{
	struct bench *bench = *state;
	struct forged_process *process = add_ruby();
	uint64_t looked_ns;
	size_t refreshes;

	assert_int_equal(look_after(bench, 0), 0);
	for (int looks = 0; looks < 6; looks++)
		(void)look_when_due(bench, process);
	/* Long after the last look: almost at once. */
	bench->now_ns += 1000 * MS;
	discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
	assert_int_equal(look_when_due(bench, process), 1);
	/* Right after one: when 50 ms are over. */
	looked_ns = bench->now_ns;
	refreshes = process->refresh_count;
	discovery_expect(bench->discovery, process->info.pid, looked_ns + 20 * MS);
	assert_int_equal(look_at(bench, looked_ns + 50 * MS - 1), 0);
	assert_int_equal(process->refresh_count, refreshes);
	assert_int_equal(look_at(bench, looked_ns + 50 * MS), 0);
	assert_int_equal(process->refresh_count, refreshes + 1);
	/* And the pauses begin again from there. */
	assert_int_equal(look_after(bench, 30 * MS), 0);
	assert_int_equal(look_when_due(bench, process), 20);
	assert_int_equal(look_when_due(bench, process), 100);
	assert_int_equal(process->refresh_count, refreshes + 3);
}

FORGED(discovery_looks_50_ms_after_first_notification)
{
	struct bench *bench = *state;
	struct forged_process *process;

	assert_int_equal(look_after(bench, 0), 0);
	process = add_ruby();
	process->publishes = true;
	discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
	discovery_expect(bench->discovery, process->info.pid, bench->now_ns + 20 * MS);
	assert_int_equal(look_when_due(bench, process), 50);
	assert_int_equal(bench->found, 1);
	discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
	(void)look_when_due(bench, process);
	assert_int_equal(bench->found, 1);
	/* One that ended before. */
	discovery_expect(bench->discovery, FIRST_PID + 250, bench->now_ns);
	assert_int_equal(look_after(bench, 50 * MS), 0);
	assert_int_equal(bench->found, 1);
}

/* Who tells waits 50 ms before he wakes anybody again: in between a look is to be planned. */
FORGED(discovery_next_look_is_within_50_ms_after_notification)
{
	struct bench *bench = *state;

	assert_int_equal(look_after(bench, 0), 0);
	discovery_expect(bench->discovery, FIRST_PID + 250, bench->now_ns);
	assert_int_equal(look_after(bench, STRANGERS_PAUSE_NS - MS), 0);
	assert_int_equal(pause_ms(bench), 1);
	assert_int_equal(look_after(bench, MS), 0);
	assert_true(pause_ms(bench) > 50000);
	/* Of a telling, not of the time since. */
	discovery_expect(bench->discovery, FIRST_PID + 250, bench->now_ns);
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(pause_ms(bench), 50);
}

FORGED(discovery_first_pass_takes_all_and_later_ones_64_per_50_ms)
{
	struct bench *bench = *state;
	size_t seen;

	for (size_t i = 0; i < 64 + 64 + 1; i++)
		add_process("/bin/sh");
	assert_int_equal(look_after(bench, 0), 0);
	for (size_t i = 0; i < machine.count; i++)
		assert_int_equal(machine.processes[i].map_count, 1);
	/* Until all that is known is final. */
	assert_int_equal(look_after(bench, 3000 * MS), 0);
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(pause_ms(bench), 57000);
	for (size_t piece = 1; piece <= 3; piece++) {
		for (size_t i = 0; i < machine.count; i++)
			machine.processes[i].glance_count = 0;
		assert_int_equal(look_at(bench, discovery_next_look(bench->discovery)), 0);
		seen = 0;
		for (size_t i = 0; i < machine.count; i++)
			seen += machine.processes[i].glance_count;
		assert_int_equal(seen, piece < 3 ? 64 : 1);
		assert_int_equal(pause_ms(bench), piece < 3 ? 50 : 60000);
	}
	assert_int_equal(machine.list_count, 2);
}

FORGED(discovery_limits_due_looks_to_64_at_once)
{
	struct bench *bench = *state;
	size_t seen = 0;

	assert_int_equal(look_after(bench, 0), 0);
	for (size_t i = 0; i < 65; i++)
		discovery_expect(bench->discovery, add_ruby()->info.pid, bench->now_ns);
	assert_int_equal(look_after(bench, 50 * MS), 0);
	assert_int_equal(bench->candidates, 64);
	assert_true(discovery_next_look(bench->discovery) <= bench->now_ns);
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(bench->candidates, 65);
	for (size_t i = 0; i < machine.count; i++)
		seen += machine.processes[i].map_count;
	assert_int_equal(seen, 65);
}

FORGED(discovery_starts_new_pass_after_lost_event)
{
	struct bench *bench = *state;

	for (size_t i = 0; i < 65; i++)
		add_process("/bin/sh");
	assert_int_equal(look_after(bench, 0), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(look_after(bench, 2000 * MS), 0);
	discovery_expect_any(bench->discovery, bench->now_ns);
	assert_int_equal(discovery_next_look(bench->discovery), bench->now_ns);
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(machine.list_count, 2);
	/* In the middle of that. */
	discovery_expect_any(bench->discovery, bench->now_ns);
	assert_int_equal(pause_ms(bench), 50);
	assert_int_equal(look_after(bench, 50 * MS), 0);
	assert_int_equal(pause_ms(bench), 50);
	assert_int_equal(look_after(bench, 50 * MS), 0);
	assert_int_equal(machine.list_count, 3);
	assert_int_equal(look_after(bench, 50 * MS), 0);
	assert_int_equal(pause_ms(bench), 60000);
}

FORGED(discovery_returns_error_if_proc_cannot_be_listed)
{
	struct bench *bench = *state;

	machine.list_error = -EACCES;
	assert_int_equal(look_after(bench, 0), -EACCES);
	machine.list_error = 0;
	add_ruby()->publishes = true;
	assert_int_equal(look_after(bench, 50 * MS), 0);
	assert_int_equal(bench->found, 1);
}

FORGED(discovery_counts_hidden_matching_processes_of_last_pass)
{
	struct bench *bench = *state;
	struct forged_process *hidden[3];

	discovery_free(bench->discovery);
	open_bench(bench, "puma", "/a", &ruby_contexts);
	for (size_t i = 0; i < 3; i++) {
		hidden[i] = add_ruby();
		hidden[i]->info.program.code_start = PROCESS_CODE_HIDDEN;
	}
	hidden[1]->info.comm[0] = 'P';
	hidden[2]->cgroup = "0::/b\n";
	/* And a kernel thread is nobody's. */
	add_ruby()->info.program.code_start = PROCESS_CODE_NONE;
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(discovery_unreadable(bench->discovery), 1);
	hidden[1]->info.comm[0] = 'p';
	assert_int_equal(look_after(bench, 60000 * MS), 0);
	assert_int_equal(discovery_unreadable(bench->discovery), 2);
	hidden[0]->is_there = hidden[1]->is_there = false;
	assert_int_equal(look_after(bench, 60000 * MS), 0);
	assert_int_equal(discovery_unreadable(bench->discovery), 0);
	assert_int_equal(bench->found + bench->candidates, 0);
}

FORGED(discovery_finds_process_that_enters_cgroup_later)
{
	struct bench *bench = *state;
	struct forged_process *process;

	discovery_free(bench->discovery);
	open_bench(bench, NULL, "/a", &ruby_contexts);
	process = add_ruby();
	process->publishes = true;
	process->cgroup = "0::/b\n";
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(look_when_due(bench, process), 50);
	assert_int_equal(look_when_due(bench, process), 100);
	/* Its mappings need not be read for that. */
	assert_int_equal(process->map_count, 1);
	process->cgroup = "0::/a\n";
	assert_int_equal(look_when_due(bench, process), 200);
	assert_int_equal(bench->found, 1);
	assert_true(pause_ms(bench) > 50000);
}

FORGED(discovery_treats_other_program_as_other_process)
{
	struct bench *bench = *state;
	struct forged_process *process = add_ruby();

	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(bench->candidates, 1);
	(void)look_when_due(bench, process);
	process->info.program.code_start = 0x500000;
	process->path = "/bin/sh";
	(void)look_when_due(bench, process);
	assert_int_equal(bench->dropped, 1);
	assert_int_equal(machine.targets, 0);
	assert_int_equal(pause_ms(bench), 2000);
	/* And again, once it was settled. */
	(void)look_when_due(bench, process);
	process->info.program.code_start = 0x600000;
	process->path = "/usr/bin/ruby";
	process->publishes = true;
	discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
	assert_int_equal(look_after(bench, 50 * MS), 0);
	assert_int_equal(bench->found, 1);
	/* The same pid, and another process of the same program. */
	process->info.start_ticks++;
	discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
	assert_int_equal(look_after(bench, 50 * MS), 0);
	assert_int_equal(bench->found, 2);
}

FORGED(discovery_retries_if_pid_is_replaced_during_look)
{
	struct bench *bench = *state;
	struct forged_process *process = add_ruby();

	process->publishes = process->is_replaced = true;
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(bench->found, 0);
	assert_int_equal(machine.targets, 0);
	process->is_replaced = false;
	assert_int_equal(look_when_due(bench, process), 50);
	assert_int_equal(bench->found, 1);
}

FORGED(discovery_pass_finds_unannounced_exec)
{
	struct bench *bench = *state;
	struct forged_process *process = add_process("/bin/sh");

	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(look_when_due(bench, process), 2000);
	process->info.program.code_start = 0x500000;
	process->path = "/usr/bin/ruby";
	process->is_ruby = process->publishes = true;
	assert_int_equal(look_at(bench, discovery_next_look(bench->discovery)), 0);
	assert_int_equal(bench->found, 1);
}

FORGED(discovery_does_not_report_renamed_process_again)
{
	struct bench *bench = *state;
	struct forged_process *process;

	discovery_free(bench->discovery);
	open_bench(bench, "puma", NULL, &ruby_contexts);
	process = add_ruby();
	process->publishes = true;
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(bench->found, 1);
	process->info.comm[0] = 'P';
	discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
	assert_int_equal(look_after(bench, 50 * MS), 0);
	assert_true(pause_ms(bench) > 50000);
	process->info.comm[0] = 'p';
	discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
	assert_int_equal(look_after(bench, 50 * MS), 0);
	assert_int_equal(bench->found, 1);
	assert_true(pause_ms(bench) > 50000);
}

FORGED(discovery_drops_candidate_renamed_to_other_name)
{
	struct bench *bench = *state;
	struct forged_process *process;

	discovery_free(bench->discovery);
	open_bench(bench, "puma", NULL, &ruby_contexts);
	process = add_ruby();
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(bench->candidates, 1);
	process->info.comm[0] = 'P';
	(void)look_when_due(bench, process);
	assert_int_equal(bench->dropped, 1);
	assert_int_equal(machine.targets, 0);
}

FORGED(discovery_pass_forgets_exited_candidate)
{
	struct bench *bench = *state;
	struct forged_process *process = add_ruby();

	assert_int_equal(look_after(bench, 0), 0);
	for (int looks = 0; looks < 6; looks++)
		(void)look_when_due(bench, process);
	process->is_there = false;
	assert_int_equal(bench->dropped, 0);
	assert_int_equal(look_at(bench, discovery_next_look(bench->discovery)), 0);
	assert_int_equal(bench->dropped, 1);
	assert_int_equal(bench->last, process->info.pid);
}

FORGED(discovery_reports_only_publishers_of_wanted_keys)
{
	struct bench *bench = *state;
	static const struct {
		bool wants_ruby, wants_otel, publishes, publishes_otel, is_found;
	} cases[] = {
		{ true, false, true, false, true },  { true, false, false, true, false },
		{ false, true, true, false, false }, { false, true, false, true, true },
		{ true, true, true, false, true },   { true, true, false, true, true },
		{ true, true, false, false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct target_keys keys = { .wants_ruby = cases[i].wants_ruby,
						  .wants_otel = cases[i].wants_otel };
		struct forged_process *process;

		discovery_free(bench->discovery);
		machine = (struct machine){ 0 };
		open_bench(bench, NULL, NULL, &keys);
		process = add_ruby();
		process->publishes = cases[i].publishes;
		process->publishes_otel = cases[i].publishes_otel;
		assert_int_equal(look_after(bench, 0), 0);
		assert_int_equal(bench->found, cases[i].is_found);
		assert_int_equal(bench->candidates, !cases[i].is_found);
		/* It must be Ruby all the same. */
		process->info.start_ticks++;
		process->is_ruby = false;
		discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
		assert_int_equal(look_after(bench, 50 * MS), 0);
		assert_int_equal(bench->found, cases[i].is_found);
	}
}

/* Which variable a watched candidate has that may come without news: looked at again and again. */
FORGED(discovery_polls_candidate_for_wanted_variable_only)
{
	struct bench *bench = *state;

	for (int i = 0; i < 8; i++) {
		bool wants_otel = i & 1, has_ruby = i & 2, has_otel = i & 4;
		const struct target_keys keys = { .wants_ruby = !wants_otel,
						  .wants_otel = wants_otel };
		struct forged_process *process;

		discovery_free(bench->discovery);
		machine = (struct machine){ 0 };
		open_bench(bench, NULL, NULL, &keys);
		process = add_ruby();
		process->may_come_by_itself = has_ruby;
		process->may_come_by_otel = has_otel;
		assert_int_equal(look_after(bench, 0), 0);
		for (int looks = 0; looks < 6; looks++)
			(void)look_when_due(bench, process);
		assert_int_equal(pause_ms(bench) <= 2000, wants_otel ? has_otel : has_ruby);
	}
}

FORGED(discovery_returns_enomem_and_finds_process_later)
{
	struct bench *bench = *state;
	struct forged_process *process;
	struct discovery *another = NULL;
	size_t failures = 0;

	assert_each_allocation_can_fail(discovery_new("puma", "/a", &ruby_contexts, NULL, &another),
					(failures++, assert_null(another)));
	assert_true(failures > 2);
	discovery_free(another);
	process = add_ruby();
	process->publishes = true;
	/* After the list of processes: for one, for the table of all, for what is in that. */
	for (size_t successes = 1; successes <= 3; successes++) {
		memory_fails_once_after(successes);
		assert_int_equal(look_after(bench, 60000 * MS), -ENOMEM);
		memory_never_fails();
		/* That pass goes on behind it. */
		assert_int_equal(look_after(bench, 60000 * MS), 0);
		assert_int_equal(bench->found, 0);
	}
	assert_int_equal(look_after(bench, 60000 * MS), 0);
	assert_int_equal(bench->found, 1);
	/* One that was told of is met by the next pass. */
	process = add_ruby();
	process->publishes = true;
	memory_fails_after(0);
	discovery_expect(bench->discovery, process->info.pid, bench->now_ns);
	memory_never_fails();
	assert_int_equal(look_after(bench, 50 * MS), 0);
	assert_int_equal(bench->found, 1);
	assert_int_equal(look_after(bench, 60000 * MS), 0);
	assert_int_equal(bench->found, 2);
}
