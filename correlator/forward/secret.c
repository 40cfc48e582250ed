/* SPDX-License-Identifier: GPL-2.0-only */
#include "forward/secret.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"

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

static int read_file(const char *path, char **ret_secret)
{
	/* A byte more, and the newline, than may be there. */
	char text[SECRET_BYTES_MAX + 2];
	_cleanup_file_ FILE *file = fopen(path, "re");
	struct stat status;
	size_t size_bytes;
	int r;

	if (!file)
		return log_error_errno(errno, "cannot read the secret in %s", path);
	if (fstat(fileno(file), &status) == 0 && (status.st_mode & S_IROTH))
		log_warning("everybody can read the secret in %s: chmod 600 helps", path);
	/* No copy of it in the stream's buffer. */
	(void)setvbuf(file, NULL, _IONBF, 0);
	size_bytes = fread(text, 1, sizeof(text), file);
	if (ferror(file))
		r = log_error_errno(EIO, "cannot read the secret in %s", path);
	else
		r = copy(text, size_bytes - (size_bytes && text[size_bytes - 1] == '\n'), path,
			 ret_secret);
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
