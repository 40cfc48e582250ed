/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/html/page_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"

static const char doctype[] = "<!doctype html>";

static bool is_standard_output(const char *path)
{
	return strcmp(path, "-") == 0;
}

/* There, and nothing that a name could be given to another file of. */
static bool is_special(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static bool is_replaceable(FILE *file)
{
	char begin[sizeof(doctype)] = "";
	size_t length = fread(begin, 1, sizeof(doctype) - 1, file);

	return length == 0 || strcasecmp(begin, doctype) == 0;
}

int page_output_check(const char *path)
{
	_cleanup_file_ FILE *file = NULL;

	if (is_standard_output(path) || is_special(path))
		return 0;
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? 0 : log_error_errno(errno, "cannot write %s", path);
	if (!is_replaceable(file))
		return log_error(
			EEXIST,
			"%s is there, and is no page: it is not overwritten. The page's name "
			"follows --html, recordings come after it",
			path);
	return 0;
}

static int print_and_close(FILE *file, const char *path, const struct page_recording *recordings,
			   size_t count)
{
	int r = page_print(recordings, count, file);
	bool has_failed = ferror(file);

	if (fclose(file) != 0 && r == 0)
		r = -errno;
	else if (has_failed && r == 0)
		r = -EIO;
	return r < 0 ? log_error_errno(r, "cannot write %s", path) : 0;
}

static int write_special(const char *path, const struct page_recording *recordings, size_t count)
{
	FILE *file = fopen(path, "we");

	return file ? print_and_close(file, path, recordings, count)
		    : log_error_errno(errno, "cannot write %s", path);
}

/* As a new file would be that others may read, as far as umask(2) lets them. The name's XXXXXX are
 * replaced. NULL and errno. */
static FILE *open_beside(char *name)
{
	_cleanup_fd_ int fd = mkostemp(name, O_CLOEXEC);
	mode_t mask = umask(077);
	FILE *file;

	(void)umask(mask);
	if (fd < 0)
		return NULL;
	(void)fchmod(fd, 0666 & ~mask);
	file = fdopen(fd, "w");
	if (!file) {
		(void)unlink(name);
		return NULL;
	}
	(void)TAKE_FD(fd);
	return file;
}

static int write_file(const char *path, const struct page_recording *recordings, size_t count)
{
	_cleanup_free_ char *beside = NULL, *real = realpath(path, NULL);
	FILE *file;
	int r;

	/* A link stays one. */
	if (real)
		path = real;
	if (asprintf(&beside, "%s.XXXXXX", path) < 0) {
		beside = NULL;
		return log_error_errno(ENOMEM, "cannot write %s", path);
	}
	file = open_beside(beside);
	if (!file)
		return log_error_errno(errno, "cannot write %s", path);
	r = print_and_close(file, path, recordings, count);
	if (r == 0 && rename(beside, path) < 0)
		r = log_error_errno(errno, "cannot write %s", path);
	if (r < 0)
		(void)unlink(beside);
	return r;
}

int page_output_write(const char *path, const struct page_recording *recordings, size_t count)
{
	int r;

	if (is_standard_output(path)) {
		r = page_print(recordings, count, stdout);
		return r < 0 ? log_error_errno(r, "cannot report") : 0;
	}
	return is_special(path) ? write_special(path, recordings, count)
				: write_file(path, recordings, count);
}
