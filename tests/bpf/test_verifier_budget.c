/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The verifier's instruction count of each program against its ceiling in verifier_budget.csv:
 * a change that makes a program much harder to verify fails here, not on a user's older kernel.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include <correlator/config.h>
#include <correlator/context_hash.h>
#include <correlator/share.h>

#include "correlator.skel.h"
#include "kernel_test.h"
#include "recorder/probe/features.h"
#include "recorder/probe/load.h"

static int find_ceiling(const char *name, unsigned int *ret_ceiling)
{
	FILE *file = fopen(VERIFIER_BUDGET, "re");
	char line[128], program[64];
	int found = 0;

	assert_non_null(file);
	while (!found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%63[^,],%u", program, ret_ceiling) == 2 &&
			!strcmp(program, name);
	(void)fclose(file);
	return found;
}

/* suffix: behind the names of the programs in the budget. */
static void check_programs(struct correlator_bpf *skeleton, const char *suffix)
{
	const struct kernel_offers kernel = ask_kernel();
	struct bpf_program *program;
	int failed = 0;

	assert_non_null(skeleton);
	(void)bpf_program__set_autoload(skeleton->progs.read_sleepers, kernel.can_read_tasks);
	(void)bpf_program__set_autoload(skeleton->progs.on_prepare_exec, kernel.tells_execs);
	(void)bpf_program__set_autoload(skeleton->progs.collect_tasks, true);
	(void)bpf_program__set_autoload(
		skeleton->progs.collect_tasks_undisturbed,
		load_calls(skeleton->progs.collect_tasks_undisturbed, &kernel));
	load_casts(skeleton, &kernel);
	assert_int_equal(correlator_bpf__load(skeleton), 0);
	printf("%-24s %12s %12s %10s\n", "program", "verified", "ceiling", "jited B");
	bpf_object__for_each_program(program, skeleton->obj) {
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);
		unsigned int ceiling = 0;
		char name[64];

		if (!bpf_program__autoload(program))
			continue;
		(void)snprintf(name, sizeof(name), "%s%s", bpf_program__name(program), suffix);
		assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), 0);
		if (!find_ceiling(name, &ceiling))
			printf("%s has no line in the budget\n", name);
		printf("%-24s %12u %12u %10u\n", name, info.verified_insns, ceiling,
		       info.jited_prog_len);
		/* 0: a kernel before 5.16, which does not tell. */
		failed += info.verified_insns > ceiling;
	}
	correlator_bpf__destroy(skeleton);
	assert_int_equal(failed, 0);
}

static void each_program_keeps_to_its_ceiling(void **state)
{
	(void)state;
	check_programs(correlator_bpf__open(), "");
}

static void and_with_opentelemetry_to_a_higher_one(void **state)
{
	struct correlator_bpf *skeleton = correlator_bpf__open();

	(void)state;
	assert_non_null(skeleton);
	((struct session_config *)&skeleton->rodata->session)->watches_otel = 1;
	((struct session_config *)&skeleton->rodata->session)->tells_strangers = STRANGERS_BY_NAME;
	check_programs(skeleton, "+otel");
}

static void and_with_late_keys_beside_it_to_a_higher_one_still(void **state)
{
	struct correlator_bpf *skeleton = correlator_bpf__open();
	struct session_config *session;

	(void)state;
	assert_non_null(skeleton);
	session = (struct session_config *)&skeleton->rodata->session;
	session->watches_otel = 1;
	session->tells_strangers = STRANGERS_BY_NAME;
	session->request_key = 1;
	session->late_keys = 1 << 1;
	check_programs(skeleton, "+otel+late");
}

static struct correlator_bpf *open_with_timeline_and_stacks(void)
{
	struct correlator_bpf *skeleton = correlator_bpf__open();
	struct session_config *session;

	assert_non_null(skeleton);
	session = (struct session_config *)&skeleton->rodata->session;
	session->watches_otel = 1;
	session->tells_strangers = STRANGERS_BY_NAME;
	session->request_key = 1;
	session->late_keys = 1 << 1;
	session->has_timeline = 1;
	session->preempt_count_offset = 8;
	session->has_stacks = 1;
	session->has_native = session->has_callers = 1;
	session->has_wait_stacks = ask_kernel().can_walk_stacks;
	session->has_children = 1;
	(void)bpf_program__set_autoload(skeleton->progs.on_waking, true);
	(void)bpf_program__set_autoload(skeleton->progs.on_sample, ask_kernel().can_walk_stacks);
	(void)bpf_program__set_autoload(skeleton->progs.on_leaving_cpu,
					ask_kernel().can_walk_stacks);
	return skeleton;
}

static void and_with_a_timeline_to_one_that_is_higher_again(void **state)
{
	(void)state;
	check_programs(open_with_timeline_and_stacks(), "+timeline");
}

/* With all that there is. */
static void and_with_system_calls_by_number_to_the_highest(void **state)
{
	struct correlator_bpf *skeleton = open_with_timeline_and_stacks();

	(void)state;
	((struct session_config *)&skeleton->rodata->session)->has_syscalls = 1;
	((struct session_config *)&skeleton->rodata->session)->has_io = 1;
	check_programs(skeleton, "+syscalls");
}

/* Nothing else tells a program to end a stall. */
static void and_with_stalls_to_one_beside_them(void **state)
{
	struct correlator_bpf *skeleton = correlator_bpf__open();
	struct session_config *session;

	(void)state;
	assert_non_null(skeleton);
	session = (struct session_config *)&skeleton->rodata->session;
	session->has_children = 1;
	session->stall_least_ns = 1;
	session->preempt_count_offset = 8;
	(void)bpf_program__set_autoload(skeleton->progs.on_waking, true);
	(void)bpf_program__set_autoload(ask_kernel().tells_file_faults
						? skeleton->progs.on_file_fault
						: skeleton->progs.on_page_read,
					true);
	check_programs(skeleton, "+stalls");
}

static void and_with_what_is_read_and_written_to_one_beside_them(void **state)
{
	struct correlator_bpf *skeleton = correlator_bpf__open();

	(void)state;
	assert_non_null(skeleton);
	((struct session_config *)&skeleton->rodata->session)->has_children = 1;
	((struct session_config *)&skeleton->rodata->session)->has_io = 1;
	check_programs(skeleton, "+io");
}

/* As they are by default. */
static void and_with_children_to_a_little_more(void **state)
{
	struct correlator_bpf *skeleton = correlator_bpf__open();

	(void)state;
	assert_non_null(skeleton);
	((struct session_config *)&skeleton->rodata->session)->has_children = 1;
	check_programs(skeleton, "+children");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_program_keeps_to_its_ceiling),
		cmocka_unit_test(and_with_opentelemetry_to_a_higher_one),
		cmocka_unit_test(and_with_late_keys_beside_it_to_a_higher_one_still),
		cmocka_unit_test(and_with_a_timeline_to_one_that_is_higher_again),
		cmocka_unit_test(and_with_system_calls_by_number_to_the_highest),
		cmocka_unit_test(and_with_children_to_a_little_more),
		cmocka_unit_test(and_with_stalls_to_one_beside_them),
		cmocka_unit_test(and_with_what_is_read_and_written_to_one_beside_them),
	};

	kernel_test_require();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
