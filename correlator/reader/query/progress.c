/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/query/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/display.h"

enum {
	CALLS_BETWEEN = 1024, /* per reading of the clock */
	LINE_COLUMNS = 80, /* if the terminal does not report its width */
};

#define PATIENCE_NS  NS_PER_S
#define REFRESH_NS   (NS_PER_S / 5)
#define ERASE_TO_END "\033[K"

void progress_begin(struct progress *progress, const char *path, const char *name)
{
	struct stat status;
	int r = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &status) : stat(path, &status);

	*progress = (struct progress){ .name = name };
	if (!isatty(STDERR_FILENO))
		return;
	progress->begin_ns = clock_monotonic_ns();
	progress->next_ns = progress->begin_ns + PATIENCE_NS;
	if (r == 0 && S_ISREG(status.st_mode))
		progress->total_bytes = (uint64_t)status.st_size;
}

static size_t columns_of_terminal(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
									       : LINE_COLUMNS;
}

/* The cursor stays at the start of the line, so that a warning overwrites it. */
static void show(const struct progress *progress, uint64_t now_ns, uint64_t bytes, uint64_t records)
{
	uint64_t took_ms = (now_ns - progress->begin_ns) / NS_PER_MS;
	char read[DISPLAY_NUMBER_BYTES], total[DISPLAY_NUMBER_BYTES], rate[DISPLAY_NUMBER_BYTES];
	char name[256], part[64] = "", line[512], fitted[512];

	display_bytes((int64_t)bytes, read);
	display_bytes((int64_t)progress->total_bytes, total);
	display_number((int64_t)(records * 1000 / (took_ms > 0 ? took_ms : 1)), rate);
	(void)display_escape(progress->name, strlen(progress->name), name, sizeof(name));
	if (progress->total_bytes > 0)
		(void)snprintf(part, sizeof(part), " of %s (%" PRIu64 " %%)", total,
			       bytes < progress->total_bytes ? bytes * 100 / progress->total_bytes
							     : 100);
	(void)snprintf(line, sizeof(line), "%s: %s%s, %s records/s", name, read, part, rate);
	display_fit(line, columns_of_terminal() - 1, fitted, sizeof(fitted));
	(void)dprintf(STDERR_FILENO, "%s" ERASE_TO_END "\r", fitted);
}

void progress_tell(struct progress *progress, uint64_t bytes, uint64_t records)
{
	uint64_t now_ns;

	if (progress->begin_ns == 0 || ++progress->calls % CALLS_BETWEEN != 0)
		return;
	now_ns = clock_monotonic_ns();
	if (now_ns < progress->next_ns)
		return;
	show(progress, now_ns, bytes, records);
	progress->is_shown = true;
	progress->next_ns = now_ns + REFRESH_NS;
}

void progress_end(struct progress *progress)
{
	if (progress->is_shown)
		(void)dprintf(STDERR_FILENO, ERASE_TO_END);
	progress->is_shown = false;
}
