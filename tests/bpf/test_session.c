/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A session against the kernel, with this process and its children as what is observed: what a
 * window hands out, whose share of the maps is whose, and what is left behind.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include <correlator/life.h>
#include <correlator/ruby_stack_layout.h>
#include <correlator/stacks.h>
#include <correlator/syscall_counts.h>
#include <correlator/timeline.h>

#include "base/clock.h"
#include "kernel_test.h"
#include "recorder/probe/features.h"
#include "recorder/probe/open_session.h"
#include "recorder/probe/uprobed_files.h"

enum {
	NOBODYS_PID = 0x40000000, /* more than pid_max */
	ACCOUNTS = 20000,
	BATCH = 4096, /* of what is drained at a time */
};

/* A life that no process has. Who cuts it has another one. */
#define NOBODY (1ULL << 40 | NOBODYS_PID)

struct drained {
	size_t count;
	size_t foreign;
	uint64_t serials; /* their sum */
	uint64_t on_cpu_ns;
	uint64_t life; /* whose are counted; 0 = all */
	pid_t pid; /* that it has, and runs its first program; 0 = whatever they are */
	size_t stop_at; /* 0 = never */
};

static int drain(void *context, const struct account_key *key, const struct account *account)
{
	struct drained *drained = context;

	if (drained->life && key->life != drained->life) {
		drained->foreign++;
		return 0;
	}
	if (drained->pid) {
		assert_int_equal(account->tgid, drained->pid);
		assert_int_equal(account->image, key->life);
	}
	drained->serials += key->thread_serial;
	drained->on_cpu_ns += account->totals.user_ns + account->totals.kernel_ns;
	drained->count++;
	return drained->count == drained->stop_at ? -ECANCELED : 0;
}

static struct session *open_session(bool has_kernel_split)
{
	const struct session_options options = { .has_kernel_split = has_kernel_split,
						 .follow_forks = true,
						 .strangers = STRANGERS_ANY };
	struct session *session = NULL;

	assert_int_equal(session_open(&options, &session), 0);
	return session;
}

static int set_up(void **state)
{
	*state = open_session(false);
	return 0;
}

static int tear_down(void **state)
{
	session_free(*state);
	return 0;
}

static void put_accounts(struct session *session, int epoch, uint32_t count)
{
	int fd = bpf_map__fd(epoch & 1 ? session->skeleton->maps.accounts_b
				       : session->skeleton->maps.accounts_a);
	struct account account = { .totals.user_ns = 3 };

	for (uint32_t i = 1; i <= count; i++) {
		const struct account_key key = { .thread_serial = i, .life = NOBODY };

		assert_int_equal(bpf_map_update_elem(fd, &key, &account, BPF_NOEXIST), 0);
	}
	session->skeleton->bss->accounts_share[epoch & 1].used = count;
	session->skeleton->bss->accounts_share[epoch & 1].used_by[1] = count;
}

static int flush(struct session *session, struct drained *drained, uint64_t *ret_epoch)
{
	uint64_t before_ns = clock_monotonic_ns(), end_ns = 0;
	int r = session_flush(session, false, drain, drained, &end_ns, ret_epoch);

	assert_in_range(end_ns, before_ns, clock_monotonic_ns());
	return r;
}

static void a_window_hands_out_each_account_once_however_many(void **state)
{
	static const uint32_t counts[] = { 0,	      1,	 BATCH - 1,	BATCH,
					   BATCH + 1, 2 * BATCH, 2 * BATCH + 1, ACCOUNTS };
	struct session *session = *state;
	uint64_t epoch;

	for (uint64_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct drained drained = { 0 }, again = { 0 };
		uint64_t count = counts[i];

		put_accounts(session, (int)i, counts[i]);
		assert_int_equal(flush(session, &drained, &epoch), 0);
		assert_int_equal(epoch, i);
		assert_int_equal(drained.count, count);
		assert_int_equal(drained.serials, count * (count + 1) / 2);
		assert_int_equal(drained.on_cpu_ns, 3 * count);
		assert_int_equal(session->skeleton->bss->current_epoch, i + 1);
		assert_int_equal(session->skeleton->bss->open_epoch, i + 1);
		/* Nothing is left of it, nor of the share of who had them. */
		assert_int_equal(session->skeleton->bss->accounts_share[i & 1].used, 0);
		assert_int_equal(session->skeleton->bss->accounts_share[i & 1].used_by[1], 0);
		session->skeleton->bss->current_epoch = (uint32_t)i;
		assert_int_equal(flush(session, &again, &epoch), 0);
		assert_int_equal(again.count, 0);
	}
}

static void the_window_that_is_open_is_not_drained(void **state)
{
	struct session *session = *state;
	struct drained drained = { 0 };
	uint64_t epoch;

	put_accounts(session, 1, 5);
	assert_int_equal(flush(session, &drained, &epoch), 0);
	assert_int_equal(drained.count, 0);
	assert_int_equal(session->skeleton->bss->accounts_share[1].used, 5);
	assert_int_equal(flush(session, &drained, &epoch), 0);
	assert_int_equal(epoch, 1);
	assert_int_equal(drained.count, 5);
}

static void who_takes_the_accounts_may_stop_it(void **state)
{
	struct session *session = *state;
	struct drained drained = { .stop_at = 3 };
	uint64_t epoch = 77;

	put_accounts(session, 0, 5);
	assert_int_equal(flush(session, &drained, &epoch), -ECANCELED);
	assert_int_equal(drained.count, 3);
	assert_int_equal(epoch, 0);
}

static struct process_config config_of(struct session *session, uint64_t life)
{
	struct process_config config = { 0 };
	__u64 key = life;

	(void)bpf_map_lookup_elem(bpf_map__fd(session->skeleton->maps.processes), &key, &config);
	return config;
}

static void a_process_is_of_its_parents_family_or_of_a_new_one(void **state)
{
	struct session *session = *state;
	struct share_table *shares = &session->skeleton->bss->processes_share;
	const struct process_config config = { .family = 99 };
	uint32_t family;

	assert_int_equal(session_set_process(session, NOBODY, 0, &config), 0);
	family = config_of(session, NOBODY).family;
	assert_int_equal(family, 1);
	assert_int_equal(session_set_process(session, NOBODY + 1, NOBODY, &config), 0);
	assert_int_equal(config_of(session, NOBODY + 1).family, family);
	assert_int_equal(session_set_process(session, NOBODY + 2, 0, &config), 0);
	assert_int_equal(config_of(session, NOBODY + 2).family, 2);
	/* A parent that is not known. */
	assert_int_equal(session_set_process(session, NOBODY + 3, NOBODY + 9, &config), 0);
	assert_int_equal(config_of(session, NOBODY + 3).family, 3);
	/* One that is there stays of its own. */
	assert_int_equal(session_set_process(session, NOBODY + 2, NOBODY, &config), 0);
	assert_int_equal(config_of(session, NOBODY + 2).family, 2);
	assert_int_equal(shares->used, 4);
	assert_int_equal(shares->used_by[1], 2);
	assert_int_equal(shares->used_by[2], 1);
	for (uint64_t life = NOBODY; life < NOBODY + 4; life++)
		session_remove_process(session, life, NOBODYS_PID);
	/* And one that is not known takes nothing away. */
	session_remove_process(session, NOBODY, NOBODYS_PID);
	assert_int_equal(shares->used, 0);
	assert_int_equal(shares->used_by[1], 0);
}

/* 0 = nobody's. */
static uint64_t whose_is(struct session *session, pid_t pid, uint64_t start_ticks)
{
	struct process_life known;
	__u32 key = (__u32)pid;

	if (bpf_map_lookup_elem(bpf_map__fd(session->skeleton->maps.lives), &key, &known))
		return 0;
	assert_int_equal(known.start_ticks, start_ticks);
	return known.life;
}

static void who_has_a_pid_later_keeps_it_when_who_had_it_is_removed(void **state)
{
	struct session *session = *state;
	struct process_config config = { 0 };
	struct process_books books;
	uint64_t old, later;

	assert_int_equal(session_begin_life(session, NOBODYS_PID, 7, &old), 0);
	assert_int_equal(whose_is(session, NOBODYS_PID, 7), old);
	config.image = old;
	assert_int_equal(session_set_process(session, old, 0, &config), 0);
	assert_int_equal(session_begin_life(session, NOBODYS_PID, 8, &later), 0);
	assert_true(later > old);
	assert_int_equal(whose_is(session, NOBODYS_PID, 8), later);
	config.image = later;
	assert_int_equal(session_set_process(session, later, 0, &config), 0);
	for (int i = 0; i < 2; i++) {
		session_remove_process(session, old, NOBODYS_PID);
		assert_int_equal(whose_is(session, NOBODYS_PID, 8), later);
	}
	assert_int_equal(session_get_books(session, old, &books), -ENOENT);
	assert_int_equal(config_of(session, old).generation, 0);
	assert_int_equal(session_get_books(session, later, &books), 0);
	assert_int_equal(books.image, later);
	assert_int_equal(config_of(session, later).image, later);
	session_remove_process(session, later, NOBODYS_PID);
	assert_int_equal(whose_is(session, NOBODYS_PID, 8), 0);
	assert_int_equal(session_get_books(session, later, &books), -ENOENT);
}

static void a_family_that_has_its_share_gets_no_more(void **state)
{
	struct session *session = *state;
	struct share_table *shares = &session->skeleton->bss->processes_share;
	const struct process_config config = { 0 };
	struct process_books books;

	assert_int_equal(session_set_process(session, NOBODY, 0, &config), 0);
	/* Three quarters of all that there may be. */
	shares->used = shares->used_by[1] = PROCESSES_MAX * 3 / 4;
	assert_int_equal(session_set_process(session, NOBODY + 1, NOBODY, &config), -EDQUOT);
	assert_int_equal(config_of(session, NOBODY + 1).generation, 0);
	assert_int_equal(session_get_books(session, NOBODY + 1, &books), -ENOENT);
	/* Others may, and it may be told of what is there. */
	assert_int_equal(session_set_process(session, NOBODY + 2, 0, &config), 0);
	assert_int_equal(session_set_process(session, NOBODY, 0, &config), 0);
	shares->used = shares->used_by[1] = PROCESSES_MAX * 3 / 4 - 1;
	assert_int_equal(session_set_process(session, NOBODY + 1, NOBODY, &config), 0);
	assert_int_equal(session_get_books(session, NOBODY + 1, &books), 0);
	session_remove_process(session, NOBODY + 1, NOBODYS_PID);
	assert_int_equal(session_get_books(session, NOBODY + 1, &books), -ENOENT);
}

static void each_configuration_has_a_generation_of_its_own_and_never_0(void **state)
{
	struct session *session = *state;
	const struct process_config config = { .key_count = 5 };

	assert_int_equal(session_set_process(session, NOBODY, 0, &config), 0);
	assert_int_equal(config_of(session, NOBODY).generation, 1);
	assert_int_equal(config_of(session, NOBODY).reading, 1);
	assert_int_equal(config_of(session, NOBODY).key_count, 5);
	assert_int_equal(session->skeleton->bss->generation, 1);
	assert_int_equal(session_set_process(session, NOBODY, 0, &config), 0);
	assert_int_equal(config_of(session, NOBODY).generation, 2);
	session->skeleton->bss->generation = UINT32_MAX;
	assert_int_equal(session_set_process(session, NOBODY, 0, &config), 0);
	assert_int_equal(config_of(session, NOBODY).generation, 1);
	assert_int_equal(session->skeleton->bss->generation, 1);
	assert_int_equal(session->skeleton->bss->collect_life, 0);
}

static void lean_is_said_of_a_known_process_and_only_once(void **state)
{
	struct session *session = *state;
	const struct process_config config = { .flags = PROCESS_READY };

	assert_int_equal(session_set_lean(session, NOBODY, true), -ENOENT);
	assert_int_equal(session_set_process(session, NOBODY, 0, &config), 0);
	assert_int_equal(session_set_lean(session, NOBODY, false), 0);
	assert_int_equal(config_of(session, NOBODY).generation, 1);
	assert_int_equal(session_set_lean(session, NOBODY, true), 0);
	assert_int_equal(config_of(session, NOBODY).flags, PROCESS_READY | PROCESS_IS_LEAN);
	assert_int_equal(config_of(session, NOBODY).generation, 2);
	/* What is known of its contexts stays so. */
	assert_int_equal(config_of(session, NOBODY).reading, 1);
	assert_int_equal(session_set_lean(session, NOBODY, true), 0);
	assert_int_equal(config_of(session, NOBODY).generation, 2);
	assert_int_equal(session_set_lean(session, NOBODY, false), 0);
	assert_int_equal(config_of(session, NOBODY).flags, PROCESS_READY);
	assert_int_equal(config_of(session, NOBODY).generation, 3);
}

static void a_snapshot_that_is_taken_makes_room_until_it_is_put_back(void **state)
{
	struct session *session = *state;
	struct share_table *shares = &session->skeleton->bss->contexts_share;
	const struct context_snapshot snapshot = { .family = 7, .key_count = 3 };
	struct context_snapshot got = { 0 };

	assert_int_equal(session_take_context(session, 1234, &got), -ENOENT);
	assert_int_equal(shares->used, 0);
	session_return_context(session, 1234, &snapshot);
	assert_int_equal(shares->used, 1);
	assert_int_equal(shares->used_by[7], 1);
	/* There is one by now. */
	session_return_context(session, 1234, &snapshot);
	assert_int_equal(shares->used, 1);
	assert_int_equal(session_look_at_context(session, 1234, &got), 0);
	assert_int_equal(got.key_count, 3);
	assert_int_equal(session_look_at_context(session, 1235, &got), -ENOENT);
	got.key_count = 0;
	assert_int_equal(session_take_context(session, 1234, &got), 0);
	assert_int_equal(got.key_count, 3);
	assert_int_equal(shares->used, 0);
	assert_int_equal(shares->used_by[7], 0);
	assert_int_equal(session_look_at_context(session, 1234, &got), -ENOENT);
}

static void opentelemetry_is_set_where_there_is_room_and_goes_with_its_process(void **state)
{
	struct session *session = *state;
	const struct otel_config config = { .known_indexes = 3 };
	const struct process_config process = { .flags = PROCESS_HAS_OTEL };
	struct otel_config got = { 0 };
	__u64 key = NOBODY;
	int fd = bpf_map__fd(session->skeleton->maps.otel_processes);

	assert_int_equal(session_set_otel(session, NOBODY, &config), 0);
	assert_int_equal(session_set_process(session, NOBODY, 0, &process), 0);
	assert_int_equal(bpf_map_lookup_elem(fd, &key, &got), 0);
	assert_int_equal(got.known_indexes, 3);
	/* None are watched in this session: there is room for one. */
	assert_int_equal(session_set_otel(session, NOBODY + 1, &config), -E2BIG);
	session_remove_process(session, NOBODY, NOBODYS_PID);
	assert_true(bpf_map_lookup_elem(fd, &key, &got) < 0);
	assert_int_equal(session_set_otel(session, NOBODY + 1, &config), 0);
	assert_int_equal(session->skeleton->bss->collect_life, 0);
}

/* Which inode a file in memory is of, and one of it there is a probe of each kind in. */
struct memory_file {
	const struct session *session;
	int fd;
};

static int identify(void *file, bool is_fresh, uint64_t *ret_inode)
{
	const struct memory_file *memory = file;

	(void)is_fresh;
	return session_identify_file(session_identifier(memory->session), memory->fd, ret_inode);
}

static struct memory_file make_file(const struct session *session)
{
	struct memory_file file = { .session = session, .fd = memfd_create("code", MFD_CLOEXEC) };

	assert_true(file.fd >= 0);
	assert_int_equal(ftruncate(file.fd, sysconf(_SC_PAGESIZE)), 0);
	return file;
}

static struct session_probe probe_in(struct memory_file *file, enum session_probe_kind kind)
{
	static const uint64_t offset;

	return (struct session_probe){ .kind = kind,
				       .fd = file->fd,
				       .identify = identify,
				       .file = file,
				       .file_offsets = &offset,
				       .count = 1 };
}

static bool is_watched(struct session *session, pid_t pid)
{
	__u32 key = (__u32)pid, value;

	return !bpf_map_lookup_elem(bpf_map__fd(session->skeleton->maps.watched), &key, &value);
}

static void who_is_watched_is_so_until_it_is_not(void **state)
{
	struct session *session = *state;
	struct memory_file file = make_file(session);
	struct session_probe loader = probe_in(&file, SESSION_PROBE_LOADER);

	for (int i = 0; i < 2; i++) {
		assert_int_equal(session_watch(session, NOBODYS_PID, &loader), 0);
		assert_int_equal(loader.error, 0);
		assert_true(is_watched(session, NOBODYS_PID));
		assert_int_equal(uprobed_files_count(session->uprobed_files), 1);
	}
	session_unwatch(session, NOBODYS_PID);
	assert_false(is_watched(session, NOBODYS_PID));
	assert_int_equal(uprobed_files_count(session->uprobed_files), 0);
	(void)close(file.fd);
	/* Nothing would tell of its loader. */
	assert_true(session_watch(session, NOBODYS_PID, &loader) < 0);
	assert_true(loader.error < 0);
	assert_false(is_watched(session, NOBODYS_PID));
}

static void strangers_that_were_lost_are_told_once(void **state)
{
	struct session *session = *state;

	assert_false(session_has_lost_strangers(session));
	session->skeleton->bss->strangers_lost += 2;
	assert_true(session_has_lost_strangers(session));
	assert_false(session_has_lost_strangers(session));
}

/* Others may have the kernel time programs meanwhile: that ours no longer do is seen by the fd. */
static void programs_are_timed_while_they_are_wanted_to_be(void **state)
{
	struct session *session = *state;
	struct session_program programs[SESSION_PROGRAMS_MAX];
	size_t count = session_read_programs(session, programs), loaded = 0, walks = 0;
	struct drained drained = { 0 };
	uint64_t epoch;
	struct bpf_program *program;

	bpf_object__for_each_program(program, session->skeleton->obj)
		loaded += bpf_program__fd(program) >= 0;
	assert_int_equal(count, loaded);
	assert_true(count > 8);
	for (int on = 1; on >= 0; on--) {
		assert_int_equal(session_time_programs(session, on), 0);
		assert_int_equal(session_time_programs(session, on), 0);
		assert_int_equal(session->stats_fd >= 0, on);
		if (on)
			assert_int_equal(flush(session, &drained, &epoch), 0);
	}
	assert_int_equal(session_read_programs(session, programs), count);
	for (size_t i = 0; i < count; i++)
		if (strncmp(programs[i].name, "collect_tasks", 13) == 0) {
			assert_true(programs[i].run_count > 0);
			assert_true(programs[i].run_ns > 0);
			walks++;
		}
	assert_int_equal(walks, 1);
}

/* A child that burns CPU while the other end writes, a byte each. */
struct burner {
	pid_t pid;
	int to[2], from[2];
};

static void burn(const struct burner *burner)
{
	char byte;

	while (read(burner->to[0], &byte, 1) == 1) {
		for (volatile int i = 0; i < 3000000; i++)
			;
		if (write(burner->from[1], &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static struct burner start_burner(void)
{
	struct burner burner;

	assert_int_equal(pipe(burner.to), 0);
	assert_int_equal(pipe(burner.from), 0);
	burner.pid = fork();
	assert_true(burner.pid >= 0);
	if (burner.pid == 0) {
		(void)close(burner.to[1]);
		burn(&burner);
	}
	(void)close(burner.to[0]);
	(void)close(burner.from[1]);
	return burner;
}

static void let_burn(const struct burner *burner)
{
	char byte = 'x';

	assert_int_equal(write(burner->to[1], &byte, 1), 1);
	assert_int_equal(read(burner->from[0], &byte, 1), 1);
}

static void end_burner(struct burner *burner)
{
	(void)close(burner->to[1]);
	(void)close(burner->from[0]);
	assert_int_equal(waitpid(burner->pid, NULL, 0), burner->pid);
}

/* By the kernel's own figure, once it sleeps. */
static uint64_t slept_cpu_ns(pid_t pid)
{
	char path[64], text[256];
	uint64_t ns = 0;
	FILE *file;

	do {
		(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		file = fopen(path, "re");
		assert_non_null(file);
		assert_non_null(fgets(text, sizeof(text), file));
		(void)fclose(file);
	} while (strrchr(text, ')')[2] != 'S');
	(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &ns), 1);
	(void)fclose(file);
	return ns;
}

/* As proc(5): field 22. */
static uint64_t start_ticks_of(pid_t pid)
{
	char path[64], text[512];
	uint64_t ticks = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	(void)fclose(file);
	assert_int_equal(sscanf(strrchr(text, ')') + 1,
				" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
				"%*d %*d %*d %lu",
				&ticks),
			 1);
	return ticks;
}

/* The life that it begins. */
static uint64_t observe_since(struct session *session, pid_t pid, uint64_t start_ticks)
{
	struct process_config config = { 0 };
	uint64_t life = 0;

	assert_int_equal(session_begin_life(session, pid, start_ticks, &life), 0);
	config.image = life;
	assert_int_equal(session_set_process(session, life, 0, &config), 0);
	assert_int_equal(session_register_threads(session), 0);
	return life;
}

static uint64_t observe(struct session *session, pid_t pid)
{
	return observe_since(session, pid, start_ticks_of(pid));
}

static void a_thread_is_charged_to_the_window_that_it_ran_in_to_the_last(void **state)
{
	struct session *session = *state;
	struct burner burner = start_burner();
	uint64_t life, epoch, before_ns, charged_ns = 0, end_ns;

	assert_int_equal(session_attach(session), 0);
	let_burn(&burner);
	before_ns = slept_cpu_ns(burner.pid);
	life = observe(session, burner.pid);
	for (int window = 0; window < 4; window++) {
		struct drained drained = { .life = life, .pid = burner.pid };
		bool is_last = window == 3;
		uint64_t after_ns;

		if (window != 1)
			let_burn(&burner);
		after_ns = slept_cpu_ns(burner.pid);
		assert_int_equal(session_flush(session, is_last, drain, &drained, &end_ns, &epoch),
				 0);
		assert_int_equal(epoch, window);
		assert_int_equal(drained.foreign, 0);
		charged_ns = drained.on_cpu_ns;
		/* A clock reading on either side of each switch. */
		assert_in_range(charged_ns + 100 * 1000, after_ns - before_ns,
				after_ns - before_ns + 200 * 1000);
		before_ns = after_ns;
	}
	assert_int_equal(session->skeleton->bss->is_stopped, 1);
	end_burner(&burner);
}

/* A pid that another process had, when that was found. Of a child of ours it cannot be. */
static void who_has_not_started_then_is_not_observed(void **state)
{
	struct session *session = *state;
	struct burner burner = start_burner();
	struct drained drained = { 0 };
	uint64_t epoch;

	assert_int_equal(session_attach(session), 0);
	for (int i = -1; i <= 1; i += 2) {
		uint64_t life = observe_since(session, burner.pid,
					      start_ticks_of(burner.pid) + (uint64_t)i);

		let_burn(&burner);
		assert_int_equal(flush(session, &drained, &epoch), 0);
		assert_int_equal(drained.count, 0);
		session_remove_process(session, life, burner.pid);
	}
	drained.life = observe_since(session, burner.pid, LIFE_OF_OUR_CHILD);
	drained.pid = burner.pid;
	let_burn(&burner);
	assert_int_equal(flush(session, &drained, &epoch), 0);
	assert_int_equal(drained.foreign, 0);
	assert_true(drained.on_cpu_ns > 0);
	session_remove_process(session, drained.life, burner.pid);
	end_burner(&burner);
}

static void no_more_is_charged_once_it_is_stopped(void **state)
{
	struct session *session = *state;
	struct burner burner = start_burner();
	struct drained drained = { 0 };
	uint64_t life, epoch, end_ns;

	assert_int_equal(session_attach(session), 0);
	drained.life = life = observe(session, burner.pid);
	let_burn(&burner);
	assert_int_equal(session_flush(session, true, drain, &drained, &end_ns, &epoch), 0);
	assert_true(drained.count > 0);
	drained = (struct drained){ .life = life };
	let_burn(&burner);
	assert_int_equal(session_flush(session, false, drain, &drained, &end_ns, &epoch), 0);
	assert_int_equal(drained.on_cpu_ns, 0);
	end_burner(&burner);
}

struct contexts_of {
	uint64_t life;
	size_t accounts;
	uint64_t hash; /* of the last one */
};

static int note_context(void *context, const struct account_key *key, const struct account *account)
{
	struct contexts_of *contexts = context;

	(void)account;
	if (key->life != contexts->life)
		return 0;
	contexts->accounts++;
	contexts->hash = key->context_hash;
	return 0;
}

/* Nothing publishes one in it; but it has not run, to say so itself. */
static void who_sleeps_from_the_start_on_is_found_to_be_in_no_context(void **state)
{
	struct session *session = *state;
	struct burner burner = start_burner();
	struct contexts_of contexts = { 0 };
	uint64_t end_ns, epoch;

	assert_int_equal(session_attach(session), 0);
	let_burn(&burner);
	(void)slept_cpu_ns(burner.pid);
	contexts.life = observe(session, burner.pid);
	assert_int_equal(session_flush(session, false, note_context, &contexts, &end_ns, &epoch),
			 0);
	assert_int_equal(contexts.accounts, 1);
	if (ask_kernel().can_read_tasks)
		assert_int_equal(contexts.hash, CONTEXT_HASH_NONE);
	else
		assert_int_equal(contexts.hash, CONTEXT_HASH_UNKNOWN);
	end_burner(&burner);
}

/* The last of each kind. */
static void note_event(void *context, const struct event *event)
{
	struct event *events = context;

	events[event->kind] = *event;
}

struct images_of {
	uint64_t life;
	uint64_t second; /* that an exec began */
	uint64_t first_serial, second_serial; /* 0 = there is no account */
};

static int note_image(void *context, const struct account_key *key, const struct account *account)
{
	struct images_of *images = context;

	if (key->life != images->life)
		return 0;
	assert_true(account->image == images->life || account->image == images->second);
	if (account->image == images->life) {
		images->first_serial = key->thread_serial;
	} else {
		images->second_serial = key->thread_serial;
		assert_string_equal(account->comm, "true");
	}
	return 0;
}

static void forks_and_ends_of_the_observed_are_told_once(void **state)
{
	struct session *session = *state;
	struct event events[_EVENT_KIND_MAX] = { 0 };
	const struct event *fork_event = &events[EVENT_KIND_FORK];
	struct images_of images = { 0 };
	struct process_books books;
	uint64_t own, ticks, end_ns, epoch;
	pid_t child;

	assert_int_equal(session_attach(session), 0);
	own = observe(session, getpid());
	child = fork();
	if (child == 0) {
		(void)execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	ticks = start_ticks_of(child);
	assert_int_equal(waitpid(child, NULL, 0), child);
	while (!events[EVENT_KIND_EXIT].life)
		assert_true(session_read_events(session, note_event, events) >= 0);
	images.life = fork_event->life;
	images.second = events[EVENT_KIND_EXEC].image;
	assert_int_equal(fork_event->tgid, child);
	assert_int_equal(fork_event->parent_tgid, getpid());
	assert_int_equal(fork_event->parent_life, own);
	assert_int_equal(fork_event->start_ticks, ticks);
	assert_true(images.life > own);
	assert_int_equal(whose_is(session, child, ticks), images.life);
	assert_int_equal(events[EVENT_KIND_EXEC].life, images.life);
	assert_true(images.second > images.life);
	assert_int_equal(events[EVENT_KIND_EXIT].life, images.life);
	memset(events, 0, sizeof(events));
	(void)session_read_events(session, note_event, events);
	assert_int_equal(fork_event->life, 0);
	/* Each program has an account of its own. */
	assert_int_equal(session_get_books(session, images.life, &books), 0);
	assert_int_equal(books.image, images.second);
	assert_int_equal(config_of(session, images.life).image, images.second);
	assert_int_equal(session_flush(session, false, note_image, &images, &end_ns, &epoch), 0);
	assert_int_not_equal(images.first_serial, 0);
	assert_int_not_equal(images.second_serial, 0);
	assert_int_not_equal(images.first_serial, images.second_serial);
	session_remove_process(session, images.life, child);
	assert_int_equal(whose_is(session, child, ticks), 0);
	session_remove_process(session, own, getpid());
}

static void who_has_a_new_name_is_told_of_where_names_matter(void **state)
{
	const struct session_options options = { .strangers = STRANGERS_BY_NAME };
	struct event events[_EVENT_KIND_MAX] = { 0 };
	struct session *session = NULL;
	int count;

	(void)state;
	assert_int_equal(session_open(&options, &session), 0);
	assert_int_equal(session_attach(session), 0);
	while (session_read_events(session, note_event, events) > 0)
		;
	events[EVENT_KIND_STRANGER].tgid = 0;
	assert_int_equal(prctl(PR_SET_NAME, "test_session"), 0);
	/* Others may be renamed meanwhile: ours is among them. */
	count = session_read_events(session, note_event, events);
	assert_true(count > 0);
	assert_int_not_equal(events[EVENT_KIND_STRANGER].tgid, 0);
	session_free(session);
}

static void probes_are_of_a_file_and_go_with_who_has_it(void **state)
{
	struct session *session = *state;
	struct memory_file file = make_file(session), other = make_file(session);
	/* A stranger's pid may be the same number: it is no life. */
	const uint64_t life = NOBODYS_PID;
	struct session_probe probes[2], loader = probe_in(&other, SESSION_PROBE_LOADER);
	uint64_t inode, again, of_other;

	assert_int_equal(identify(&file, true, &inode), 0);
	assert_int_equal(identify(&file, true, &again), 0);
	assert_int_equal(identify(&other, true, &of_other), 0);
	assert_int_equal(inode, again);
	assert_int_not_equal(inode, of_other);

	for (int kind = 0; kind < _SESSION_PROBE_KIND_MAX; kind++)
		probes[kind] = probe_in(&file, (enum session_probe_kind)kind);
	session_set_probes(session, life, probes, 2);
	assert_int_equal(probes[0].error, 0);
	assert_int_equal(probes[1].error, 0);
	assert_int_equal(uprobed_files_count(session->uprobed_files), 2);
	assert_int_equal(session_watch(session, NOBODYS_PID, &loader), 0);
	assert_int_equal(uprobed_files_count(session->uprobed_files), 3);
	session_unwatch(session, NOBODYS_PID);
	assert_int_equal(uprobed_files_count(session->uprobed_files), 2);
	session_inherit_probes(session, life, NOBODY + 1);
	session_remove_process(session, life, NOBODYS_PID);
	assert_int_equal(uprobed_files_count(session->uprobed_files), 2);
	session_drop_context_probes(session, NOBODY + 1);
	assert_int_equal(uprobed_files_count(session->uprobed_files), 1);
	session_remove_process(session, NOBODY + 1, NOBODYS_PID);
	assert_int_equal(uprobed_files_count(session->uprobed_files), 0);
	(void)close(file.fd);
	(void)close(other.fd);
}

struct told_stints {
	uint64_t life;
	uint64_t ran_ns;
	uint64_t woken_by_us;
	int count, foreign;
};

static void note_stint(void *context, const struct stint *stint)
{
	struct told_stints *told = context;

	told->count++;
	told->foreign += stint->life != told->life;
	told->ran_ns += stint->user_ns + stint->kernel_ns - stint->taken_ns;
	told->woken_by_us += stint->woken_by == ((uint64_t)getpid() << 32 | (uint64_t)getpid());
}

static void stints_come_to_what_is_charged_and_ours_are_nobodys_business(void **state)
{
	const struct session_options options = { .has_kernel_split = true, .has_timeline = true };
	struct session *session = NULL;
	struct burner burner = start_burner();
	struct drained drained = { .pid = burner.pid };
	struct told_stints told = { 0 };
	uint64_t epoch;
	int count;

	(void)state;
	assert_int_equal(session_open(&options, &session), 0);
	assert_int_equal(session_attach(session), 0);
	assert_int_equal(session_start_calibration(session, SESSION_WAY_SHORT), 0);
	told.life = drained.life = observe(session, burner.pid);
	let_burn(&burner);
	let_burn(&burner);
	(void)slept_cpu_ns(burner.pid);
	assert_int_equal(flush(session, &drained, &epoch), 0);
	count = session_read_stints(session, note_stint, &told);
	/* The calibrator's are among them, but not told. */
	assert_true(count > told.count);
	assert_true(told.count > 1);
	assert_int_equal(told.foreign, 0);
	assert_int_equal(told.ran_ns, drained.on_cpu_ns);
	assert_true(told.woken_by_us > 0);
	session_remove_process(session, told.life, burner.pid);
	end_burner(&burner);
	session_free(session);
}

static int compare_ways(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* No machine takes longer, and what is counted twice, or in other units, does. */
static void assert_way(double *ways_ns, size_t count, double most_ns)
{
	assert_true(count > 0);
	qsort(ways_ns, count, sizeof(*ways_ns), compare_ways);
	assert_true(ways_ns[0] >= 0);
	assert_true(ways_ns[count / 2] > 0);
	assert_true(ways_ns[count / 2] < most_ns);
}

static void both_ways_are_measured_by_bursts_of_seven(void **state)
{
	struct session *session = open_session(true);
	struct session_ways *ways = calloc(1, sizeof(*ways));

	(void)state;
	assert_non_null(ways);
	assert_int_equal(session_attach(session), 0);
	for (int way = 0; way < _SESSION_WAY_MAX; way++) {
		assert_int_equal(session_start_calibration(session, (enum session_way)way), 0);
		session_read_ways(session, (enum session_way)way, 0, ways);
		assert_way(ways->hot_ns, ways->hot_count, 20e3);
		assert_way(ways->lone_ns, ways->lone_count, 50e3);
		assert_way(ways->slept_ns, ways->slept_count, 200e3);
		assert_true(ways->hot_count >= 3 * ways->lone_count);
		assert_in_range(ways->lone_count, ways->slept_count / 2, 2 * ways->slept_count + 2);
	}
	/* Its end is noticed, and nothing is given that it had found. */
	assert_true(session_has_calibration(session, SESSION_WAY_SHORT));
	calibration_end(session->calibrations[SESSION_WAY_SHORT]);
	assert_false(session_has_calibration(session, SESSION_WAY_SHORT));
	session_read_ways(session, SESSION_WAY_SHORT, 0, ways);
	assert_int_equal(ways->hot_count + ways->lone_count + ways->slept_count, 0);
	/* And it may be started anew. */
	assert_int_equal(session_start_calibration(session, SESSION_WAY_SHORT), 0);
	session_read_ways(session, SESSION_WAY_SHORT, 0, ways);
	assert_true(ways->hot_count > 0);
	session_free(session);
	free(ways);
}

static size_t count_fds(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* A CPU whose clock cannot be had, and what bpf(2) does not do; instead of libc's. */
static struct {
	int cpu, error;
	long command; /* -1 = none */
} refused = { .command = -1 };

long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	const struct perf_event_attr *attributes;
	long arguments[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_bpf && refused.error && arguments[0] == refused.command) {
		errno = refused.error;
		return -1;
	}
	attributes = (const struct perf_event_attr *)arguments[0];
	if (number == SYS_perf_event_open && attributes->type == PERF_TYPE_SOFTWARE &&
	    refused.error && (int)arguments[2] == refused.cpu) {
		errno = refused.error;
		return -1;
	}
	return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
		    arguments[5]);
}

static struct session *open_sampler(void)
{
	const struct session_options options = { .strangers = STRANGERS_ANY, .stacks_hz = 1000 };
	struct session *session = NULL;

	assert_int_equal(session_open(&options, &session), 0);
	return session;
}

struct taken {
	uint64_t count, stacks, samples, life;
	uint32_t foreign;
	uint64_t stop_at; /* 0 = never */
};

static int take_sample(void *context, const struct sample_key *key, uint64_t count)
{
	struct taken *taken = context;

	taken->foreign += key->account.life != taken->life;
	taken->stacks += key->stack;
	taken->samples += count;
	return ++taken->count == taken->stop_at ? -ECANCELED : 1;
}

static void put_samples(const struct session *session, int epoch, uint64_t count)
{
	int fd = bpf_map__fd(epoch & 1 ? session->skeleton->maps.samples_b
				       : session->skeleton->maps.samples_a);
	const uint64_t samples = 3;

	for (uint64_t i = 1; i <= count; i++) {
		const struct sample_key key = { .stack = i, .account.life = NOBODY };

		assert_int_equal(bpf_map_update_elem(fd, &key, &samples, BPF_NOEXIST), 0);
	}
}

static struct session *open_counter(uint32_t accounts_max)
{
	const struct session_options options = { .has_kernel_split = true,
						 .accounts_max = accounts_max,
						 .counts_syscalls = true };
	struct session *session = NULL;

	assert_int_equal(session_open(&options, &session), 0);
	return session;
}

static int take_calls(void *context, const struct syscall_key *key, const struct syscall_sums *sums)
{
	struct taken *taken = context;

	taken->foreign += key->account.life != taken->life;
	taken->stacks += key->call;
	taken->samples += sums->calls + sums->inside_ns;
	return ++taken->count == taken->stop_at ? -ECANCELED : 1;
}

static void put_calls(const struct session *session, int epoch, uint32_t count)
{
	int fd = bpf_map__fd(epoch & 1 ? session->skeleton->maps.syscalls_b
				       : session->skeleton->maps.syscalls_a);
	const struct syscall_sums sums = { .calls = 3, .inside_ns = 4 };

	for (uint32_t i = 1; i <= count; i++) {
		const struct syscall_key key = { .call = i, .account.life = NOBODY };

		assert_int_equal(bpf_map_update_elem(fd, &key, &sums, BPF_NOEXIST), 0);
	}
}

static void a_window_hands_out_each_of_its_system_calls_once(void **state)
{
	static const uint32_t counts[] = { 0, 1, 1023, 1024, 1025, 2048, 2049 };
	struct session *session = open_counter(0);
	struct share_table *shares = session->skeleton->bss->syscalls_share;

	(void)state;
	for (int i = 0; i < 7; i++) {
		struct taken taken = { .life = NOBODY }, other = { 0 };
		uint64_t count = counts[i];

		shares[0].used = shares[1].used = 7;
		put_calls(session, i, counts[i]);
		assert_int_equal(
			session_drain_syscalls(session, (uint64_t)i + 1, take_calls, &other), 0);
		assert_int_equal(other.count, 0);
		assert_int_equal(shares[i & 1].used, 7);
		assert_int_equal(session_drain_syscalls(session, (uint64_t)i, take_calls, &taken),
				 0);
		assert_int_equal(shares[i & 1].used, 0);
		assert_int_equal(taken.count, count);
		assert_int_equal(taken.foreign, 0);
		assert_int_equal(taken.stacks, count * (count + 1) / 2);
		assert_int_equal(taken.samples, 7 * count);
	}
	session_free(session);
}

static void who_takes_system_calls_may_stop_it(void **state)
{
	struct taken taken = { .life = NOBODY, .stop_at = 2 };
	struct session *session = open_counter(0);

	(void)state;
	put_calls(session, 0, 3);
	assert_int_equal(session_drain_syscalls(session, 0, take_calls, &taken), -ECANCELED);
	assert_int_equal(taken.count, 2);
	session_free(session);
}

static void system_calls_have_room_for_two_kinds_an_account(void **state)
{
	struct session *session = open_counter(100), *usual = *state;
	const struct correlator_bpf *skeleton = session->skeleton;

	assert_int_equal(bpf_map__max_entries(skeleton->maps.syscalls_a), 200);
	assert_int_equal(bpf_map__max_entries(skeleton->maps.syscalls_b), 200);
	assert_int_equal(skeleton->rodata->session.has_syscalls, 1);
	assert_int_equal(usual->skeleton->rodata->session.has_syscalls, 0);
	assert_true(bpf_map__fd(usual->skeleton->maps.syscalls) < 0);
	assert_true(bpf_map__fd(usual->skeleton->maps.syscalls_a) < 0);
	assert_true(bpf_map__fd(usual->skeleton->maps.syscalls_b) < 0);
	assert_int_equal(session_drain_syscalls(usual, 0, NULL, NULL), 0);
	session_free(session);
}

static void the_programs_know_whether_system_calls_are_seen(void **state)
{
	struct session *session = open_counter(0);

	(void)state;
	assert_int_equal(session->skeleton->bss->sees_syscalls, 0);
	assert_int_equal(session_attach(session), 0);
	assert_int_equal(session->skeleton->bss->sees_syscalls, 1);
	assert_int_equal(session_set_kernel_split(session, false), 0);
	assert_int_equal(session->skeleton->bss->sees_syscalls, 0);
	assert_int_equal(session_set_kernel_split(session, true), 0);
	assert_int_equal(session->skeleton->bss->sees_syscalls, 1);
	session_free(session);
}

static void a_window_hands_out_each_of_its_samples_once(void **state)
{
	static const uint64_t counts[] = { 0, 1, 1023, 1024, 1025, 2048, 2049 };
	struct session *session = open_sampler();

	(void)state;
	for (int i = 0; i < 7; i++) {
		struct taken taken = { .life = NOBODY }, other = { 0 }, again = { 0 };
		uint64_t count = counts[i];

		put_samples(session, i, count);
		assert_int_equal(
			session_drain_samples(session, (uint64_t)i + 1, take_sample, &other), 0);
		assert_int_equal(other.count, 0);
		assert_int_equal(session_drain_samples(session, (uint64_t)i, take_sample, &taken),
				 0);
		assert_int_equal(taken.count, count);
		assert_int_equal(taken.foreign, 0);
		assert_int_equal(taken.stacks, count * (count + 1) / 2);
		assert_int_equal(taken.samples, 3 * count);
		assert_int_equal(session_drain_samples(session, (uint64_t)i, take_sample, &again),
				 0);
		assert_int_equal(again.count, 0);
	}
	session_free(session);
}

static void who_takes_the_samples_may_stop_it(void **state)
{
	struct session *session = open_sampler();
	struct taken taken = { .life = NOBODY, .stop_at = 3 };

	(void)state;
	put_samples(session, 0, 2000);
	assert_int_equal(session_drain_samples(session, 0, take_sample, &taken), -ECANCELED);
	assert_int_equal(taken.count, 3);
	session_free(session);
}

static void each_cpu_has_a_clock_and_what_is_off_has_none(void **state)
{
	static const int off[] = { ENODEV, ENXIO };
	size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_ONLN), before = count_fds();
	struct session *session = open_sampler();

	(void)state;
	assert_int_equal(session_attach(session), 0);
	assert_int_equal(session->clock_count, cpus);
	session_free(session);
	for (size_t i = 0; i < 2; i++) {
		refused.error = off[i];
		session = open_sampler();
		assert_int_equal(session_attach(session), 0);
		assert_int_equal(session->clock_count, cpus - 1);
		session_free(session);
	}
	refused.error = EACCES;
	session = open_sampler();
	assert_int_equal(session_attach(session), -EACCES);
	session_free(session);
	refused.error = 0;
	assert_int_equal(count_fds(), before);
}

static void who_burns_is_sampled(void **state)
{
	struct session *session = open_sampler();
	struct burner burner = start_burner();
	struct taken taken = { 0 };
	struct drained drained = { 0 };
	const struct ruby_stack_layout layout = { 0 };
	uint64_t epoch;

	(void)state;
	assert_int_equal(session_attach(session), 0);
	taken.life = observe(session, burner.pid);
	assert_int_equal(session_set_stack_layout(session, taken.life, &layout), 0);
	for (int i = 0; i < 50; i++)
		let_burn(&burner);
	assert_int_equal(flush(session, &drained, &epoch), 0);
	assert_int_equal(session_drain_samples(session, epoch, take_sample, &taken), 0);
	assert_true(taken.samples > 0);
	assert_int_equal(taken.foreign, 0);
	session_remove_process(session, taken.life, burner.pid);
	end_burner(&burner);
	session_free(session);
}

/* Whose ids the programs tell. */
static void who_does_not_know_its_own_namespace_has_no_session(void **state)
{
	const struct session_options options = { .strangers = STRANGERS_ANY };
	struct session *session = NULL;

	(void)state;
	refused.command = BPF_PROG_TEST_RUN;
	refused.error = EPERM;
	assert_int_equal(session_open(&options, &session), -EPERM);
	assert_null(session);
	refused.error = 0;
	refused.command = -1;
}

static void without_stacks_nothing_is_sampled(void **state)
{
	struct session *session = *state;
	struct taken taken = { 0 };

	assert_int_equal(session_attach(session), 0);
	assert_int_equal(session->clock_count, 0);
	assert_int_equal(session_drain_samples(session, 0, take_sample, &taken), 0);
	assert_int_equal(taken.count, 0);
}

static void the_split_comes_with_the_window_after_it_was_taken_up(void **state)
{
	struct session *session = open_session(true);
	struct drained drained = { 0 };
	struct session_ways *ways = calloc(1, sizeof(*ways));
	uint64_t epoch, used_ns;
	size_t fds;

	(void)state;
	assert_non_null(ways);
	assert_int_equal(session_attach(session), 0);
	assert_true(session_has_kernel_split(session));
	assert_false(session_has_calibration(session, SESSION_WAY_SHORT));
	assert_int_equal(session_start_calibration(session, SESSION_WAY_SHORT), 0);
	assert_true(session_has_calibration(session, SESSION_WAY_SHORT));
	assert_false(session_has_calibration(session, SESSION_WAY_LONG));
	session_read_ways(session, SESSION_WAY_SHORT, 0, ways);
	assert_true(ways->hot_count + ways->lone_count + ways->slept_count >= 60);
	assert_true(ways->hot_count >= 30);
	used_ns = session_calibration_cpu_ns(session);
	assert_true(used_ns > 0);
	/* Its own accounts are nobody's business. */
	assert_int_equal(flush(session, &drained, &epoch), 0);
	assert_int_equal(drained.count, 0);

	/* What is so already stays so, with nothing made twice. */
	fds = count_fds();
	assert_int_equal(session_set_kernel_split(session, true), 0);
	assert_true(session_has_kernel_split(session));
	assert_int_equal(count_fds(), fds);
	assert_int_equal(session_start_calibration(session, SESSION_WAY_LONG), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(session_set_kernel_split(session, false), 0);
		assert_false(session_has_kernel_split(session));
		assert_false(session_has_calibration(session, SESSION_WAY_SHORT));
		assert_false(session_has_calibration(session, SESSION_WAY_LONG));
		assert_null(session->skeleton->links.on_sys_enter);
		assert_null(session->skeleton->links.on_sys_exit);
	}
	assert_int_equal(flush(session, &drained, &epoch), 0);
	assert_int_equal(session->skeleton->bss->processes_share.used, 0);
	assert_int_equal(session_set_kernel_split(session, true), 0);
	assert_false(session_has_kernel_split(session));
	/* What the first one used is not forgotten. */
	assert_true(session_calibration_cpu_ns(session) > used_ns);
	assert_int_equal(session_set_kernel_split(session, true), 0);
	assert_int_equal(flush(session, &drained, &epoch), 0);
	assert_true(session_has_kernel_split(session));
	assert_int_equal(session->skeleton->bss->seeks_mode, 0);
	assert_int_equal(drained.count, 0);
	session_free(session);
	free(ways);
}

static void a_session_leaves_nothing_open(void **state)
{
	size_t fds = count_fds();
	struct session *session = open_session(true);

	(void)state;
	assert_int_equal(session_attach(session), 0);
	assert_int_equal(session_time_programs(session, true), 0);
	assert_int_equal(session_start_calibration(session, SESSION_WAY_SHORT), 0);
	assert_int_equal(session_start_calibration(session, SESSION_WAY_LONG), 0);
	session_free(session);
	assert_int_equal(count_fds(), fds);
	/* Nor a child. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void maps_are_of_the_size_that_is_asked_for(void **state)
{
	struct session_options options = { .contexts_max = 100,
					   .accounts_max = 200,
					   .ring_bytes = 8192,
					   .strangers = STRANGERS_NONE };
	struct session *session = NULL, *usual = *state;

	assert_int_equal(session_open(&options, &session), 0);
	assert_int_equal(bpf_map__max_entries(session->skeleton->maps.contexts), 100);
	assert_int_equal(bpf_map__max_entries(session->skeleton->maps.accounts_a), 200);
	assert_int_equal(bpf_map__max_entries(session->skeleton->maps.accounts_b), 200);
	assert_int_equal(bpf_map__max_entries(session->skeleton->maps.events), 8192);
	assert_int_equal(session->skeleton->rodata->session.contexts_max, 100);
	assert_int_equal(session->skeleton->rodata->session.accounts_max, 200);
	/* What is not wanted takes no room. */
	assert_int_equal(bpf_map__max_entries(session->skeleton->maps.watched), 1);
	assert_int_equal(bpf_map__max_entries(session->skeleton->maps.strangers),
			 sysconf(_SC_PAGESIZE));
	assert_int_equal(bpf_map__max_entries(session->skeleton->maps.otel_processes), 1);
	assert_false(session_is_lean(session));
	/* Two sessions are not told apart by the same digest of a text. */
	assert_memory_not_equal(&session->skeleton->rodata->hash_key,
				&usual->skeleton->rodata->hash_key,
				sizeof(usual->skeleton->rodata->hash_key));
	assert_true(bpf_map__max_entries(usual->skeleton->maps.watched) > 1);
	assert_int_equal(bpf_map__max_entries(usual->skeleton->maps.accounts_a), ACCOUNTS_MAX);
	session_free(session);
}

static void what_is_wanted_the_programs_know_and_what_is_not_is_not_loaded(void **state)
{
	const struct session_options options = {
		.watches_otel = true,
		.late_keys = 5,
		.request_key = 3,
		.strangers = STRANGERS_BY_NAME,
		.has_timeline = true,
		.stint_ring_bytes = 16384,
	};
	const struct session_config *config;
	struct session *session = NULL, *usual = *state;
	const struct kernel_offers kernel = ask_kernel();

	assert_int_equal(session_open(&options, &session), 0);
	config = (const struct session_config *)&session->skeleton->rodata->session;
	assert_int_equal(config->follow_forks, 0);
	assert_int_equal(config->watches_otel, 1);
	assert_int_equal(config->late_keys, 5);
	assert_int_equal(config->request_key, 3);
	assert_int_equal(config->tells_strangers, STRANGERS_BY_NAME);
	assert_int_equal(config->has_timeline, 1);
	assert_int_equal(config->preempt_count_offset, kernel.preempt_count_offset);
	assert_int_equal(config->interrupt_bits, kernel.interrupt_bits);
	assert_int_equal(config->has_steal_time, kernel.has_steal_time);
	assert_int_equal(config->steal_time_offset, kernel.steal_time_offset);
	assert_int_equal(bpf_map__max_entries(session->skeleton->maps.stints), 16384);
	assert_true(bpf_map__max_entries(session->skeleton->maps.otel_processes) > 1);
	assert_true(bpf_program__fd(session->skeleton->progs.on_waking) >= 0);
	assert_int_equal(bpf_program__fd(session->skeleton->progs.read_sleepers) >= 0,
			 ask_kernel().can_read_tasks);
	/* One of the two that walk tasks. */
	assert_int_equal(
		(bpf_program__fd(session->skeleton->progs.collect_tasks) >= 0) +
			(bpf_program__fd(session->skeleton->progs.collect_tasks_undisturbed) >= 0),
		1);

	config = (const struct session_config *)&usual->skeleton->rodata->session;
	assert_int_equal(config->follow_forks, 1);
	assert_int_equal(config->watches_otel, 0);
	assert_int_equal(config->late_keys, 0);
	assert_int_equal(config->has_timeline, 0);
	assert_int_equal(config->preempt_count_offset, 0);
	assert_int_equal(config->contexts_max, CONTEXTS_MAX);
	assert_true(bpf_program__fd(usual->skeleton->progs.on_waking) < 0);
	assert_true(bpf_map__fd(usual->skeleton->maps.stints) < 0);
	assert_int_equal(session_read_stints(usual, NULL, NULL), 0);
	session_free(session);
}

static void of_what_is_off_no_program_and_no_map_is_there(void **state)
{
	const struct session *usual = *state;
	const struct correlator_bpf *skeleton = usual->skeleton;
	const struct bpf_program *programs[] = {
		skeleton->progs.on_waking,	skeleton->progs.on_file_fault,
		skeleton->progs.on_page_read,	skeleton->progs.on_sample,
		skeleton->progs.on_leaving_cpu,
	};
	const struct bpf_map *maps[] = {
		skeleton->maps.stints,	  skeleton->maps.stalls,   skeleton->maps.syscalls_a,
		skeleton->maps.io_a,	  skeleton->maps.io_paths, skeleton->maps.io_openings,
		skeleton->maps.samples_a, skeleton->maps.stacks,   skeleton->maps.tips,
		skeleton->maps.waits_a,
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		assert_true(bpf_program__fd(programs[i]) < 0);
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		assert_true(bpf_map__fd(maps[i]) < 0);
}

static void stalls_have_one_program_for_page_faults(void **state)
{
	const struct session_options options = { .stall_least_ns = NS_PER_MS };
	struct session *session = NULL;

	(void)state;
	assert_int_equal(session_open(&options, &session), 0);
	assert_int_equal(bpf_program__fd(session->skeleton->progs.on_file_fault) >= 0,
			 ask_kernel().tells_file_faults);
	assert_int_equal(bpf_program__fd(session->skeleton->progs.on_page_read) < 0,
			 ask_kernel().tells_file_faults);
	assert_int_equal(session_attach(session), 0);
	session_free(session);
}

static void a_lean_session_has_no_probe_of_contexts(void **state)
{
	const struct session_options options = { .is_lean = true };
	struct session *session = NULL, *usual = *state;

	assert_int_equal(session_open(&options, &session), 0);
	assert_true(session_is_lean(session));
	assert_true(bpf_program__fd(session->skeleton->progs.on_context_change) < 0);
	assert_true(bpf_program__fd(session->skeleton->progs.on_sys_enter) < 0);
	assert_int_equal(session->skeleton->rodata->session.is_lean, 1);
	assert_false(session_is_lean(usual));
	assert_true(bpf_program__fd(usual->skeleton->progs.on_context_change) >= 0);
	session_free(session);
}

int main(void)
{
#define OPENED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		OPENED(a_window_hands_out_each_account_once_however_many),
		OPENED(the_window_that_is_open_is_not_drained),
		OPENED(who_takes_the_accounts_may_stop_it),
		OPENED(a_process_is_of_its_parents_family_or_of_a_new_one),
		OPENED(a_family_that_has_its_share_gets_no_more),
		OPENED(who_has_a_pid_later_keeps_it_when_who_had_it_is_removed),
		OPENED(each_configuration_has_a_generation_of_its_own_and_never_0),
		OPENED(lean_is_said_of_a_known_process_and_only_once),
		OPENED(a_snapshot_that_is_taken_makes_room_until_it_is_put_back),
		OPENED(opentelemetry_is_set_where_there_is_room_and_goes_with_its_process),
		OPENED(who_is_watched_is_so_until_it_is_not),
		OPENED(strangers_that_were_lost_are_told_once),
		OPENED(programs_are_timed_while_they_are_wanted_to_be),
		OPENED(a_thread_is_charged_to_the_window_that_it_ran_in_to_the_last),
		OPENED(who_has_not_started_then_is_not_observed),
		OPENED(no_more_is_charged_once_it_is_stopped),
		OPENED(who_sleeps_from_the_start_on_is_found_to_be_in_no_context),
		OPENED(forks_and_ends_of_the_observed_are_told_once),
		cmocka_unit_test(who_has_a_new_name_is_told_of_where_names_matter),
		OPENED(probes_are_of_a_file_and_go_with_who_has_it),
		cmocka_unit_test(stints_come_to_what_is_charged_and_ours_are_nobodys_business),
		cmocka_unit_test(a_window_hands_out_each_of_its_system_calls_once),
		cmocka_unit_test(who_takes_system_calls_may_stop_it),
		cmocka_unit_test(the_programs_know_whether_system_calls_are_seen),
		OPENED(system_calls_have_room_for_two_kinds_an_account),
		cmocka_unit_test(a_window_hands_out_each_of_its_samples_once),
		cmocka_unit_test(who_takes_the_samples_may_stop_it),
		cmocka_unit_test(each_cpu_has_a_clock_and_what_is_off_has_none),
		cmocka_unit_test(who_burns_is_sampled),
		cmocka_unit_test(who_does_not_know_its_own_namespace_has_no_session),
		OPENED(without_stacks_nothing_is_sampled),
		cmocka_unit_test(both_ways_are_measured_by_bursts_of_seven),
		cmocka_unit_test(the_split_comes_with_the_window_after_it_was_taken_up),
		cmocka_unit_test(a_session_leaves_nothing_open),
		OPENED(maps_are_of_the_size_that_is_asked_for),
		OPENED(what_is_wanted_the_programs_know_and_what_is_not_is_not_loaded),
		OPENED(of_what_is_off_no_program_and_no_map_is_there),
		OPENED(stalls_have_one_program_for_page_faults),
		OPENED(a_lean_session_has_no_probe_of_contexts),
	};

	kernel_test_require();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
