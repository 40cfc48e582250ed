/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording on the fake kernel, into a file, and what is in it then. */
#pragma once

#include <sys/stat.h>

#include "record/record_reader.h"
#include "recorder/observe/fake_targets.h"
#include "recorder/observe/recorder.h"

enum {
	SOME = CONTEXT_HASH_FIRST
};

static char path[] = "/tmp/test_recording.XXXXXX";
static char recorded_text[FAKE_TEXT_BYTES];
static char pipe_path[sizeof(path) + 8];

static inline int set_up(void **state)
{
	(void)state;
	fake_reset();
	/* What was used before it began is no part of it. */
	fake.own_cpu_ns = 12345;
	fake.recording = (struct recorder_options){
		.targets.keys = { .names = { "request_id" },
				  .record_names = { "request_id" },
				  .ruby_names = { "request_id" },
				  .count = 1,
				  .ruby_count = 1 },
		.output.file = path,
		.output.overwrites = true,
		.interval_ns = NS_PER_S,
		.has_kernel_split = true,
		.measures_programs = true,
	};
	return 0;
}

static inline int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	(void)snprintf(pipe_path, sizeof(pipe_path), "%s.pipe", path);
	return fd < 0 ? -1 : close(fd);
}

static inline int remove_file(void **state)
{
	(void)state;
	(void)unlink(pipe_path);
	return unlink(path);
}

/* The exit code. */
static inline int record(void)
{
	struct recorder *recording = NULL;
	int code = recorder_start(&fake.recording, &recording);

	if (code == EXIT_CODE_OK)
		code = recorder_run(recording);
	recorder_free(recording);
	return code;
}

static inline void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void print(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	append_text(recorded_text, format, list);
	va_end(list);
}

static inline int64_t number(const struct record_view *view, const char *name)
{
	const struct record_field *field = record_view_find(view, name);

	return field ? field->integer : -1;
}

static inline const char *text(const struct record_view *view, const char *name)
{
	static char texts[4][256];
	static size_t next;
	struct record_text found = { "-", 1 };
	char *copy = texts[next++ % 4];

	(void)record_view_text(view, name, &found);
	(void)snprintf(copy, sizeof(texts[0]), "%.*s", (int)found.size_bytes, found.bytes);
	return copy;
}

static inline void print_record(const struct record_view *view)
{
	int pid = (int)number(view, "pid") - FAKE_PID;

	switch (view->kind) {
	case RECORD_KIND_META:
		print("meta %s %s", text(view, "mode"),
		      number(view, "kernel_split") ? "split" : "whole");
		break;
	case RECORD_KIND_PROCESS:
		print("process %d %s %s%s", pid, text(view, "event"), text(view, "mode"),
		      record_view_find(view, "end_ns") ? ", ended" : "");
		break;
	case RECORD_KIND_CPU:
		print("cpu %d %s %" PRId64, pid, text(view, "request_id"), number(view, "cpu_ns"));
		break;
	case RECORD_KIND_SLICE:
		print("slice %d %s %s %s %" PRId64 "-%" PRId64, pid, text(view, "thread_name"),
		      text(view, "request_id"), text(view, "state"),
		      number(view, "start_ns") - (int64_t)FAKE_WALL_NS,
		      number(view, "end_ns") - (int64_t)FAKE_WALL_NS);
		break;
	case RECORD_KIND_BALANCE:
		print("balance %d %" PRId64 " = %" PRId64 " + %" PRId64 " + %" PRId64
		      ", own %" PRId64,
		      pid, number(view, "exec_ns"), number(view, "attributed_ns"),
		      number(view, "unattributed_ns"), number(view, "overflow_ns"),
		      number(view, "own_cpu_ns"));
		break;
	case RECORD_KIND_SELF:
		print("self %" PRId64, number(view, "own_cpu_ns"));
		break;
	case RECORD_KIND_ALERT:
		print("alert %s %s %" PRId64, text(view, "expression"), text(view, "state"),
		      number(view, "value"));
		break;
	case RECORD_KIND_STACK:
		print("stack %d %s", pid, text(view, "name"));
		break;
	case RECORD_KIND_SAMPLE:
		print("sample %d %s %" PRId64 " of %" PRId64 " ns", pid, text(view, "request_id"),
		      number(view, "samples"), number(view, "period_ns"));
		break;
	case RECORD_KIND_SYSCALL:
		print("syscall %d %s %s%s%s %" PRId64 " %" PRId64 " ns", pid,
		      text(view, "request_id"), text(view, "syscall"),
		      record_view_find(view, "syscall_number") ? "" : " without number",
		      record_view_find(view, "syscall_abi") ? " of another table" : "",
		      number(view, "syscalls"), number(view, "inside_ns"));
		break;
	case RECORD_KIND_IO:
		print("io %d %s %s%s %s %" PRId64 " in %" PRId64 " out %" PRId64, pid,
		      text(view, "request_id"), text(view, "io_on"),
		      record_view_find(view, "accepted") ? " accepted" : "", text(view, "peer"),
		      number(view, "io_calls"), number(view, "in_bytes"),
		      number(view, "out_bytes"));
		break;
	case RECORD_KIND_STALL:
		print("stall %d %s %s %" PRId64 " + %" PRId64 " ns", pid, text(view, "request_id"),
		      text(view, "blocked_on"), number(view, "blocked_ns"),
		      number(view, "run_queue_ns"));
		break;
	default:
		print("kind %d", view->kind);
		break;
	}
}

/* A line a record. */
static inline const char *recorded(void)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;

	recorded_text[0] = '\0';
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0)
		print_record(&view);
	return recorded_text;
}

static inline void expect_said(const char *part)
{
	if (!strstr(fake.said, part))
		fail_msg("\"%s\" is not in:\n%s", part, fake.said);
}

static inline void expect_told(const char *part)
{
	if (!strstr(fake.told, part))
		fail_msg("\"%s\" is not in:\n%s", part, fake.told);
}

static inline void run_a_request(void)
{
	(void)publish(SOME, "r1");
	charge(0, 1, SOME, 600);
	charge(0, 1, CONTEXT_HASH_NONE, 300);
	fake.processes[0].books.epochs[fake.epoch & 1].overflow.user_ns += 100;
	fake.processes[0].books.epochs[fake.epoch & 1].exec_ns += 100;
}

static inline void run_it_again(void)
{
	charge(0, 1, SOME, 7);
}

/* First and last of each record's wall time and window. */
static inline void expect_windows(const uint64_t *ends_ns, const uint64_t *lengths_ns, size_t count)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	size_t windows = 0;
	uint64_t steady_ns = FAKE_WALL_NS;

	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0) {
		if (view.kind == RECORD_KIND_META) {
			assert_int_equal(view.wall_ns, FAKE_WALL_NS);
			assert_int_equal(number(&view, "clock_offset_ns"),
					 FAKE_WALL_NS - FAKE_START_NS);
		}
		if (view.kind != RECORD_KIND_BALANCE)
			continue;
		assert_true(windows < count);
		assert_int_equal(view.wall_ns - FAKE_WALL_NS, ends_ns[windows]);
		assert_int_equal(number(&view, "window_ns"), lengths_ns[windows]);
		/* However the clock was set, one window follows the other. */
		record_view_steady(&view);
		steady_ns += lengths_ns[windows];
		assert_int_equal(view.wall_ns, steady_ns);
		windows++;
	}
	assert_int_equal(windows, count);
}
