/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/display.h"
#include "base/log.h"
#include "base/print.h"
#include "command/arguments.h"
#include "command/command.h"
#include "command/streams.h"
#include "reader/query/input.h"
#include "reader/query/known_records.h"
#include "recorder/queue/spool.h"

enum {
	NAME_TEXT_BYTES = 512,
	DAMAGE_TEXT_BYTES = 128,
};

struct verify_options {
	char **paths; /* borrowed from argv */
	size_t path_count;
};

struct verification {
	struct known_records known;
	uint64_t files, whole_files;
	uint64_t records, checks;
	uint64_t twice; /* records that occur again */
	bool is_wrong;
};

static const char documentation[] =
	"Says whether recordings, and what a spool holds, are what was written: whole by their checks, "
	"and which of the records' numbers are missing. A folder is a spool; it may be in use."
	"\v"
	"Without FILE, " COMMAND_RECORDING
	", which record writes by default. FILE - is standard input. "
	"What an older correlator wrote has no checks: then only what is no record is found. Numbers "
	"are missing where records were dropped (a gap record tells of them), damaged, or sent "
	"already.\n"
	"\n"
	"Examples:\n"
	"  correlator verify puma.rec\n"
	"  correlator verify /var/lib/correlator/spool\n"
	"\n"
	"Exit status: 0 all is whole, 1 something is damaged, cut off, missing or cannot be read, "
	"2 usage.";

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct verify_options *options = state->input;

	(void)argument;
	return streams_parse_paths(key, state, &options->paths, &options->path_count);
}

static int take_record(void *context, struct record_reader *reader,
		       const struct record_view *record)
{
	struct verification *verification = context;

	verification->twice += known_records_has(&verification->known, record);
	if (known_records_add(&verification->known, record) < 0)
		return log_error_errno(ENOMEM, "cannot verify %s", record_reader_name(reader));
	return 0;
}

static const char *judge(const struct input_file *file)
{
	if (file->damaged_places)
		return "DAMAGED";
	if (file->is_truncated)
		return "CUT OFF";
	return file->checks ? "whole" : "readable, without checks";
}

static void print_file(const struct input_file *file)
{
	char damage[DAMAGE_TEXT_BYTES] = "";

	if (file->damaged_places)
		(void)snprintf(damage, sizeof(damage),
			       "; %" PRIu64 " bytes in %" PRIu64 " places are not what was written",
			       file->damaged_bytes, file->damaged_places);
	print_line(stdout, "%s: %s: %" PRIu64 " records, %" PRIu64 " checks%s", file->name,
		   judge(file), file->entry_count, file->checks, damage);
}

/* Verifies one file. 0, also if it is damaged; -ENOMEM. */
static int verify_file(struct verification *verification, const char *path, bool is_brief)
{
	struct input_file file = { 0 };
	bool is_whole;
	int r = input_read(path, INPUT_AS_WRITTEN, false, take_record, verification, &file);

	verification->files++;
	is_whole = r == 0 && !file.damaged_places && !file.is_truncated;
	verification->is_wrong |= !is_whole;
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	verification->whole_files += is_whole;
	verification->records += file.entry_count;
	verification->checks += file.checks;
	if (!is_whole || !is_brief)
		print_file(&file);
	return 0;
}

static bool ends_with(const char *name, const char *end)
{
	size_t name_bytes = strlen(name), end_bytes = strlen(end);

	return name_bytes > end_bytes && strcmp(name + name_bytes - end_bytes, end) == 0;
}

static int is_segment(const struct dirent *entry)
{
	return ends_with(entry->d_name, ".chunks") || ends_with(entry->d_name, ".chunk") ||
	       ends_with(entry->d_name, ".part") || ends_with(entry->d_name, ".open");
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Number of files in a folder of the spool. */
static unsigned int count_files(const char *spool, const char *folder)
{
	struct dirent **names = NULL;
	char path[PATH_MAX];
	int count;

	(void)snprintf(path, sizeof(path), "%s/%s", spool, folder);
	count = scandir(path, &names, is_visible, NULL);
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	return count < 0 ? 0 : (unsigned int)count;
}

/* A segment that is gone was sent in the meantime: no loss. */
static int verify_segment(struct verification *verification, const char *spool, const char *name)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", spool, name);
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	return verify_file(verification, path, true);
}

static void print_spool(const char *spool, unsigned int damaged, const struct verification *before,
			const struct verification *after)
{
	if (after->files == before->files)
		print_line(stdout, "%s: nothing waits there", spool);
	else
		print_line(stdout,
			   "%s: %" PRIu64 " of %" PRIu64 " segments are whole: %" PRIu64
			   " records, %" PRIu64 " checks",
			   spool, after->whole_files - before->whole_files,
			   after->files - before->files, after->records - before->records,
			   after->checks - before->checks);
	if (damaged)
		print_line(stdout, "%s/damaged: %u segments were set aside", spool, damaged);
	if (count_files(spool, "rejected"))
		print_line(stdout, "%s/rejected: there are records that no collector took", spool);
}

static int verify_spool(struct verification *verification, const char *spool)
{
	struct verification before = *verification;
	struct dirent **names = NULL;
	unsigned int damaged;
	int count = scandir(spool, &names, is_segment, alphasort), r = 0;

	if (count < 0) {
		verification->is_wrong = true;
		(void)log_error_errno(errno, "cannot list %s", spool);
		return 0;
	}
	for (int i = 0; i < count; i++) {
		if (r == 0)
			r = verify_segment(verification, spool, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	damaged = count_files(spool, "damaged");
	if (r == 0)
		print_spool(spool, damaged, &before, verification);
	verification->is_wrong |= damaged > 0;
	return r;
}

static int verify_path(struct verification *verification, const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode))
		return verify_file(verification, path, false);
	if (spool_expect(path) == 0)
		return verify_spool(verification, path);
	verification->is_wrong = true;
	return 0;
}

/* Prints "numbers 1 to 5428: 17 MISSING: 219-235" for a recorder. */
static void print_numbers(void *user, const struct known_recorder *recorder)
{
	struct verification *verification = user;
	uint64_t missing = recorder->last - recorder->first + 1 - recorder->count;
	char name[NAME_TEXT_BYTES];

	(void)display_escape(recorder->name.bytes, recorder->name.size_bytes, name, sizeof(name));
	(void)printf("%s numbers %" PRIu64 " to %" PRIu64 ": ", name, recorder->first,
		     recorder->last);
	if (!missing) {
		(void)printf("none is missing\n");
		return;
	}
	verification->is_wrong = true;
	(void)printf("%" PRIu64 " MISSING:", missing);
	for (size_t i = 0; i < recorder->missing_ranges && i < KNOWN_RECORDS_RANGES_MAX; i++)
		(void)printf(recorder->missing[i].first == recorder->missing[i].last ? " %" PRIu64
										     : " %" PRIu64
										       "-%" PRIu64,
			     recorder->missing[i].first, recorder->missing[i].last);
	(void)printf(recorder->missing_ranges > KNOWN_RECORDS_RANGES_MAX ? " ...\n" : "\n");
}

static int verify(const struct verify_options *options)
{
	struct verification verification = { 0 };
	int r = 0;

	known_records_init(&verification.known);
	for (size_t i = 0; i < options->path_count && r == 0; i++)
		r = verify_path(&verification, options->paths[i]);
	if (r == 0)
		known_records_list(&verification.known, print_numbers, &verification);
	if (r == 0 && verification.twice)
		(void)printf("%" PRIu64 " records are there more than once\n", verification.twice);
	known_records_deinit(&verification.known);
	if (r == 0)
		r = streams_finish_output("what was found");
	return r == 0 && verification.is_wrong ? -EBADMSG : r;
}

int command_verify(int argc, char **argv)
{
	static const struct argp argp = { NULL,		 parse_option, "[FILE|SPOOL...]",
					  documentation, NULL,	       NULL,
					  NULL };
	struct verify_options options = { 0 };

	argp_err_exit_status = EXIT_CODE_USAGE;
	if (arguments_parse(&argp, argc, argv, 0, &options) != 0)
		return EXIT_CODE_USAGE;
	return verify(&options) < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}
