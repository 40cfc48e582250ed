/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/html/page_output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/output_file.h"

static const char doctype[] = "<!doctype html>";

/* Whether path exists and is not a regular file, so that no other file can take its name. */
static bool is_special(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
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

	if (output_file_is_standard(path))
		return 0;
	if (is_special(path))
		return output_file_look(path);
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

static int write_special(const char *path, const struct page_recording *recordings, size_t count)
{
	_cleanup_fd_ int fd = output_file_open(path, 0);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	bool has_failed;
	int r;

	if (!file)
		return fd < 0 ? fd : log_error_errno(errno, "cannot write %s", path);
	(void)TAKE_FD(fd);
	r = page_print(recordings, count, file);
	has_failed = ferror(file);
	if (fclose(file) != 0 && r == 0)
		r = -errno;
	if (has_failed && r == 0)
		r = -EIO;
	return r < 0 ? log_error_errno(r, "cannot write %s", path) : 0;
}

static int write_file(const char *path, const struct page_recording *recordings, size_t count)
{
	struct output_file file;
	int r = output_file_begin(path, 0600, &file);

	if (r == 0)
		r = output_file_end(&file, page_print(recordings, count, file.file));
	return r < 0 ? log_error_errno(r, "cannot write %s", path) : 0;
}

int page_output_write(const char *path, const struct page_recording *recordings, size_t count)
{
	int r;

	if (output_file_is_standard(path)) {
		r = page_print(recordings, count, stdout);
		return r < 0 ? log_error_errno(r, "cannot report") : 0;
	}
	return is_special(path) ? write_special(path, recordings, count)
				: write_file(path, recordings, count);
}
