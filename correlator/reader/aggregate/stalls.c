/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/stalls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/hash.h"
#include "base/random.h"

#define REQUEST "request_id"

struct stalls_request {
	struct selection_request selection;
	struct stalls_life life; /* all zeros: it has no wanted cpu record */
};

void stalls_init(struct stalls *stalls, struct filter *filter, const char *by, size_t kept_max)
{
	if (kept_max == 0 || kept_max > STALLS_KEPT_MAX)
		kept_max = STALLS_KEPT_MAX;
	*stalls = (struct stalls){ .by = by, .kept_max = kept_max, .seed = random_seed() };
	selection_init(&stalls->selection, sizeof(struct stalls_request));
	selection_take_filter(&stalls->selection, filter);
}

static void forget_hog_sums(struct stalls *stalls)
{
	struct stalls_hog_sum *sum, *next;

	HASH_ITER(hh, stalls->hog_sums, sum, next) {
		HASH_DELETE(hh, stalls->hog_sums, sum);
		free(sum);
	}
}

void stalls_deinit(struct stalls *stalls)
{
	struct stalls_pair *pair, *next;

	HASH_ITER(hh, stalls->pairs, pair, next) {
		HASH_DELETE(hh, stalls->pairs, pair);
		free(pair);
	}
	forget_hog_sums(stalls);
	for (size_t i = 0; i < stalls->wait_count; i++)
		free(stalls->waits[i]);
	free(stalls->waits);
	for (size_t i = 0; i < stalls->hog_count; i++)
		free(stalls->hogs[i]);
	free(stalls->hogs);
	free(stalls->others);
	free(stalls->lives);
	free(stalls->ender_field);
	selection_deinit(&stalls->selection);
}

const char *stalls_ender_name(enum stalls_ender ender)
{
	static const char *const names[_STALLS_ENDER_MAX] = {
		[STALLS_BY_REQUEST] = "request",     [STALLS_BY_ITSELF] = "itself",
		[STALLS_BY_THREAD] = "thread",	     [STALLS_BY_TIMER] = "timer",
		[STALLS_BY_NETWORK] = "network",     [STALLS_BY_DISK] = "disk",
		[STALLS_BY_INTERRUPT] = "interrupt", [STALLS_BY_CPU] = "cpu",
		[STALLS_BY_UNKNOWN] = "unknown",
	};

	return names[ender];
}

static struct record_text text_of(const struct record_view *record, const char *field)
{
	struct record_text text = { 0 };

	if (!record_view_text(record, field, &text))
		return (struct record_text){ "", 0 };
	if (text.size_bytes > STALLS_TEXT_BYTES_MAX)
		text.size_bytes = STALLS_TEXT_BYTES_MAX;
	return text;
}

static enum stalls_ender ender_of(const struct record_view *record, const struct stalls_wait *wait)
{
	struct record_text woken_by = text_of(record, RECORD_FIELD(stall, woken_by));

	if (wait->run_queue_ns > wait->blocked_ns)
		return STALLS_BY_CPU;
	for (enum stalls_ender ender = STALLS_BY_TIMER; ender <= STALLS_BY_INTERRUPT; ender++)
		if (record_text_is(woken_by, stalls_ender_name(ender)))
			return ender;
	if (woken_by.size_bytes == 0)
		return STALLS_BY_UNKNOWN;
	if (wait->texts[STALLS_ENDING_REQUEST].size_bytes > 0 &&
	    record_text_compare(wait->texts[STALLS_REQUEST], wait->texts[STALLS_ENDING_REQUEST]) ==
		    0)
		return STALLS_BY_ITSELF;
	return wait->texts[STALLS_ENDING_REQUEST].size_bytes > 0 ||
			       wait->texts[STALLS_ENDER].size_bytes > 0
		       ? STALLS_BY_REQUEST
		       : STALLS_BY_THREAD;
}

static void read_ender(const struct record_view *record, struct stalls_wait *wait)
{
	bool is_of_cpu;

	wait->ender = ender_of(record, wait);
	is_of_cpu = wait->ender == STALLS_BY_CPU;
	(void)record_view_count(record,
				is_of_cpu ? RECORD_FIELD(stall, ran_instead_pid)
					  : RECORD_FIELD(stall, woken_by_pid),
				&wait->ender_pid);
	(void)record_view_count(record,
				is_of_cpu ? RECORD_FIELD(stall, ran_instead_tid)
					  : RECORD_FIELD(stall, woken_by_tid),
				&wait->ender_tid);
	if (is_of_cpu || wait->ender == STALLS_BY_THREAD)
		wait->texts[STALLS_ENDER] =
			text_of(record, is_of_cpu ? RECORD_FIELD(stall, ran_instead_thread_name)
						  : RECORD_FIELD(stall, woken_by_thread_name));
}

/* A number that another text may have, too, though rarely. */
static unsigned int number_of(const struct stalls *stalls, struct record_text text)
{
	return hash_table_key(stalls->seed, text.bytes, text.size_bytes);
}

/* tid_place: of the record's kind. */
static struct stalls_thread thread_of(const struct stalls *stalls, const struct record_view *record,
				      size_t tid_place)
{
	struct stalls_thread thread = { .host = number_of(stalls, text_of(record, "host_name")) };

	(void)record_view_count(record, "pid", &thread.pid);
	(void)record_view_count_at(record, tid_place, &thread.tid);
	return thread;
}

/* Reads a record; the texts are still the record's. False: it lacks its times. */
static bool read_wait(const struct stalls *stalls, const struct record_view *record,
		      struct stalls_wait *wait)
{
	*wait = (struct stalls_wait){ 0 };
	if (!record_view_count_at(record, RECORD_PLACE(stall, start_ns), &wait->start_ns) ||
	    !record_view_count_at(record, RECORD_PLACE(stall, end_ns), &wait->end_ns) ||
	    !record_view_count_at(record, RECORD_PLACE(stall, blocked_ns), &wait->blocked_ns) ||
	    !record_view_count_at(record, RECORD_PLACE(stall, run_queue_ns), &wait->run_queue_ns) ||
	    wait->end_ns < wait->start_ns)
		return false;
	(void)record_view_count_at(record, RECORD_PLACE(stall, gvl_ns), &wait->gvl_ns);
	(void)record_view_count_at(record, RECORD_PLACE(stall, cpu_ns), &wait->cpu_ns);
	wait->thread = thread_of(stalls, record, RECORD_PLACE(stall, tid));
	wait->texts[STALLS_VALUE] = text_of(record, stalls->by);
	wait->texts[STALLS_ENDER] = text_of(record, stalls->ender_field);
	wait->texts[STALLS_REQUEST] = text_of(record, REQUEST);
	wait->texts[STALLS_ENDING_REQUEST] = text_of(record, RECORD_WAKER_PREFIX REQUEST);
	wait->texts[STALLS_THREAD] = text_of(record, RECORD_FIELD(stall, thread_name));
	wait->texts[STALLS_BLOCKED_ON] = text_of(record, RECORD_FIELD(stall, blocked_on));
	wait->texts[STALLS_SYSCALL] = text_of(record, RECORD_FIELD(stall, name));
	wait->texts[STALLS_WAITED_ON] = text_of(record, RECORD_FIELD(stall, waited_on));
	wait->texts[STALLS_STACK] = text_of(record, RECORD_FIELD(stall, stack_id));
	read_ender(record, wait);
	return true;
}

/* A copy with texts of its own; NULL: no memory. */
static struct stalls_wait *copy_wait(const struct stalls_wait *wait)
{
	struct stalls_wait *copy;
	size_t bytes = 0, used = 0;

	for (size_t i = 0; i < _STALLS_TEXT_MAX; i++)
		bytes += wait->texts[i].size_bytes;
	copy = malloc(sizeof(*copy) + bytes);
	if (!copy)
		return NULL;
	*copy = *wait;
	for (size_t i = 0; i < _STALLS_TEXT_MAX; i++) {
		memcpy(copy->bytes + used, wait->texts[i].bytes, wait->texts[i].size_bytes);
		copy->texts[i].bytes = copy->bytes + used;
		used += wait->texts[i].size_bytes;
	}
	return copy;
}

/* Sorts by length, longest first, then by start. */
static int compare_waits(const void *a, const void *b)
{
	const struct stalls_wait *first = *(const struct stalls_wait *const *)a;
	const struct stalls_wait *second = *(const struct stalls_wait *const *)b;
	int order = compare_i64(stalls_wait_ns(second), stalls_wait_ns(first));

	if (order == 0)
		order = compare_i64(first->start_ns, second->start_ns);
	return order ? order : compare_i64(first->thread.tid, second->thread.tid);
}

static void drop_shortest(struct stalls *stalls)
{
	qsort(stalls->waits, stalls->wait_count, sizeof(struct stalls_wait *), compare_waits);
	while (stalls->wait_count > stalls->kept_max)
		free(stalls->waits[--stalls->wait_count]);
}

/* Keeps twice as many as wanted, and drops the shorter half now and then. 0, -ENOMEM. */
static int keep_wait(struct stalls *stalls, const struct stalls_wait *wait)
{
	struct stalls_wait *copy;

	if (array_reserve(&stalls->waits, &stalls->wait_capacity, stalls->wait_count + 1) < 0)
		return -ENOMEM;
	copy = copy_wait(wait);
	if (!copy)
		return -ENOMEM;
	stalls->waits[stalls->wait_count++] = copy;
	if (stalls->wait_count >= 2 * stalls->kept_max)
		drop_shortest(stalls);
	return 0;
}

/* Finds or adds the pair of a wait; NULL: the table is full. Returns 0, -ENOMEM. */
static int find_pair(struct stalls *stalls, const struct stalls_wait *wait,
		     struct stalls_pair **ret_pair)
{
	char key[2 + 2 * STALLS_TEXT_BYTES_MAX];
	const struct record_text *value = &wait->texts[STALLS_VALUE];
	const struct record_text *ender = &wait->texts[STALLS_ENDER];
	size_t size_bytes = 1;
	struct stalls_pair *pair;
	unsigned int hash;

	key[0] = (char)('0' + (int)wait->ender);
	memcpy(key + size_bytes, value->bytes, value->size_bytes);
	size_bytes += value->size_bytes;
	key[size_bytes++] = '\0';
	memcpy(key + size_bytes, ender->bytes, ender->size_bytes);
	size_bytes += ender->size_bytes;
	hash = hash_table_key(stalls->seed, key, size_bytes);
	HASH_FIND_BYHASHVALUE(hh, stalls->pairs, key, size_bytes, hash, pair);
	*ret_pair = pair;
	if (pair || HASH_COUNT(stalls->pairs) >= STALLS_PAIRS_MAX)
		return 0;
	pair = calloc(1, sizeof(*pair) + size_bytes);
	if (!pair)
		return -ENOMEM;
	memcpy(pair->key, key, size_bytes);
	pair->ender = wait->ender;
	pair->value = (struct record_text){ pair->key + 1, value->size_bytes };
	pair->ender_text =
		(struct record_text){ pair->key + 2 + value->size_bytes, ender->size_bytes };
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, stalls->pairs, pair->key, size_bytes, hash, pair);
	if (!pair->hh.tbl) {
		free(pair);
		return -ENOMEM;
	}
	*ret_pair = pair;
	return 0;
}

static int add_wait(struct stalls *stalls, const struct stalls_wait *wait)
{
	struct stalls_pair *pair;
	int r = find_pair(stalls, wait, &pair);

	stalls->left_out += r == 0 && !pair;
	if (r < 0 || !pair)
		return r;
	pair->count++;
	saturated_add_to(&pair->blocked_ns, wait->blocked_ns);
	saturated_add_to(&pair->run_queue_ns, wait->run_queue_ns);
	saturated_add_to(&pair->gvl_ns, wait->gvl_ns);
	if (stalls_wait_ns(wait) > pair->longest_ns)
		pair->longest_ns = stalls_wait_ns(wait);
	stalls->count++;
	saturated_add_to(&stalls->blocked_ns, wait->blocked_ns);
	saturated_add_to(&stalls->run_queue_ns, wait->run_queue_ns);
	saturated_add_to(&stalls->gvl_ns, wait->gvl_ns);
	return keep_wait(stalls, wait);
}

/* 0, -ENOMEM. */
static int add_hog(struct stalls *stalls, const struct stalls_wait *hog, bool is_wanted)
{
	struct stalls_wait *copy;

	if (stalls->hog_count >= STALLS_HOGS_MAX) {
		stalls->left_out++;
		return 0;
	}
	if (array_reserve(&stalls->hogs, &stalls->hog_capacity, stalls->hog_count + 1) < 0)
		return -ENOMEM;
	copy = copy_wait(hog);
	if (!copy)
		return -ENOMEM;
	copy->is_wanted = is_wanted;
	stalls->hogs[stalls->hog_count++] = copy;
	return 0;
}

/* Extends the life of a request by a cpu record. It is on the thread that it began on. */
static void live(const struct stalls *stalls, struct stalls_life *life,
		 const struct record_view *record)
{
	int64_t first_ns, last_ns;

	if (!record_view_count_at(record, RECORD_PLACE(cpu, first_ns), &first_ns) ||
	    !record_view_count_at(record, RECORD_PLACE(cpu, last_ns), &last_ns))
		return;
	if (life->end_ns == 0 || first_ns < life->start_ns) {
		life->thread = thread_of(stalls, record, RECORD_PLACE(cpu, tid));
		life->start_ns = first_ns;
		life->request = number_of(stalls, text_of(record, REQUEST));
	}
	if (last_ns > life->end_ns)
		life->end_ns = last_ns;
}

static bool is_hog(const struct record_view *record)
{
	return record->kind == RECORD_KIND_STALL &&
	       record_view_find(record, RECORD_FIELD(stall, is_hog));
}

static bool is_other(const struct stalls *stalls, uint64_t number)
{
	size_t count = array_count_up_to(stalls->others, stalls->other_count,
					 sizeof(*stalls->others), number);

	return count > 0 && stalls->others[count - 1] == number;
}

static int take(void *context, const struct selection_record *taken)
{
	struct stalls_request *request = (struct stalls_request *)taken->request;
	struct stalls *stalls = context;
	struct stalls_wait wait;

	stalls->has_any |= taken->view->kind == RECORD_KIND_STALL;
	if (!taken->is_wanted && !is_hog(taken->view))
		return 0;
	stalls->has_wanted |= taken->view->kind == RECORD_KIND_CPU;
	if (taken->view->kind == RECORD_KIND_CPU && request)
		live(stalls, &request->life, taken->view);
	if (taken->view->kind != RECORD_KIND_STALL)
		return 0;
	if (!read_wait(stalls, taken->view, &wait)) {
		stalls->left_out++;
		return 0;
	}
	return is_hog(taken->view) ? add_hog(stalls, &wait,
					     taken->is_wanted && !is_other(stalls, taken->number))
				   : add_wait(stalls, &wait);
}

static int end(void *context, struct selection_request *ended)
{
	const struct stalls_life *life = &((struct stalls_request *)ended)->life;
	struct stalls *stalls = context;

	if (life->end_ns == 0)
		return 0;
	if (stalls->life_count >= STALLS_LIVES_MAX) {
		stalls->left_out++;
		return 0;
	}
	if (array_reserve(&stalls->lives, &stalls->life_capacity, stalls->life_count + 1) < 0)
		return -ENOMEM;
	stalls->lives[stalls->life_count++] = *life;
	return 0;
}

static int other(void *context, const struct record_view *record)
{
	struct stalls *stalls = context;

	if (record->kind == RECORD_KIND_BALANCE)
		(void)record_view_add(record, "stalls_lost", &stalls->lost);
	return 0;
}

static int prepare(void *context)
{
	struct stalls *stalls = context;

	if (stalls->is_asked)
		return 0;
	stalls->is_asked = true;
	if (!stalls->by)
		stalls->by = recording_usual_key(&stalls->selection.recording);
	if (asprintf(&stalls->ender_field, RECORD_WAKER_PREFIX "%s", stalls->by) < 0) {
		stalls->ender_field = NULL;
		return -ENOMEM;
	}
	return selection_ask(&stalls->selection, stalls->by);
}

static struct selection_consumer consumer_of(struct stalls *stalls)
{
	return (struct selection_consumer){
		.other = other, .prepare = prepare, .take = take, .end = end, .context = stalls
	};
}

int stalls_add(struct stalls *stalls, const struct record_view *record)
{
	const struct selection_consumer consumer = consumer_of(stalls);

	return selection_add(&stalls->selection, &consumer, record);
}

int stalls_add_other(struct stalls *stalls, const struct record_view *record)
{
	uint64_t number = stalls->selection.last_number + 1;
	int r;

	if (!is_hog(record))
		return 0;
	if (stalls->other_count >= STALLS_HOGS_MAX) {
		stalls->left_out++;
		return 0;
	}
	if (array_reserve(&stalls->others, &stalls->other_capacity, stalls->other_count + 1) < 0)
		return -ENOMEM;
	stalls->others[stalls->other_count++] = number;
	r = stalls_add(stalls, record);
	/* It was read before: the next one gets that number. */
	if (stalls->selection.last_number < number)
		stalls->other_count--;
	return r;
}

static int compare_pairs(const struct stalls_pair *a, const struct stalls_pair *b)
{
	int order = compare_i64(saturated_add(b->blocked_ns, b->run_queue_ns),
				saturated_add(a->blocked_ns, a->run_queue_ns));

	if (order == 0)
		order = record_text_compare(a->value, b->value);
	if (order == 0)
		order = (int)a->ender - (int)b->ender;
	return order ? order : record_text_compare(a->ender_text, b->ender_text);
}

static int compare_threads(const struct stalls_thread *a, const struct stalls_thread *b)
{
	int order = compare_i64(a->host, b->host);

	if (order == 0)
		order = compare_i64(a->pid, b->pid);
	return order ? order : compare_i64(a->tid, b->tid);
}

static int compare_lives(const void *a, const void *b)
{
	const struct stalls_life *first = a, *second = b;
	int order = compare_threads(&first->thread, &second->thread);

	return order ? order : compare_i64(first->start_ns, second->start_ns);
}

/* Hogs that held most up first; then the longest. */
static int compare_hogs(const void *a, const void *b)
{
	const struct stalls_wait *first = *(const struct stalls_wait *const *)a;
	const struct stalls_wait *second = *(const struct stalls_wait *const *)b;
	int order = compare_i64(second->held_ns, first->held_ns);

	return order ? order : compare_waits(a, b);
}

/* The thread of a hog with that of a life. */
static int compare_with_life(const struct stalls_wait *hog, const struct stalls_life *life)
{
	return compare_threads(&hog->thread, &life->thread);
}

static int compare_hogs_by_thread(const void *a, const void *b)
{
	const struct stalls_wait *first = *(const struct stalls_wait *const *)a;
	const struct stalls_wait *second = *(const struct stalls_wait *const *)b;
	int order = compare_threads(&first->thread, &second->thread);

	return order ? order : compare_i64(first->start_ns, second->start_ns);
}

/* The requests that are under way on a thread as time goes on. */
struct sweep {
	const struct stalls_life *lives; /* sorted by thread and start */
	size_t count;
	size_t next; /* the first one that has not begun */
	size_t *open; /* indices of those that have begun, and may have ended */
	size_t open_count;
	uint64_t left_out;
};

/* Takes in the lives on the hog's thread that begin before it ends. */
static void sweep_to(struct sweep *sweep, const struct stalls_wait *hog)
{
	if (sweep->open_count > 0 && compare_with_life(hog, &sweep->lives[sweep->open[0]]) != 0)
		sweep->open_count = 0;
	while (sweep->next < sweep->count && compare_with_life(hog, &sweep->lives[sweep->next]) > 0)
		sweep->next++;
	while (sweep->next < sweep->count &&
	       compare_with_life(hog, &sweep->lives[sweep->next]) == 0 &&
	       sweep->lives[sweep->next].start_ns < hog->end_ns) {
		if (sweep->open_count < STALLS_OPEN_MAX)
			sweep->open[sweep->open_count++] = sweep->next;
		else
			sweep->left_out++;
		sweep->next++;
	}
}

/* Adds up the time that other requests were under way on the thread that the hog kept, and drops
 * those that ended before it. */
static void find_held(const struct stalls *stalls, struct sweep *sweep, struct stalls_wait *hog)
{
	unsigned int request = number_of(stalls, hog->texts[STALLS_REQUEST]);
	size_t kept = 0;

	hog->held_count = 0;
	hog->held_ns = 0;
	for (size_t i = 0; i < sweep->open_count; i++) {
		const struct stalls_life *life = &sweep->lives[sweep->open[i]];
		int64_t start_ns = life->start_ns > hog->start_ns ? life->start_ns : hog->start_ns;
		int64_t end_ns = life->end_ns < hog->end_ns ? life->end_ns : hog->end_ns;

		if (life->end_ns > hog->start_ns)
			sweep->open[kept++] = sweep->open[i];
		if (end_ns <= start_ns || life->request == request)
			continue;
		hog->held_count++;
		saturated_add_to(&hog->held_ns, end_ns - start_ns);
	}
	sweep->open_count = kept;
}

/* Drops the hogs of other requests that held none of the selected ones up. */
static void drop_hogs(struct stalls *stalls)
{
	size_t kept = 0;

	for (size_t i = 0; i < stalls->hog_count; i++) {
		struct stalls_wait *hog = stalls->hogs[i];

		if (hog->is_wanted || hog->held_count > 0)
			stalls->hogs[kept++] = hog;
		else
			free(hog);
	}
	stalls->hog_count = kept;
}

/* 0, -ENOMEM. */
static int finish_hogs(struct stalls *stalls)
{
	struct sweep sweep = { .lives = stalls->lives, .count = stalls->life_count };

	if (stalls->hog_count == 0)
		return 0;
	sweep.open = calloc(STALLS_OPEN_MAX, sizeof(*sweep.open));
	if (!sweep.open)
		return -ENOMEM;
	if (stalls->life_count > 0)
		qsort(stalls->lives, stalls->life_count, sizeof(*stalls->lives), compare_lives);
	qsort(stalls->hogs, stalls->hog_count, sizeof(struct stalls_wait *),
	      compare_hogs_by_thread);
	for (size_t i = 0; i < stalls->hog_count; i++) {
		sweep_to(&sweep, stalls->hogs[i]);
		find_held(stalls, &sweep, stalls->hogs[i]);
	}
	free(sweep.open);
	stalls->left_out += sweep.left_out;
	drop_hogs(stalls);
	qsort(stalls->hogs, stalls->hog_count, sizeof(struct stalls_wait *), compare_hogs);
	return 0;
}

static struct stalls_hog_sum *find_hog_sum(struct stalls *stalls, struct record_text value)
{
	unsigned int hash = hash_table_key(stalls->seed, value.bytes, value.size_bytes);
	struct stalls_hog_sum *sum;

	HASH_FIND_BYHASHVALUE(hh, stalls->hog_sums, value.bytes, value.size_bytes, hash, sum);
	if (sum)
		return sum;
	sum = calloc(1, sizeof(*sum));
	if (!sum)
		return NULL;
	sum->value = value;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, stalls->hog_sums, value.bytes, value.size_bytes, hash, sum);
	if (sum->hh.tbl)
		return sum;
	free(sum);
	return NULL;
}

static int compare_hog_sums(const struct stalls_hog_sum *a, const struct stalls_hog_sum *b)
{
	int order = compare_i64(b->held_ns, a->held_ns);

	if (order == 0)
		order = compare_i64(b->kept_ns, a->kept_ns);
	return order ? order : record_text_compare(a->value, b->value);
}

/* 0, -ENOMEM. */
static int sum_up_hogs(struct stalls *stalls)
{
	forget_hog_sums(stalls);
	for (size_t i = 0; i < stalls->hog_count; i++) {
		const struct stalls_wait *hog = stalls->hogs[i];
		struct stalls_hog_sum *sum = find_hog_sum(stalls, hog->texts[STALLS_VALUE]);

		if (!sum)
			return -ENOMEM;
		sum->count++;
		sum->held_count += hog->held_count;
		saturated_add_to(&sum->held_ns, hog->held_ns);
		saturated_add_to(&sum->kept_ns, stalls_wait_ns(hog));
		saturated_add_to(&sum->cpu_ns, hog->cpu_ns);
		if (stalls_wait_ns(hog) > sum->longest_ns)
			sum->longest_ns = stalls_wait_ns(hog);
	}
	HASH_SORT(stalls->hog_sums, compare_hog_sums);
	return 0;
}

int stalls_finish(struct stalls *stalls)
{
	const struct selection_consumer consumer = consumer_of(stalls);
	int r = selection_settle(&stalls->selection, &consumer, 0);

	if (r < 0)
		return r;
	if (!stalls->by)
		stalls->by = "endpoint";
	if (stalls->wait_count > 0)
		drop_shortest(stalls);
	HASH_SORT(stalls->pairs, compare_pairs);
	r = finish_hogs(stalls);
	return r < 0 ? r : sum_up_hogs(stalls);
}
