#include "observe/recording.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/signals.h"
#include "observe/recording_internal.h"
#include "target/proc/namespaces.h"
#include "target/proc/process.h"

static int read_identity(struct recording *recording)
{
	_cleanup_file_ FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	struct process_info self;
	int result = process_read_info(getpid(), &self);

	if (result)
		return log_error_errno(result, "cannot read our own /proc entry");
	recording->start_ticks = self.start_ticks;
	if (gethostname(recording->host_name, sizeof(recording->host_name) - 1))
		return log_error_errno(errno, "cannot read the host's name");
	if (!file || !fgets(recording->boot_id, sizeof(recording->boot_id), file))
		return log_error_errno(errno, "cannot read the boot ID");
	recording->boot_id[strcspn(recording->boot_id, "\n")] = '\0';
	return 0;
}

static int attach(struct recording *recording)
{
	if (session_attach(recording->session))
		return EXIT_CODE_UNSUPPORTED;
	if (!recording->options->has_kernel_split)
		return EXIT_CODE_OK;
	if (session_start_calibration(recording->session))
		return EXIT_CODE_UNSUPPORTED;
	recording_calibrate(recording, 0);
	return EXIT_CODE_OK;
}

static int begin_observing(struct recording *recording)
{
	if (session_register_threads(recording->session))
		return EXIT_CODE_FAILURE;
	recording->window_mark_ns = clock_monotonic_ns();
	recording->wall_offset_ns = clock_wall_ns() - recording->window_mark_ns;
	recording->own_cpu_mark_ns = recording_own_cpu_ns(recording);
	return EXIT_CODE_OK;
}

static int begin_metrics(struct recording *recording)
{
	const char *address = recording->options->metrics;

	metrics_init(&recording->metrics, CORRELATOR_VERSION,
		     recording->window_mark_ns + recording->wall_offset_ns);
	return address ? metrics_server_new(address, &recording->metrics_server) : 0;
}

/* Why the mode is not the one that was asked for; NULL: it is. */
static const char *reason_at_start(struct recording *recording)
{
	if (session_get_mode(recording->session) == SESSION_MODE_EXACT)
		return recording_note_otel(recording);
	if (recording->options->is_lean)
		return NULL;
	return recording->options->keys.ruby_count ? RECORDING_REASON_NO_SITE
						   : RECORDING_REASON_OTEL;
}

static int begin_output(struct recording *recording)
{
	struct observed *process;
	int result;

	if (begin_metrics(recording))
		return EXIT_CODE_FAILURE;
	result = recording_open_output(recording);
	if (result)
		return result;
	result = recording_write_meta(recording, reason_at_start(recording));
	for (process = recording->processes.processes; process && !result;
	     process = process->hh.next) {
		process->is_announced = true;
		result = recording_write_process(recording, process, "found",
						 recording->window_mark_ns);
	}
	return result ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

/* One line that says that everything is in place: scripts may wait for it. */
static void say_ready(const struct recording *recording)
{
	const struct observed *process = recording->processes.processes;
	unsigned int count = HASH_COUNT(recording->processes.processes), incomplete = 0;
	const char *output = recording->output_name;

	for (const struct observed *each = process; each; each = each->hh.next)
		incomplete += each->state.look_ns != 0;
	if (recording->child.pid)
		log_info("starting %s, writing to %s", recording->options->command[0], output);
	else if (!process)
		log_info("observing no process yet, writing to %s; Ctrl-C to stop", output);
	else
		log_info("observing %u process%s of %d (%s), writing to %s; Ctrl-C to stop", count,
			 count == 1 ? "" : "es", process->pid,
			 process->server ? process->server : process->comm, output);
	if (incomplete && !recording->child.pid)
		log_info("waiting for a key or a context in %u of them: normal before the first "
			 "request",
			 incomplete);
}

int recording_start(const struct recording_options *options, struct recording **ret_recording)
{
	_cleanup_(recording_freep) struct recording *recording = calloc(1, sizeof(*recording));
	struct session_options session_options = {
		.is_lean = options->is_lean || !options->keys.ruby_count,
		.watches_otel = options->keys.otel_count > 0,
		.has_kernel_split = options->has_kernel_split,
		.follow_forks = options->follow_forks,
		.measures_programs = options->measures_programs || options->budget_percent > 0,
		.contexts_max = options->contexts_max,
		.accounts_max = options->accounts_max,
		.ring_bytes = options->ring_bytes,
	};
	int code;

	if (!recording)
		return EXIT_CODE_FAILURE;
	recording->options = options;
	recording->processes.keys = &options->keys;
	recording->signal_fd = -1;
	recording->contexts = context_table_new();
	recording->debts = stolen_debts_new();
	recording->encoder = record_encoder_new();
	if (!recording->contexts || !recording->debts || !recording->encoder)
		return EXIT_CODE_FAILURE;
	if (namespaces_check_own_proc())
		return EXIT_CODE_UNSUPPORTED;
	code = recording_prepare_output(recording);
	if (!code)
		code = recording_check_pids(options);
	if (code)
		return code;
	if (read_identity(recording))
		return EXIT_CODE_FAILURE;
	recording->signal_fd = signals_catch();
	if (recording->signal_fd < 0)
		return EXIT_CODE_FAILURE;
	if (session_open(&session_options, &recording->session))
		return EXIT_CODE_UNSUPPORTED;
	code = attach(recording);
	if (!code)
		code = recording_observe_targets(recording);
	if (!code)
		code = begin_observing(recording);
	if (!code)
		code = begin_output(recording);
	if (!code && recording->child.pid &&
	    child_command_release(&recording->child, options->command[0]))
		code = EXIT_CODE_FAILURE;
	if (code)
		return code;
	say_ready(recording);
	*ret_recording = TAKE_PTR(recording);
	return EXIT_CODE_OK;
}

void recording_free(struct recording *recording)
{
	if (!recording)
		return;
	session_free(recording->session);
	observed_table_deinit(&recording->processes);
	discovery_free(recording->discovery);
	context_table_free(recording->contexts);
	stolen_debts_free(recording->debts);
	record_encoder_free(recording->encoder);
	metrics_server_free(recording->metrics_server);
	recording_free_output(recording);
	child_command_deinit(&recording->child);
	if (recording->signal_fd >= 0)
		(void)close(recording->signal_fd);
	free(recording);
}
