/* SPDX-License-Identifier: GPL-2.0-only */
/* What this kernel and some sets of capabilities offer, and what is said when it is not enough. */
#include "recorder/probe/features.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include <correlator/config.h>
#include <correlator/context_hash.h>
#include <correlator/share.h>

#include "correlator.skel.h"
#include "kernel_test.h"
#include "recorder/probe/load.h"
#include "recorder/probe/open_session.h"

enum {
	TEXT_BYTES = 4096,
	/* include/uapi/linux/capability.h */
	SYS_PTRACE = 19,
	SYS_ADMIN = 21,
	PERFMON = 38,
	BPF = 39,
};

static void keep_capabilities(const cap_value_t *kept, int count)
{
	cap_t set = cap_init();

	assert_non_null(set);
	if (count > 0) {
		assert_int_equal(cap_set_flag(set, CAP_PERMITTED, count, kept, CAP_SET), 0);
		assert_int_equal(cap_set_flag(set, CAP_EFFECTIVE, count, kept, CAP_SET), 0);
	}
	assert_int_equal(cap_set_proc(set), 0);
	(void)cap_free(set);
}

/* What a child writes to stderr, with those capabilities alone; NULL: with all. */
static void hear(void (*child)(void), const cap_value_t *kept, int count, char text[TEXT_BYTES])
{
	int fds[2];
	ssize_t got;
	size_t used = 0;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(fds[1], STDERR_FILENO);
		if (kept)
			keep_capabilities(kept, count);
		child();
		_exit(0);
	}
	(void)close(fds[1]);
	while ((got = read(fds[0], text + used, TEXT_BYTES - 1 - used)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	(void)close(fds[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void print_missing(void)
{
	char names[256];
	int count = features_missing_capabilities(names, sizeof(names));

	(void)fprintf(stderr, "%d %s", count, names);
}

static void missing_capabilities_are_named(void **state)
{
	static const struct {
		cap_value_t kept[3];
		int count;
		const char *missing;
	} cases[] = {
		{ { 0 }, 0, "3 CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE" },
		{ { BPF, PERFMON, SYS_PTRACE }, 3, "0 " },
		{ { SYS_ADMIN, SYS_PTRACE }, 2, "0 " },
		{ { SYS_ADMIN }, 1, "1 CAP_SYS_PTRACE" },
		{ { BPF, SYS_PTRACE }, 2, "1 CAP_PERFMON" },
		{ { PERFMON }, 1, "2 CAP_BPF, CAP_SYS_PTRACE" },
	};
	char text[TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		hear(print_missing, cases[i].kept, cases[i].count, text);
		assert_string_equal(text, cases[i].missing);
	}
}

static void print_missing_cut(void)
{
	for (size_t bytes = 1; bytes < 16; bytes++) {
		char *names = malloc(bytes);

		(void)fprintf(stderr, "%d %s\n", features_missing_capabilities(names, bytes),
			      names);
		free(names);
	}
}

static void a_list_without_room_is_cut_and_counted_whole(void **state)
{
	char text[TEXT_BYTES], *line = text;

	(void)state;
	hear(print_missing_cut, &(cap_value_t){ 0 }, 0, text);
	for (size_t bytes = 1; bytes < 16; bytes++, line = strchr(line, '\n') + 1) {
		assert_int_equal(strncmp(line, "3 CAP_BPF, CAP_PERFMON", 2 + bytes - 1), 0);
		assert_int_equal(line[2 + bytes - 1], '\n');
	}
}

static void print_probing(void)
{
	const struct kernel_offers kernel = ask_kernel();

	(void)fprintf(stderr, "%d", features_may_probe(&kernel));
}

static void probes_need_the_administrator_where_links_do_not_take_many(void **state)
{
	char text[TEXT_BYTES];

	(void)state;
	hear(print_probing, &(cap_value_t){ BPF }, 1, text);
	assert_string_equal(text, ask_kernel().has_uprobe_multi ? "1" : "0");
	hear(print_probing, &(cap_value_t){ SYS_ADMIN }, 1, text);
	assert_string_equal(text, "1");
}

static const struct feature *find(const struct feature *features, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(features[i].name, name))
			return &features[i];
	return NULL;
}

/* As the kernel of this very run can record: nothing that is needed is absent. */
static void what_a_recording_needs_is_there_and_each_is_named_once(void **state)
{
	static const char *const names[] = {
		"kernel",
		"BTF",
		"CAP_BPF",
		"CAP_PERFMON",
		"CAP_SYS_PTRACE",
		"sched_switch",
		"task_newtask",
		"sched_prepare_exec",
		"sched_process_exec",
		"sched_process_exit",
		"task_rename",
		"sys_enter",
		"sys_exit",
		"task iterator",
		"uprobe",
		"uprobe_multi link",
		"reading of sleeping threads",
		"walking of Ruby stacks",
		"names of the kernel's functions",
		"run-queue time",
		"atomic operations",
		"task storage",
	};
	struct feature features[FEATURES_MAX];
	size_t count = features_look(features);
	const struct kernel_offers kernel = ask_kernel();

	(void)state;
	assert_int_equal(count, sizeof(names) / sizeof(*names) + !features_may_probe(&kernel));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct feature *feature = find(features, count, names[i]);

		assert_non_null(feature);
		assert_int_not_equal(feature->state, FEATURE_ABSENT);
		assert_true(feature->remedy[0] || feature->detail[0]);
	}
	assert_int_equal(find(features, count, "sched_switch")->state, FEATURE_PRESENT);
	assert_int_equal(find(features, count, "uprobe_multi link")->state == FEATURE_PRESENT,
			 kernel.has_uprobe_multi);
	assert_int_equal(find(features, count, "reading of sleeping threads")->state ==
				 FEATURE_PRESENT,
			 kernel.can_read_tasks);
	assert_int_equal(find(features, count, "walking of Ruby stacks")->state == FEATURE_PRESENT,
			 kernel.can_walk_stacks);
}

/* As the kernel says it when it is asked to load a program that does. */
static void sleeping_tasks_can_be_read_where_a_program_that_reads_them_loads(void **state)
{
	struct correlator_bpf *skeleton = correlator_bpf__open();
	struct bpf_program *program;

	(void)state;
	assert_non_null(skeleton);
	bpf_object__for_each_program(program, skeleton->obj)
		(void)bpf_program__set_autoload(program, program == skeleton->progs.read_sleepers);
	assert_int_equal(ask_kernel().can_read_tasks, correlator_bpf__load(skeleton) == 0);
	correlator_bpf__destroy(skeleton);
}

static void print_states(void)
{
	struct feature features[FEATURES_MAX];
	size_t count = features_look(features);

	for (size_t i = 0; i < count; i++)
		if (!strncmp(features[i].name, "CAP_", 4))
			(void)fprintf(stderr, "%s %d ", features[i].name, features[i].state);
}

static void a_capability_that_may_be_done_without_is_told_apart(void **state)
{
	char text[TEXT_BYTES];

	(void)state;
	hear(print_states, &(cap_value_t){ 0 }, 0, text);
	assert_non_null(strstr(text, "CAP_BPF 2 CAP_PERFMON 2 CAP_SYS_PTRACE 3 "));
	assert_int_equal(!strstr(text, "CAP_SYS_ADMIN 3"), ask_kernel().has_uprobe_multi);
	hear(print_states, &(cap_value_t){ SYS_ADMIN }, 1, text);
	assert_string_equal(text, "CAP_BPF 1 CAP_PERFMON 1 CAP_SYS_PTRACE 3 ");
}

/* By the kernel's own types, once more. */
static void what_a_kernel_offers_is_what_its_types_say(void **state)
{
	const struct kernel_offers kernel = ask_kernel();
	struct btf *types = btf__load_vmlinux_btf();
	int disable = btf__find_by_name_kind(types, "bpf_preempt_disable", BTF_KIND_FUNC);
	int enable = btf__find_by_name_kind(types, "bpf_preempt_enable", BTF_KIND_FUNC);
	int cast = btf__find_by_name_kind(types, "bpf_rdonly_cast", BTF_KIND_FUNC);
	int64_t offset = 0;

	(void)state;
	assert_non_null(types);
	assert_int_equal(kernel.has_uprobe_multi,
			 btf__find_by_name_kind(types, "bpf_uprobe_multi_link", BTF_KIND_STRUCT) >
				 0);
	assert_int_equal(kernel.can_read_tasks,
			 features_has_helper(types, "BPF_FUNC_copy_from_user_task"));
	assert_int_equal(kernel.can_walk_stacks, features_has_helper(types, "BPF_FUNC_loop"));
	assert_int_equal(kernel.preempt_disable_id, disable > 0 && enable > 0 ? disable : 0);
	assert_int_equal(kernel.preempt_enable_id, disable > 0 && enable > 0 ? enable : 0);
	assert_int_equal(kernel.cast_id, cast > 0 ? cast : 0);
	assert_int_equal(kernel.has_steal_time,
			 steal_time_is_told(steal_time_read_cpuid) &&
				 percpu_locate(types, "steal_time", &offset));
	assert_int_equal(kernel.steal_time_offset, offset);
	offset = 0;
	(void)preempt_count_locate(types, &offset);
	assert_int_equal(kernel.preempt_count_offset, offset);
	assert_int_equal(kernel.interrupt_bits, preempt_count_interrupt_bits(types));
	btf__free(types);
}

static size_t count_marks(const struct bpf_program *program, int mark)
{
	const struct bpf_insn *instructions = bpf_program__insns(program);
	size_t count = 0;

	for (size_t i = 0; i < bpf_program__insn_cnt(program); i++)
		count += instructions[i].imm == mark;
	return count;
}

/* calls: the mark of each call in the program, and the function of this kernel; 0 = none. */
static void check_calls(struct bpf_program *program, const struct kernel_offers *kernel,
			const int (*calls)[2], size_t count)
{
	size_t marks[2];
	bool has_all = true;

	for (size_t i = 0; i < count; i++) {
		marks[i] = count_marks(program, calls[i][0]);
		assert_true(marks[i] > 0);
		has_all = has_all && calls[i][1];
	}
	assert_int_equal(load_calls(program, kernel), has_all);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(count_marks(program, calls[i][0]), calls[i][1] ? 0 : marks[i]);
		if (calls[i][1])
			assert_int_equal(count_marks(program, calls[i][1]), marks[i]);
	}
}

static void calls_are_put_where_they_are_marked(void **state)
{
	const struct kernel_offers mine = ask_kernel();
	const struct kernel_offers *const kernels[] = { &mine, &(struct kernel_offers){ 0 },
							&(struct kernel_offers){
								.preempt_disable_id = 123456,
								.preempt_enable_id = 654321,
								.cast_id = 345612 } };

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		const struct kernel_offers *kernel = kernels[i];
		const int preempt[][2] = { { CALL_PREEMPT_DISABLE, kernel->preempt_disable_id },
					   { CALL_PREEMPT_ENABLE, kernel->preempt_enable_id } };
		const int cast[][2] = { { CALL_CAST, kernel->cast_id } };
		struct correlator_bpf *skeleton = correlator_bpf__open();

		assert_non_null(skeleton);
		check_calls(skeleton->progs.collect_tasks_undisturbed, kernel, preempt, 2);
		check_calls(skeleton->progs.on_sched_switch, kernel, cast, 1);
		check_calls(skeleton->progs.on_context_change, kernel, cast, 1);
		/* It calls none. */
		assert_true(load_calls(skeleton->progs.collect_tasks, kernel));
		correlator_bpf__destroy(skeleton);
	}
}

static void a_helper_is_there_by_its_whole_name(void **state)
{
	struct btf *types = btf__load_vmlinux_btf();

	(void)state;
	/* The first and the one that uprobes of ours need. */
	assert_true(features_has_helper(types, "BPF_FUNC_unspec"));
	assert_true(features_has_helper(types, "BPF_FUNC_probe_read_user"));
	assert_false(features_has_helper(types, "BPF_FUNC_probe_read_use"));
	assert_false(features_has_helper(types, "probe_read_user"));
	assert_false(features_has_helper(types, ""));
	btf__free(types);
}

static struct refusal refusal;
static int refused_with;

static void explain(void)
{
	(void)fprintf(stderr, "%d", load_explain(refused_with, &refusal));
}

static void assert_explained(int error, const char *program, const cap_value_t *kept, int count,
			     int result, const char *text)
{
	char heard[TEXT_BYTES], number[16];

	refused_with = error;
	(void)snprintf(refusal.program, sizeof(refusal.program), "%s", program);
	hear(explain, kept, count, heard);
	if (!strstr(heard, text))
		print_message("%s\n", heard);
	assert_non_null(strstr(heard, text));
	(void)snprintf(number, sizeof(number), "%d", result);
	assert_string_equal(strrchr(heard, '\n') + 1, number);
}

static void a_refusal_is_explained_by_what_is_missing_first(void **state)
{
	const cap_value_t bpf[] = { BPF }, probing[] = { BPF, PERFMON };

	(void)state;
	refusal = (struct refusal){ .lines = { "R1 invalid", "line two", "three", "four" } };
	assert_explained(-EPERM, "", bpf, 1, -EPERM, "missing CAP_PERFMON, CAP_SYS_PTRACE");
	assert_explained(-EACCES, "", bpf, 1, -EPERM, "missing CAP_PERFMON, CAP_SYS_PTRACE");
	assert_explained(-EPERM, "", probing, 2, -EPERM, "missing CAP_SYS_PTRACE");
	/* All is there, and it is forbidden all the same. */
	assert_explained(-EPERM, "", NULL, 0, -EPERM, "does not allow BPF programs");
	assert_explained(-EACCES, "", NULL, 0, -EPERM, "does not allow BPF programs");
	assert_explained(-E2BIG, "", NULL, 0, -ENOTSUP, strerror(E2BIG));
	/* Of a program that the verifier refused it is quoted, whatever the error is. */
	assert_explained(-EACCES, "on_exit", NULL, 0, -ENOTSUP, "refuses the program on_exit (");
	assert_explained(-EINVAL, "on_exit", NULL, 0, -ENOTSUP,
			 "correlator: error:   R1 invalid\n");
	assert_explained(-EINVAL, "on_exit", NULL, 0, -ENOTSUP, "correlator: error:   four\n");
	refusal.lines[1][0] = '\0';
	assert_explained(-EINVAL, "on_exit", NULL, 0, -ENOTSUP, "  R1 invalid\n-");
	/* What the kernel lacks is named. */
	assert_explained(-EINVAL, "on_exit", bpf, 1, -ENOTSUP, "this kernel lacks CAP_PERFMON: ");
}

static void what_can_be_recorded_with_loads(void **state)
{
	const struct kernel_offers mine = ask_kernel();
	/* As on a kernel before 6.2. */
	struct kernel_offers without_cast = mine;
	struct session_options options = { .has_kernel_split = true };
	struct refusal said;

	(void)state;
	without_cast.cast_id = 0;
	for (int i = 0; i < 2; i++) {
		options.kernel = i ? &without_cast : &mine;
		assert_int_equal(load_try(&options, &said), 0);
		assert_string_equal(said.program, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_capabilities_are_named),
		cmocka_unit_test(a_list_without_room_is_cut_and_counted_whole),
		cmocka_unit_test(probes_need_the_administrator_where_links_do_not_take_many),
		cmocka_unit_test(what_a_recording_needs_is_there_and_each_is_named_once),
		cmocka_unit_test(sleeping_tasks_can_be_read_where_a_program_that_reads_them_loads),
		cmocka_unit_test(a_capability_that_may_be_done_without_is_told_apart),
		cmocka_unit_test(what_a_kernel_offers_is_what_its_types_say),
		cmocka_unit_test(calls_are_put_where_they_are_marked),
		cmocka_unit_test(a_helper_is_there_by_its_whole_name),
		cmocka_unit_test(a_refusal_is_explained_by_what_is_missing_first),
		cmocka_unit_test(what_can_be_recorded_with_loads),
	};

	kernel_test_require();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
