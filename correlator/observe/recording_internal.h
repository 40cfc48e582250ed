/* What the files recording*.c share; nobody else includes this. */
#pragma once

#include "observe/recording.h"

#include <stdint.h>

#include "forward/forwarding.h"
#include "forward/sender.h"
#include "metrics/metrics_server.h"
#include "observe/child_command.h"
#include "observe/contexts.h"
#include "observe/observed.h"
#include "observe/split.h"
#include "observe/stolen_debts.h"
#include "probe/session.h"
#include "queue/backlog.h"
#include "queue/sink.h"
#include "record/record.h"
#include "record/record_encode.h"
#include "target/discovery/discovery.h"

enum {
	HOST_NAME_BYTES = 256,
	BOOT_ID_BYTES = 40,
	RECORD_ID_BYTES = 80,
	OUTPUT_NAME_BYTES = 1024,
};

/* Why a recording runs lean that was not asked to. */
#define RECORDING_REASON_OTEL "OpenTelemetry's contexts change without a probe"
#define RECORDING_REASON_NO_SITE \
	"the object that publishes has no function known to change the context"

struct recording {
	const struct recording_options *options;
	struct session *session;
	struct observed_table processes;
	struct context_table *contexts;
	struct stolen_debts *debts;
	struct record_encoder *encoder;
	bool is_open; /* the output, of whatever kind: what is found from now on is announced */
	struct sink *sink; /* NULL = no file */
	struct metrics metrics;
	struct metrics_server *metrics_server; /* NULL = nobody asked for them */
	struct forwarding *forwarding; /* NULL = no collectors, and so are the next two */
	struct backlog *backlog;
	struct sender *sender;
	char output_name[OUTPUT_NAME_BYTES]; /* all of them, for messages */
	struct discovery *discovery; /* NULL = only the processes that were named */
	struct child_command child; /* of `-- COMMAND` */
	int signal_fd;
	char host_name[HOST_NAME_BYTES];
	char boot_id[BOOT_ID_BYTES];
	uint64_t start_ticks; /* our own, part of each record_id */
	uint64_t record_number; /* of the last record */
	uint64_t window_number; /* counts flushes */
	uint64_t window_mark_ns; /* CLOCK_MONOTONIC, start of the open window */
	uint64_t own_cpu_mark_ns;
	struct split_way way; /* of a system call: counted as user, is the kernel's */
	uint64_t wall_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC at the last flush */
	uint64_t ended_epoch; /* the kernel side's number of that window */
	uint64_t end_ktime_ns; /* of the window being written */
	uint64_t attributed_ns; /* totals, for the last line */
	uint64_t exec_ns;
	uint64_t window_accounts; /* drained in this window */
	struct session_program programs[SESSION_PROGRAMS_MAX]; /* as of the last window */
	size_t program_count;
	unsigned int windows_over_budget; /* in a row */
	double cost_percent; /* of one CPU, in the last window */
	uint64_t cpu_records;
	bool is_interrupted;
	bool has_otel; /* contexts that change without a probe are read, beside others */
	bool has_found; /* by the search that is going on */
	bool must_publish; /* a process was named: it is an error if none ever publishes */
	bool has_published;
	bool wants_lean; /* the contexts of a process cannot be read otherwise */
};

/* recording_records.c: each encodes one kind of record. 0 or -errno (logged). */
/* reason: why the mode changed, NULL at the start. */
int recording_write_meta(struct recording *recording, const char *reason);
/*
 * Notes that a process has contexts of OpenTelemetry, once, and says so. Returns why the mode is
 * another one from now on, NULL if it is not.
 */
const char *recording_note_otel(struct recording *recording);
/*
 * Brings the mode to what the looks since the last call want, and writes it down. The one place
 * where what is found in a process changes how all are watched. 0 or -errno (logged).
 */
int recording_follow_mode(struct recording *recording);
int recording_write_process(struct recording *recording, const struct observed *process,
			    const char *event, uint64_t ktime_ns);
int recording_write_account(struct recording *recording, struct observed *process,
			    const struct account_key *key, const struct account *account,
			    const struct context *context);
int recording_write_overflow(struct recording *recording, struct observed *process,
			     const struct account_totals *totals);
int recording_write_balance(struct recording *recording, const struct observed *process,
			    struct balance_record *balance);

int recording_encode_gap(struct recording *recording, const struct backlog_gap *gap,
			 uint64_t total_dropped_records);
int recording_encode_self(struct recording *recording, struct self_record *record);

/* recording_output.c: prepare before anything is attached or started, open, close: exit codes, and
 * 0 or -errno (logged, but for -EPIPE as sink_write). */
int recording_prepare_output(struct recording *recording);
int recording_open_output(struct recording *recording);
int recording_write_out(struct recording *recording);
int recording_close_output(struct recording *recording);
void recording_free_output(struct recording *recording);
/* For the self record, and the metrics. status: the caller's, what ret_delivery points into. Does
 * nothing without collectors. */
void recording_fill_delivery(struct recording *recording, struct sender_status *status,
			     struct delivery_figures *ret_delivery);

/* recording_self.c: our own cost in the window that ends; steps down when it is over the budget.
 * 0 or -errno (logged). */
int recording_write_self(struct recording *recording, uint64_t own_cpu_ns);
int recording_keep_budget(struct recording *recording);

/* recording_targets.c: observe what was named, or found. Exit code, and 0 or -errno. */
int recording_check_pids(const struct recording_options *options);
int recording_observe_targets(struct recording *recording);
int recording_search(struct recording *recording);

/* recording_window.c: our own CPU so far, of all that we run; and to end the window and hand it to
 * the sink: 0 or -errno (logged). */
uint64_t recording_own_cpu_ns(const struct recording *recording);
/* Takes what was measured of system calls since then for what is written next. */
void recording_calibrate(struct recording *recording, uint64_t since_ns);
int recording_flush(struct recording *recording, bool is_last);
