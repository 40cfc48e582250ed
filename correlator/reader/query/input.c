/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/query/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/signals.h"
#include "reader/query/progress.h"

/*
 * If a recording comes from a pipe or socket, the same Ctrl-C may interrupt its writer, which then
 * writes its last records. The first Ctrl-C is left to the writer, until signals_obey_interrupt.
 */
static void spare_writer(const char *path)
{
	struct stat status;
	int r = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &status) : stat(path, &status);

	if (r == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
		signals_spare_interrupt(
			"correlator: reading on until the writer ends; Ctrl-C again "
			"to end at once\n");
}

static int take_records(struct record_reader *reader, struct record_view *view,
			enum input_clock clock, input_fn fn, void *context,
			struct progress *progress)
{
	int r;

	while ((r = record_reader_next(reader, view)) > 0) {
		if (clock == INPUT_STEADY)
			record_view_steady(view);
		r = fn(context, reader, view);
		if (r != 0)
			break;
		progress_tell(progress, record_reader_offset(reader),
			      record_reader_entry_count(reader));
	}
	return r;
}

static int read_records(const char *path, enum input_clock clock, bool fn_prints, input_fn fn,
			void *context, struct input_file *ret_file)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	_cleanup_free_ struct record_view *view = malloc(sizeof(*view));
	struct progress progress = { 0 };
	int r;

	if (!view)
		return log_error_errno(ENOMEM, "cannot read %s", path);
	r = record_reader_open(path, &reader);
	if (r < 0)
		return r;
	if (!fn_prints || !isatty(STDOUT_FILENO))
		progress_begin(&progress, path, record_reader_name(reader));
	r = take_records(reader, view, clock, fn, context, &progress);
	progress_end(&progress);
	if (r < 0)
		return r;
	*ret_file = (struct input_file){ .name = path,
					 .entry_count = record_reader_entry_count(reader),
					 .is_truncated = record_reader_is_truncated(reader),
					 .checks = record_reader_checks(reader) };
	record_reader_get_damage(reader, &ret_file->damaged_places, &ret_file->damaged_bytes);
	if (ret_file->entry_count == 0)
		log_warning("%s: empty, no records in it", record_reader_name(reader));
	return 0;
}

int input_read(const char *path, enum input_clock clock, bool fn_prints, input_fn fn, void *context,
	       struct input_file *ret_file)
{
	int r;

	spare_writer(path);
	r = read_records(path, clock, fn_prints, fn, context, ret_file);
	signals_obey_interrupt();
	return r;
}
