/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel side's maps of processes and contexts. */
#include <errno.h>

#include <bpf/bpf.h>

#include <correlator/life.h>

#include "base/log.h"
#include "recorder/probe/open_session.h"
#include "recorder/probe/uprobed_files.h"

static __u32 next_generation(const struct session *session)
{
	__u32 next = session->skeleton->bss->generation + 1;

	return next ? next : 1;
}

/*
 * Puts a configuration, which has the next generation, in force. Threads of other processes see
 * that it does not concern them, and are not interrupted.
 */
static int put_config(struct session *session, uint64_t life, const struct process_config *config)
{
	struct correlator_bpf__bss *shared = session->skeleton->bss;
	__u64 key = life;

	shared->collect_life = key;
	/* Threads that run now have run without this configuration so far. */
	(void)collector_interrupt_cpus(session);
	if (bpf_map_update_elem(bpf_map__fd(session->skeleton->maps.processes), &key, config,
				BPF_ANY)) {
		shared->collect_life = 0;
		return -errno;
	}
	__atomic_store_n(&shared->generation, config->generation, __ATOMIC_SEQ_CST);
	/*
	 * Running threads must no longer take the short way at the edges of system calls, nor rely
	 * on probes. Twice, because a thread may be met in the middle of a boundary.
	 */
	for (int pass = 0; pass < 2 && (config->flags & (PROCESS_HAS_OTEL | PROCESS_IS_LEAN));
	     pass++)
		(void)collector_interrupt_cpus(session);
	shared->collect_life = 0;
	return 0;
}

/* 0 = not known. */
static uint32_t find_family(struct session *session, uint64_t life)
{
	int processes = bpf_map__fd(session->skeleton->maps.processes);
	struct process_config config;
	__u64 key = life;

	return bpf_map_lookup_elem(processes, &key, &config) ? 0 : config.family;
}

/* -EEXIST: the process is there, and keeps its family. -EDQUOT: its family used up its share. */
static int add_process(struct session *session, uint64_t life, const struct process_config *config)
{
	const struct process_books fresh = { .image = config->image };
	struct share_table *shares = &session->skeleton->bss->processes_share;
	int processes = bpf_map__fd(session->skeleton->maps.processes);
	int books = bpf_map__fd(session->skeleton->maps.books);
	__u64 key = life;
	int r;

	if (find_family(session, life))
		return -EEXIST;
	if (!share_has_room(shares, config->family, PROCESSES_MAX))
		return -EDQUOT;
	if (bpf_map_update_elem(books, &key, &fresh, BPF_NOEXIST))
		return -errno;
	r = bpf_map_update_elem(processes, &key, config, BPF_NOEXIST) ? -errno : 0;
	if (r == 0)
		share_add(shares, config->family);
	else if (r != -EEXIST)
		(void)bpf_map_delete_elem(books, &key);
	return r;
}

/*
 * Adds a process, and sets the family of its configuration: the parent's, or a new one. A process
 * that is there keeps its own.
 */
static int join_family(struct session *session, uint64_t life, uint64_t parent,
		       struct process_config *config)
{
	int r;

	config->family = parent ? find_family(session, parent) : 0;
	if (!config->family)
		config->family = share_find_family(&session->skeleton->bss->processes_share);
	r = add_process(session, life, config);
	if (r == -EEXIST) {
		config->family = find_family(session, life);
		r = 0;
	}
	return r;
}

int session_begin_life(struct session *session, pid_t pid, uint64_t start_ticks, uint64_t *ret_life)
{
	int lives = bpf_map__fd(session->skeleton->maps.lives);
	struct process_life known;
	__u32 key = (__u32)pid;

	/* Forked in the meantime; the fork is not reported yet. */
	if (!bpf_map_lookup_elem(lives, &key, &known) && known.start_ticks == start_ticks &&
	    start_ticks != LIFE_OF_OUR_CHILD) {
		*ret_life = known.life;
		return 1;
	}
	known.life = __atomic_add_fetch(&session->skeleton->bss->last_life, 1, __ATOMIC_SEQ_CST);
	known.start_ticks = start_ticks;
	if (bpf_map_update_elem(lives, &key, &known, BPF_ANY))
		return log_error_errno(errno, "cannot observe process %d", pid);
	*ret_life = known.life;
	return 0;
}

int session_set_process(struct session *session, uint64_t life, uint64_t parent,
			const struct process_config *config)
{
	struct process_config numbered = *config;
	int r;

	numbered.generation = numbered.reading = next_generation(session);
	r = join_family(session, life, parent, &numbered);
	if (r < 0)
		return r;
	session->has_new_sleepers = true;
	return put_config(session, life, &numbered);
}

int session_set_lean(struct session *session, uint64_t life, bool is_lean)
{
	__u64 key = life;
	struct process_config config;

	if (bpf_map_lookup_elem(bpf_map__fd(session->skeleton->maps.processes), &key, &config))
		return -errno;
	if (!(config.flags & PROCESS_IS_LEAN) == !is_lean)
		return 0;
	config.flags ^= PROCESS_IS_LEAN;
	config.generation = next_generation(session);
	return put_config(session, life, &config);
}

int session_set_otel(struct session *session, uint64_t life, const struct otel_config *config)
{
	__u64 key = life;
	int r = 0;

	if (bpf_map_update_elem(bpf_map__fd(session->skeleton->maps.otel_processes), &key, config,
				BPF_ANY))
		return -errno;
	/*
	 * Twice: in the meantime a thread that is not known may have created one with a tid that
	 * the walk has passed.
	 */
	for (int pass = 0; r == 0 && pass < 2; pass++)
		r = collector_run_tasks(session, COLLECT_PHASE_OTEL);
	return r;
}

/* The pid may already be a later process's, or become it just now: then its entry is put back. */
static void forget_pid(struct session *session, uint64_t life, pid_t pid)
{
	int lives = bpf_map__fd(session->skeleton->maps.lives);
	struct process_life known;
	__u32 key = (__u32)pid;

	if (bpf_map_lookup_elem(lives, &key, &known) || known.life != life)
		return;
	if (bpf_map_lookup_and_delete_elem(lives, &key, &known) || known.life == life)
		return;
	(void)bpf_map_update_elem(lives, &key, &known, BPF_NOEXIST);
}

void session_remove_process(struct session *session, uint64_t life, pid_t pid)
{
	uint32_t family = find_family(session, life);
	__u64 key = life;

	forget_pid(session, life, pid);
	uprobed_files_release(session->uprobed_files, life);
	if (!bpf_map_delete_elem(bpf_map__fd(session->skeleton->maps.processes), &key))
		share_remove(&session->skeleton->bss->processes_share, family);
	(void)bpf_map_delete_elem(bpf_map__fd(session->skeleton->maps.books), &key);
	(void)bpf_map_delete_elem(bpf_map__fd(session->skeleton->maps.otel_processes), &key);
	if (session->options.stacks_hz)
		(void)bpf_map_delete_elem(bpf_map__fd(session->skeleton->maps.stack_layouts), &key);
	if (session->options.has_children)
		(void)bpf_map_delete_elem(bpf_map__fd(session->skeleton->maps.origins), &key);
}

/*
 * Stands in for a life where a process has none, as the owner of its probes: no life has such a
 * number.
 */
static uint64_t stranger_number(pid_t pid)
{
	return 1ULL << 63 | (uint64_t)pid;
}

int session_watch(struct session *session, pid_t pid, struct session_probe *loader)
{
	__u32 key = (__u32)pid, value = 1;

	uprobed_files_set(session->uprobed_files, stranger_number(pid), loader, 1);
	if (loader->error < 0) {
		uprobed_files_release(session->uprobed_files, stranger_number(pid));
		return loader->error;
	}

	return bpf_map_update_elem(bpf_map__fd(session->skeleton->maps.watched), &key, &value,
				   BPF_ANY)
		       ? -errno
		       : 0;
}

void session_unwatch(struct session *session, pid_t pid)
{
	__u32 key = (__u32)pid;

	uprobed_files_release(session->uprobed_files, stranger_number(pid));
	(void)bpf_map_delete_elem(bpf_map__fd(session->skeleton->maps.watched), &key);
}

int session_take_context(struct session *session, uint64_t hash,
			 struct context_snapshot *ret_snapshot)
{
	__u64 key = hash;
	int fd = bpf_map__fd(session->skeleton->maps.contexts);

	if (bpf_map_lookup_and_delete_elem(fd, &key, ret_snapshot))
		return -errno;
	share_remove(&session->skeleton->bss->contexts_share, ret_snapshot->family);
	return 0;
}

void session_return_context(struct session *session, uint64_t hash,
			    const struct context_snapshot *snapshot)
{
	__u64 key = hash;
	int fd = bpf_map__fd(session->skeleton->maps.contexts);

	if (!bpf_map_update_elem(fd, &key, snapshot, BPF_NOEXIST))
		share_add(&session->skeleton->bss->contexts_share, snapshot->family);
}

int session_look_at_context(struct session *session, uint64_t hash,
			    struct context_snapshot *ret_snapshot)
{
	__u64 key = hash;
	int fd = bpf_map__fd(session->skeleton->maps.contexts);

	return bpf_map_lookup_elem(fd, &key, ret_snapshot) ? -errno : 0;
}

int session_get_books(struct session *session, uint64_t life, struct process_books *ret_books)
{
	__u64 key = life;
	int fd = bpf_map__fd(session->skeleton->maps.books);

	return bpf_map_lookup_elem(fd, &key, ret_books) ? -errno : 0;
}

bool session_take_seen_keys(struct session *session, struct seen_keys *ret_seen)
{
	struct correlator_bpf__bss *shared = session->skeleton->bss;

	ret_seen->life = __atomic_load_n(&shared->seen_keys_life, __ATOMIC_ACQUIRE);
	if (!ret_seen->life)
		return false;
	for (size_t i = 0; i < SEEN_KEYS_MAX; i++)
		ret_seen->keys[i] =
			i < shared->seen_keys_capacity ? shared->seen_keys_pairs[2 * i] : 0;
	__atomic_store_n(&shared->seen_keys_life, 0, __ATOMIC_RELEASE);
	return true;
}

int session_register_threads(struct session *session)
{
	enum {
		PASSES_MAX = 16
	};
	struct correlator_bpf__bss *shared = session->skeleton->bss;
	int r = 0;

	session->has_new_sleepers = true;
	/*
	 * Until a pass finds no thread whose books have not begun; also one that an unknown thread
	 * created in the meantime, with a tid that the walk has passed. A thread left after
	 * PASSES_MAX is woken all the time, and begins by itself.
	 */
	for (int pass = 0; r == 0 && pass < PASSES_MAX; pass++) {
		__atomic_store_n(&shared->stragglers, 0, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&shared->registration_pass, 1, __ATOMIC_SEQ_CST);
		r = collector_run_tasks(session, COLLECT_PHASE_REGISTER);
		if (r || !__atomic_load_n(&shared->stragglers, __ATOMIC_SEQ_CST))
			break;
		r = collector_interrupt_cpus(session);
	}
	if (r < 0)
		return log_error_errno(r, "cannot walk the machine's tasks");
	return 0;
}
