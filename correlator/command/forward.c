/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/signals.h"
#include "command/arguments.h"
#include "command/command.h"
#include "command/forward_arguments.h"
#include "recorder/forward/forwarding.h"
#include "recorder/queue/backlog.h"
#include "recorder/queue/file_source.h"
#include "recorder/queue/spool.h"

#define DEFAULT_GIVE_UP "1m"

enum {
	OPTION_TO = 0x100,
	OPTION_SKIP,
	OPTION_GIVE_UP,
	PROGRESS_MS = 1000,
	DRAIN_S = 2, /* after Ctrl-C, for the chunk in flight */
};

struct arguments {
	struct forward_arguments forward;
	char *const *paths; /* argv's, NULL-terminated */
	uint64_t skip_records;
	uint64_t give_up_ns;
	bool is_failed; /* an option was refused; the reason was logged */
};

/* A file or a spool that is being sent. */
struct work {
	const char *path;
	bool has_acks;
	const char *done; /* participle for messages: "acknowledged" */
	struct file_source *file; /* NULL = a spool */
	struct backlog *spool;
};

static const struct argp_option options[] = {
	{ "to", OPTION_TO, "URL", 0,
	  "Collector to send to: tcp://HOST:PORT, tls://HOST:PORT or unix:PATH (repeatable: the "
	  "next one is used when one fails)",
	  0 },
	{ "skip", OPTION_SKIP, "N", 0, "Skip the first N records, to resume", 0 },
	{ "give-up", OPTION_GIVE_UP, "TIME", 0,
	  "End when nothing was acknowledged for TIME (default " DEFAULT_GIVE_UP ")", 0 },
	ARGUMENTS_VERBOSITY(2),
	{ 0 },
};

static const char documentation[] =
	"Sends recorded files, or the spool that a recording left behind, to a collector by the "
	"Fluent Forward protocol. Each record arrives at least once."
	"\vTIME is a number with a unit: 500ms, 10s (seconds without one), 2m. A FILE of - is "
	"standard input, sent as it comes, to its end: the first Ctrl-C ends the writer of the pipe. A "
	"directory is a spool.\n\n"
	"EXAMPLES\n"
	"  correlator forward puma.rec --to tcp://127.0.0.1:24224\n"
	"  correlator forward --to tls://logs:24224 --shared-key-file key day-*.rec\n"
	"  correlator forward /var/lib/correlator/spool --to tcp://127.0.0.1:24224\n"
	"  correlator record -p 1234 -o - | correlator forward - --to tcp://127.0.0.1:24224\n\n"
	"Exit status: 0 all of it was acknowledged (with --no-ack: sent), 1 it was not, or something "
	"is damaged, truncated or refused (the rest is sent), 2 usage, 130 interrupted.";

static int parse_count(const char *text, uint64_t *ret_count)
{
	if (arguments_parse_number(text, 0, UINT64_MAX, ret_count) < 0)
		return log_error(EINVAL, "--skip %s: not a number of records", text);
	return 0;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	int r = 0;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->forward;
		break;
	case OPTION_TO:
		r = forward_arguments_add_url(&arguments->forward, text);
		break;
	case OPTION_SKIP:
		r = parse_count(text, &arguments->skip_records);
		break;
	case OPTION_GIVE_UP:
		r = arguments_parse_time("give-up", text, 1, &arguments->give_up_ns);
		break;
	case ARGP_KEY_ARGS:
		arguments->paths = state->argv + state->next;
		state->next = state->argc;
		break;
	default:
		return arguments_take_verbosity(key) ? 0 : ARGP_ERR_UNKNOWN;
	}
	arguments->is_failed |= r != 0;
	return 0;
}

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int check(const struct arguments *arguments)
{
	if (arguments->is_failed)
		return -EINVAL;
	if (!arguments->paths || !arguments->paths[0])
		return log_error(EINVAL, "nothing to send: name a FILE or a spool; see correlator "
					 "forward --help");
	if (arguments->forward.options.url_count == 0)
		return log_error(EINVAL, "no collector: give --to tcp://HOST:PORT; see "
					 "correlator forward --help");
	if (arguments->skip_records && is_folder(arguments->paths[0]))
		return log_error(EINVAL, "--skip applies to files: a spool keeps only what was "
					 "not sent");
	return forward_arguments_check(&arguments->forward);
}

/* A spool ends when nothing readable is left in it. */
static int next_of_spool(void *user, struct chunk *ret_chunk)
{
	struct backlog *spool = user;
	int r = backlog_next(spool, ret_chunk);

	return r == -EAGAIN && (backlog_is_empty(spool) || backlog_is_stuck(spool)) ? -ENODATA : r;
}

static int open_work(const char *path, uint64_t skip_records, bool has_acks, struct work *ret_work)
{
	const struct backlog_options spool_options = { .spool = path };

	*ret_work = (struct work){
		.path = path,
		.has_acks = has_acks,
		.done = has_acks ? "acknowledged" : "sent, unacknowledged,",
	};
	if (is_folder(path))
		return spool_expect(path) < 0 ? -ENOENT
					      : backlog_new(&spool_options, &ret_work->spool);
	return file_source_open(path, skip_records, &ret_work->file);
}

static void close_work(struct work *work)
{
	file_source_free(work->file);
	backlog_free(work->spool);
}

static void say_progress(const struct work *work, struct sender *sender)
{
	struct sender_status status;
	struct file_source_status file = { 0 };

	if (!isatty(STDERR_FILENO))
		return;
	sender_get_status(sender, &status);
	if (work->file)
		file_source_get_status(work->file, &file);
	if (file.size_bytes)
		log_info("%s: %" PRIu64 " records %s, %.0f %%", work->path, status.acked_records,
			 work->done, 100.0 * (double)file.done_bytes / (double)file.size_bytes);
	else
		log_info("%s: %" PRIu64 " records %s", work->path, status.acked_records,
			 work->done);
}

/*
 * True: a signal ends the command. The same Ctrl-C may interrupt the writer of the pipe, whose last
 * records still come.
 */
static bool is_told_to_end(const struct work *work, int signal_fd, uint64_t *spared_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	bool is_typed;
	int number;

	if (!work->file || !file_source_is_stream(work->file))
		return true;
	number = signals_read(signal_fd, &is_typed);
	if (number != SIGINT)
		return number != 0;
	if (*spared_ns)
		return now_ns - *spared_ns >= SIGNALS_ECHO_NS;
	*spared_ns = now_ns;
	log_info("%s: sending on until the writer ends; Ctrl-C again to end at once", work->path);
	return false;
}

/* True: a signal came. */
static bool await_end(const struct work *work, struct sender *sender, int signal_fd)
{
	uint64_t spared_ns = 0;
	struct pollfd fds[] = {
		{ .fd = signal_fd, .events = POLLIN },
		{ .fd = sender_ended_fd(sender), .events = POLLIN },
	};

	while (!fds[1].revents) {
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), PROGRESS_MS) == 0)
			say_progress(work, sender);
		if (fds[0].revents && is_told_to_end(work, signal_fd, &spared_ns))
			return true;
	}
	return false;
}

/* Logs what was not delivered, and how to resume. */
static int say_what_is_left(const struct work *work, const struct sender_status *status,
			    bool is_interrupted)
{
	const char *reason = is_interrupted	     ? "interrupted"
			     : status->last_error[0] ? status->last_error
						     : "it cannot be read any further";
	struct file_source_status file = { 0 };

	if (work->file) {
		file_source_get_status(work->file, &file);
		(void)log_error(EIO,
				"%s: not all of it was delivered (%s); go on with --skip %" PRIu64,
				work->path, reason, file.done_records);
	} else {
		(void)log_error(EIO,
				"%s: not all of it was delivered (%s); the rest stays there, run "
				"the same again",
				work->path, reason);
	}
	return is_interrupted ? EXIT_CODE_INTERRUPTED : EXIT_CODE_FAILURE;
}

static bool is_complete(const struct work *work)
{
	struct file_source_status file;

	if (work->spool)
		return backlog_is_empty(work->spool);
	file_source_get_status(work->file, &file);
	return file.is_exhausted;
}

/* Logs damage of a file. True: a part of it cannot be sent at all. */
static bool say_file_damage(const struct work *work)
{
	struct file_source_status file;
	bool is_empty;

	file_source_get_status(work->file, &file);
	is_empty = file.is_exhausted && !file.done_records && !file.missing_records;
	if (file.damaged_places)
		(void)log_error(EBADMSG,
				"%s: damaged: %" PRIu64 " bytes in %" PRIu64
				" places were not sent, the records around them were",
				work->path, file.damaged_bytes, file.damaged_places);
	if (file.torn_bytes)
		(void)log_error(EBADMSG,
				"%s: truncated: %" PRIu64 " bytes of its last record were not sent",
				work->path, file.torn_bytes);
	if (file.unchecked_bytes)
		(void)log_error(
			EBADMSG,
			"%s: no check covers %" PRIu64
			" bytes, which were sent: a recording was cut off there, or is damaged",
			work->path, file.unchecked_bytes);
	if (file.missing_records)
		(void)log_error(ENODATA, "%s: there are only %" PRIu64 " records in it to skip",
				work->path, file.done_records);
	if (is_empty)
		(void)log_error(ENODATA, "%s: there is no record in it: nothing was sent",
				work->path);
	return file.damaged_places || file.torn_bytes || file.unchecked_bytes ||
	       file.missing_records || is_empty;
}

/* Logs damage of a spool, likewise. */
static bool say_spool_damage(const struct work *work)
{
	struct backlog_status spool;

	backlog_get_status(work->spool, &spool);
	if (spool.damaged_segments)
		(void)log_error(EBADMSG,
				"%s: damaged: at least %" PRIu64 " records in %" PRIu64
				" segments are lost; the segments are in its folder damaged/, or "
				"where they were",
				work->path, spool.dropped_records, spool.damaged_segments);
	if (spool.unusable_files)
		(void)log_error(
			EIO, "%s: %" PRIu64 " files in it could not be used, and are there still",
			work->path, spool.unusable_files);
	return spool.damaged_segments || spool.unusable_files;
}

/* Logs how the work ended. *ret_is_over: the files after it could not be delivered either. */
static int finish(const struct work *work, struct sender *sender, bool is_interrupted,
		  bool *ret_is_over)
{
	const char *by = work->has_acks ? " by " : " to ";
	struct sender_status status;
	bool is_damaged;

	sender_get_status(sender, &status);
	log_info("%s: %" PRIu64 " records %s%s%s", work->path, status.acked_records, work->done,
		 status.collector[0] ? by : "", status.collector);
	*ret_is_over = is_interrupted ||
		       (!is_complete(work) && status.last_error[0] && !status.is_delivering);
	is_damaged = work->file ? say_file_damage(work) : say_spool_damage(work);
	if (!is_complete(work))
		return say_what_is_left(work, &status, is_interrupted);
	if (status.rejected_records)
		(void)log_error(EIO, "%s: %" PRIu64 " records were refused%s", work->path,
				status.rejected_records,
				work->spool ? ", and set aside in its folder rejected/ if they "
					      "could be"
					    : "");
	return status.rejected_records || is_damaged ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

static int send_all(struct work *work, const struct forwarding *forwarding, uint64_t give_up_ns,
		    int signal_fd, bool *ret_is_over)
{
	_cleanup_(sender_freep) struct sender *sender = NULL;
	struct chunk_source source;
	bool is_interrupted;

	if (work->file) {
		source = file_source_chunks(work->file);
	} else {
		source = backlog_source(work->spool);
		source.next = next_of_spool;
	}
	*ret_is_over = true;
	if (forwarding_start(forwarding, &source, give_up_ns, &sender) < 0)
		return EXIT_CODE_FAILURE;
	is_interrupted = await_end(work, sender, signal_fd);
	if (is_interrupted && work->file)
		file_source_end(work->file);
	sender_stop(sender, DRAIN_S * NS_PER_S);
	return finish(work, sender, is_interrupted, ret_is_over);
}

static int send_path(const struct arguments *arguments, size_t index,
		     const struct forwarding *forwarding, int signal_fd, bool *ret_is_over)
{
	uint64_t skip_records = index == 0 ? arguments->skip_records : 0;
	struct work work;
	int code;

	*ret_is_over = false;
	if (open_work(arguments->paths[index], skip_records,
		      !arguments->forward.options.has_no_acks, &work) < 0)
		return EXIT_CODE_FAILURE;
	code = send_all(&work, forwarding, arguments->give_up_ns, signal_fd, ret_is_over);
	close_work(&work);
	return code;
}

/* Sends one after the other; damage in one does not stop the others. */
static int send_paths(const struct arguments *arguments, const struct forwarding *forwarding,
		      int signal_fd)
{
	int code = EXIT_CODE_OK, result;
	bool is_over = false;

	for (size_t i = 0; arguments->paths[i]; i++) {
		if (is_over) {
			(void)log_error(EIO, "%s: not sent", arguments->paths[i]);
			continue;
		}
		result = send_path(arguments, i, forwarding, signal_fd, &is_over);
		if (result != EXIT_CODE_OK)
			code = result;
	}
	return code;
}

static int run(const struct arguments *arguments)
{
	_cleanup_(forwarding_freep) struct forwarding *forwarding = NULL;
	_cleanup_fd_ int signal_fd = -1;

	if (check(arguments) < 0)
		return EXIT_CODE_USAGE;
	signal_fd = signals_catch();
	if (signal_fd < 0 || forwarding_new(&arguments->forward.options, &forwarding) < 0)
		return EXIT_CODE_FAILURE;
	return send_paths(arguments, forwarding, signal_fd);
}

int command_forward(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ &forward_arguments_argp, 0, NULL, 1 },
		{ 0 },
	};
	static const struct argp parser = { options,  parse_option, "FILE...", documentation,
					    children, NULL,	    NULL };
	struct arguments arguments = { .paths = NULL };

	forward_arguments_init(&arguments.forward);
	(void)duration_parse(DEFAULT_GIVE_UP, &arguments.give_up_ns);
	argp_err_exit_status = EXIT_CODE_USAGE;
	if (arguments_parse(&parser, argc, argv, 0, &arguments))
		return EXIT_CODE_USAGE;
	return run(&arguments);
}
