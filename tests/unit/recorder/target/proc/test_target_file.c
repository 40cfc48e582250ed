/* SPDX-License-Identifier: GPL-2.0-only */
/* target_file, by the agent, over files that this process maps. */
#include "recorder/target/proc/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "recorder/target/hanging_file.h"
#include "recorder/target/proc/agent.h"

UNIT_TEST_ALONE;

enum {
	FILE_BYTES = 600000, /* three turns of the agent */
};

/* Nobody waits for a minute: time is a number. */
static uint64_t now_ns = 1;

uint64_t clock_monotonic_ns(void)
{
	return now_ns;
}

static uint64_t real_ns(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

struct bench {
	char path[64];
	int fd;
	void *pages;
	struct memory_map_entry entry;
};

static uint8_t byte_at(size_t at)
{
	return (uint8_t)(at * 2654435761U >> 16);
}

static void map_file(struct bench *bench)
{
	struct stat status;

	assert_int_equal(fstat(bench->fd, &status), 0);
	bench->pages = mmap(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE, bench->fd, 0);
	assert_true(bench->pages != MAP_FAILED);
	bench->entry = (struct memory_map_entry){
		.start = (uintptr_t)bench->pages,
		.end = ((uintptr_t)bench->pages + FILE_BYTES + 4095) & ~4095UL,
		.inode = status.st_ino,
		.path = bench->path,
	};
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	uint8_t *bytes = malloc(FILE_BYTES);

	assert_non_null(bench);
	assert_non_null(bytes);
	for (size_t i = 0; i < FILE_BYTES; i++)
		bytes[i] = byte_at(i);
	(void)snprintf(bench->path, sizeof(bench->path), "/tmp/test_target_file-XXXXXX");
	bench->fd = mkstemp(bench->path);
	assert_true(bench->fd >= 0);
	assert_int_equal(write(bench->fd, bytes, FILE_BYTES), FILE_BYTES);
	free(bytes);
	map_file(bench);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	agent_set_identifier(NULL, -1);
	assert_int_equal(munmap(bench->pages, FILE_BYTES), 0);
	(void)close(bench->fd);
	(void)unlink(bench->path);
	free(bench);
	return 0;
}

static struct target_file *open_file(const struct bench *bench)
{
	struct target_file *file;

	assert_int_equal(target_file_open(getpid(), &bench->entry, &file), 0);
	return file;
}

static void assert_bytes(struct target_file *file, size_t offset, size_t size_bytes)
{
	uint8_t *bytes = malloc(size_bytes);

	assert_non_null(bytes);
	assert_int_equal(target_file_read(file, offset, bytes, size_bytes), 0);
	for (size_t i = 0; i < size_bytes; i++)
		assert_int_equal(bytes[i], byte_at(offset + i));
	free(bytes);
}

#define MAPPED(test) TEST_WITH(test, set_up, tear_down)

MAPPED(target_file_is_read_through_path_only_descriptor)
{
	const struct bench *bench = *state;
	struct target_file *file = open_file(bench);
	uint8_t byte;

	assert_true(fcntl(target_file_fd(file), F_GETFL) & O_PATH);
	assert_int_equal(target_file_size_bytes(file), FILE_BYTES);
	assert_bytes(file, 0, FILE_BYTES);
	assert_bytes(file, 12345, 1);
	assert_int_equal(target_file_read(file, FILE_BYTES, &byte, 1), -EFAULT);
	assert_int_equal(target_file_read(file, UINT64_MAX, &byte, 1), -EINVAL);
	target_file_close(file);
}

MAPPED(target_file_deleted_is_opened_through_its_mapping)
{
	const struct bench *bench = *state;
	struct target_file *file;
	int r, fd;

	assert_int_equal(unlink(bench->path), 0);
	fd = open(bench->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	r = target_file_open(getpid(), &bench->entry, &file);
	(void)close(fd);
	/* Without the capability that map_files takes another one at its path is not it. */
	if (geteuid() != 0) {
		assert_int_equal(r, -ESTALE);
		return;
	}
	assert_int_equal(r, 0);
	assert_bytes(file, 0, FILE_BYTES);
	target_file_close(file);
}

MAPPED(target_file_truncated_returns_remaining_bytes)
{
	const struct bench *bench = *state;
	struct target_file *file = open_file(bench);
	uint8_t bytes[8];

	assert_false(target_file_has_changed(file));
	assert_int_equal(ftruncate(bench->fd, 100), 0);
	assert_true(target_file_has_changed(file));
	assert_bytes(file, 92, 8);
	assert_int_equal(target_file_read(file, 93, bytes, sizeof(bytes)), -EFAULT);
	target_file_close(file);
}

MAPPED(target_file_has_changed_after_write_or_mode_change)
{
	const struct bench *bench = *state;
	const struct timespec past[] = { { .tv_sec = 1000 }, { .tv_sec = 1000, .tv_nsec = 5 } };
	struct target_file *file = open_file(bench);
	struct stat before, after;

	/* As long as before, with other bytes; of the same time, with another mode. */
	assert_int_equal(pwrite(bench->fd, "x", 1, 0), 1);
	assert_true(target_file_has_changed(file));
	target_file_close(file);
	assert_int_equal(futimens(bench->fd, past), 0);
	file = open_file(bench);
	assert_false(target_file_has_changed(file));
	assert_int_equal(fstat(bench->fd, &before), 0);
	do {
		assert_int_equal(fchmod(bench->fd, 0640), 0);
		assert_int_equal(fstat(bench->fd, &after), 0);
	} while (memcmp(&before.st_ctim, &after.st_ctim, sizeof(after.st_ctim)) == 0);
	assert_true(target_file_has_changed(file));
	target_file_close(file);
}

/* By its path alone: no mapping is there. */
static int open_by_path(const char *path, uint64_t inode)
{
	const struct memory_map_entry entry = {
		.start = 0x1000, .end = 0x2000, .inode = inode, .path = path
	};
	struct target_file *file;
	int r = target_file_open(getpid(), &entry, &file);

	if (r == 0)
		target_file_close(file);
	return r;
}

static uint64_t inode_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_ino;
}

MAPPED(target_file_rejects_other_inode_and_special_file)
{
	const struct bench *bench = *state;
	uint64_t inode = inode_of(bench->path);

	assert_int_equal(open_by_path(bench->path, inode), 0);
	assert_int_equal(open_by_path(bench->path, inode + 1), -ESTALE);
	assert_int_equal(open_by_path("/no/such/file", inode), -ENOENT);
	assert_int_equal(open_by_path("[stack]", inode), -EINVAL);
	assert_int_equal(open_by_path(bench->path, 0), -EINVAL);
	assert_int_equal(open_by_path("/dev/null", inode_of("/dev/null")), -ESTALE);
	assert_int_equal(unlink(bench->path), 0);
	assert_int_equal(mkfifo(bench->path, 0600), 0);
	assert_int_equal(open_by_path(bench->path, inode_of(bench->path)), -ESTALE);
}

MAPPED(target_file_rejects_path_that_is_too_long)
{
	const struct bench *bench = *state;
	char path[2 * PATH_MAX];

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(open_by_path(path, bench->entry.inode), -ENOENT);
}

/* Up to the last byte that a name has room for. */
MAPPED(target_file_never_truncates_path)
{
	struct agent_file_names names;
	char path[sizeof(names.by_path)], root[32];
	size_t left = sizeof(path) - (size_t)sprintf(root, "/proc/%d/root", getpid());

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[left] = '\0';
	assert_int_equal(open_by_path(path, 7), -ENOENT);
	path[left - 1] = '\0';
	assert_int_equal(open_by_path(path, 7), -ENAMETOOLONG);
}

MAPPED(target_file_closes_descriptor_zero_and_no_other)
{
	const struct bench *bench = *state;
	/* So that the agent is there. */
	struct target_file *other = open_file(bench), *file;
	int saved = dup(STDIN_FILENO);

	assert_int_equal(open_by_path("/no/such/file", 7), -ENOENT);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	(void)close(STDIN_FILENO);
	file = open_file(bench);
	assert_int_equal(target_file_fd(file), STDIN_FILENO);
	target_file_close(file);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	(void)close(saved);
	target_file_close(other);
	target_file_close(NULL);
}

/* Maps name what is in its root by the way that leads there from ours. */
MAPPED(target_file_resolves_path_in_root_of_process)
{
	const struct bench *bench = *state;
	char folder[] = "/tmp/test_target_file-root-XXXXXX", path[64], other[64];
	struct memory_map_entry entry = { .start = 0x1000, .end = 0x2000, .path = path };
	struct target_file *file;
	int life[2], ready[2];
	char byte;
	pid_t child;

	if (geteuid()) {
		print_message("chroot(2) needs root\n");
		skip();
	}
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/file", folder);
	(void)snprintf(other, sizeof(other), "%s/file", folder + strlen("/tmp"));
	assert_int_equal(link(bench->path, path), 0);
	entry.inode = inode_of(path);
	assert_int_equal(pipe(life), 0);
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		(void)close(life[1]);
		if (chroot(folder) || write(ready[1], "x", 1) != 1)
			_exit(1);
		_exit((int)read(life[0], &byte, 1));
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(target_file_open(child, &entry, &file), 0);
	assert_int_equal(target_file_key(file).inode, entry.inode);
	target_file_close(file);
	/* As it names it itself, and what is not below it. */
	entry.path = "/file";
	assert_int_equal(target_file_open(child, &entry, &file), 0);
	target_file_close(file);
	entry.path = other;
	assert_int_equal(target_file_open(child, &entry, &file), -ENOENT);
	/* Nor what is below another one whose name is as long, or only begins with its. */
	entry.path = path;
	path[1] = 'x';
	assert_int_equal(target_file_open(child, &entry, &file), -ENOENT);
	path[1] = 't';
	(void)snprintf(other, sizeof(other), "%s_/file", folder);
	entry.path = other;
	assert_int_equal(target_file_open(child, &entry, &file), -ENOENT);
	(void)close(life[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	(void)close(life[0]);
	(void)close(ready[0]);
	(void)close(ready[1]);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

MAPPED(target_file_key_equals_key_of_open_file)
{
	const struct bench *bench = *state;
	struct target_file *file = open_file(bench);
	struct target_file_key key, own = target_file_key(file);
	struct memory_map_entry entry = bench->entry;

	assert_int_equal(target_file_find_key(getpid(), &bench->entry, &key), 0);
	assert_memory_equal(&key, &own, sizeof(key));
	assert_int_equal(own.inode, bench->entry.inode);
	/* Where no mapping is, by its path. */
	key = (struct target_file_key){ 0 };
	entry.start = 0x1000;
	entry.end = 0x2000;
	assert_int_equal(target_file_find_key(getpid(), &entry, &key), 0);
	assert_memory_equal(&key, &own, sizeof(key));
	entry.inode++;
	assert_int_equal(target_file_find_key(getpid(), &entry, &key), -ESTALE);
	entry.path = "[heap]";
	assert_int_equal(target_file_find_key(getpid(), &entry, &key), -EINVAL);
	assert_memory_equal(&key, &own, sizeof(key));
	target_file_close(file);
}

/* Who writes to a file that is on lease waits for its holder, for 45 s; so does who opens it. */
MAPPED(target_file_open_does_not_wait_for_lease)
{
	const struct bench *bench = *state;
	uint64_t before_ns = real_ns();
	struct target_file *file;

	(void)signal(SIGIO, SIG_IGN);
	assert_int_equal(munmap(bench->pages, FILE_BYTES), 0);
	if (fcntl(bench->fd, F_SETLEASE, F_WRLCK) == 0)
		assert_int_equal(open_by_path(bench->path, bench->entry.inode), -EAGAIN);
	assert_int_equal(fcntl(bench->fd, F_SETLEASE, F_UNLCK), 0);
	map_file(*state);
	assert_true(real_ns() - before_ns < NS_PER_S);
	file = open_file(bench);
	assert_bytes(file, 0, 16);
	target_file_close(file);
}

/* In the agent: it has what it was given, which is no file, and the file. */
static int identify(int identifier, int fd, uint64_t *ret_identity)
{
	struct stat given, status;

	if (fstat(identifier, &given) || !S_ISCHR(given.st_mode))
		return -EBADF;
	if (fstat(fd, &status))
		return -errno;
	*ret_identity = status.st_ino;
	return 0;
}

static int refuse(int identifier, int fd, uint64_t *ret_identity)
{
	(void)identifier;
	(void)fd;
	(void)ret_identity;
	return -EOPNOTSUPP;
}

MAPPED(target_file_identifies_by_given_function)
{
	const struct bench *bench = *state;
	struct target_file *file = open_file(bench);
	int given = open("/dev/null", O_RDONLY | O_CLOEXEC);
	uint64_t inode = 0;

	assert_int_equal(target_file_identify(file, false, &inode), -ENOSYS);
	agent_set_identifier(identify, given);
	assert_int_equal(target_file_identify(file, false, &inode), 0);
	assert_int_equal(inode, bench->entry.inode);
	agent_set_identifier(refuse, bench->fd);
	assert_int_equal(target_file_identify(file, false, &inode), 0);
	assert_int_equal(target_file_identify(file, true, &inode), -EOPNOTSUPP);
	agent_set_identifier(NULL, -1);
	assert_int_equal(target_file_identify(file, false, &inode), -EOPNOTSUPP);
	/* What could not be said now is no refusal, and what was said before is not said again. */
	assert_int_equal(target_file_identify(file, true, &inode), -ENOSYS);
	assert_int_equal(target_file_identify(file, false, &inode), -ENOSYS);
	agent_set_identifier(identify, given);
	assert_int_equal(target_file_identify(file, false, &inode), 0);
	/* Asked anew in vain, what was known is so no more. */
	agent_set_identifier(NULL, -1);
	assert_int_equal(target_file_identify(file, true, &inode), -ENOSYS);
	assert_int_equal(target_file_identify(file, false, &inode), -ENOSYS);
	inode = 0;
	agent_set_identifier(identify, given);
	assert_int_equal(target_file_identify(file, false, &inode), 0);
	assert_int_equal(inode, bench->entry.inode);
	target_file_close(file);
	(void)close(given);
}

MAPPED(target_file_gives_up_on_hanging_process_only)
{
	const struct bench *bench = *state;
	struct target_file *file = open_file(bench), *other = open_file(bench), *none;
	uint64_t inode, before_ns = real_ns(), spent_ns;
	struct target_file_key key;
	pid_t process = fork();
	uint8_t byte;

	assert_true(process >= 0);
	if (process == 0)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (process == 0)
		(void)pause();
	target_file_ask_for(file, process);
	agent_set_identifier(wait_for_ever, bench->fd);
	assert_int_equal(target_file_identify(file, false, &inode), -ETIMEDOUT);
	spent_ns = real_ns() - before_ns;
	assert_in_range(spent_ns, 400 * NS_PER_MS, 3 * NS_PER_S);
	/* At once. */
	before_ns = real_ns();
	assert_true(target_file_is_late(file));
	assert_int_equal(target_file_identify(file, true, &inode), -ETIMEDOUT);
	assert_int_equal(target_file_read(file, 0, &byte, 1), -ETIMEDOUT);
	assert_true(agent_has_given_up(process));
	assert_int_equal(target_file_open(process, &bench->entry, &none), -ETIMEDOUT);
	/* Which file it is says a link, without anybody's help. */
	assert_int_equal(target_file_find_key(process, &bench->entry, &key), 0);
	assert_int_equal(key.inode, bench->entry.inode);
	assert_false(agent_has_given_up(getpid()));
	assert_false(target_file_is_late(other));
	assert_bytes(other, 0, FILE_BYTES);
	assert_true(real_ns() - before_ns < NS_PER_S);
	target_file_close(open_file(bench));
	/* For a minute. */
	now_ns += 60 * NS_PER_S - 1;
	assert_true(target_file_is_late(file));
	now_ns++;
	assert_false(target_file_is_late(file));
	target_file_ask_for(file, getpid());
	assert_bytes(file, 0, 16);
	target_file_close(file);
	target_file_close(other);
	(void)kill(process, SIGKILL);
	assert_int_equal(waitpid(process, NULL, 0), process);
}
