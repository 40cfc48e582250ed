/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a CPU's count of interrupts is, by types as kernels have had them. */
#include <stdio.h>
#include <stdlib.h>

#include "unit_test.h"
#include <bpf/btf.h>

#include "recorder/probe/open_session.h"

enum {
	RUN_QUEUE_AT = 4096,
	VARIABLE_AT = 256
};

/* With a per-CPU variable of that type beside the run queue. */
static void add_variables(struct btf *btf, const char *name, int type)
{
	int run_queue = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	int variables[] = { btf__add_var(btf, name, BTF_VAR_GLOBAL_ALLOCATED, type),
			    btf__add_var(btf, "runqueues", BTF_VAR_GLOBAL_ALLOCATED, run_queue) };

	assert_true(btf__add_datasec(btf, ".data..percpu", 8192) > 0);
	assert_int_equal(btf__add_datasec_var_info(btf, variables[0], VARIABLE_AT, 4), 0);
	assert_int_equal(btf__add_datasec_var_info(btf, variables[1], RUN_QUEUE_AT, 8), 0);
}

TEST(preempt_count_is_located_as_own_variable)
{
	struct btf *btf = btf__new_empty();
	int64_t offset = 0;

	add_variables(btf, "__preempt_count", btf__add_int(btf, "int", 4, BTF_INT_SIGNED));
	assert_true(preempt_count_locate(btf, &offset));
	assert_int_equal(offset, VARIABLE_AT - RUN_QUEUE_AT);
	btf__free(btf);
}

/* struct pcpu_hot { union { struct { task *current_task; int preempt_count; ... }; u8 pad[64]; };
 * }, arch/x86/include/asm/current.h, v6.2 to v6.14. */
TEST(preempt_count_is_located_inside_hot_structure)
{
	struct btf *btf = btf__new_empty();
	int integer = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	int pointer = btf__add_ptr(btf, 0), inner, both, hot;
	int64_t offset = 0;

	inner = btf__add_struct(btf, NULL, 16);
	assert_int_equal(btf__add_field(btf, "current_task", pointer, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, "preempt_count", integer, 64, 0), 0);
	assert_int_equal(btf__add_field(btf, "cpu_number", integer, 96, 0), 0);
	both = btf__add_union(btf, NULL, 16);
	assert_int_equal(btf__add_field(btf, "pad", pointer, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, NULL, inner, 0, 0), 0);
	hot = btf__add_struct(btf, "pcpu_hot", 24);
	assert_int_equal(btf__add_field(btf, "first", pointer, 0, 0), 0);
	assert_int_equal(btf__add_field(btf, NULL, both, 64, 0), 0);
	add_variables(btf, "pcpu_hot", hot);
	assert_true(preempt_count_locate(btf, &offset));
	assert_int_equal(offset, VARIABLE_AT - RUN_QUEUE_AT + 16);
	btf__free(btf);
}

TEST(preempt_count_has_interrupts_above_a_count_of_disabling_them)
{
	struct btf *btf = btf__new_empty();

	add_variables(btf, "__preempt_count", btf__add_int(btf, "int", 4, BTF_INT_SIGNED));
	assert_int_equal(preempt_count_interrupt_bits(btf), 0x00ff0000);
	assert_true(btf__add_var(btf, "local_interrupt_disable_state", BTF_VAR_GLOBAL_ALLOCATED,
				 1) > 0);
	assert_int_equal(preempt_count_interrupt_bits(btf), 0x1f000000);
	btf__free(btf);
}

TEST(preempt_count_is_not_located_without_matching_types)
{
	struct btf *btf = btf__new_empty();
	int integer = btf__add_int(btf, "int", 4, BTF_INT_SIGNED), hot;
	int64_t offset = 77;

	assert_false(preempt_count_locate(btf, &offset));
	/* The structure has no such part; and no variable is of it. */
	hot = btf__add_struct(btf, "pcpu_hot", 4);
	assert_int_equal(btf__add_field(btf, "cpu_number", integer, 0, 0), 0);
	add_variables(btf, "other", hot);
	assert_false(preempt_count_locate(btf, &offset));
	btf__free(btf);
	btf = btf__new_empty();
	integer = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	hot = btf__add_struct(btf, "pcpu_hot", 4);
	assert_int_equal(btf__add_field(btf, "preempt_count", integer, 0, 0), 0);
	add_variables(btf, "other", hot);
	assert_false(preempt_count_locate(btf, &offset));
	assert_int_equal(offset, 77);
	btf__free(btf);
}
