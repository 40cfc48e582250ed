/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/story/story_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/display.h"
#include "base/hash.h"
#include "base/random.h"

void story_threads_init(struct story_threads *threads)
{
	*threads = (struct story_threads){ .seed = random_seed() };
}

void story_threads_deinit(struct story_threads *threads)
{
	struct story_thread *thread, *next;

	HASH_ITER(hh, threads->table, thread, next) {
		HASH_DELETE(hh, threads->table, thread);
		free(thread);
	}
	*threads = (struct story_threads){ 0 };
}

int story_thread_compare(const struct story_thread *a, const struct story_thread *b)
{
	int order = compare_u64(a->key.host, b->key.host);

	if (order == 0)
		order = compare_i64(a->key.pid, b->key.pid);
	return order ? order : compare_i64(a->key.tid, b->key.tid);
}

/* The index of the record's host, added if new; STORY_HOSTS_MAX: there is no room. */
static size_t find_host(struct story_threads *threads, const struct record_view *record)
{
	char name[RECORDING_TEXT_BYTES] = "";
	struct record_text text;

	if (record_view_text(record, RECORD_FIELD(common, host_name), &text))
		(void)display_escape(text.bytes, text.size_bytes, name, sizeof(name));
	for (size_t i = 0; i < threads->host_count; i++)
		if (strcmp(threads->hosts[i].name, name) == 0)
			return i;
	if (threads->host_count == STORY_HOSTS_MAX)
		return STORY_HOSTS_MAX;
	memcpy(threads->hosts[threads->host_count].name, name, sizeof(name));
	return threads->host_count++;
}

static unsigned int hash_key(const struct story_threads *threads,
			     const struct story_thread_key *key)
{
	return hash_table_key(threads->seed, key, sizeof(*key));
}

static struct story_thread *find(const struct story_threads *threads,
				 const struct story_thread_key *key)
{
	struct story_thread *thread;

	HASH_FIND_BYHASHVALUE(hh, threads->table, key, sizeof(*key), hash_key(threads, key),
			      thread);
	return thread;
}

static int add(struct story_threads *threads, const struct story_thread_key *key,
	       struct story_thread **ret_thread)
{
	_cleanup_free_ struct story_thread *thread = NULL;

	if (HASH_COUNT(threads->table) == STORY_THREADS_MAX) {
		threads->is_full = true;
		return 0;
	}
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	thread->key = *key;
	thread->host = &threads->hosts[key->host];
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, threads->table, &thread->key, sizeof(thread->key),
				    hash_key(threads, key), thread);
	if (!thread->hh.tbl)
		return -ENOMEM;
	*ret_thread = TAKE_PTR(thread);
	return 0;
}

static void set_names(struct story_thread *thread, const struct record_view *record,
		      uint64_t number)
{
	struct record_text name;

	if (number < thread->named_at)
		return;
	thread->named_at = number;
	if (record_view_text(record, RECORD_FIELD(cpu, thread_name), &name) && name.size_bytes > 0)
		(void)display_escape(name.bytes, name.size_bytes, thread->name,
				     sizeof(thread->name));
	(void)record_view_count(record, RECORD_FIELD(cpu, ns_tid), &thread->ns_tid);
}

int story_threads_touch(struct story_threads *threads, const struct record_view *record,
			uint64_t number, struct story_thread **ret_thread)
{
	struct story_thread_key key = { .host = find_host(threads, record) };
	struct story_thread *thread;
	int r = 0;

	*ret_thread = NULL;
	if (key.host == STORY_HOSTS_MAX) {
		threads->is_full = true;
		return 0;
	}
	if (!record_view_count(record, RECORD_FIELD(common, pid), &key.pid) ||
	    !record_view_count(record, RECORD_FIELD(cpu, tid), &key.tid))
		return 0;
	thread = find(threads, &key);
	if (!thread)
		r = add(threads, &key, &thread);
	if (r == 0 && thread) {
		set_names(thread, record, number);
		*ret_thread = thread;
	}
	return r;
}

const struct story_thread *story_threads_find(const struct story_threads *threads,
					      const struct story_host *host, int64_t pid,
					      int64_t tid)
{
	struct story_thread_key key = { (uint64_t)(host - threads->hosts), pid, tid };

	return find(threads, &key);
}

void story_host_extend(struct story_host *host, int64_t start_ns, int64_t end_ns)
{
	if (!host->has_span || start_ns < host->first_ns)
		host->first_ns = start_ns;
	if (!host->has_span || end_ns > host->last_ns)
		host->last_ns = end_ns;
	host->has_span = true;
}
