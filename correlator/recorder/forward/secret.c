/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"

enum {
	LOOK_MS = 50
};

static int check_text(const char *text, size_t size_bytes, const char *name)
{
	if (size_bytes == 0)
		return log_error(EINVAL, "%s is empty: a secret was expected", name);
	if (size_bytes > SECRET_BYTES_MAX)
		return log_error(EINVAL, "%s has more than %d characters", name, SECRET_BYTES_MAX);
	if (memchr(text, '\0', size_bytes))
		return log_error(EINVAL, "%s holds a NUL character: it is not text", name);
	return 0;
}

static int copy(const char *text, size_t size_bytes, const char *name, char **ret_secret)
{
	int r = check_text(text, size_bytes, name);

	if (r == 0) {
		*ret_secret = strndup(text, size_bytes);
		r = *ret_secret ? 0 : log_error_errno(ENOMEM, "cannot keep %s", name);
	}
	return r;
}

/* A pipe may have no writer yet. 0, or -EINTR. */
static int await_writer(int fd, const char *path)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	bool is_said = false;

	while (poll(&poll_fd, 1, LOOK_MS) == 0) {
		if (signals_are_pending())
			return -EINTR;
		if (!is_said)
			log_info("waiting for the secret in %s", path);
		is_said = true;
	}
	return 0;
}

/* Reads to the end, or until text is full. Returns the size, or -errno. */
static ssize_t read_all(int fd, const char *path, char *text, size_t text_bytes)
{
	size_t size_bytes = 0;
	ssize_t got = 1;

	while (got != 0 && size_bytes < text_bytes) {
		int r = await_writer(fd, path);

		if (r < 0)
			return r;
		got = read(fd, text + size_bytes, text_bytes - size_bytes);
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		size_bytes += got > 0 ? (size_t)got : 0;
	}
	return (ssize_t)size_bytes;
}

static int read_file(const char *path, char **ret_secret)
{
	/* Holds the newline, and one byte more than allowed. */
	char text[SECRET_BYTES_MAX + 2];
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;
	ssize_t size_bytes;
	int r;

	if (fd < 0)
		return log_error_errno(errno, "cannot read the secret in %s", path);
	if (fstat(fd, &status) == 0 && (status.st_mode & S_IROTH))
		log_warning("everybody can read the secret in %s: chmod 600 helps", path);
	size_bytes = read_all(fd, path, text, sizeof(text));
	if (size_bytes < 0)
		r = log_error_errno((int)size_bytes, "cannot read the secret in %s", path);
	else
		r = copy(text, (size_t)size_bytes - (size_bytes && text[size_bytes - 1] == '\n'),
			 path, ret_secret);
	explicit_bzero(text, sizeof(text));
	return r;
}

int secret_read(const char *path, const char *variable, char **ret_secret)
{
	char *value = getenv(variable);
	int r = 0;

	if (path)
		r = read_file(path, ret_secret);
	else if (value)
		r = copy(value, strlen(value), variable, ret_secret);
	else
		*ret_secret = NULL;
	if (value) {
		explicit_bzero(value, strlen(value));
		(void)unsetenv(variable);
	}
	return r;
}

void secret_free(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}
