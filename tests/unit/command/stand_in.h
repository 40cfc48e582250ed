/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Live processes that stand in for Ruby: copies of the test's own executable, which defines what
 * makes a Ruby that publishes, under a name with "ruby" in it; and a shell that only is called so.
 */
#pragma once

#include <fcntl.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* What the test's executable does under that name, by its first argument. */
#define STAND_IN_SLEEP ((char[]){ "sleep" })
#define STAND_IN_EXEC  ((char[]){ "exec" }) /* then FILE: becomes it */
#define STAND_IN_LOOK  ((char[]){ "look" }) /* the test's */

enum {
	STAND_IN_PATH_BYTES = 128
};

struct stand_in {
	char folder[32];
	char name[16]; /* of all three files, and so comm: odd, and of this run only */
	char ruby[STAND_IN_PATH_BYTES]; /* publishes */
	char plain[STAND_IN_PATH_BYTES]; /* Ruby without the variable */
	char shell[STAND_IN_PATH_BYTES]; /* not Ruby */
};

extern const char ruby_version[];
extern int rb_sym_all_symbols;
extern __thread void *ruby_profiler_state;
__attribute__((used)) const char ruby_version[] = "3.4.5-stand-in-for-tests";
__attribute__((used)) int rb_sym_all_symbols = 1;
__attribute__((used)) __thread void *ruby_profiler_state;

static inline void stand_in_copy(const char *from, const char *to)
{
	char command[3 * STAND_IN_PATH_BYTES];

	(void)snprintf(command, sizeof(command), "cp -L '%s' '%s'", from, to);
	assert_int_equal(system(command), 0);
}

/* A Ruby without the gem: the name of the variable is another one. */
static inline void stand_in_rename(const char *path)
{
	static const char name[] = "ruby_profiler_state";
	struct stat status;
	char *bytes;
	FILE *file = fopen(path, "r+e");

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &status), 0);
	bytes = malloc((size_t)status.st_size);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, (size_t)status.st_size, 1, file), 1);
	for (char *end = bytes + status.st_size, *at = bytes;
	     (at = memmem(at, (size_t)(end - at), name, sizeof(name)));)
		*at = 'R';
	rewind(file);
	assert_int_equal(fwrite(bytes, (size_t)status.st_size, 1, file), 1);
	assert_int_equal(fclose(file), 0);
	free(bytes);
}

static inline void stand_in_place(const struct stand_in *files, const char *folder,
				  char ret_path[static STAND_IN_PATH_BYTES])
{
	(void)snprintf(ret_path, STAND_IN_PATH_BYTES, "%s/%s", files->folder, folder);
	assert_int_equal(mkdir(ret_path, 0755), 0);
	(void)snprintf(ret_path, STAND_IN_PATH_BYTES, "%s/%s/%s", files->folder, folder,
		       files->name);
}

static inline void stand_in_make(struct stand_in *ret_files)
{
	struct stand_in files = { .folder = "/tmp/discovery-XXXXXX" };
	char own[32];

	assert_non_null(mkdtemp(files.folder));
	assert_int_equal(chmod(files.folder, 0755), 0);
	(void)snprintf(files.name, sizeof(files.name), "ruby) %d", getpid());
	(void)snprintf(own, sizeof(own), "/proc/%d/exe", getpid());
	stand_in_place(&files, "gem", files.ruby);
	stand_in_place(&files, "plain", files.plain);
	stand_in_place(&files, "shell", files.shell);
	stand_in_copy(own, files.ruby);
	stand_in_copy(own, files.plain);
	stand_in_rename(files.plain);
	stand_in_copy("/bin/sh", files.shell);
	*ret_files = files;
}

static inline void stand_in_remove(const struct stand_in *files)
{
	char command[STAND_IN_PATH_BYTES];

	(void)snprintf(command, sizeof(command), "rm -r '%s'", files->folder);
	assert_int_equal(system(command), 0);
}

/* 'S' once it waits for something, 'Z' once it has ended: field 3 of /proc/PID/stat. */
static inline char stand_in_state(pid_t pid)
{
	char path[32], text[512] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	(void)fclose(file);
	assert_non_null(strrchr(text, ')'));
	return strrchr(text, ')')[2];
}

/* pid 0: any. Returns once it runs the file and waits or has ended; -1: that pid cannot be had. */
static inline pid_t stand_in_start(pid_t pid, const char *path, char *const *argv, int input)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&pid,
		.set_tid_size = pid ? 1 : 0,
	};
	int gate[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	child = pid ? (pid_t)syscall(SYS_clone3, &args, sizeof(args)) : fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (input >= 0)
			(void)dup2(input, STDIN_FILENO);
		(void)execv(path, argv);
		_exit(127);
	}
	(void)close(gate[1]);
	/* Its end is closed by the exec. */
	assert_int_equal(read(gate[0], &byte, 1), 0);
	(void)close(gate[0]);
	/* The exec, though, is not done yet. */
	while (child > 0 && !strchr("SZ", stand_in_state(child)))
		(void)usleep(1000);
	return child;
}

/* Waits until the process runs the file. */
static inline void stand_in_await(pid_t pid, const char *file)
{
	char path[STAND_IN_PATH_BYTES], target[STAND_IN_PATH_BYTES] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	while (strcmp(target, file)) {
		ssize_t length = readlink(path, target, sizeof(target) - 1);

		assert_true(length > 0);
		target[length] = '\0';
	}
}

/* Waits for the end of its input, then becomes the file. */
static inline int stand_in_become(char *name, char *file)
{
	char *argv[] = { name, STAND_IN_SLEEP, NULL };
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return execv(file, argv);
}

static inline int stand_in_main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], STAND_IN_EXEC))
		return stand_in_become(argv[0], argv[2]);
	return pause();
}
