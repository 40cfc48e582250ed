/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/unwind_rule.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <elfutils/libdw.h>

#include "recorder/target/elf/elf_image.h"
#include "recorder/target/proc/agent.h"

_Static_assert(sizeof(struct unwind_rule) <= AGENT_DATA_BYTES, "fits in an answer");

/* The question to the agent. */
struct question {
	uint64_t virtual_address;
	uint32_t register_count;
};

static int set_steps(Dwarf_Frame *frame, struct unwind_rule *rule)
{
	Dwarf_Op *steps;
	size_t count;

	if (dwarf_frame_cfa(frame, &steps, &count) || count == 0 || count > UNWIND_STEPS_MAX)
		return -ENOTSUP;
	for (size_t i = 0; i < count; i++)
		rule->steps[i] = (struct unwind_step){ .operation = steps[i].atom,
						       .number = (int64_t)steps[i].number,
						       .number2 = (int64_t)steps[i].number2 };
	rule->step_count = (uint8_t)count;
	return 0;
}

/*
 * As dwarf_frame_register() (elfutils 0.188, libdw.h) describes them: no operations and NULL: the
 * same value; no operations: undefined; one saved in memory: DW_OP_call_frame_cfa, then an offset.
 */
static int set_register(Dwarf_Frame *frame, int number, struct unwind_rule *rule)
{
	Dwarf_Op memory[3], *steps;
	size_t count;

	if (dwarf_frame_register(frame, number, memory, &steps, &count))
		return -ENOTSUP;
	rule->places[number] = steps ? UNWIND_LOST : UNWIND_SAME;
	if (count == 0)
		return 0;
	if (steps[0].atom != DW_OP_call_frame_cfa || count > 2 ||
	    (count == 2 && steps[1].atom != DW_OP_plus_uconst))
		return 0;
	rule->offsets[number] = count == 2 ? (int32_t)steps[1].number : 0;
	rule->places[number] = UNWIND_SAVED;
	return 0;
}

static int set_rule(Dwarf_Frame *frame, uint32_t register_count, struct unwind_rule *rule)
{
	Dwarf_Addr begin = 0, end = 0;
	int number = dwarf_frame_info(frame, &begin, &end, &rule->is_signal);
	int r = number < 0 || number >= UNWIND_REGISTERS ? -ENOTSUP : set_steps(frame, rule);

	rule->begin = begin;
	rule->end = end;
	rule->return_register = (uint8_t)number;
	for (uint32_t i = 0; i < register_count && r == 0; i++)
		r = set_register(frame, (int)i, rule);
	return r;
}

/* The vDSO of this process, with its section headers, which are its end. */
static Elf *open_vdso(void)
{
	char *begin = (char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)begin;

	return begin ? elf_memory(begin,
				  header->e_shoff + (size_t)header->e_shnum * sizeof(Elf64_Shdr))
		     : NULL;
}

/* Runs in the agent. */
static int find_rule(int fd, const void *input, void *ret_output)
{
	const struct question *question = input;
	struct unwind_rule *rule = ret_output;
	Dwarf_Frame *frame = NULL;
	Dwarf_CFI *cfi = NULL;
	int r = -ENOENT;
	Elf *elf;

	memset(rule, 0, sizeof(*rule));
	(void)elf_version(EV_CURRENT);
	elf = fd < 0 ? open_vdso() : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf)
		cfi = dwarf_getcfi_elf(elf);
	if (cfi && dwarf_cfi_addrframe(cfi, question->virtual_address, &frame) == 0)
		r = set_rule(frame, question->register_count, rule);
	free(frame);
	(void)dwarf_cfi_end(cfi);
	(void)elf_end(elf);
	return r;
}

static int ask(pid_t pid, const char *name, int path_fd, const struct question *question,
	       struct unwind_rule *ret_rule)
{
	const struct agent_call call = { .function = find_rule,
					 .input = question,
					 .input_bytes = sizeof(*question),
					 .output = ret_rule,
					 .output_bytes = sizeof(*ret_rule) };

	return agent_call(pid, name, path_fd, &call);
}

static uint32_t count_registers(uint16_t machine)
{
	return machine == EM_X86_64 ? 17 : UNWIND_REGISTERS;
}

int unwind_rule_read(const struct object_file *file, pid_t pid, const char *name,
		     uint64_t virtual_address, struct unwind_rule *ret_rule)
{
	const struct elf_image *image = object_file_image(file);
	const struct question question = {
		.virtual_address = virtual_address,
		.register_count = image ? count_registers(elf_image_machine(image)) : 0,
	};

	return image ? ask(pid, name, object_file_fd(file), &question, ret_rule) : -ENOENT;
}

int unwind_rule_read_vdso(uint64_t distance, struct unwind_rule *ret_rule)
{
	const struct question question = {
		.virtual_address = distance,
#ifdef __aarch64__
		.register_count = count_registers(EM_AARCH64),
#else
		.register_count = count_registers(EM_X86_64),
#endif
	};

	return ask(0, NULL, -1, &question, ret_rule);
}
