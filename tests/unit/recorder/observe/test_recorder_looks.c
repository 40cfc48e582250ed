/* SPDX-License-Identifier: GPL-2.0-only */
/* What looks at processes find in the course of a recording, and what it writes and says of it. */
#include "unit_test.h"

#include "recorder/observe/recorder.h"

#include "recorder/observe/fake_recorder.h"
#include "recorder/observe/fake_target.h"

UNIT_TEST_ALONE;

static struct fake_target *target;
static struct publisher publisher, of_otel;

static int begin(void **state)
{
	(void)set_up(state);
	fake_targets_reset();
	fake.recording.duration_ns = 5 * NS_PER_S / 2;
	publisher = (struct publisher){
		.path = "/gem.so", .file = fake_file(), .site_count = 1, .is_located = true
	};
	of_otel = (struct publisher){ .path = "/otel.so", .is_located = true };
	target = fake_target_add(FAKE_PID);
	target->found.publishers.list[0] = &publisher;
	target->found.otel.publishers.list[0] = &of_otel;
	return 0;
}

static void load(void)
{
	happen(EVENT_KIND_LOAD, 0, 0);
}

static void publish_by_the_gem(void)
{
	target->found.publishers.count = 1;
	target->is_complete = true;
	load();
}

static void unload(void)
{
	target->found.publishers.count = 0;
	target->is_complete = false;
	load();
}

static void publish_by_otel(void)
{
	target->found.otel.publishers.count = 1;
	load();
}

static void expect_recorded(const char *part)
{
	if (!strstr(recorded(), part))
		fail_msg("\"%s\" is not in:\n%s", part, recorded());
}

/* The last reason in a record of that kind. */
static const char *reason_of(enum record_kind kind)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	const char *reason = "-";

	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0)
		if (view.kind == kind)
			reason = text(&view, "reason");
	return reason;
}

#define FIXTURE_TEST(test) TEST_WITH(test, begin, NULL)

FIXTURE_TEST(recorder_logs_and_writes_load_and_unload_of_publisher)
{
	fake.must_publish = true;
	plan(NS_PER_S / 2, publish_by_the_gem);
	plan(3 * NS_PER_S / 2, unload);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_recorded("process 0 found exact\nprocess 0 load exact\nself");
	expect_recorded("process 0 unload exact\nself");
	expect_said("process 4000000 (puma) publishes contexts by /gem.so: read from at most 0.0 "
		    "ms after it was loaded on\n");
	expect_said("process 4000000 (puma): context found, all keys known\n");
	expect_said("process 4000000 (puma) unloaded what publishes its contexts");
}

FIXTURE_TEST(recorder_is_partly_lean_with_otel_and_logs_it_once)
{
	fake.recording.targets.keys.otel_count = 1;
	plan(NS_PER_S / 2, publish_by_otel);
	plan(3 * NS_PER_S / 4, load);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_recorded("meta exact split\nprocess 0 found exact\nmeta partly-lean split\n"
			"process 0 load partly-lean\n");
	expect_said("publishes contexts by /otel.so");
	expect_said("process 4000000: OpenTelemetry's contexts change without a probe");
	assert_null(strstr(strstr(fake.said, "without a probe") + 1, "without a probe"));
	assert_string_equal(
		reason_of(RECORD_KIND_META),
		"process 4000000 (puma): OpenTelemetry's contexts change without a probe");
	expect_told("way 1\n");
}

static void execute(void)
{
	happen(EVENT_KIND_EXEC, 0, 0);
}

FIXTURE_TEST(recorder_attributes_load_after_exec_to_new_program)
{
	plan(NS_PER_S / 2, publish_by_the_gem);
	plan(3 * NS_PER_S / 2, execute);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_recorded("process 0 exec exact\nprocess 0 load exact\n");
	assert_int_not_equal(fake.processes[0].image, life_of(FAKE_PID));
	assert_int_equal(fake.config.image, fake.processes[0].image);
}

static void lose_an_exec(void)
{
	fake.processes[0].image += FAKE_PROCESSES_MAX;
	load();
}

static void tell_of_it_late(void)
{
	fake.processes[0].image -= FAKE_PROCESSES_MAX;
	execute();
}

FIXTURE_TEST(recorder_writes_exec_once_if_look_precedes_its_event)
{
	plan(NS_PER_S / 2, publish_by_the_gem);
	plan(3 * NS_PER_S / 2, lose_an_exec);
	plan(7 * NS_PER_S / 4, tell_of_it_late);
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_recorded("process 0 load exact\nprocess 0 exec exact\nself");
	assert_int_equal(target->opened, 2);
	assert_int_equal(fake.config.image, fake.processes[0].image);
}

static void fork_one(void)
{
	happen(EVENT_KIND_FORK, 1, 0);
	happen(EVENT_KIND_LOAD, 1, 0);
}

/* Of its fork nobody was told. */
static void execute_a_child(void)
{
	happen(EVENT_KIND_EXEC, 1, 0);
}

FIXTURE_TEST(recorder_does_not_look_at_child_whose_pid_was_reused)
{
	struct fake_target *child;

	for (int case_number = 0; case_number < 4; case_number++) {
		const int is_another = case_number & 1;
		const bool is_told = case_number & 2;

		(void)begin(state);
		child = fake_target_add(FAKE_PID + 1);
		child->found.info.start_ticks += (uint64_t)is_another;
		plan(NS_PER_S / 2, is_told ? fork_one : execute_a_child);
		assert_int_equal(record(), EXIT_CODE_OK);
		expect_recorded(is_told ? "process 1 fork exact\n" : "process 1 exec exact\n");
		assert_int_equal(!strstr(fake.told, "process 1 of 0"), is_another);
		assert_int_equal(!child->refreshed, is_another);
	}
}

FIXTURE_TEST(recorder_logs_no_process_reason_in_lean_session)
{
	fake.recording.is_lean = true;
	fake.recording.targets.keys.otel_count = 1;
	plan(NS_PER_S / 2, publish_by_otel);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_null(strstr(fake.said, "without a probe"));
	assert_null(strstr(fake.told, "way 1\n"));
	assert_string_equal(reason_of(RECORD_KIND_META), "-");
}

FIXTURE_TEST(recorder_logs_reason_for_process_lean_from_start)
{
	publisher.site_count = 0;
	target->found.publishers.count = 1;
	fake.looks_at_start = true;
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_recorded("meta lean split\nprocess 0 found lean\nself");
	expect_said("process 4000000 (puma): the object that publishes has no function known to "
		    "change the context: lean from now on");
	assert_non_null(strstr(reason_of(RECORD_KIND_META), "no function known"));
	assert_non_null(strstr(reason_of(RECORD_KIND_PROCESS), "no function known"));
	expect_said("waiting for a key or a context in 1 of them");
	assert_null(strstr(strstr(fake.said, "lean from now on") + 1, "lean from now on"));
}

FIXTURE_TEST(recorder_waits_for_nothing_if_process_is_complete)
{
	target->found.publishers.count = 1;
	target->is_complete = fake.looks_at_start = true;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_null(strstr(fake.said, "waiting for a key"));
}

static unsigned int looks_before;

static void note_looks(void)
{
	looks_before = target->refreshed;
}

static void expect_none(void)
{
	assert_int_equal(target->refreshed, looks_before);
}

static void expect_one(void)
{
	assert_int_equal(target->refreshed, looks_before + 1);
}

static void be_dear_to_look_at(void)
{
	target->cost_ns = CPU_BUDGET_BURST_NS + NS_PER_MS;
	load();
}

/* A burst is free, and each millisecond above it is paid with CPU_BUDGET_PART of waiting. */
FIXTURE_TEST(recorder_postpones_expensive_looks)
{
	const uint64_t pause_ns = CPU_BUDGET_PART * NS_PER_MS;

	target->is_complete = true;
	for (uint64_t look = 1; look <= LOOK_BUDGET_FREE; look++)
		plan(look * 20 * NS_PER_MS, load);
	fake.recording.duration_ns = NS_PER_S + 2 * pause_ns;
	plan(NS_PER_S, be_dear_to_look_at);
	plan(NS_PER_S + 5 * NS_PER_MS, note_looks);
	plan(NS_PER_S + 5 * NS_PER_MS + 1, load);
	plan(NS_PER_S + pause_ns - NS_PER_MS, expect_none);
	plan(NS_PER_S + pause_ns + NS_PER_MS, expect_one);
	assert_int_equal(record(), EXIT_CODE_OK);
}

FIXTURE_TEST(recorder_observes_process_found_by_search)
{
	fake.found = FAKE_PID + 1;
	fake.search_ns = FAKE_START_NS + NS_PER_S / 2;
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_said("found process 4000001 (puma)\n");
	expect_recorded("process 0 found exact\nprocess 1 found exact\nself");
	assert_non_null(strstr(strstr(fake.told, "threads\n") + 1, "threads\n"));
	assert_null(strstr(fake.said, "found process 4000000"));
}

FIXTURE_TEST(recorder_is_partly_lean_if_found_process_is_lean)
{
	struct fake_target *found = fake_target_add(FAKE_PID + 1);

	publisher.site_count = 0;
	found->found.publishers.list[0] = &publisher;
	found->found.publishers.count = 1;
	fake.looks_at_start = true;
	target->is_complete = true;
	fake.found = FAKE_PID + 1;
	fake.search_ns = FAKE_START_NS + NS_PER_S / 2;
	assert_int_equal(record(), EXIT_CODE_OK);
	expect_recorded("process 1 found lean\nmeta partly-lean split\nself");
	expect_said("process 4000001 (puma): the object that publishes has no function");
}

static void fail_to_register(void)
{
	fake.failures[FAKE_REGISTER] = -EIO;
}

static void run_out_of_memory(void)
{
	fake.failures[FAKE_REGISTER] = -ENOMEM;
}

FIXTURE_TEST(recorder_ends_if_threads_cannot_register_except_on_enomem)
{
	const uint64_t end_ns = NS_PER_S / 2;

	fake.found = FAKE_PID + 1;
	fake.search_ns = FAKE_START_NS + end_ns;
	plan(NS_PER_S / 4, fail_to_register);
	assert_int_equal(record(), EXIT_CODE_FAILURE);
	assert_int_equal(fake.now_ns - FAKE_START_NS, end_ns);
	(void)begin(state);
	fake.found = FAKE_PID + 1;
	fake.search_ns = FAKE_START_NS + end_ns;
	plan(NS_PER_S / 4, run_out_of_memory);
	fake.recording.duration_ns = 3 * NS_PER_S;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(fake.now_ns - FAKE_START_NS, 3 * NS_PER_S);
}

FIXTURE_TEST(recorder_fails_if_search_was_denied_everything)
{
	fake.were_hidden = true;
	assert_int_equal(record(), EXIT_CODE_UNSUPPORTED);
	assert_null(strstr(fake.said, "wrote"));
}

FIXTURE_TEST(recorder_checks_for_lost_exits_once_per_window)
{
	for (uint64_t part = 1; part < 10; part++)
		plan(part * NS_PER_S / 4, load);
	fake.processes[0].books.live_threads = 1;
	fake.processes[1].is_there = true;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(fake.exit_checks, 2);
	/* Which of them has threads is known from the end of the first one on. */
	assert_int_equal(fake.exit_checks_with_threads, 1);
}

/* Its publisher is not mapped by a process that is not there. */
FIXTURE_TEST(recorder_looks_at_moved_publisher_at_end_of_window)
{
	plan(NS_PER_S / 2, publish_by_the_gem);
	plan(NS_PER_S - 1, note_looks);
	plan(NS_PER_S + NS_PER_MS, expect_one);
	assert_int_equal(record(), EXIT_CODE_OK);
}

TEST_GROUP(make_file, remove_file)
