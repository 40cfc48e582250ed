/* SPDX-License-Identifier: GPL-2.0-only */
/* What a look at a process finds, and what the kernel side is told of it. */
#include "unit_test.h"

#include "recorder/observe/process/observed.h"

#include "recorder/observe/fake_target.h"

UNIT_TEST_ALONE;

enum {
	CHILD = FAKE_PID + 1,
	FIRST_START = 0x1000,
	SECOND_START = 0x5000,
	PUBLISHER_BYTES = 0x1000,
	LOADER_OFFSET = 300
};

/* That the next exec begins. */
#define IMAGE (life_of(FAKE_PID) + 100)

static const struct key_options ruby_keys = { .names = { "request_id" },
					      .record_names = { "request_id" },
					      .ruby_names = { "request_id" },
					      .count = 1,
					      .ruby_count = 1 };
static const struct key_options both_keys = { .record_names = { "request_id", "trace_id" },
					      .ruby_names = { "request_id" },
					      .otel_names = { NULL, "trace_id" },
					      .count = 2,
					      .ruby_count = 1,
					      .otel_count = 1 };
static const struct key_options otel_keys = {
	.record_names = { "trace_id" }, .otel_names = { "trace_id" }, .count = 1, .otel_count = 1
};

static struct observed_table table;
static struct fake_target *target;
static struct publisher first, second, of_otel;
static struct observed *process;
static unsigned int decisions;

/* One that is Ruby and has a loader, and publishes nothing yet. */
static int set_up(void **state)
{
	(void)state;
	fake_reset();
	fake_targets_reset();
	table = (struct observed_table){ .keys = &ruby_keys };
	target = fake_target_add(FAKE_PID);
	target->found.loader = fake_file();
	target->found.loader_offset = LOADER_OFFSET;
	first = (struct publisher){ .path = "/first.so",
				    .start = FIRST_START,
				    .end = FIRST_START + PUBLISHER_BYTES,
				    .file = fake_file(),
				    .sites = { { .file_offset = 100 }, { .file_offset = 200 } },
				    .site_count = 2,
				    .is_located = true };
	second = (struct publisher){ .path = "/second.so",
				     .start = SECOND_START,
				     .end = SECOND_START + PUBLISHER_BYTES,
				     .file = fake_file(),
				     .sites = { { .file_offset = 400 } },
				     .site_count = 1,
				     .is_located = true };
	of_otel = (struct publisher){ .path = "/otel.so",
				      .is_located = true,
				      .tls.location.model = TLS_MODEL_DYNAMIC };
	process = observed_add(&table, life_of(FAKE_PID), FAKE_PID, 0, "ruby");
	return process ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	observed_table_deinit(&table);
	return 0;
}

static void publish_by(struct publisher *publisher)
{
	struct publishers *publishers = &target->found.publishers;

	publishers->list[publishers->count++] = publisher;
	target->is_news = true;
}

/* The kernel side has seen it, too. */
static void execute(void)
{
	fake.processes[0].image = IMAGE;
	observed_execute(process, IMAGE, fake.now_ns);
}

static void publish_by_otel(void)
{
	target->found.otel.publishers.list[0] = &of_otel;
	target->found.otel.publishers.count = 1;
}

static void look_after(uint64_t ns)
{
	fake.now_ns += ns;
	assert_int_equal(observed_look(&table, process, &fake.session, fake.now_ns, &decisions), 0);
}

static void look(void)
{
	look_after(1);
}

static void expect_told(const char *told)
{
	assert_string_equal(fake.told, told);
	fake.told[0] = '\0';
}

static void expect_said(const char *part)
{
	if (!strstr(fake.said, part))
		fail_msg("\"%s\" is not in:\n%s", part, fake.said);
	fake.said[0] = '\0';
}

static void expect_probe(size_t number, enum session_probe_kind kind, const uint64_t *offsets,
			 size_t count)
{
	const struct fake_probe *probe = &fake.probes[number];

	assert_true(number < fake.probe_count);
	assert_int_equal(probe->kind, kind);
	assert_int_equal(probe->fd, object_file_fd(fake_file()));
	assert_int_equal(probe->count, count);
	assert_memory_equal(probe->offsets, offsets, count * sizeof(*offsets));
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(observed_places_probes_at_changes_and_loader_before_reading)
{
	static const uint64_t sites[] = { 100, 200 }, other_sites[] = { 400 };
	static const uint64_t loader = LOADER_OFFSET;

	publish_by(&first);
	publish_by(&second);
	look();
	expect_told("3 probes of 0\nprocess 0 of 0, flags 1\n");
	expect_probe(0, SESSION_PROBE_CONTEXT, sites, 2);
	expect_probe(1, SESSION_PROBE_CONTEXT, other_sites, 1);
	expect_probe(2, SESSION_PROBE_LOADER, &loader, 1);
	for (size_t i = 0; i < 3; i++)
		assert_int_not_equal(fake.probes[i].identified, -EINVAL);
	assert_int_equal(decisions & (PROCESS_SAY_READ | PROCESS_SAY_UNREAD), PROCESS_SAY_READ);
	assert_int_equal(process->state.stage, PROCESS_PARTIAL);
	assert_true(process->is_configured);
	assert_int_equal(process->config.publisher_start, FIRST_START);
	assert_int_equal(fake.config.image, life_of(FAKE_PID));
	assert_int_equal(observed_mode(process), WATCH_MODE_EXACT);
	/* The same again is no news. */
	look();
	expect_told("3 probes of 0\n");
	assert_int_equal(decisions & PROCESS_SAY_READ, 0);
}

/* So that no thread of another program takes it. */
FIXTURE_TEST(look_after_exec_configures_new_image)
{
	publish_by(&first);
	look();
	assert_int_equal(fake.config.image, life_of(FAKE_PID));
	fake.told[0] = '\0';
	execute();
	look();
	/* Also if all else is the same. */
	expect_told("2 probes of 0\nprocess 0 of 0, flags 1\n");
	assert_int_equal(fake.config.image, IMAGE);
	assert_int_equal(process->config.image, IMAGE);
}

/* There was no room for the event. */
FIXTURE_TEST(look_after_unreported_exec_reopens_new_program)
{
	struct observed *known = process;

	publish_by(&first);
	look();
	fake.told[0] = '\0';
	fake.processes[0].image = IMAGE;
	look();
	expect_told("2 probes of 0\nprocess 0 of 0, flags 1\n");
	assert_int_equal(process->image, IMAGE);
	assert_int_equal(fake.config.image, IMAGE);
	assert_int_equal(target->opened, 2);
	assert_int_equal(decisions & PROCESS_SAY_READ, PROCESS_SAY_READ);
	/* Which is seen once. */
	look();
	expect_told("2 probes of 0\n");
	assert_int_equal(target->opened, 2);
	/* Of one that the kernel side does not know yet nothing else is known. */
	process = observed_add(&table, life_of(FAKE_PID + FAKE_PROCESSES_MAX), FAKE_PID, 0, "ruby");
	assert_non_null(process);
	look();
	assert_int_equal(fake.config.image, life_of(FAKE_PID + FAKE_PROCESSES_MAX));
	process = known;
}

/* It has ended, which was not told yet. */
FIXTURE_TEST(look_fails_if_pid_was_reused)
{
	process->start_ticks = FAKE_START_TICKS;
	publish_by(&first);
	target->found.info.start_ticks++;
	assert_int_equal(observed_look(&table, process, &fake.session, fake.now_ns, &decisions),
			 -ESRCH);
	assert_false(process->is_configured || process->state.is_readable);
	expect_told("");
	assert_string_equal(process->comm, "ruby");
	assert_int_equal(process->start_wall_ns, 0);
}

FIXTURE_TEST(look_places_no_probes_without_loader_or_publisher)
{
	target->found.loader = NULL;
	look();
	expect_told("0 probes of 0\nprocess 0 of 0, flags 0\n");
	assert_int_equal(process->state.stage, PROCESS_SILENT);
	publish_by(&first);
	look();
	assert_int_equal(fake.probe_count, 1);
	assert_int_equal(fake.probes[0].kind, SESSION_PROBE_CONTEXT);
}

FIXTURE_TEST(look_reports_complete_and_then_unread_publisher)
{
	publish_by(&first);
	target->is_complete = true;
	look();
	assert_int_equal(decisions & PROCESS_SAY_COMPLETE, PROCESS_SAY_COMPLETE);
	assert_int_equal(process->state.stage, PROCESS_COMPLETE);
	assert_true(process_next_look(&process->state) == UINT64_MAX);
	target->found.publishers.count = 0;
	target->is_complete = false;
	look();
	assert_int_equal(decisions & (PROCESS_SAY_READ | PROCESS_SAY_UNREAD), PROCESS_SAY_UNREAD);
	expect_told("2 probes of 0\nprocess 0 of 0, flags 1\n1 probes of 0\n"
		    "process 0 of 0, flags 0\n");
}

FIXTURE_TEST(look_goes_lean_without_probe_site_until_one_appears)
{
	first.site_count = 0;
	publish_by(&first);
	publish_by(&second);
	look();
	/* That of the other one tells if it is in use. */
	expect_told("2 probes of 0\nprocess 0 of 0, flags 5\n");
	assert_int_equal(process->lean_causes, LEAN_NO_SITE);
	assert_true(process->is_mode_new);
	assert_non_null(strstr(process->mode_reason, "no function known to change the context"));
	process->is_mode_new = false;
	look();
	assert_false(process->is_mode_new);
	fake.told[0] = '\0';
	first.site_count = 2;
	look();
	assert_int_equal(process->lean_causes, 0);
	assert_true(process->is_mode_new);
	assert_non_null(strstr(process->mode_reason, "has functions known to change the context"));
	expect_told("3 probes of 0\n0 is exact\n");
	assert_false(process->config.flags & PROCESS_IS_LEAN);
}

FIXTURE_TEST(look_gives_no_process_reason_in_lean_session)
{
	fake.is_lean = true;
	first.site_count = 0;
	publish_by(&first);
	look();
	assert_int_equal(process->lean_causes, 0);
	assert_false(process->is_mode_new);
}

FIXTURE_TEST(look_over_budget_places_only_loader_probe)
{
	publish_by(&first);
	observed_step_down(process, &fake.session, "too dear");
	fake.told[0] = '\0';
	look();
	expect_told("1 probes of 0\nprocess 0 of 0, flags 5\n");
	assert_int_equal(fake.probes[0].kind, SESSION_PROBE_LOADER);
	observed_step_up(process, &fake.session, "cheap");
	expect_told("2 probes of 0\n0 is exact\n");
}

FIXTURE_TEST(look_logs_failed_probes_once_and_retries)
{
	publish_by(&first);
	fake.probe_errors[SESSION_PROBE_CONTEXT] = -EINVAL;
	look();
	expect_told("2 probes of 0\nprocess 0 of 0, flags 5\n");
	expect_said("cannot place probes in /first.so for process 4000000 (puma): Invalid "
		    "argument; see that its file");
	assert_int_equal(process->lean_causes, LEAN_NO_PROBE);
	assert_string_equal(process->mode_reason, "uprobes cannot be placed: Invalid argument");
	look();
	expect_told("");
	look_after(PROCESS_PROBE_PAUSE_FIRST_NS);
	expect_told("2 probes of 0\n");
	assert_string_equal(fake.said, "");
	fake.probe_errors[SESSION_PROBE_CONTEXT] = 0;
	look_after(2 * PROCESS_PROBE_PAUSE_FIRST_NS);
	expect_told("2 probes of 0\n0 is exact\n");
	assert_int_equal(process->lean_causes, 0);
	assert_string_equal(process->mode_reason, "uprobes could be placed again");
}

/* It is then looked at now and then. */
FIXTURE_TEST(look_stays_exact_without_loader_probe)
{
	publish_by(&first);
	fake.probe_errors[SESSION_PROBE_LOADER] = -EPERM;
	look();
	assert_int_equal(process->lean_causes, 0);
	assert_string_equal(fake.said, "");
}

FIXTURE_TEST(look_logs_advice_for_each_probe_error)
{
	static const struct {
		int error;
		const char *said;
	} cases[] = {
		{ -EOPNOTSUPP, "a process answers for that file (FUSE); put it on" },
		{ -ETIMEDOUT, "; see why its file system" },
		{ -EMFILE, "; allow more open files" },
		{ -ENFILE, "; allow more open files" },
		{ -ENOSPC, "; observe fewer processes" },
		{ -EPERM, "; `correlator doctor`" },
		{ -EACCES, "Permission denied; `correlator doctor`" },
	};

	publish_by(&first);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		execute();
		fake.probe_errors[SESSION_PROBE_CONTEXT] = cases[i].error;
		look();
		expect_said(cases[i].said);
	}
}

FIXTURE_TEST(look_reads_publisher_in_use_then_all_of_them)
{
	publish_by(&first);
	publish_by(&second);
	look();
	expect_said("has 2 loaded objects");
	observed_ask(process, SECOND_START, fake.now_ns);
	look();
	expect_said("that of /second.so is the one in use");
	assert_int_equal(process->config.publisher_start, SECOND_START);
	observed_ask(process, FIRST_START, fake.now_ns);
	look();
	expect_said("sets contexts in several of them: what it sets in others than /first.so");
	assert_int_equal(process->config.publisher_start, 0);
	assert_true(process->config.publisher_end == UINT64_MAX);
	observed_ask(process, SECOND_START, fake.now_ns);
	assert_ptr_equal(target_publisher(process->target), &first);
}

FIXTURE_TEST(look_expects_switch_of_publisher_only_with_probes)
{
	publish_by(&first);
	publish_by(&second);
	look();
	expect_said("reading that of /first.so until another one is seen to be set\n");
	execute();
	observed_step_down(process, &fake.session, "too dear");
	look();
	expect_said("reading that of /first.so\n");
	fake.is_lean = true;
	execute();
	process->lean_causes = 0;
	look();
	expect_said("reading that of /first.so\n");
}

FIXTURE_TEST(observed_ask_about_unopened_process_schedules_look)
{
	assert_true(observed_next_look(&table) == UINT64_MAX);
	observed_ask(process, SECOND_START, 500);
	assert_int_equal(observed_next_look(&table), 500);
}

FIXTURE_TEST(look_configures_otel_beside_ruby_and_first)
{
	process->keys = table.keys = &both_keys;
	publish_by(&first);
	look();
	expect_told("2 probes of 0\nprocess 0 of 0, flags 1\n");
	assert_false(observed_has_otel(process));
	publish_by_otel();
	look();
	expect_told("2 probes of 0\notel of 0\nprocess 0 of 0, flags 3\n");
	assert_int_equal(fake.otel_config.tls.model, TLS_MODEL_DYNAMIC);
	assert_true(observed_has_otel(process));
	assert_int_equal(observed_mode(process), WATCH_MODE_PARTLY_LEAN);
	look();
	expect_told("2 probes of 0\n");
	target->found.otel.announcement.index_count = 3;
	look();
	expect_told("2 probes of 0\notel of 0\nprocess 0 of 0, flags 3\n");
	assert_int_equal(fake.otel_config.known_indexes, 3);
	target->found.otel.announcement.state = OTEL_ANNOUNCEMENT_REFUSED;
	look();
	expect_told("2 probes of 0\nprocess 0 of 0, flags 1\n");
}

FIXTURE_TEST(look_skips_contexts_without_requested_keys)
{
	publish_by(&first);
	publish_by_otel();
	look();
	assert_int_equal(process->config.flags, PROCESS_READY);
	assert_false(observed_has_otel(process));
	execute();
	process->keys = table.keys = &otel_keys;
	look();
	assert_int_equal(process->config.flags, PROCESS_HAS_OTEL);
	assert_int_equal(decisions & PROCESS_SAY_READ, PROCESS_SAY_READ);
}

FIXTURE_TEST(look_retries_failed_configuration)
{
	process->keys = table.keys = &both_keys;
	publish_by(&first);
	publish_by_otel();
	fake.failures[FAKE_SET_OTEL] = -ENOSPC;
	assert_int_equal(observed_look(&table, process, &fake.session, fake.now_ns, &decisions),
			 -ENOSPC);
	assert_false(process->is_configured || process->state.is_readable);
	expect_told("2 probes of 0\notel of 0\n");
	expect_said("cannot configure OpenTelemetry in process 4000000 (puma)\n");
	fake.failures[FAKE_SET_OTEL] = 0;
	fake.failures[FAKE_SET_PROCESS] = -ENOSPC;
	assert_int_equal(observed_look(&table, process, &fake.session, fake.now_ns, &decisions),
			 -ENOSPC);
	assert_int_equal(decisions & PROCESS_SAY_READ, 0);
	assert_false(process->is_configured);
	assert_string_equal(fake.said, "cannot configure process 4000000 (puma)\n");
	fake.said[0] = '\0';
	/* Its family has its share: whoever asked for it says so. */
	fake.failures[FAKE_SET_PROCESS] = -EDQUOT;
	assert_int_equal(observed_look(&table, process, &fake.session, fake.now_ns, &decisions),
			 -EDQUOT);
	assert_false(process->is_configured);
	assert_string_equal(fake.said, "");
	fake.failures[FAKE_SET_PROCESS] = 0;
	look();
	assert_int_equal(decisions & PROCESS_SAY_READ, PROCESS_SAY_READ);
	assert_true(process->is_configured);
}

FIXTURE_TEST(look_limits_rate_of_changed_configurations)
{
	publish_by(&first);
	for (int i = 0; i < PROCESS_CHANGES_FREE; i++) {
		first.end++;
		look();
		assert_int_equal(process->config.publisher_end, first.end);
	}
	first.end++;
	look();
	assert_int_equal(process->config.publisher_end, first.end - 1);
	look_after(PROCESS_CHANGE_PAUSE_FIRST_NS);
	assert_int_equal(process->config.publisher_end, first.end);
}

FIXTURE_TEST(look_updates_process_info_only_on_news)
{
	target->found.info.parent_pid = 12;
	look();
	assert_string_equal(process->comm, "puma");
	assert_int_equal(process->parent_pid, 12);
	assert_int_equal(process->books.ns_pid, 5);
	assert_int_equal(process->start_wall_ns,
			 FAKE_WALL_NS - FAKE_START_NS + 77 * 10 * NS_PER_MS);
	(void)strcpy(target->found.info.comm, "other");
	look();
	assert_string_equal(process->comm, "puma");
	target->is_news = true;
	/* The start tells it from others with its pid, also once a clock was set. */
	fake.wall_behind_ns = 5;
	look();
	assert_string_equal(process->comm, "other");
	assert_int_equal(process->start_wall_ns,
			 FAKE_WALL_NS - FAKE_START_NS + 77 * 10 * NS_PER_MS);
}

FIXTURE_TEST(look_warns_about_shared_native_threads_once_per_program)
{
	publish_by(&first);
	target->mixes_threads = true;
	look();
	assert_true(process->books.mixes_threads);
	expect_said("RUBY_MN_THREADS");
	target->is_news = true;
	look();
	assert_string_equal(fake.said, "");
	/* Once of each program. */
	execute();
	assert_false(process->books.mixes_threads);
	look();
	expect_said("RUBY_MN_THREADS");
	target->mixes_threads = false;
	target->is_news = true;
	look();
	assert_false(process->books.mixes_threads);
}

FIXTURE_TEST(look_over_budget_delays_next_look)
{
	process->family->looks.looks = LOOK_BUDGET_FREE;
	fake.own_cpu_ns = 12345;
	/* Twice: it is opened, and then looked for what is wanted. */
	target->cost_ns = CPU_BUDGET_BURST_NS;
	look();
	assert_int_equal(observed_may_look_ns(process, fake.now_ns),
			 fake.now_ns + CPU_BUDGET_BURST_NS * CPU_BUDGET_PART);
}

FIXTURE_TEST(observed_describe_reports_ruby_version_and_service)
{
	struct otel_announcement *announcement = &target->found.otel.announcement;
	struct process_record record;

	(void)strcpy(target->found.ruby.version, "3.4.5");
	(void)strcpy(announcement->schema_version, "schema");
	(void)strcpy(announcement->service_name, "shop");
	(void)strcpy(announcement->service_instance_id, "shop-1");
	(void)strcpy(announcement->environment_name, "staging");
	look();
	observed_describe(process, PROCESS_EVENT_FOUND, &record);
	assert_string_equal(record.ruby_version, "3.4.5");
	assert_null(record.service_name);
	process->keys = &both_keys;
	observed_describe(process, PROCESS_EVENT_FOUND, &record);
	assert_string_equal(record.otel_schema, "schema");
	assert_string_equal(record.service_name, "shop");
	assert_string_equal(record.service_instance_id, "shop-1");
	assert_string_equal(record.environment_name, "staging");
	process->target->otel.announcement.environment_name[0] = '\0';
	observed_describe(process, PROCESS_EVENT_FOUND, &record);
	assert_null(record.environment_name);
}

/* By what is mapped there: that of this process is its own program, and nothing. */
FIXTURE_TEST(observed_check_publishers_looks_again_if_mapping_is_gone)
{
	extern const char __ehdr_start;

	process->pid = getpid();
	target->is_complete = true;
	publish_by(&first);
	fake_targets[0].pid = fake_targets[0].found.info.pid = getpid();
	first.start = (uint64_t)&__ehdr_start;
	observed_check_publishers(&table, 700);
	assert_true(observed_next_look(&table) == UINT64_MAX);
	look();
	observed_check_publishers(&table, 700);
	assert_true(observed_next_look(&table) == UINT64_MAX);
	first.start = 0;
	observed_check_publishers(&table, 700);
	assert_int_equal(observed_next_look(&table), 700);
}

FIXTURE_TEST(observed_check_otel_looks_periodically_and_on_change)
{
	struct otel_announcement *announcement = &target->found.otel.announcement;

	process->keys = table.keys = &both_keys;
	target->is_complete = true;
	observed_check_otel(&table, fake.now_ns);
	assert_true(observed_next_look(&table) == UINT64_MAX);
	look();
	observed_check_otel(&table, fake.now_ns + NS_PER_S);
	assert_true(observed_next_look(&table) == UINT64_MAX);
	observed_check_otel(&table, fake.now_ns + NS_PER_S + 1);
	assert_int_equal(observed_next_look(&table),
			 fake.now_ns + NS_PER_S + 1 + PROCESS_LOOK_PAUSE_FIRST_NS);
	announcement->header_address = 0x7000;
	look();
	observed_check_otel(&table, fake.now_ns + 2 * NS_PER_S);
	assert_true(observed_next_look(&table) == UINT64_MAX);
	target->has_changed = true;
	/* Who asked for no key of it is not looked at. */
	table.keys = &ruby_keys;
	observed_check_otel(&table, fake.now_ns);
	assert_true(observed_next_look(&table) == UINT64_MAX);
	table.keys = &both_keys;
	observed_check_otel(&table, fake.now_ns);
	assert_int_equal(observed_next_look(&table), fake.now_ns + PROCESS_LOOK_PAUSE_FIRST_NS);
}

FIXTURE_TEST(observed_child_inherits_service_name_only_by_fork)
{
	struct observed *parent = process;
	struct process_record record;

	process->keys = table.keys = &both_keys;
	target->found.otel.announcement.state = OTEL_ANNOUNCEMENT_READ;
	(void)strcpy(target->found.otel.announcement.service_name, "shop");
	look();
	(void)fake_target_add(CHILD);
	for (int is_fork = 0; is_fork < 2; is_fork++) {
		process = observed_add(&table, life_of(CHILD), CHILD, life_of(FAKE_PID), "puma");
		assert_non_null(process);
		process->is_fork = is_fork;
		observed_find(&table, life_of(CHILD))->is_configured = false;
		look();
		observed_describe(process, PROCESS_EVENT_FOUND, &record);
		assert_string_equal(record.service_name ? record.service_name : "-",
				    is_fork ? "shop" : "-");
		observed_remove(&table, process);
	}
	process = parent;
}

FIXTURE_TEST(observed_find_symbol_opens_target_only_within_look_budget)
{
	struct value_snapshot name;

	process->family->looks.looks = LOOK_BUDGET_FREE;
	target->cost_ns = CPU_BUDGET_BURST_NS + 1;
	assert_int_equal(observed_find_symbol(process, 1, &name), -EAGAIN);
	assert_int_equal(target->opened, 1);
	assert_int_equal(observed_may_look_ns(process, fake.now_ns), fake.now_ns + CPU_BUDGET_PART);
	/* What was found stays, and what is not there may not be looked for. */
	assert_int_equal(observed_find_symbol(process, 1, &name), -EAGAIN);
	assert_int_equal(target->opened, 1);
	execute();
	assert_int_equal(observed_find_symbol(process, 1, &name), -EAGAIN);
	assert_int_equal(target->opened, 1);
	fake.now_ns += CPU_BUDGET_PART;
	target->error = -EPERM;
	assert_int_equal(observed_find_symbol(process, 1, &name), -EAGAIN);
	target->error = 0;
	assert_int_equal(observed_find_symbol(process, 1, &name), -EAGAIN);
	assert_int_equal(target->opened, 2);
}
