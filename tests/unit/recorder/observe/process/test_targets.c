/* SPDX-License-Identifier: GPL-2.0-only */
/* Whom a recording observes, of processes that are there and what looks at them find. */
#include "unit_test.h"

#include "recorder/observe/process/targets.h"

#include "failing_memory.h"
#include "recorder/observe/fake_command.h"
#include "recorder/observe/fake_target.h"
#include "recorder/target/proc/process.h"
#include "recorder/target/proc/process_access.h"

UNIT_TEST_ALONE;

enum {
	OTHER = FAKE_PID + 1,
	THIRD = FAKE_PID + 2
};

/* recorder/target/discovery/discovery.h: what the next look reports. */
static struct {
	int error;
	uint64_t next_ns;
	pid_t found, candidate, dropped; /* 0 = none */
	int candidate_result, found_result;
	size_t unreadable;
	pid_t expected;
	unsigned int looks, alarms;
} fake_discovery;

int discovery_new(const char *comm, const char *cgroup, const struct target_keys *keys,
		  struct object_files *files, struct discovery **ret_discovery)
{
	assert_string_equal(comm, "puma*");
	assert_string_equal(cgroup, "shop*");
	assert_true(keys->wants_ruby);
	assert_non_null(files);
	if (!has_memory())
		return -ENOMEM;
	*ret_discovery = (struct discovery *)&fake_discovery;
	return 0;
}

void discovery_free(struct discovery *discovery)
{
	(void)discovery;
}

int discovery_look(struct discovery *discovery, uint64_t now_ns,
		   const struct discovery_owner *owner)
{
	struct target_keys keys = { .count = 1 };
	struct target *target = NULL;

	(void)discovery;
	assert_int_equal(now_ns, fake.now_ns);
	fake_discovery.looks++;
	if (fake_discovery.error)
		return fake_discovery.error;
	if (fake_discovery.found) {
		int r = target_open(fake_discovery.found, NULL, &keys, NULL, &target);

		fake_discovery.found_result = r < 0 ? r : owner->on_found(owner->user, target);
	}
	if (fake_discovery.candidate)
		fake_discovery.candidate_result = owner->on_candidate(
			owner->user, &fake_target_find(fake_discovery.candidate)->found);
	if (fake_discovery.dropped)
		owner->on_dropped(owner->user, fake_discovery.dropped);
	return fake_discovery.found_result;
}

uint64_t discovery_next_look(const struct discovery *discovery)
{
	(void)discovery;
	return fake_discovery.next_ns;
}

void discovery_expect(struct discovery *discovery, pid_t pid, uint64_t now_ns)
{
	(void)discovery;
	assert_int_equal(now_ns, fake.now_ns);
	fake_discovery.expected = pid;
}

void discovery_expect_any(struct discovery *discovery, uint64_t now_ns)
{
	(void)discovery;
	assert_int_equal(now_ns, fake.now_ns);
	fake_discovery.alarms++;
}

size_t discovery_unreadable(const struct discovery *discovery)
{
	(void)discovery;
	return fake_discovery.unreadable;
}

/* recorder/target/proc/process.h, recorder/target/proc/process_access.h: who is there, and what we
 * may read. */
static struct {
	int error; /* of reading about one; 0 = none */
	pid_t children[4];
	size_t child_count;
	int children_error;
	bool may_read_all;
	unsigned int glances;
} fake_proc;

int process_read_info(pid_t pid, struct process_info *ret_info)
{
	const struct fake_target *target = fake_target_find(pid);

	if (!target || fake_proc.error)
		return target ? fake_proc.error : -ESRCH;
	*ret_info = target->found.info;
	return 0;
}

int process_glance(pid_t pid, struct process_info *ret_info)
{
	int r = process_read_info(pid, ret_info);

	fake_proc.glances++;
	if (r == 0)
		ret_info->ns_pid = 0;
	return r;
}

int process_find_descendants(pid_t pid, pid_t **ret_pids, size_t *ret_count)
{
	pid_t *pids = malloc(sizeof(fake_proc.children));

	assert_int_equal(pid, FAKE_PID);
	if (!pids)
		return -ENOMEM;
	memcpy(pids, fake_proc.children, sizeof(fake_proc.children));
	*ret_pids = pids;
	*ret_count = fake_proc.child_count;
	return fake_proc.children_error;
}

static pid_t thread_of;

pid_t process_of_thread(pid_t tid)
{
	(void)tid;
	return thread_of;
}

const char *process_server_name(pid_t pid)
{
	(void)pid;
	return NULL;
}

bool process_access_is_general(void)
{
	return fake_proc.may_read_all;
}

void process_access_explain(pid_t pid, char ret_text[static PROCESS_ACCESS_TEXT_BYTES])
{
	(void)snprintf(ret_text, PROCESS_ACCESS_TEXT_BYTES, "%d is another's", pid - FAKE_PID);
}

static struct targets_options options;
static bool takes_output;
static struct targets targets;
static struct fake_target *target;
static struct publisher publisher;
static pid_t pids[2];

/* A Ruby that publishes, and was named. */
static int set_up(void **state)
{
	(void)state;
	fake_reset();
	fake_targets_reset();
	memset(&fake_discovery, 0, sizeof(fake_discovery));
	memset(&fake_proc, 0, sizeof(fake_proc));
	memset(&targets, 0, sizeof(targets));
	pids[0] = FAKE_PID;
	options = (struct targets_options){ .pids = pids,
					    .pid_count = 1,
					    .keys = { .record_names = { "request_id" },
						      .ruby_names = { "request_id" },
						      .count = 1,
						      .ruby_count = 1 },
					    .comm = "puma*",
					    .cgroup = "shop*" };
	publisher = (struct publisher){
		.path = "/gem.so", .file = fake_file(), .site_count = 1, .is_located = true
	};
	target = fake_target_add(FAKE_PID);
	target->found.ruby.is_ruby = true;
	target->found.publishers.list[0] = &publisher;
	target->found.publishers.count = 1;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	targets_deinit(&targets);
	return 0;
}

static void begin_again(void **state)
{
	(void)tear_down(state);
	(void)set_up(state);
}

/* Exit code. */
static int observe(void)
{
	int code = targets_prepare(&targets, &options);

	return code == EXIT_CODE_OK ? targets_observe(&targets, &fake.session, takes_output) : code;
}

/* The process whose pid that was first. */
static const struct observed *observed(pid_t pid)
{
	return observed_find(&targets.processes, life_of(pid));
}

static void expect_said(const char *part)
{
	if (!strstr(fake.said, part))
		fail_msg("\"%s\" is not in:\n%s", part, fake.said);
	fake.said[0] = '\0';
}

static void expect_told(const char *told)
{
	assert_string_equal(fake.told, told);
	fake.told[0] = '\0';
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(targets_observe_named_process_and_expect_publishing)
{
	assert_int_equal(observe(), EXIT_CODE_OK);
	assert_non_null(observed(FAKE_PID));
	assert_int_equal(observed(FAKE_PID)->pid, FAKE_PID);
	assert_int_equal(observed(FAKE_PID)->start_ticks, FAKE_START_TICKS);
	expect_told("life of 0 since 77\n1 probes of 0\nprocess 0 of 0, flags 1\n");
	assert_int_equal(fake.config.image, life_of(FAKE_PID));
	assert_true(targets.must_publish && targets.has_published);
	assert_string_equal(fake.said, "");
	assert_false(targets_are_over(&targets));
	assert_true(targets_next_search(&targets) == UINT64_MAX);
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	assert_false(targets_were_hidden(&targets));
	targets_expect(&targets, OTHER);
	assert_int_equal(targets_release(&targets), EXIT_CODE_OK);
}

FIXTURE_TEST(targets_observe_process_named_twice_once)
{
	pids[1] = FAKE_PID;
	options.pid_count = 2;
	assert_int_equal(observe(), EXIT_CODE_OK);
	assert_int_equal(HASH_COUNT(targets.processes.processes), 1);
	assert_int_equal(target->opened, 1);
}

/* Before anything is begun, and after. */
FIXTURE_TEST(targets_report_reason_if_named_process_is_unreadable)
{
	static const struct {
		int error, code;
		const char *said;
	} cases[] = {
		{ -ESRCH, EXIT_CODE_NO_TARGET, "there is no process 4000000\n" },
		{ -EPERM, EXIT_CODE_UNSUPPORTED,
		  "not allowed to read process 4000000: 0 is another's\n" },
		{ -EACCES, EXIT_CODE_UNSUPPORTED,
		  "not allowed to read process 4000000: 0 is another's\n" },
		{ -EIO, EXIT_CODE_FAILURE, "cannot look at process 4000000\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_again(state);
		fake_proc.error = cases[i].error;
		assert_int_equal(observe(), cases[i].code);
		assert_string_equal(fake.said, cases[i].said);
		begin_again(state);
		target->error = cases[i].error;
		assert_int_equal(observe(), cases[i].code);
		assert_string_equal(fake.said, cases[i].said);
	}
}

FIXTURE_TEST(targets_reject_process_that_is_not_ruby)
{
	target->found.ruby.is_ruby = false;
	assert_int_equal(observe(), EXIT_CODE_NO_TARGET);
	expect_said("process 4000000 (puma) is not Ruby");
	assert_false(targets.must_publish);
}

FIXTURE_TEST(targets_wait_for_process_that_does_not_publish_yet)
{
	target->found.publishers.count = 0;
	(void)strcpy(target->found.ruby.version, "3.4.5");
	assert_int_equal(observe(), EXIT_CODE_OK);
	assert_null(strstr(fake.said, "could not be opened"));
	expect_said("process 4000000 (puma, Ruby 3.4.5) publishes no context yet");
	assert_true(targets.must_publish && !targets.has_published);
	begin_again(state);
	target->found.publishers.count = 0;
	target->found.walk.unreadable_count = 2;
	(void)strcpy(target->found.walk.unreadable_path, "/gem.so");
	assert_int_equal(observe(), EXIT_CODE_OK);
	expect_said("2 of its files could not be opened, among them /gem.so");
	/* Where it publishes, that is of no interest. */
	begin_again(state);
	target->found.walk.unreadable_count = 2;
	assert_int_equal(observe(), EXIT_CODE_OK);
	assert_string_equal(fake.said, "");
}

FIXTURE_TEST(targets_accept_non_ruby_process_with_otel_keys_only)
{
	static struct publisher of_otel = { .is_located = true };

	for (int case_number = 0; case_number < 3; case_number++) {
		begin_again(state);
		options.keys = (struct key_options){ .otel_names = { "trace_id" },
						     .count = 1,
						     .otel_count = 1 };
		target->found.ruby.is_ruby = false;
		target->found.publishers.count = 0;
		target->found.otel.publishers.list[0] = &of_otel;
		target->found.otel.publishers.count = case_number > 0;
		if (case_number == 2)
			target->found.otel.announcement.state = OTEL_ANNOUNCEMENT_REFUSED;
		assert_int_equal(observe(), case_number == 2 ? EXIT_CODE_NO_TARGET : EXIT_CODE_OK);
		assert_true(targets.has_published == (case_number == 1));
		if (case_number == 0)
			expect_said("publishes no context of OpenTelemetry yet");
		if (case_number == 2)
			expect_said("of a version that is not known");
		assert_string_equal(fake.said, "");
	}
}

static void follow(pid_t first_child, pid_t second_child)
{
	options.follow_forks = true;
	fake_proc.children[0] = first_child;
	fake_proc.children[1] = second_child;
	fake_proc.child_count = 2;
}

FIXTURE_TEST(targets_add_children_to_family_and_skip_exited_ones)
{
	for (int is_there = 0; is_there < 2; is_there++) {
		begin_again(state);
		(void)fake_target_add(OTHER);
		/* At first sight, and at the look no more. */
		if (is_there)
			fake_target_add(THIRD)->error = -ESRCH;
		follow(THIRD, OTHER);
		assert_int_equal(observe(), EXIT_CODE_OK);
		assert_null(observed(THIRD));
		assert_ptr_equal(observed(OTHER)->family, observed(FAKE_PID)->family);
		assert_int_equal(observed(OTHER)->parent_life, life_of(FAKE_PID));
		assert_non_null(strstr(fake.told, "\nprocess 1 of 0, flags 0\n"));
		assert_int_equal(!strstr(fake.told, "\nlife of 2 since 77\n"), !is_there);
		assert_int_equal(!strstr(fake.told, "\nno 2\n"), !is_there);
		assert_string_equal(fake.said, "");
	}
	begin_again(state);
	(void)fake_target_add(OTHER);
	follow(THIRD, OTHER);
	options.follow_forks = false;
	assert_int_equal(observe(), EXIT_CODE_OK);
	assert_null(observed(OTHER));
}

FIXTURE_TEST(targets_look_once_at_child_that_was_named)
{
	struct fake_target *child = fake_target_add(OTHER);

	child->found.ruby.is_ruby = true;
	follow(OTHER, OTHER);
	pids[0] = OTHER;
	pids[1] = FAKE_PID;
	options.pid_count = 2;
	options.follow_forks = false;
	assert_int_equal(targets_prepare(&targets, &options), EXIT_CODE_OK);
	options.pid_count = 1;
	assert_int_equal(targets_observe(&targets, &fake.session, takes_output), EXIT_CODE_OK);
	options.follow_forks = true;
	pids[0] = FAKE_PID;
	assert_int_equal(targets_observe(&targets, &fake.session, takes_output), EXIT_CODE_OK);
	assert_int_equal(child->opened, 1);
}

FIXTURE_TEST(targets_skip_and_count_unreadable_children)
{
	fake_target_add(OTHER)->error = -EPERM;
	fake_target_add(THIRD)->error = -EACCES;
	follow(OTHER, THIRD);
	assert_int_equal(observe(), EXIT_CODE_OK);
	expect_said("2 children of process 4000000 may not be read");
	assert_int_equal(HASH_COUNT(targets.processes.processes), 1);
}

FIXTURE_TEST(targets_fail_if_child_look_lacks_own_resources)
{
	fake_target_add(OTHER)->error = -EMFILE;
	(void)fake_target_add(THIRD);
	follow(OTHER, THIRD);
	assert_int_equal(observe(), EXIT_CODE_FAILURE);
	assert_null(observed(OTHER));
	assert_null(observed(THIRD));
}

FIXTURE_TEST(targets_observe_some_of_too_many_children)
{
	follow(OTHER, THIRD);
	fake_proc.children_error = -EDQUOT;
	assert_int_equal(observe(), EXIT_CODE_OK);
	expect_said("process 4000000 has more children than there is room for");
	begin_again(state);
	follow(OTHER, THIRD);
	fake_proc.children_error = -EIO;
	assert_int_equal(observe(), EXIT_CODE_FAILURE);
}

static char *const command[] = { "rails", "server", NULL };

FIXTURE_TEST(targets_start_command_last_and_look_again_after_release)
{
	struct fake_target *rails = fake_target_add(FAKE_COMMAND_PID);

	options.command = command;
	takes_output = true;
	assert_int_equal(observe(), EXIT_CODE_OK);
	assert_non_null(strstr(fake.told, "flags 1\nrails is started, not to say records\n"));
	assert_null(observed(FAKE_COMMAND_PID)->target);
	assert_int_equal(rails->opened, 1);
	assert_int_equal(process_next_look(&observed(FAKE_COMMAND_PID)->state), fake.now_ns);
	fake.told[0] = '\0';
	assert_int_equal(targets_release(&targets), EXIT_CODE_OK);
	expect_told("rails is released\n");
	fake.failures[FAKE_RELEASE] = EXIT_CODE_NOT_FOUND;
	assert_int_equal(targets_release(&targets), EXIT_CODE_NOT_FOUND);
	/* Nobody said that it publishes. */
	begin_again(state);
	(void)fake_target_add(FAKE_COMMAND_PID);
	options.command = command;
	takes_output = false;
	options.pid_count = 0;
	assert_int_equal(observe(), EXIT_CODE_OK);
	assert_false(targets.must_publish);
	assert_non_null(strstr(fake.told, "rails is started\n"));
}

FIXTURE_TEST(targets_fail_if_command_cannot_start_or_be_observed)
{
	options.command = command;
	fake.failures[FAKE_START] = -EAGAIN;
	assert_int_equal(observe(), EXIT_CODE_FAILURE);
	begin_again(state);
	options.command = command;
	assert_int_equal(observe(), EXIT_CODE_NO_TARGET);
	/* Beside one that is refused it is not even started. */
	begin_again(state);
	options.command = command;
	target->error = -ESRCH;
	assert_int_equal(observe(), EXIT_CODE_NO_TARGET);
	assert_null(strstr(fake.told, "started"));
}

/* Without one that was named. */
static int search_at_first(void)
{
	options.searches = true;
	options.pid_count = 0;
	return observe();
}

FIXTURE_TEST(targets_observe_process_found_by_search)
{
	fake_discovery.found = FAKE_PID;
	assert_int_equal(search_at_first(), EXIT_CODE_OK);
	assert_true(observed(FAKE_PID)->is_found && targets.has_found);
	assert_int_equal(observed(FAKE_PID)->start_ticks, FAKE_START_TICKS);
	assert_false(targets.must_publish);
	/* What it had as a candidate goes once it has its own. */
	expect_told("life of 0 since 77\n1 probes of 0\nprocess 0 of 0, flags 1\n"
		    "0 is not watched\n");
	assert_string_equal(fake.said, "");
	/* And is not opened once more, nor reported twice. */
	assert_int_equal(target->opened, 1);
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	expect_told("0 is not watched\n");
	(void)fake_target_add(OTHER);
	fake_discovery.found = OTHER;
	assert_true(targets_search(&targets, &fake.session, fake.now_ns));
	assert_non_null(observed(OTHER));
}

FIXTURE_TEST(targets_search_when_due_and_report_lost_events)
{
	assert_int_equal(search_at_first(), EXIT_CODE_OK);
	expect_said("no Ruby process that publishes contexts yet: waiting for one");
	fake_discovery.next_ns = fake.now_ns + 1;
	assert_int_equal(targets_next_search(&targets), fake.now_ns + 1);
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	assert_int_equal(fake_discovery.looks, 1);
	assert_int_equal(fake_discovery.alarms, 0);
	fake.has_lost_strangers = true;
	fake.now_ns++;
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	assert_int_equal(fake_discovery.looks, 2);
	assert_int_equal(fake_discovery.alarms, 1);
	targets_expect(&targets, OTHER);
	assert_int_equal(fake_discovery.expected, OTHER);
}

FIXTURE_TEST(targets_forget_found_process_that_is_gone)
{
	assert_int_equal(search_at_first(), EXIT_CODE_OK);
	fake_discovery.found = FAKE_PID;
	fake.failures[FAKE_SET_PROCESS] = -ENOSPC;
	fake.told[0] = '\0';
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	assert_int_equal(fake_discovery.found_result, 0);
	assert_null(observed(FAKE_PID));
	assert_false(targets.has_found);
	assert_non_null(strstr(fake.told, "\nno 0\n"));
	fake.failures[FAKE_SET_PROCESS] = -ENOMEM;
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	assert_int_equal(fake_discovery.found_result, -ENOMEM);
	assert_null(observed(FAKE_PID));
}

FIXTURE_TEST(targets_skip_process_without_life_number)
{
	fake.failures[FAKE_BEGIN_LIFE] = -E2BIG;
	assert_int_equal(observe(), EXIT_CODE_FAILURE);
	expect_said("cannot look at process 4000000");
	assert_null(targets.processes.processes);
	assert_int_equal(target->opened, 0);
	begin_again(state);
	fake.failures[FAKE_BEGIN_LIFE] = -E2BIG;
	fake_discovery.found = FAKE_PID;
	assert_int_equal(search_at_first(), EXIT_CODE_OK);
	assert_int_equal(fake_discovery.found_result, 0);
	assert_null(targets.processes.processes);
	assert_false(targets.has_found);
	expect_told("life of 0 since 77\n0 is not watched\n");
}

/* That is told behind this, or else its first account tells. */
FIXTURE_TEST(targets_skip_process_already_forked_by_observed_one)
{
	struct observed *known;

	assert_int_equal(search_at_first(), EXIT_CODE_OK);
	fake.forked = fake_discovery.found = FAKE_PID;
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	assert_int_equal(fake_discovery.found_result, 0);
	assert_null(targets.processes.processes);
	expect_told("life of 0 since 77\n0 is not watched\n");
	/* Met by its account, which does not say when it started. */
	known = observed_add(&targets.processes, life_of(FAKE_PID), FAKE_PID, 0, "puma");
	assert_non_null(known);
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	expect_told("life of 0 since 77\n0 is not watched\n");
	assert_int_equal(known->start_ticks, FAKE_START_TICKS);
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	expect_told("0 is not watched\n");
	assert_int_equal(HASH_COUNT(targets.processes.processes), 1);
	assert_false(known->is_found || targets.has_found);
	assert_null(known->target);
	/* One that was named, and a child of such a one. */
	for (int is_child = 0; is_child < 2; is_child++) {
		begin_again(state);
		(void)fake_target_add(OTHER);
		follow(OTHER, OTHER);
		fake.forked = is_child ? OTHER : FAKE_PID;
		assert_int_equal(observe(), EXIT_CODE_OK);
		assert_int_equal(HASH_COUNT(targets.processes.processes), is_child);
		assert_null(observed(OTHER));
		assert_int_equal(!strstr(fake.told, "life of 1 since 77\n"), !is_child);
		assert_null(strstr(fake.told, "process 1"));
		assert_string_equal(fake.said, "");
	}
}

/* A real one, which is there: this one, that was another before. */
FIXTURE_TEST(targets_treat_reused_pid_as_new_process)
{
	for (int is_told = 0; is_told < 2; is_told++) {
		struct observed *old;
		const struct observed *later;

		begin_again(state);
		target->pid = target->found.info.pid = pids[0] = getpid();
		options.searches = true;
		assert_int_equal(observe(), EXIT_CODE_OK);
		old = observed_find(&targets.processes, life_of(getpid()));
		assert_non_null(old);
		targets_find_lost_exits(&targets);
		assert_int_not_equal(old->state.stage, PROCESS_EXITED);
		if (is_told)
			process_on_exited(&old->state, fake.now_ns + 5);
		target->found.info.start_ticks++;
		fake.next_life = life_of(OTHER);
		fake_discovery.found = getpid();
		fake.told[0] = '\0';
		assert_true(targets_search(&targets, &fake.session, fake.now_ns));
		assert_int_equal(HASH_COUNT(targets.processes.processes), 2);
		later = observed(OTHER);
		assert_non_null(later);
		assert_int_equal(later->pid, getpid());
		assert_int_equal(later->start_ticks, FAKE_START_TICKS + 1);
		assert_true(later->is_found && !old->is_found);
		assert_non_null(strstr(fake.told, "\nprocess 1 of 0, flags 1\n"));
		assert_int_equal(fake.config.image, life_of(OTHER));
		/* And is known from then on. */
		fake_discovery.found = getpid();
		assert_false(targets_search(&targets, &fake.session, fake.now_ns));
		assert_int_equal(HASH_COUNT(targets.processes.processes), 2);
		fake.now_ns += 5;
		for (int i = 0; i < 2; i++) {
			targets_find_lost_exits(&targets);
			assert_int_equal(old->state.stage, PROCESS_EXITED);
			assert_int_equal(old->state.exit_ktime_ns, fake.now_ns - (uint64_t)i);
			assert_int_not_equal(later->state.stage, PROCESS_EXITED);
			fake.now_ns++;
		}
		assert_false(targets_are_over(&targets));
	}
}

FIXTURE_TEST(targets_log_failed_search_once_until_success)
{
	fake_discovery.error = -EMFILE;
	assert_int_equal(search_at_first(), EXIT_CODE_FAILURE);
	expect_said("cannot search the machine's processes");
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	assert_string_equal(fake.said, "");
	fake_discovery.error = 0;
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	fake_discovery.error = -EMFILE;
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	expect_said("cannot search the machine's processes");
}

/* Its loader's work and its forks are to be told, or it is looked at now and then. */
FIXTURE_TEST(targets_watch_ruby_that_does_not_publish_yet)
{
	assert_int_equal(search_at_first(), EXIT_CODE_OK);
	fake_discovery.candidate = FAKE_PID;
	fake.told[0] = '\0';
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	assert_int_equal(fake_discovery.candidate_result, -ENOENT);
	expect_told("");
	target->found.loader = fake_file();
	target->found.loader_offset = 300;
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	assert_int_equal(fake_discovery.candidate_result, 0);
	expect_told("1 probes of stranger 0\n0 is watched\n");
	assert_int_equal(fake.probes[0].kind, SESSION_PROBE_LOADER);
	assert_int_equal(fake.probes[0].fd, object_file_fd(fake_file()));
	assert_int_equal(fake.probes[0].count, 1);
	assert_int_equal(fake.probes[0].offsets[0], 300);
	fake.failures[FAKE_WATCH] = -ENOSPC;
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	assert_int_equal(fake_discovery.candidate_result, -ENOSPC);
	fake.told[0] = '\0';
	fake.probe_errors[SESSION_PROBE_LOADER] = -EPERM;
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	assert_int_equal(fake_discovery.candidate_result, -EPERM);
	expect_told("1 probes of stranger 0\n");
	fake_discovery.candidate = 0;
	fake_discovery.dropped = FAKE_PID;
	assert_false(targets_search(&targets, &fake.session, fake.now_ns));
	expect_told("0 is not watched\n");
}

FIXTURE_TEST(targets_refuse_search_that_is_denied_everything)
{
	fake_discovery.unreadable = 3;
	assert_int_equal(search_at_first(), EXIT_CODE_UNSUPPORTED);
	expect_said("but 3 processes may not be read");
	assert_true(targets_were_hidden(&targets));
	targets.has_found = true;
	assert_false(targets_were_hidden(&targets));
	targets.has_found = false;
	fake_proc.may_read_all = true;
	assert_false(targets_were_hidden(&targets));
	begin_again(state);
	fake_discovery.unreadable = 3;
	fake_proc.may_read_all = true;
	assert_int_equal(search_at_first(), EXIT_CODE_OK);
	expect_said("waiting for one");
}

/* One that was found, one that was named, a command. */
FIXTURE_TEST(targets_only_log_skipped_processes_if_others_are_observed)
{
	for (int case_number = 0; case_number < 4; case_number++) {
		begin_again(state);
		(void)fake_target_add(FAKE_COMMAND_PID);
		options.searches = true;
		options.pid_count = case_number == 1;
		options.command = case_number == 2 ? command : NULL;
		fake_discovery.found = case_number == 0 || case_number == 3 ? FAKE_PID : 0;
		fake_discovery.unreadable = 3;
		fake_proc.may_read_all = case_number == 3;
		assert_int_equal(observe(), EXIT_CODE_OK);
		expect_said(case_number == 3 ? "skipping 3 processes that may not be read\n"
					     : "skipping 3 processes that may not be read: that "
					       "takes CAP_SYS_PTRACE\n");
	}
	begin_again(state);
	options.searches = true;
	assert_int_equal(observe(), EXIT_CODE_OK);
	assert_string_equal(fake.said, "");
}

static void exit_all(void)
{
	for (struct observed *each = targets.processes.processes; each; each = each->hh.next)
		process_on_exited(&each->state, 1);
}

FIXTURE_TEST(targets_are_over_after_all_exit_without_search)
{
	assert_int_equal(observe(), EXIT_CODE_OK);
	assert_false(targets_are_over(&targets));
	exit_all();
	assert_true(targets_are_over(&targets));
	begin_again(state);
	assert_int_equal(search_at_first(), EXIT_CODE_OK);
	assert_false(targets_are_over(&targets));
}

FIXTURE_TEST(targets_end_with_command_beside_others_else_with_its_family)
{
	for (int case_number = 0; case_number < 3; case_number++) {
		begin_again(state);
		(void)fake_target_add(FAKE_COMMAND_PID);
		options.command = command;
		options.pid_count = case_number == 1;
		options.searches = case_number == 2;
		fake.has_command_ended = false;
		assert_int_equal(observe(), EXIT_CODE_OK);
		fake.has_command_ended = true;
		assert_false(targets_are_over(&targets));
		child_command_check(&targets.child);
		assert_true(targets_are_over(&targets) == (case_number > 0));
		exit_all();
		assert_true(targets_are_over(&targets));
	}
}

FIXTURE_TEST(targets_detect_unreported_exit)
{
	assert_int_equal(observe(), EXIT_CODE_OK);
	fake.now_ns += 5;
	assert_non_null(observed_add(&targets.processes, life_of(getpid()), getpid(), 0, "self"));
	targets_find_lost_exits(&targets);
	assert_int_equal(observed(FAKE_PID)->state.stage, PROCESS_EXITED);
	assert_int_equal(observed(FAKE_PID)->state.exit_ktime_ns, fake.now_ns);
	assert_int_equal(observed(getpid())->state.stage, PROCESS_UNSEEN);
	fake.now_ns += 5;
	targets_find_lost_exits(&targets);
	assert_int_equal(observed(FAKE_PID)->state.exit_ktime_ns, fake.now_ns - 5);
}

/* A real one, which is there: this one. */
FIXTURE_TEST(targets_trust_pid_of_process_with_threads)
{
	struct observed *process;

	target->pid = target->found.info.pid = pids[0] = getpid();
	assert_int_equal(observe(), EXIT_CODE_OK);
	process = observed_find(&targets.processes, life_of(getpid()));
	assert_non_null(process);
	target->found.info.start_ticks++;
	fake_proc.glances = 0;
	process->has_threads = true;
	targets_find_lost_exits(&targets);
	assert_int_equal(fake_proc.glances, 0);
	assert_int_not_equal(process->state.stage, PROCESS_EXITED);
	process->has_threads = false;
	targets_find_lost_exits(&targets);
	assert_int_equal(fake_proc.glances, 1);
	assert_int_equal(process->state.stage, PROCESS_EXITED);
	/* Unless that is nobody's. */
	process = observed_add(&targets.processes, life_of(FAKE_PID), FAKE_PID, 0, "puma");
	assert_non_null(process);
	process->has_threads = true;
	targets_find_lost_exits(&targets);
	assert_int_equal(process->state.stage, PROCESS_EXITED);
}

FIXTURE_TEST(targets_report_lack_of_memory_and_lose_nothing)
{
	int code = EXIT_CODE_FAILURE;

	for (size_t successes = 0; code != EXIT_CODE_OK; successes++) {
		begin_again(state);
		target->found.loader = fake_file();
		(void)fake_target_add(OTHER);
		(void)fake_target_add(THIRD);
		follow(OTHER, OTHER);
		options.searches = true;
		fake_discovery.found = THIRD;
		memory_fails_once_after(successes);
		code = observe();
		memory_never_fails();
		assert_true(code == EXIT_CODE_FAILURE || code == EXIT_CODE_OK);
		if (code == EXIT_CODE_OK)
			assert_int_equal(HASH_COUNT(targets.processes.processes), 3);
	}
}
