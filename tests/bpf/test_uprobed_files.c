/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files that have uprobes, against the kernel: how often a program runs when their code does,
 * what a file that is let go leaves behind, and that deploys do not add up. With uprobe_multi links
 * and, as before 6.6, with perf events.
 *
 *   test_uprobed_files [--deploys NUMBER]     10000 are some years of deploys
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include <correlator/config.h>
#include <correlator/context_hash.h>
#include <correlator/share.h>

#include "correlator.skel.h"
#include "kernel_test.h"
#include "recorder/probe/features.h"
#include "recorder/probe/uprobed_files.h"

enum {
	PAGE_BYTES = 4096,
	FIRST_PID = 1000,
	DEPLOYS = 30,
	CHUNK_BYTES_MIN = 32, /* MINSIZE of glibc's malloc (malloc/malloc.c, 2.36) */
};

/* A function that returns at once, and whose first instruction the kernel emulates. */
#ifdef __aarch64__
static const uint32_t CODE[] = { 0xd503201f /* nop */, 0xd65f03c0 /* ret */ };
#else
static const uint8_t CODE[] = { 0x55 /* push %rbp */, 0x5d /* pop %rbp */, 0xc3 /* ret */ };
#endif

static const uint64_t OFFSETS[] = { 0 };

struct fixture {
	bool has_multi;
	struct correlator_bpf *skeleton;
	struct uprobed_files *files;
	int stats_fd;
	char folder[64];
	size_t deploys;
};

/* A file with code, mapped here as processes map theirs. */
struct code_file {
	const struct fixture *fixture;
	int fd;
	void (*run)(void);
};

static void make_file(const struct fixture *fixture, const char *name)
{
	uint8_t page[PAGE_BYTES] = { 0 };
	char path[128];
	int fd;

	memcpy(page, CODE, sizeof(CODE));
	(void)snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	assert_int_equal(close(fd), 0);
}

static struct code_file map_file(const struct fixture *fixture, const char *name)
{
	struct code_file file = { .fixture = fixture };
	char path[128];
	void *code;

	(void)snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
	file.fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file.fd >= 0);
	code = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.fd, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	*(void **)&file.run = code;
	return file;
}

static void unmap_file(struct code_file *file)
{
	assert_int_equal(munmap(*(void **)&file->run, PAGE_BYTES), 0);
	assert_int_equal(close(file->fd), 0);
}

static void delete_file(const struct fixture *fixture, const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
	assert_int_equal(unlink(path), 0);
}

static int identify(void *argument, bool is_fresh, uint64_t *ret_inode)
{
	const struct code_file *file = argument;

	(void)is_fresh;
	return uprobed_file_identify(bpf_program__fd(file->fixture->skeleton->progs.identify_file),
				     file->fd, ret_inode);
}

/* Says that the process maps that file and no other; NULL: none. 0 or -errno. */
static int set(struct fixture *fixture, pid_t pid, const struct code_file *file)
{
	struct session_probe probe = {
		.kind = SESSION_PROBE_CONTEXT,
		.fd = file ? file->fd : -1,
		.identify = identify,
		.file = (void *)(uintptr_t)file,
		.file_offsets = OFFSETS,
		.count = 1,
	};

	uprobed_files_set(fixture->files, pid, &probe, file ? 1 : 0);
	return file ? probe.error : 0;
}

static uint64_t count_runs(const struct fixture *fixture)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	int fd = bpf_program__fd(fixture->skeleton->progs.on_context_change);

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &size), 0);
	return info.run_cnt;
}

/* How many programs run when the code does, once. */
static uint64_t hits(const struct fixture *fixture, const struct code_file *file)
{
	uint64_t before = count_runs(fixture);

	file->run();
	return count_runs(fixture) - before;
}

static void mount_tmpfs(struct fixture *fixture)
{
	assert_int_equal(mount("correlator-test", fixture->folder, "tmpfs", 0, "size=64m"), 0);
}

static int load(struct fixture *fixture)
{
	struct correlator_bpf *skeleton = correlator_bpf__open();
	struct bpf_program *program;

	if (!skeleton)
		return -errno;
	fixture->skeleton = skeleton;
	bpf_object__for_each_program(program, skeleton->obj)
		(void)bpf_program__set_autoload(program, false);
	(void)bpf_program__set_autoload(skeleton->progs.on_context_change, true);
	(void)bpf_program__set_autoload(skeleton->progs.on_load, true);
	(void)bpf_program__set_autoload(skeleton->progs.identify_file, true);
	if (fixture->has_multi) {
		enum bpf_attach_type type = (enum bpf_attach_type)FEATURE_ATTACH_TYPE_UPROBE_MULTI;

		(void)bpf_program__set_expected_attach_type(skeleton->progs.on_context_change,
							    type);
		(void)bpf_program__set_expected_attach_type(skeleton->progs.on_load, type);
	}
	return correlator_bpf__load(skeleton);
}

static int set_up(void **state)
{
	struct fixture *fixture = *state;

	(void)snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/correlator-test-XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	mount_tmpfs(fixture);
	assert_int_equal(uprobed_files_new(fixture->skeleton, &fixture->files), 0);
	fixture->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	assert_true(fixture->stats_fd >= 0);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	uprobed_files_free(fixture->files);
	assert_int_equal(close(fixture->stats_fd), 0);
	/* Fails if anything below is still held. */
	assert_int_equal(umount(fixture->folder), 0);
	assert_int_equal(rmdir(fixture->folder), 0);
	return 0;
}

static void a_file_is_probed_once_for_all_that_map_it(void **state)
{
	struct fixture *fixture = *state;
	struct code_file one, other;

	make_file(fixture, "code");
	one = map_file(fixture, "code");
	other = map_file(fixture, "code");
	assert_int_equal(hits(fixture, &one), 0);
	assert_int_equal(set(fixture, FIRST_PID, &one), 0);
	assert_int_equal(set(fixture, FIRST_PID + 1, &other), 0);
	assert_int_equal(uprobed_files_count(fixture->files), 1);
	assert_int_equal(hits(fixture, &one), 1);
	assert_int_equal(hits(fixture, &other), 1);
	uprobed_files_release(fixture->files, FIRST_PID);
	assert_int_equal(hits(fixture, &one), 1);
	uprobed_files_release(fixture->files, FIRST_PID + 1);
	assert_int_equal(uprobed_files_count(fixture->files), 0);
	assert_int_equal(hits(fixture, &one), 0);
	unmap_file(&one);
	unmap_file(&other);
}

static void a_forked_child_keeps_it(void **state)
{
	struct fixture *fixture = *state;
	struct code_file file;

	make_file(fixture, "code");
	file = map_file(fixture, "code");
	assert_int_equal(set(fixture, FIRST_PID, &file), 0);
	assert_int_equal(uprobed_files_inherit(fixture->files, FIRST_PID, FIRST_PID + 1), 0);
	uprobed_files_release(fixture->files, FIRST_PID);
	assert_int_equal(hits(fixture, &file), 1);
	/* Until it runs another program. */
	assert_int_equal(set(fixture, FIRST_PID + 1, NULL), 0);
	assert_int_equal(hits(fixture, &file), 0);
	unmap_file(&file);
}

static void make_overlay(const struct fixture *fixture, const char *name)
{
	static const char *const parts[] = { "", "/upper", "/work", "/root" };
	char path[128], options[512];

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s%s", fixture->folder, name, parts[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	(void)snprintf(options, sizeof(options),
		       "lowerdir=%s/image,upperdir=%s/%s/upper,workdir=%s/%s/work", fixture->folder,
		       fixture->folder, name, fixture->folder, name);
	assert_int_equal(mount("overlay", path, "overlay", 0, options), 0);
}

static void remove_overlay(const struct fixture *fixture, const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s/root", fixture->folder, name);
	assert_int_equal(umount(path), 0);
}

static void two_containers_over_one_image_share_it(void **state)
{
	struct fixture *fixture = *state;
	struct code_file one, other, image;
	struct stat one_stat, other_stat;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/image", fixture->folder);
	assert_int_equal(mkdir(path, 0755), 0);
	make_file(fixture, "image/code");
	make_overlay(fixture, "one");
	make_overlay(fixture, "other");
	one = map_file(fixture, "one/root/code");
	other = map_file(fixture, "other/root/code");
	image = map_file(fixture, "image/code");
	/* What makes it hard. */
	assert_int_equal(fstat(one.fd, &one_stat), 0);
	assert_int_equal(fstat(other.fd, &other_stat), 0);
	assert_true(one_stat.st_dev != other_stat.st_dev);

	assert_int_equal(set(fixture, FIRST_PID, &one), 0);
	assert_int_equal(set(fixture, FIRST_PID + 1, &other), 0);
	assert_int_equal(set(fixture, FIRST_PID + 2, &image), 0);
	assert_int_equal(hits(fixture, &one), 1);
	assert_int_equal(hits(fixture, &other), 1);
	assert_int_equal(hits(fixture, &image), 1);
	/* Also when the one that it was placed through is gone. */
	uprobed_files_release(fixture->files, FIRST_PID);
	assert_int_equal(hits(fixture, &other), 1);
	uprobed_files_release(fixture->files, FIRST_PID + 1);
	uprobed_files_release(fixture->files, FIRST_PID + 2);
	assert_int_equal(hits(fixture, &other), 0);
	unmap_file(&one);
	unmap_file(&other);
	unmap_file(&image);
	remove_overlay(fixture, "one");
	remove_overlay(fixture, "other");
}

static void a_deleted_file_is_let_go_with_the_last_that_maps_it(void **state)
{
	struct fixture *fixture = *state;
	struct code_file file;

	make_file(fixture, "code");
	file = map_file(fixture, "code");
	assert_int_equal(set(fixture, FIRST_PID, &file), 0);
	delete_file(fixture, "code");
	unmap_file(&file);
	assert_int_equal(umount(fixture->folder), -1);
	assert_int_equal(errno, EBUSY);
	uprobed_files_release(fixture->files, FIRST_PID);
	assert_int_equal(umount(fixture->folder), 0);
	mount_tmpfs(fixture);
}

static size_t count_open_files(void)
{
	struct rlimit limit;
	size_t count = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int fd = 0; fd < (int)limit.rlim_cur; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* What is allocated and not freed; a sanitizer has an allocator of its own, and tells of leaks. */
static size_t allocated_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Each: a process of the new code comes, then the one of the old code goes. */
static void deploy(struct fixture *fixture, size_t number, struct code_file *current)
{
	struct code_file next;

	make_file(fixture, "code");
	next = map_file(fixture, "code");
	delete_file(fixture, "code");
	assert_int_equal(set(fixture, FIRST_PID + (pid_t)number, &next), 0);
	assert_int_equal(hits(fixture, &next), 1);
	uprobed_files_release(fixture->files, FIRST_PID + (pid_t)number - 1);
	assert_int_equal(hits(fixture, current), 0);
	unmap_file(current);
	*current = next;
}

static void deploys_do_not_add_up(void **state)
{
	struct fixture *fixture = *state;
	size_t open_files, memory_bytes = 0;
	struct code_file current;

	make_file(fixture, "code");
	current = map_file(fixture, "code");
	delete_file(fixture, "code");
	assert_int_equal(set(fixture, FIRST_PID, &current), 0);
	open_files = count_open_files();
	for (size_t i = 1; i <= fixture->deploys; i++) {
		deploy(fixture, i, &current);
		assert_int_equal(uprobed_files_count(fixture->files), 1);
		/* Once what is only made once is. */
		if (i == fixture->deploys / 5)
			memory_bytes = allocated_bytes();
	}
	assert_int_equal(count_open_files(), open_files);
	/*
	 * A leak of a deploy is a chunk of malloc at least. The freed chunks that glibc keeps for a
	 * thread count as allocated, and there may be a few more of them at one time than another.
	 */
	assert_true(allocated_bytes() <
		    memory_bytes + (fixture->deploys - fixture->deploys / 5) * CHUNK_BYTES_MIN);
	unmap_file(&current);
}

/* As set(), with no file descriptor to be had. */
static int set_without_room(struct fixture *fixture, pid_t pid, const struct code_file *file)
{
	int free_fd = dup(file->fd), r;
	struct rlimit before, none;

	assert_int_equal(close(free_fd), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_cur = (rlim_t)free_fd, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	r = set(fixture, pid, file);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	return r;
}

static void no_room_is_said_of_that_process_alone(void **state)
{
	struct fixture *fixture = *state;
	struct code_file one, other;

	make_file(fixture, "one");
	make_file(fixture, "other");
	one = map_file(fixture, "one");
	other = map_file(fixture, "other");
	assert_int_equal(set(fixture, FIRST_PID, &one), 0);
	assert_int_equal(set_without_room(fixture, FIRST_PID + 1, &other), -EMFILE);
	assert_int_equal(hits(fixture, &one), 1);
	assert_int_equal(hits(fixture, &other), 0);
	assert_int_equal(uprobed_files_count(fixture->files), 1);
	/* Later it may be had. */
	assert_int_equal(set(fixture, FIRST_PID + 1, &other), 0);
	assert_int_equal(hits(fixture, &other), 1);
	unmap_file(&one);
	unmap_file(&other);
}

static void who_is_lean_needs_none(void **state)
{
	struct fixture *fixture = *state;
	struct code_file file;

	make_file(fixture, "code");
	file = map_file(fixture, "code");
	assert_int_equal(set(fixture, FIRST_PID, &file), 0);
	assert_int_equal(set(fixture, FIRST_PID + 1, &file), 0);
	uprobed_files_drop(fixture->files, FIRST_PID, SESSION_PROBE_LOADER);
	uprobed_files_drop(fixture->files, FIRST_PID + 1, SESSION_PROBE_CONTEXT);
	assert_int_equal(hits(fixture, &file), 1);
	uprobed_files_drop(fixture->files, FIRST_PID, SESSION_PROBE_CONTEXT);
	assert_int_equal(hits(fixture, &file), 0);
	assert_int_equal(set(fixture, FIRST_PID, &file), 0);
	assert_int_equal(hits(fixture, &file), 1);
	unmap_file(&file);
}

/* Answers for a file: what is known of it, and, as of now, what is so. */
struct answers {
	uint64_t known, fresh;
	int known_error, fresh_error;
	size_t fresh_count; /* how often it was asked as of now */
};

static int answer(void *argument, bool is_fresh, uint64_t *ret_inode)
{
	struct answers *answers = argument;

	answers->fresh_count += is_fresh;
	*ret_inode = is_fresh ? answers->fresh : answers->known;
	return is_fresh ? answers->fresh_error : answers->known_error;
}

static struct session_probe answered_probe(const struct code_file *file, struct answers *answers)
{
	return (struct session_probe){ .kind = SESSION_PROBE_CONTEXT,
				       .fd = file->fd,
				       .identify = answer,
				       .file = answers,
				       .file_offsets = OFFSETS,
				       .count = 1,
				       .error = 1 };
}

static void who_answers_for_a_file_is_asked_as_of_now_before_it_is_probed(void **state)
{
	struct fixture *fixture = *state;
	struct code_file file;
	struct answers answers[2] = { { .known = 7, .fresh = 8 }, { .known = 8 } };
	struct session_probe probe;

	make_file(fixture, "code");
	file = map_file(fixture, "code");
	probe = answered_probe(&file, &answers[0]);
	uprobed_files_set(fixture->files, FIRST_PID, &probe, 1);
	assert_int_equal(probe.error, 0);
	assert_int_equal(answers[0].fresh_count, 1);
	/* It is the one that it is now. */
	probe = answered_probe(&file, &answers[1]);
	uprobed_files_set(fixture->files, FIRST_PID + 1, &probe, 1);
	assert_int_equal(answers[1].fresh_count, 0);
	assert_int_equal(uprobed_files_count(fixture->files), 1);
	answers[0].known = 9;
	probe = answered_probe(&file, &answers[0]);
	uprobed_files_set(fixture->files, FIRST_PID + 2, &probe, 1);
	assert_int_equal(uprobed_files_count(fixture->files), 1);
	assert_int_equal(hits(fixture, &file), 1);
	/* What it refuses to say is said of the probe, and others stay. */
	answers[0].fresh_error = -EOPNOTSUPP;
	probe = answered_probe(&file, &answers[0]);
	uprobed_files_set(fixture->files, FIRST_PID + 3, &probe, 1);
	assert_int_equal(probe.error, -EOPNOTSUPP);
	answers[0].known_error = -EIO;
	answers[0].fresh_error = 0;
	probe = answered_probe(&file, &answers[0]);
	uprobed_files_set(fixture->files, FIRST_PID + 3, &probe, 1);
	assert_int_equal(probe.error, -EIO);
	assert_int_equal(uprobed_files_count(fixture->files), 1);
	unmap_file(&file);
}

static void a_process_has_no_more_than_16_of_16_places_each(void **state)
{
	struct fixture *fixture = *state;
	struct session_probe probes[SESSION_PROBES_MAX + 1];
	struct answers answers[SESSION_PROBES_MAX + 1];
	uint64_t offsets[SESSION_PROBE_OFFSETS_MAX + 1];
	struct code_file file;

	make_file(fixture, "code");
	file = map_file(fixture, "code");
	for (size_t i = 0; i < SESSION_PROBES_MAX + 1; i++) {
		answers[i] = (struct answers){ .known = 100 + i, .fresh = 100 + i };
		probes[i] = answered_probe(&file, &answers[i]);
	}
	uprobed_files_set(fixture->files, FIRST_PID, probes, SESSION_PROBES_MAX + 1);
	for (size_t i = 0; i < SESSION_PROBES_MAX; i++)
		assert_int_equal(probes[i].error, 0);
	assert_int_equal(probes[SESSION_PROBES_MAX].error, -E2BIG);
	assert_int_equal(uprobed_files_count(fixture->files), SESSION_PROBES_MAX);
	assert_int_equal(hits(fixture, &file), SESSION_PROBES_MAX);
	uprobed_files_release(fixture->files, FIRST_PID);
	assert_int_equal(hits(fixture, &file), 0);

	/* Of the emulated instruction, and of bytes that nobody runs. */
	for (size_t i = 0; i < SESSION_PROBE_OFFSETS_MAX + 1; i++)
		offsets[i] = i ? 256 + 16 * i : 0;
	probes[0].file_offsets = offsets;
	probes[0].count = SESSION_PROBE_OFFSETS_MAX + 1;
	uprobed_files_set(fixture->files, FIRST_PID, probes, 1);
	assert_int_equal(probes[0].error, -ENOSPC);
	probes[0].count = SESSION_PROBE_OFFSETS_MAX;
	uprobed_files_set(fixture->files, FIRST_PID, probes, 1);
	assert_int_equal(probes[0].error, 0);
	assert_int_equal(hits(fixture, &file), 1);
	unmap_file(&file);
}

static void so_many_files_have_probes_and_not_one_more(void **state)
{
	struct fixture *fixture = *state;
	struct answers answers = { 0 };
	struct session_probe probe;
	struct code_file file;

	/* At no place, which costs the kernel nothing, and which links do not take. */
	if (fixture->has_multi)
		return;
	make_file(fixture, "code");
	file = map_file(fixture, "code");
	for (uint64_t i = 1; i <= UPROBED_FILES_MAX + 1; i++) {
		answers.known = answers.fresh = i;
		probe = answered_probe(&file, &answers);
		probe.count = 0;
		uprobed_files_set(fixture->files, FIRST_PID + (pid_t)i, &probe, 1);
		assert_int_equal(probe.error, i <= UPROBED_FILES_MAX ? 0 : -ENOSPC);
	}
	/* One that has them already takes no room. */
	answers.known = 1;
	uprobed_files_set(fixture->files, FIRST_PID, &probe, 1);
	assert_int_equal(probe.error, 0);
	for (pid_t i = 0; i <= UPROBED_FILES_MAX + 1; i++)
		uprobed_files_release(fixture->files, FIRST_PID + i);
	assert_int_equal(uprobed_files_count(fixture->files), 0);
	unmap_file(&file);
}

static void a_child_that_is_known_keeps_its_own(void **state)
{
	struct fixture *fixture = *state;
	struct code_file one, other;

	make_file(fixture, "one");
	make_file(fixture, "other");
	one = map_file(fixture, "one");
	other = map_file(fixture, "other");
	assert_int_equal(set(fixture, FIRST_PID, &one), 0);
	assert_int_equal(set(fixture, FIRST_PID + 1, &other), 0);
	assert_int_equal(uprobed_files_inherit(fixture->files, FIRST_PID, FIRST_PID + 1), 0);
	assert_int_equal(uprobed_files_inherit(fixture->files, FIRST_PID + 9, FIRST_PID + 2), 0);
	uprobed_files_release(fixture->files, FIRST_PID);
	assert_int_equal(hits(fixture, &one), 0);
	assert_int_equal(hits(fixture, &other), 1);
	/* Said again, they stay where they are. */
	assert_int_equal(set(fixture, FIRST_PID + 1, &other), 0);
	assert_int_equal(uprobed_files_count(fixture->files), 1);
	assert_int_equal(hits(fixture, &other), 1);
	uprobed_files_release(fixture->files, FIRST_PID + 1);
	assert_int_equal(uprobed_files_count(fixture->files), 0);
	unmap_file(&one);
	unmap_file(&other);
}

static void a_kind_whose_program_is_not_loaded_has_none(void **state)
{
	struct fixture *fixture = *state;
	struct answers answers = { .known = 7, .fresh = 7 };
	struct uprobed_files *files;
	struct correlator_bpf *skeleton = correlator_bpf__open();
	struct session_probe probe;
	struct code_file file;

	make_file(fixture, "code");
	file = map_file(fixture, "code");
	assert_non_null(skeleton);
	assert_int_equal(uprobed_files_new(skeleton, &files), 0);
	probe = answered_probe(&file, &answers);
	uprobed_files_set(files, FIRST_PID, &probe, 1);
	assert_int_equal(probe.error, 0);
	assert_int_equal(answers.fresh_count, 0);
	assert_int_equal(uprobed_files_count(files), 0);
	uprobed_files_free(files);
	correlator_bpf__destroy(skeleton);
	unmap_file(&file);
}

/* By the names in its types, without asking for one. */
static void links_take_many_places_where_the_kernel_knows_of_such(void **state)
{
	static const char name[] = "\0bpf_uprobe_multi_link";
	int fd = open(FEATURE_BTF_PATH, O_RDONLY | O_CLOEXEC);
	char *types = NULL;
	size_t size = 0;
	ssize_t got;

	(void)state;
	assert_true(fd >= 0);
	do {
		types = realloc(types, size + (1 << 20));
		assert_non_null(types);
		got = read(fd, types + size, 1 << 20);
		assert_true(got >= 0);
		size += (size_t)got;
	} while (got > 0);
	assert_int_equal(ask_kernel().has_uprobe_multi,
			 memmem(types, size, name, sizeof(name)) != NULL);
	free(types);
	(void)close(fd);
}

static void a_file_that_cannot_be_mapped_is_not_identified(void **state)
{
	struct fixture *fixture = *state;
	int program = bpf_program__fd(fixture->skeleton->progs.identify_file);
	int pipes[2];
	uint64_t inode = 77;

	assert_int_equal(uprobed_file_identify(program, -1, &inode), -EBADF);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(uprobed_file_identify(program, pipes[0], &inode), -ENODEV);
	assert_int_equal(inode, 77);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
}

/* Has the kernel's lock on our mappings as often as it can. */
static void *change_mappings(void *is_over)
{
	while (!atomic_load((atomic_bool *)is_over)) {
		void *page = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (page != MAP_FAILED)
			(void)munmap(page, PAGE_BYTES);
	}
	return NULL;
}

static void a_file_is_the_same_while_other_mappings_change(void **state)
{
	struct fixture *fixture = *state;
	int program = bpf_program__fd(fixture->skeleton->progs.identify_file);
	atomic_bool is_over = false;
	struct code_file file;
	uint64_t inode, again;
	pthread_t thread;

	make_file(fixture, "code");
	file = map_file(fixture, "code");
	assert_int_equal(uprobed_file_identify(program, file.fd, &inode), 0);
	assert_int_equal(pthread_create(&thread, NULL, change_mappings, &is_over), 0);
	for (int i = 0; i < 20000; i++) {
		int r = uprobed_file_identify(program, file.fd, &again);

		if (r != 0 || again != inode)
			fail_msg("at %d: %s, inode %#" PRIx64 ", not %#" PRIx64, i, strerror(-r),
				 again, inode);
	}
	atomic_store(&is_over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	unmap_file(&file);
}

#define TEST(function) \
	cmocka_unit_test_prestate_setup_teardown(function, set_up, tear_down, fixture)

static int run(struct fixture *fixture, const char *name)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_probed_once_for_all_that_map_it),
		TEST(a_forked_child_keeps_it),
		TEST(two_containers_over_one_image_share_it),
		TEST(a_deleted_file_is_let_go_with_the_last_that_maps_it),
		TEST(deploys_do_not_add_up),
		TEST(no_room_is_said_of_that_process_alone),
		TEST(who_is_lean_needs_none),
		TEST(who_answers_for_a_file_is_asked_as_of_now_before_it_is_probed),
		TEST(a_process_has_no_more_than_16_of_16_places_each),
		TEST(so_many_files_have_probes_and_not_one_more),
		TEST(a_child_that_is_known_keeps_its_own),
		TEST(a_kind_whose_program_is_not_loaded_has_none),
		TEST(links_take_many_places_where_the_kernel_knows_of_such),
		TEST(a_file_that_cannot_be_mapped_is_not_identified),
		TEST(a_file_is_the_same_while_other_mappings_change),
	};

	int failed = EXIT_FAILURE;

	/* The same programs for all: to verify them is what takes long. */
	if (load(fixture) == 0)
		failed = cmocka_run_group_tests_name(name, tests, NULL, NULL);
	correlator_bpf__destroy(fixture->skeleton);
	return failed;
}

int main(int argument_count, char **arguments)
{
	struct fixture fixture = { .deploys = DEPLOYS };
	int failed = 0;

	if (argument_count == 3 && !strcmp(arguments[1], "--deploys"))
		fixture.deploys = strtoul(arguments[2], NULL, 10);
	kernel_test_require();
	/* What is mounted here is nobody else's. */
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return EXIT_FAILURE;
	if (ask_kernel().has_uprobe_multi) {
		fixture.has_multi = true;
		failed = run(&fixture, "uprobe_multi links");
		fixture.has_multi = false;
	}
	return run(&fixture, "perf events") + failed;
}
