/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes for tests of the looks at them: all of recorder/target/target.h. A test names the
 * processes that live; any other is gone. Beside fake_kernel.h, included once a test program.
 */
#pragma once

#include "recorder/observe/fake_kernel.h"
#include "recorder/target/proc/memory_map.h"
#include "recorder/target/target.h"

enum {
	FAKE_TARGETS_MAX = 4
};

struct fake_target {
	pid_t pid;
	int error; /* of each look; 0 = none */
	bool is_news; /* what the next one finds */
	bool is_complete, has_changed, mixes_threads;
	uint64_t cost_ns; /* of each look */
	unsigned int opened, refreshed;
	struct target found;
};

static struct fake_target fake_targets[FAKE_TARGETS_MAX];

static inline struct fake_target *fake_target_find(pid_t pid)
{
	for (size_t i = 0; i < FAKE_TARGETS_MAX; i++)
		if (fake_targets[i].pid == pid)
			return &fake_targets[i];
	return NULL;
}

static inline struct fake_target *fake_target_add(pid_t pid)
{
	struct fake_target *added = fake_target_find(0);

	assert_non_null(added);
	*added = (struct fake_target){
		.pid = pid,
		.found = { .info = { .pid = pid,
				     .ns_pid = 5,
				     .start_ticks = FAKE_START_TICKS,
				     .comm = "puma" },
			   .publishers = { .symbol = "ruby", .has_sites = true },
			   .otel.publishers = { .symbol = "otel" } },
	};
	return added;
}

static inline void fake_targets_reset(void)
{
	memset(fake_targets, 0, sizeof(fake_targets));
}

/* A file that is there: this program's. */
static inline struct object_file *fake_file(void)
{
	static struct object_file *file;
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };

	if (file)
		return file;
	assert_int_equal(memory_map_of_process(getpid(), &map), 0);
	for (size_t i = 0; i < map.count && !file; i++)
		if (map.entries[i].inode)
			(void)object_file_get(NULL, getpid(), &map.entries[i], &file);
	assert_non_null(file);
	return file;
}

int target_open(pid_t pid, struct memory_map *map, const struct target_keys *keys,
		struct object_files *files, struct target **ret_target)
{
	struct fake_target *target = fake_target_find(pid);

	(void)map;
	(void)files;
	if (!target || target->error)
		return target ? target->error : -ESRCH;
	*ret_target = malloc(sizeof(**ret_target));
	if (!*ret_target)
		return -ENOMEM;
	**ret_target = target->found;
	(*ret_target)->keys = *keys;
	fake.own_cpu_ns += target->cost_ns;
	fake.others_cpu_ns += target->cost_ns;
	target->opened++;
	return 0;
}

void target_free(struct target *target)
{
	free(target);
}

/* What is preferred is the target's own, and so is what it has from its parent. */
int target_refresh(struct target *target)
{
	struct fake_target *now = fake_target_find(target->info.pid);
	struct target before = *target;
	int r;

	if (!now || now->error)
		return now ? now->error : -ESRCH;
	*target = now->found;
	target->keys = before.keys;
	target->publishers.live = before.publishers.live;
	if (target->otel.announcement.state == OTEL_ANNOUNCEMENT_MISSING &&
	    before.otel.announcement.state != OTEL_ANNOUNCEMENT_MISSING)
		target->otel.announcement = before.otel.announcement;
	fake.own_cpu_ns += now->cost_ns;
	fake.others_cpu_ns += now->cost_ns;
	now->refreshed++;
	r = now->is_news;
	now->is_news = false;
	return r;
}

const struct publisher *target_publisher(const struct target *target)
{
	return publishers_live(&target->publishers);
}

bool target_is_complete(const struct target *target)
{
	return fake_target_find(target->info.pid)->is_complete;
}

bool target_mixes_threads(const struct target *target)
{
	return fake_target_find(target->info.pid)->mixes_threads;
}

bool target_has_changed(const struct target *target)
{
	return fake_target_find(target->info.pid)->has_changed;
}

void target_config(const struct target *target, struct process_config *ret_config)
{
	const struct publisher *publisher = target_publisher(target);

	*ret_config = (struct process_config){
		.key_count = (uint32_t)target->keys.count,
		.flags = publisher ? PROCESS_READY : 0,
		.publisher_start = publisher ? publisher->start : 0,
		.publisher_end = publisher ? publisher->end : 0,
	};
}
