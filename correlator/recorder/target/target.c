/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/gem_abi.h>
#include <correlator/state_abi.h>

#include "base/rights.h"
#include "recorder/target/proc/process_access.h"

/* An empty function of glibc's and musl's loaders, meant for debugger breakpoints. */
static const char LOADER_HOOK[] = "_dl_debug_state";

/* Also notes it in a statically linked program, which may publish as well. */
static void note_loader(struct target *target, const struct loaded_object *object)
{
	struct elf_symbol hook;

	if (target->loader || !elf_image_find_defined(object->image, LOADER_HOOK, &hook) ||
	    elf_image_file_offset(object->image, hook.value, &target->loader_offset) < 0)
		return;
	target->loader = object_file_hold(object->file);
}

/*
 * Ruby 3.3 and later: threads of the main Ractor share native threads if RUBY_MN_THREADS is above 0
 * when Ruby starts (thread_pthread.c, v3_3_0, ruby_mn_threads_params()).
 */
static bool shares_native_threads(const struct target *target)
{
	char number[16];

	return strverscmp(target->ruby.version, "3.3") >= 0 &&
	       process_read_variable(target->info.pid, "RUBY_MN_THREADS", number, sizeof(number)) ==
		       0 &&
	       atoi(number) > 0;
}

static int look_at_object(struct target *target, const struct memory_reader *reader)
{
	const struct loaded_object *object = &target->walk.object;
	bool is_starting, was_ruby = target->ruby.is_ruby;
	int r = ruby_target_note(&target->ruby, object, reader);

	if (r < 0)
		return r;
	is_starting = r > 0;
	if (target->ruby.is_ruby && !was_ruby)
		target->shares_native_threads = shares_native_threads(target);
	if (object->has_bias)
		link_map_note(object->image, object->bias, &target->link_map);
	note_loader(target, object);
	r = publishers_note(&target->publishers, object);
	if (r == 0 && target->keys.wants_otel)
		r = publishers_note(&target->otel.publishers, object);
	/* A symbol that was not found may still be in it. */
	if (r == 0 && object_file_is_late(object->file))
		r = -ETIMEDOUT;
	if (r == 0 && !is_starting)
		r = object_walk_keep(&target->walk);
	return r;
}

/* Locates and reads what requires all objects to be known. 1: something new; 0; -errno. */
static int look_behind_objects(struct target *target, const struct memory_reader *reader)
{
	const struct memory_map *map = &target->walk.map;
	int r = publishers_locate(&target->publishers, map, reader, &target->link_map);

	if (r < 0 || !target->keys.wants_otel)
		return r;
	r = publishers_locate(&target->otel.publishers, map, reader, &target->link_map);
	/* Any other failure is logged, and persists until other objects are loaded. */
	if (r == -ESRCH || r == -ENOMEM)
		return r;
	return otel_announcement_look(&target->otel.announcement, map, reader);
}

/* 1: OpenTelemetry's process context is new; 0; -errno. */
static int look_at_objects(struct target *target, struct memory_map *map)
{
	struct memory_reader reader = memory_reader_of_process(target->info.pid);
	struct object_walk *walk = &target->walk;
	bool has_dropped;
	int r = rights_reach(target->info.pid) ? 0 : -EPERM;

	if (r == 0)
		r = object_walk_begin(walk, map);
	if (r == 0)
		r = process_access_check(target->info.pid, &walk->map);
	if (r == 0) {
		has_dropped = publishers_drop_unmapped(&target->publishers, &walk->map);
		has_dropped |= publishers_drop_unmapped(&target->otel.publishers, &walk->map);
		if (has_dropped)
			object_walk_forget(walk);
	}
	while (r == 0) {
		r = object_walk_next(walk);
		if (r <= 0)
			break;
		r = look_at_object(target, &reader);
	}
	if (r == 0)
		r = look_behind_objects(target, &reader);
	object_walk_end(walk);
	return r;
}

int target_open(pid_t pid, struct memory_map *map, const struct target_keys *keys,
		struct object_files *files, struct target **ret_target)
{
	_cleanup_(target_freep) struct target *target = calloc(1, sizeof(*target));
	int r;

	if (!target)
		return -ENOMEM;
	target->keys = *keys;
	target->walk.pid = pid;
	target->walk.files = files;
	target->publishers = (struct publishers){ .symbol = STATE_SYMBOL, .has_sites = true };
	otel_target_init(&target->otel, keys->otel_names, keys->count);
	for (size_t i = 0; i < keys->count; i++)
		target->ruby.keys_missing += keys->ruby_names[i] != NULL;
	r = process_read_info(pid, &target->info);
	if (r == 0)
		r = look_at_objects(target, map);
	/* Objects that do not answer count as missing; the rest of the process is observed. */
	if (r < 0 && r != -ETIMEDOUT)
		return r;
	target->is_fresh = true;
	*ret_target = TAKE_PTR(target);
	return 0;
}

void target_free(struct target *target)
{
	if (!target)
		return;
	ruby_target_deinit(&target->ruby);
	otel_target_deinit(&target->otel);
	publishers_deinit(&target->publishers);
	object_walk_deinit(&target->walk);
	object_file_release(target->loader);
	free(target);
}

/*
 * A process that executes has its new memory before the kernel tells of it (fs/exec.c v6.18:
 * begin_new_exec(), then trace_sched_process_exec()). The program is read last: then all that was
 * found belongs to it.
 */
static int look_again(struct target *target)
{
	int news = look_at_objects(target, NULL);
	struct process_info info;
	int r = process_read_info(target->info.pid, &info);

	if (r < 0)
		return r;
	if (info.start_ticks != target->info.start_ticks ||
	    !process_is_same_program(&info.program, &target->info.program))
		return -ESRCH;
	target->info = info;
	return news;
}

int target_refresh(struct target *target)
{
	struct memory_reader reader = memory_reader_of_process(target->info.pid);
	bool had_symbols = target->ruby.symbols, was_publishing = target_publisher(target);
	bool had_otel = otel_target_publisher(&target->otel), is_news;
	size_t were_missing = target->ruby.keys_missing;
	size_t were_publishing = target->publishers.count;
	int r = target->is_fresh ? 0 : look_again(target);

	if (r < 0 && r != -ETIMEDOUT)
		return r;
	target->is_fresh = false;
	is_news = r > 0;
	r = ruby_target_find_keys(&target->ruby, target->keys.ruby_names, target->keys.count,
				  &reader);
	if (r < 0 && r != -ETIMEDOUT)
		return r;
	return is_news || had_symbols != !!target->ruby.symbols ||
	       was_publishing != !!target_publisher(target) ||
	       had_otel != !!otel_target_publisher(&target->otel) ||
	       were_missing != target->ruby.keys_missing ||
	       were_publishing != target->publishers.count;
}

const struct publisher *target_publisher(const struct target *target)
{
	return publishers_live(&target->publishers);
}

bool target_is_complete(const struct target *target)
{
	if (target->keys.wants_ruby &&
	    (!target->ruby.symbols || !target_publisher(target) || target->ruby.keys_missing > 0))
		return false;
	return !target->keys.wants_otel || otel_target_is_complete(&target->otel);
}

bool target_mixes_threads(const struct target *target)
{
	return target->shares_native_threads && target_publisher(target) &&
	       !target->publishers.follows_threads;
}

static bool counts(const struct target *target, uint32_t flag)
{
	struct memory_reader reader = memory_reader_of_process(target->info.pid);
	const struct publisher *publisher = target_publisher(target);
	struct gem_watch watch;

	return publisher && publisher->has_threads && publisher->watch_address &&
	       memory_read(&reader, publisher->watch_address, &watch, sizeof(watch)) == 0 &&
	       watch.version == 1 && (watch.flags & flag);
}

bool target_shows_gvl(const struct target *target)
{
	return strverscmp(target->ruby.version, "2.7") >= 0 &&
	       strverscmp(target->ruby.version, "3.2") < 0 && !target->link_map.is_musl;
}

bool target_counts_gvl(const struct target *target)
{
	return counts(target, GEM_THREAD_COUNTS_GVL);
}

bool target_times_gc(const struct target *target)
{
	return counts(target, GEM_THREAD_TIMES_GC);
}

bool target_has_changed(const struct target *target)
{
	struct memory_reader reader = memory_reader_of_process(target->info.pid);

	return otel_announcement_has_changed(&target->otel.announcement, &reader);
}

void target_config(const struct target *target, struct process_config *ret_config)
{
	const struct publisher *publisher = target_publisher(target);
	struct process_config config = { .key_count = (uint32_t)target->keys.count };

	ruby_target_config(&target->ruby, &config);
	if (target->ruby.symbols && publisher) {
		config.publisher_start = publisher->start;
		config.publisher_end = publisher->end;
		/* Several objects set the variable. */
		if (publishers_count_variables(&target->publishers) < target->publishers.count) {
			config.publisher_start = 0;
			config.publisher_end = UINT64_MAX;
		}
		config.tls = publisher->tls.location;
		config.flags = PROCESS_READY;
		/* The gem does not count the stores of another object. */
		if (target->publishers.count == 1)
			config.changes_words = publisher->changes_words;
		if (publisher->has_fiber_site && target->publishers.count == 1)
			config.flags |= PROCESS_TELLS_FIBERS;
		if (publisher->tells_serials && target->publishers.count == 1)
			config.flags |= PROCESS_TELLS_SERIALS;
		if (publisher->has_threads) {
			config.flags |= PROCESS_HAS_THREADS;
			config.thread_offset = publisher->thread_offset;
		}
	}
	if (target_shows_gvl(target))
		config.flags |= PROCESS_SHOWS_GVL;
	*ret_config = config;
}
