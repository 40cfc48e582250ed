/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel side for tests of a recording (all of recorder/probe/session.h), with clocks, signals
 * and the log; fake_targets.h has the observed processes. Time passes only in ppoll: up to the next
 * planned event, or to the end of the wait. Included once a test program: these definitions take
 * the place of those of the same name in the libraries.
 */
#pragma once

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include <correlator/events.h>
#include <correlator/io_counts.h>
#include <correlator/ruby_stack_layout.h>
#include <correlator/snapshot.h>
#include <correlator/stacks.h>
#include <correlator/stall.h>
#include <correlator/syscall_counts.h>
#include <correlator/timeline.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/signals.h"
#include "recorder/observe/process/observed.h"
#include "recorder/observe/recorder.h"
#include "recorder/probe/features.h"
#include "recorder/probe/session.h"

enum {
	FAKE_PROCESSES_MAX = 4,
	FAKE_CALLS_MAX = 16,
	FAKE_ACCOUNTS_MAX = 32,
	FAKE_EVENTS_MAX = 8,
	FAKE_STALLS_MAX = 4,
	FAKE_STINTS_MAX = 16,
	FAKE_PLANS_MAX = 64,
	FAKE_SNAPSHOTS_MAX = 8,
	FAKE_PID = 4000000, /* above the kernel's highest: nothing of it can be read */
	FAKE_START_TICKS = 77, /* of each process */
	FAKE_TEXT_BYTES = 16384
};

/* Who takes a pid for a life, or cuts one, finds nobody. */
#define FAKE_LIVES ((1ULL << 32) + 7000)

#define FAKE_START_NS (1000 * NS_PER_S)
#define FAKE_WALL_NS  (1700000000 * NS_PER_S) /* at the start */

struct session {
	int nothing;
};

struct fake_call {
	struct syscall_key key;
	struct syscall_sums sums;
};

struct fake_io {
	struct io_key key;
	struct io_sums sums;
};

struct fake_account {
	struct account_key key;
	struct account account;
};

struct fake_process {
	pid_t pid; /* its life is life_of() its number's pid, also if it has another one's */
	uint64_t image; /* that it runs; its books say it, too */
	bool is_there;
	struct process_books books;
};

struct fake_snapshot {
	uint64_t hash;
	struct context_snapshot snapshot;
};

struct fake_plan {
	uint64_t at_ns;
	void (*act)(void);
};

static struct fake {
	struct session session;
	struct session_options options; /* that it was opened with */
	uint64_t now_ns;
	uint64_t wall_behind_ns; /* what time of day it is: so far behind */
	uint64_t wall_lags_ns[3]; /* and so much is between two readings, in turn */
	size_t wall_readings;
	uint64_t own_cpu_ns; /* of this thread, */
	uint64_t others_cpu_ns; /* and of our others */
	uint64_t cost_ns; /* our own, of each flush */
	uint64_t epoch;
	bool is_lean, has_timeline, has_split, may_probe, cannot_walk;
	bool is_long_way_measured;
	double short_way_ns, long_way_ns;
	int failures[16]; /* by what is below; 0 = none */
	struct process_config config; /* that it was last told */
	struct otel_config otel_config;
	struct fake_probe {
		enum session_probe_kind kind;
		int fd;
		int identified; /* what identifying its file said */
		uint64_t offsets[SESSION_PROBE_OFFSETS_MAX];
		size_t count;
	} probes[SESSION_PROBES_MAX]; /* of the last process that has got some */
	size_t probe_count;
	int probe_errors[2]; /* by kind */
	bool has_lost_strangers;
	struct fake_process processes[FAKE_PROCESSES_MAX];
	struct fake_account accounts[FAKE_ACCOUNTS_MAX];
	size_t account_count;
	struct event events[FAKE_EVENTS_MAX];
	size_t event_count;
	struct stint stints[FAKE_STINTS_MAX];
	size_t stint_count;
	struct stall stalls[FAKE_STALLS_MAX];
	size_t stall_count;
	unsigned int stall_readings;
	size_t stall_repeats; /* the number of times that each is sent; 0 = once */
	uint64_t stall_least_ns; /* as the recorder asked */
	struct account_key sampled[FAKE_ACCOUNTS_MAX]; /* accounts with samples */
	struct account_key waited[FAKE_ACCOUNTS_MAX]; /* and with waits */
	size_t waited_count;
	uint64_t waited_stack;
	size_t sampled_count;
	uint64_t sampled_epoch; /* and of which window */
	uint64_t sampled_stack; /* of all of them */
	uint64_t sampled_tip; /* the same */
	session_tip_fn on_tip;
	struct fake_call calls[FAKE_CALLS_MAX]; /* of the window that ends next */
	size_t call_count;
	struct fake_io ios[FAKE_CALLS_MAX]; /* likewise */
	size_t io_count;
	session_stack_fn on_stack;
	void *on_stack_context;
	struct ruby_stack_layout stack_layout; /* that it was last told */
	unsigned int stint_readings;
	struct fake_snapshot snapshots[FAKE_SNAPSHOTS_MAX];
	struct fake_plan plans[FAKE_PLANS_MAX];
	size_t plan_count;
	int signal;
	bool is_typed;
	bool are_over;
	/* Of programs that the kernel measures: */
	struct session_program programs[SESSION_PROGRAMS_MAX];
	size_t program_count;
	bool are_timed; /* for everybody */
	int timing; /* what it says when it is asked to */
	uint64_t calibration_cpu_ns;
	/* Of `-- COMMAND`: */
	bool has_command, has_command_ended;
	int command_code;
	bool must_publish, has_published;
	bool mixes_threads; /* each that is there at the start */
	bool looks_at_start; /* at each of them */
	uint64_t next_life; /* that is begun; 0 = of the pid that it is begun for */
	pid_t forked; /* by an observed one: its life was begun then; 0 = none */
	uint64_t search_ns; /* when one more is found; 0 = never */
	pid_t found;
	bool were_hidden;
	unsigned int exit_checks;
	unsigned int exit_checks_with_threads; /* of so many processes that had some */
	struct recorder_options recording;
	char said[FAKE_TEXT_BYTES]; /* logged */
	char told[FAKE_TEXT_BYTES]; /* what the kernel side was told */
} fake;

/* Of what fails. */
enum {
	FAKE_OPEN,
	FAKE_ATTACH,
	FAKE_REGISTER,
	FAKE_CALIBRATE,
	FAKE_FLUSH,
	FAKE_SPLIT,
	FAKE_OBSERVE,
	FAKE_RELEASE,
	FAKE_SET_PROCESS,
	FAKE_SET_OTEL,
	FAKE_WATCH,
	FAKE_START,
	FAKE_BEGIN_LIFE,
	FAKE_SET_LAYOUT,
};

static inline uint64_t life_of(pid_t pid)
{
	return (uint64_t)pid + FAKE_LIVES;
}

/* As processes are numbered here. 0: none. */
static inline int number_of(uint64_t life)
{
	return life ? (int)(life - life_of(FAKE_PID)) : 0;
}

static inline void fake_reset(void)
{
	fake = (struct fake){ .now_ns = FAKE_START_NS,
			      .sampled_stack = UINT64_MAX,
			      .may_probe = true };
	for (size_t i = 0; i < FAKE_PROCESSES_MAX; i++) {
		fake.processes[i].pid = (pid_t)(FAKE_PID + i);
		fake.processes[i].image = life_of(fake.processes[i].pid);
	}
	fake.processes[0].is_there = true;
}

static inline void plan(uint64_t after_ns, void (*act)(void))
{
	assert_true(fake.plan_count < FAKE_PLANS_MAX);
	fake.plans[fake.plan_count++] =
		(struct fake_plan){ .at_ns = FAKE_START_NS + after_ns, .act = act };
}

/* A thread's stint in a context; the kernel's own figure grows with it. */
static inline struct account *charge(size_t process, uint32_t thread, uint64_t hash,
				     uint64_t user_ns)
{
	struct fake_account *added = &fake.accounts[fake.account_count++];

	assert_true(fake.account_count <= FAKE_ACCOUNTS_MAX);
	*added = (struct fake_account){
		.key = { .context_hash = hash,
			 .thread_serial = thread,
			 .life = life_of((pid_t)(FAKE_PID + process)) },
		.account = { .totals = { .user_ns = user_ns, .slices = 1 },
			     .first_ns = fake.now_ns,
			     .last_ns = fake.now_ns,
			     .tid = thread,
			     .tgid = (uint32_t)fake.processes[process].pid,
			     .image = fake.processes[process].image,
			     .comm = "worker" },
	};
	fake.processes[process].books.epochs[fake.epoch & 1].exec_ns += user_ns;
	return &added->account;
}

/* With what the kernel side says in an event of that kind, and no more. */
static inline void happen(enum event_kind kind, size_t process, size_t parent)
{
	struct event *event = &fake.events[fake.event_count++];
	struct fake_process *whose = &fake.processes[process];

	assert_true(fake.event_count <= FAKE_EVENTS_MAX);
	*event = (struct event){ .kind = kind,
				 .tgid = (uint32_t)whose->pid,
				 .ktime_ns = fake.now_ns };
	if (kind == EVENT_KIND_STRANGER)
		return;
	event->life = life_of((pid_t)(FAKE_PID + process));
	event->ns_tgid = (uint32_t)(10 + process);
	event->start_ticks = kind == EVENT_KIND_EXIT ? 0 : FAKE_START_TICKS;
	(void)strcpy((char *)event->comm, "news");
	if (kind == EVENT_KIND_FORK) {
		event->parent_tgid = (uint32_t)fake.processes[parent].pid;
		event->parent_life = life_of((pid_t)(FAKE_PID + parent));
	} else if (kind == EVENT_KIND_EXEC) {
		whose->image += FAKE_PROCESSES_MAX;
		event->image = whose->image;
	}
}

static inline struct context_snapshot *publish(uint64_t hash, const char *text)
{
	struct fake_snapshot *room = fake.snapshots;
	struct value_snapshot *value = room->snapshot.values;

	while (room->hash && room->hash != hash)
		room++;
	assert_true(room < fake.snapshots + FAKE_SNAPSHOTS_MAX);
	*room = (struct fake_snapshot){ .hash = hash, .snapshot.key_count = 1 };
	value = room->snapshot.values;
	value->kind = VALUE_KIND_STRING;
	value->encoding = VALUE_ENCODING_UTF_8;
	value->raw = value->length_bytes = (uint16_t)strlen(text);
	memcpy(value->bytes, text, strlen(text));
	return &room->snapshot;
}

static inline void append_text(char text[static FAKE_TEXT_BYTES], const char *format, va_list list)
{
	size_t used = strlen(text);
	int length = vsnprintf(text + used, FAKE_TEXT_BYTES - used, format, list);

	assert_true(length >= 0 && used + (size_t)length + 1 < FAKE_TEXT_BYTES);
	(void)strcat(text, "\n");
}

__attribute__((format(printf, 1, 2))) static inline void tell(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	append_text(fake.told, format, list);
	va_end(list);
}

/* base/clock.h, base/log.h, base/signals.h */

uint64_t clock_monotonic_ns(void)
{
	return fake.now_ns;
}

uint64_t clock_wall_ns(void)
{
	return FAKE_WALL_NS + fake.now_ns - FAKE_START_NS - fake.wall_behind_ns -
	       fake.wall_lags_ns[fake.wall_readings++ % 3];
}

uint64_t clock_boot_ns(void)
{
	return fake.now_ns;
}

uint64_t clock_own_cpu_ns(void)
{
	return fake.own_cpu_ns + fake.others_cpu_ns;
}

uint64_t clock_thread_cpu_ns(void)
{
	return fake.own_cpu_ns;
}

uint64_t clock_cpu_of_thread_ns(pthread_t thread)
{
	(void)thread;
	return fake.others_cpu_ns;
}

void log_line(enum log_level level, const char *format, ...)
{
	va_list list;

	if (level > LOG_LEVEL_INFO)
		return;
	va_start(list, format);
	append_text(fake.said, format, list);
	va_end(list);
}

int log_error(int error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	append_text(fake.said, format, list);
	va_end(list);
	return error < 0 ? error : -error;
}

int log_error_errno(int error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	append_text(fake.said, format, list);
	va_end(list);
	return error < 0 ? error : -error;
}

int signals_catch(void)
{
	return dup(STDERR_FILENO);
}

int signals_catch_for_command(void)
{
	return signals_catch();
}

int signals_read(int fd, bool *ret_is_typed)
{
	int number = fake.signal;

	(void)fd;
	*ret_is_typed = fake.is_typed;
	fake.signal = 0;
	return number;
}

bool signals_are_pending(void)
{
	return fake.signal != 0;
}

static inline struct fake_plan *next_plan(void)
{
	struct fake_plan *next = NULL;

	for (size_t i = 0; i < fake.plan_count; i++)
		if (fake.plans[i].act && (!next || fake.plans[i].at_ns < next->at_ns))
			next = &fake.plans[i];
	return next;
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	struct fake_plan *next = next_plan();
	uint64_t until_ns = UINT64_MAX;

	(void)mask;
	if (timeout)
		until_ns = fake.now_ns + (uint64_t)timeout->tv_sec * NS_PER_S +
			   (uint64_t)timeout->tv_nsec;
	if (next && next->at_ns <= until_ns) {
		void (*act)(void) = next->act;

		if (next->at_ns > fake.now_ns)
			fake.now_ns = next->at_ns;
		next->act = NULL;
		act();
	} else if (until_ns == UINT64_MAX) {
		fail_msg("it waits for ever, having said:\n%s", fake.said);
	} else {
		fake.now_ns = until_ns;
	}
	for (nfds_t i = 0; i < count; i++)
		fds[i].revents = i == 0 && fake.signal ? POLLIN : 0;
	return fake.signal != 0;
}

/* recorder/probe/ */

static inline void expect_session(const struct session *session)
{
	assert_ptr_equal(session, &fake.session);
}

void features_ask_kernel(struct kernel_offers *ret_offers)
{
	*ret_offers = (struct kernel_offers){ .can_walk_stacks = !fake.cannot_walk };
}

bool features_may_probe(const struct kernel_offers *offers)
{
	assert_int_equal(offers->can_walk_stacks, !fake.cannot_walk);
	return fake.may_probe;
}

int session_open(const struct session_options *options, struct session **ret_session)
{
	if (fake.failures[FAKE_OPEN] < 0)
		return fake.failures[FAKE_OPEN];
	fake.options = *options;
	fake.is_lean = options->is_lean;
	fake.has_timeline = options->has_timeline;
	fake.stall_least_ns = options->stall_least_ns;
	fake.has_split = options->has_kernel_split;
	*ret_session = &fake.session;
	return 0;
}

void session_free(struct session *session)
{
	if (session)
		expect_session(session);
}

int session_attach(struct session *session)
{
	expect_session(session);
	return fake.failures[FAKE_ATTACH];
}

int session_begin_life(struct session *session, pid_t pid, uint64_t start_ticks, uint64_t *ret_life)
{
	expect_session(session);
	tell("life of %d since %" PRIu64, pid - FAKE_PID, start_ticks);
	*ret_life = fake.next_life ? fake.next_life : life_of(pid);
	fake.next_life = 0;
	return pid == fake.forked ? 1 : fake.failures[FAKE_BEGIN_LIFE];
}

int session_set_process(struct session *session, uint64_t life, uint64_t parent,
			const struct process_config *config)
{
	expect_session(session);
	tell("process %d of %d, flags %x", number_of(life), number_of(parent), config->flags);
	fake.config = *config;
	return fake.failures[FAKE_SET_PROCESS];
}

int session_set_lean(struct session *session, uint64_t life, bool is_lean)
{
	expect_session(session);
	tell("%d is %s", number_of(life), is_lean ? "lean" : "exact");
	return 0;
}

int session_set_otel(struct session *session, uint64_t life, const struct otel_config *config)
{
	expect_session(session);
	tell("otel of %d", number_of(life));
	fake.otel_config = *config;
	return fake.failures[FAKE_SET_OTEL];
}

void session_remove_process(struct session *session, uint64_t life, pid_t pid)
{
	size_t process = (size_t)number_of(life);

	expect_session(session);
	assert_true(process < FAKE_PROCESSES_MAX);
	assert_int_equal(pid, fake.processes[process].pid);
	tell("no %zu", process);
}

int session_register_threads(struct session *session)
{
	expect_session(session);
	tell("threads");
	return fake.failures[FAKE_REGISTER];
}

static inline void note_probes(struct session_probe *probes, size_t count)
{
	fake.probe_count = count;
	for (size_t i = 0; i < count; i++) {
		struct fake_probe *probe = &fake.probes[i];
		uint64_t inode;

		probes[i].error = fake.probe_errors[probes[i].kind];
		*probe = (struct fake_probe){ .kind = probes[i].kind,
					      .fd = probes[i].fd,
					      .count = probes[i].count };
		probe->identified = probes[i].identify(probes[i].file, false, &inode);
		memcpy(probe->offsets, probes[i].file_offsets,
		       probe->count * sizeof(probe->offsets[0]));
	}
}

void session_set_probes(struct session *session, uint64_t life, struct session_probe *probes,
			size_t count)
{
	expect_session(session);
	note_probes(probes, count);
	tell("%zu probes of %d", count, number_of(life));
}

int session_identifier(const struct session *session)
{
	expect_session(session);
	return -1;
}

int session_identify_file(int identifier, int fd, uint64_t *ret_inode)
{
	(void)identifier;
	(void)fd;
	(void)ret_inode;
	return -ENOENT;
}

void session_drop_context_probes(struct session *session, uint64_t life)
{
	expect_session(session);
	tell("no probes of %d", number_of(life));
}

void session_inherit_probes(struct session *session, uint64_t parent, uint64_t child)
{
	expect_session(session);
	tell("%d has the probes of %d", number_of(child), number_of(parent));
}

int session_watch(struct session *session, pid_t pid, struct session_probe *loader)
{
	expect_session(session);
	assert_int_equal(loader->kind, SESSION_PROBE_LOADER);
	note_probes(loader, 1);
	tell("1 probes of stranger %d", pid - FAKE_PID);
	if (loader->error < 0)
		return loader->error;
	tell("%d is watched", pid - FAKE_PID);
	return fake.failures[FAKE_WATCH];
}

void session_unwatch(struct session *session, pid_t pid)
{
	expect_session(session);
	tell("%d is not watched", pid - FAKE_PID);
}

bool session_has_lost_strangers(struct session *session)
{
	expect_session(session);
	return fake.has_lost_strangers;
}

int session_start_calibration(struct session *session, enum session_way way)
{
	expect_session(session);
	tell("way %d", way);
	if (fake.failures[FAKE_CALIBRATE] < 0)
		return fake.failures[FAKE_CALIBRATE];
	fake.is_long_way_measured |= way == SESSION_WAY_LONG;
	return 0;
}

void session_end_calibration(struct session *session, enum session_way way)
{
	expect_session(session);
	tell("no way %d", way);
	if (way == SESSION_WAY_LONG)
		fake.is_long_way_measured = false;
}

bool session_has_calibration(const struct session *session, enum session_way way)
{
	expect_session(session);
	return way == SESSION_WAY_SHORT || fake.is_long_way_measured;
}

void session_read_ways(struct session *session, enum session_way way, uint64_t since_ns,
		       struct session_ways *ret_ways)
{
	expect_session(session);
	assert_true(way == SESSION_WAY_SHORT || way == SESSION_WAY_LONG);
	/* Nothing is measured without it. */
	assert_true(session_has_kernel_split(session));
	assert_true(since_ns <= clock_monotonic_ns());
	ret_ways->hot_ns[0] = way == SESSION_WAY_SHORT ? fake.short_way_ns : fake.long_way_ns;
	ret_ways->hot_count = 1;
	ret_ways->lone_count = ret_ways->slept_count = 0;
}

uint64_t session_calibration_cpu_ns(const struct session *session)
{
	expect_session(session);
	return fake.calibration_cpu_ns;
}

bool session_has_timeline(const struct session *session)
{
	expect_session(session);
	return fake.has_timeline;
}

bool session_is_lean(const struct session *session)
{
	expect_session(session);
	return fake.is_lean;
}

bool session_has_kernel_split(const struct session *session)
{
	expect_session(session);
	return fake.has_split;
}

int session_set_kernel_split(struct session *session, bool is_wanted)
{
	expect_session(session);
	tell("split %d", is_wanted);
	fake.has_split = is_wanted && fake.failures[FAKE_SPLIT] == 0;
	return is_wanted ? fake.failures[FAKE_SPLIT] : 0;
}

int session_time_programs(struct session *session, bool is_on)
{
	expect_session(session);
	tell("programs %s", is_on ? "timed" : "not timed");
	return fake.timing;
}

bool session_programs_are_timed(void)
{
	return fake.are_timed;
}

size_t session_read_programs(const struct session *session,
			     struct session_program ret_programs[static SESSION_PROGRAMS_MAX])
{
	expect_session(session);
	memcpy(ret_programs, fake.programs, sizeof(fake.programs));
	return fake.program_count;
}

int session_flush(struct session *session, bool is_last, session_account_fn on_account,
		  void *context, uint64_t *ret_end_ktime_ns, uint64_t *ret_epoch)
{
	size_t count = fake.account_count;
	int r = fake.failures[FAKE_FLUSH];

	expect_session(session);
	tell("flush%s", is_last ? ", the last" : "");
	fake.own_cpu_ns += fake.cost_ns;
	*ret_end_ktime_ns = fake.now_ns;
	*ret_epoch = fake.epoch++;
	fake.account_count = 0;
	fake.failures[FAKE_FLUSH] = 0;
	for (size_t i = 0; i < count && r == 0; i++)
		r = on_account(context, &fake.accounts[i].key, &fake.accounts[i].account);
	return r;
}

static inline struct fake_snapshot *find_snapshot(uint64_t hash)
{
	for (size_t i = 0; i < FAKE_SNAPSHOTS_MAX; i++)
		if (fake.snapshots[i].hash == hash)
			return &fake.snapshots[i];
	return NULL;
}

int session_look_at_context(struct session *session, uint64_t hash,
			    struct context_snapshot *ret_snapshot)
{
	const struct fake_snapshot *found = find_snapshot(hash);

	expect_session(session);
	/* Nobody may look at what is not there. */
	memset(ret_snapshot, 0xff, sizeof(*ret_snapshot));
	if (!found)
		return -ENOENT;
	*ret_snapshot = found->snapshot;
	return 0;
}

int session_take_context(struct session *session, uint64_t hash,
			 struct context_snapshot *ret_snapshot)
{
	int r = session_look_at_context(session, hash, ret_snapshot);

	if (r == 0)
		find_snapshot(hash)->hash = 0;
	return r;
}

void session_return_context(struct session *session, uint64_t hash,
			    const struct context_snapshot *snapshot)
{
	expect_session(session);
	(void)snapshot;
	tell("context %" PRIu64 " returned", hash);
}

int session_get_books(struct session *session, uint64_t life, struct process_books *ret_books)
{
	size_t process = (size_t)number_of(life);

	expect_session(session);
	if (process >= FAKE_PROCESSES_MAX)
		return -ENOENT;
	*ret_books = fake.processes[process].books;
	ret_books->image = fake.processes[process].image;
	return 0;
}

bool session_take_seen_keys(struct session *session, struct seen_keys *ret_seen)
{
	expect_session(session);
	*ret_seen = (struct seen_keys){ 0 };
	return false;
}

int session_events_fd(const struct session *session)
{
	expect_session(session);
	return -1;
}

int session_read_events(struct session *session, session_event_fn on_event, void *context)
{
	size_t count = fake.event_count;

	expect_session(session);
	fake.event_count = 0;
	for (size_t i = 0; i < count; i++)
		on_event(context, &fake.events[i]);
	return (int)count;
}

void session_on_stacks(struct session *session, session_stack_fn on_stack, void *context)
{
	expect_session(session);
	fake.on_stack = on_stack;
	fake.on_stack_context = context;
}

void session_on_tips(struct session *session, session_tip_fn on_tip)
{
	expect_session(session);
	fake.on_tip = on_tip;
}

int session_set_stack_layout(struct session *session, uint64_t life,
			     const struct ruby_stack_layout *layout)
{
	expect_session(session);
	tell("frames of %d", number_of(life));
	fake.stack_layout = *layout;
	return fake.failures[FAKE_SET_LAYOUT];
}

/* Each account has two samples, which are handed over once. */
int session_drain_samples(struct session *session, uint64_t epoch, session_sample_fn on_sample,
			  void *context)
{
	struct sample_key key = { .stack = fake.sampled_stack, .tip = fake.sampled_tip };
	size_t count = fake.sampled_count;
	int r = 0;

	fake.sampled_count = 0;
	expect_session(session);
	for (size_t i = 0; i < count && r == 0; i++) {
		assert_int_equal(epoch, fake.sampled_epoch);
		key.account = fake.sampled[i];
		r = on_sample(context, &key, 2);
	}
	return r;
}

/* Each of those accounts has waited once, too, for so long; handed over once. */
int session_drain_waits(struct session *session, uint64_t epoch, session_wait_fn on_wait,
			void *context)
{
	const struct wait_sums sums = { 1, 300, 40 };
	struct sample_key key = { .stack = fake.waited_stack, .tip = fake.sampled_tip };
	size_t count = fake.waited_count;
	int r = 0;

	fake.waited_count = 0;
	expect_session(session);
	for (size_t i = 0; i < count && r == 0; i++) {
		assert_int_equal(epoch, fake.sampled_epoch);
		key.account = fake.waited[i];
		r = on_wait(context, &key, &sums);
	}
	return r;
}

/* Each of the calls, once. */
int session_drain_syscalls(struct session *session, uint64_t epoch, session_syscall_fn on_syscall,
			   void *context)
{
	size_t count = fake.call_count;
	int r = 0;

	(void)epoch;
	expect_session(session);
	fake.call_count = 0;
	for (size_t i = 0; i < count && r == 0; i++)
		r = on_syscall(context, &fake.calls[i].key, &fake.calls[i].sums);
	return r;
}

int session_drain_io(struct session *session, uint64_t epoch, session_io_fn on_io, void *context)
{
	size_t count = fake.io_count;
	int r = 0;

	(void)epoch;
	expect_session(session);
	fake.io_count = 0;
	for (size_t i = 0; i < count && r == 0; i++)
		r = on_io(context, &fake.ios[i].key, &fake.ios[i].sums);
	return r;
}

/* One that begins with 0 has none. */
bool session_find_socket_path(const struct session *session, const struct io_object *object,
			      char ret_path[static SOCKET_PATH_BYTES + 1])
{
	(void)session;
	(void)snprintf(ret_path, SOCKET_PATH_BYTES + 1, "/run/%d.sock", object->end.address[0]);
	return object->end.address[0] != 0;
}

int session_read_stalls(struct session *session, session_stall_fn on_stall, void *context)
{
	size_t count = fake.stall_count;

	expect_session(session);
	fake.stall_count = 0;
	fake.stall_readings++;
	for (size_t i = 0; i < count * (fake.stall_repeats ? fake.stall_repeats : 1); i++)
		on_stall(context, &fake.stalls[i % count]);
	return (int)count;
}

int session_read_stints(struct session *session, session_stint_fn on_stint, void *context)
{
	size_t count = fake.stint_count;

	expect_session(session);
	fake.stint_count = 0;
	fake.stint_readings++;
	for (size_t i = 0; i < count; i++)
		on_stint(context, &fake.stints[i]);
	return (int)count;
}
