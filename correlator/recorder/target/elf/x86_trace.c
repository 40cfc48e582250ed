/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/x86_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "base/hash.h"

enum {
	REGISTERS = 16,
	REGISTER_RAX = 0, /* as ZydisRegisterGetId() numbers them */
	REGISTER_RSP = 4,
	REGISTER_RBP = 5,
	REGISTER_RDI = 7,
	STACK_SLOTS_MAX = 32, /* tracked words of the stack */
	PATHS_MAX = 256, /* pending paths */
	SEEN_MAX = 4096, /* states at branches; a power of two */
	WINDOW_BYTES = 512,
};

struct stack_slot {
	int64_t offset; /* from the stack pointer at the start */
	struct code_value value;
};

/*
 * One path through the code. Compared by a hash of its bytes: it has no padding, and starts zeroed.
 */
struct path {
	uint64_t address; /* of the next instruction */
	struct code_value registers[REGISTERS];
	struct stack_slot slots[STACK_SLOTS_MAX];
	uint64_t slot_count;
	uint64_t returns[X86_TRACE_DEPTH_MAX];
	uint64_t return_count;
};

_Static_assert(sizeof(struct path) ==
		       8 * (1 + REGISTERS * 3 + STACK_SLOTS_MAX * 4 + 1 + X86_TRACE_DEPTH_MAX + 1),
	       "no padding");

struct instruction {
	uint64_t address;
	ZydisDecodedInstruction is;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

struct run {
	struct x86_trace *trace;
	const struct x86_code_source *source;
	ZydisDecoder decoder;
	uint64_t end; /* end of the function; 0 = not known */
	unsigned int depth;
	struct path paths[PATHS_MAX]; /* a ring: the shortest path comes first */
	size_t path_first, path_count;
	uint64_t seen[SEEN_MAX];
	size_t seen_count;
	uint8_t window[WINDOW_BYTES];
	uint64_t window_address;
	size_t window_bytes;
};

struct x86_trace *x86_trace_new(void)
{
	return calloc(1, sizeof(struct x86_trace));
}

static void note(struct run *run, struct x86_trace_event event)
{
	struct x86_trace *trace = run->trace;

	for (size_t i = 0; i < trace->event_count; i++) {
		const struct x86_trace_event *known = &trace->events[i];

		if (known->kind == event.kind && known->number == event.number &&
		    code_value_equal(&known->value, &event.value) &&
		    code_value_equal(&known->other, &event.other))
			return;
	}
	if (trace->event_count < X86_TRACE_EVENTS_MAX)
		trace->events[trace->event_count++] = event;
}

static void note_value(struct run *run, enum x86_trace_kind kind, const struct code_value *value,
		       int64_t number)
{
	note(run, (struct x86_trace_event){ .kind = kind, .value = *value, .number = number });
}

/* An unknown value, one for each operand (or register) number of an instruction. */
static struct code_value unknown(struct run *run, const struct instruction *instruction,
				 unsigned int number)
{
	return code_value_node(&run->trace->nodes, CODE_NODE_UNKNOWN,
			       instruction->address * REGISTERS + number, NULL);
}

/* False: it is not a general-purpose register. */
static bool find_register(ZydisRegister name, size_t *ret_number)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);

	if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
		return false;
	*ret_number = (size_t)ZydisRegisterGetId(whole);
	return true;
}

static bool is_high_byte(ZydisRegister name)
{
	return name >= ZYDIS_REGISTER_AH && name <= ZYDIS_REGISTER_BH;
}

/* Adds a register times a factor to an address. False: the sum cannot be expressed. */
static bool add_register(const struct path *path, ZydisRegister name, int64_t factor,
			 struct code_value *address)
{
	struct code_value part;
	size_t number;

	if (name == ZYDIS_REGISTER_NONE)
		return true;
	return find_register(name, &number) &&
	       code_value_multiply(&path->registers[number], factor, &part) &&
	       code_value_add(address, &part, address);
}

/* False: the address cannot be expressed as a sum. */
static bool find_address(struct run *run, const struct path *path,
			 const struct instruction *instruction,
			 const ZydisDecodedOperandMem *memory, struct code_value *ret_address)
{
	struct code_value address = code_value_constant(memory->disp.value), thread;

	if (memory->base == ZYDIS_REGISTER_RIP) {
		address.constant = (int64_t)(instruction->address + instruction->is.length +
					     (uint64_t)memory->disp.value);
		*ret_address = address;
		return true;
	}
	if (memory->segment == ZYDIS_REGISTER_GS)
		return false;
	if (memory->segment == ZYDIS_REGISTER_FS) {
		thread = code_value_node(&run->trace->nodes, CODE_NODE_THREAD, 0, NULL);
		if (!code_value_add(&address, &thread, &address))
			return false;
	}
	if (!add_register(path, memory->base, 1, &address) ||
	    !add_register(path, memory->index, memory->scale, &address))
		return false;
	*ret_address = address;
	return true;
}

/* False: the address is not on the stack, or not at a known offset. */
static bool is_stack(struct run *run, const struct code_value *address)
{
	const struct code_term *terms = address->terms;

	return terms[0].node && terms[0].factor == 1 && !terms[1].node &&
	       run->trace->nodes.list[terms[0].node].kind == CODE_NODE_STACK;
}

static struct stack_slot *find_slot(struct path *path, int64_t offset)
{
	for (size_t i = 0; i < path->slot_count; i++)
		if (path->slots[i].offset == offset)
			return &path->slots[i];
	return NULL;
}

static void store(struct run *run, struct path *path, const struct code_value *address,
		  const struct code_value *value)
{
	struct stack_slot *slot;

	if (!is_stack(run, address))
		return;
	slot = find_slot(path, address->constant);
	if (!slot && path->slot_count < STACK_SLOTS_MAX)
		slot = &path->slots[path->slot_count++];
	if (slot)
		*slot = (struct stack_slot){ address->constant, *value };
}

/* The word at the thread pointer is the thread pointer itself: psABI, variant II. */
static bool is_thread_itself(struct run *run, const struct code_value *address)
{
	const struct code_node *node = code_value_single(&run->trace->nodes, address);

	return node && node->kind == CODE_NODE_THREAD;
}

static struct code_value load(struct run *run, struct path *path,
			      const struct instruction *instruction,
			      const struct code_value *address, uint64_t bytes)
{
	const struct stack_slot *slot;
	struct code_value value;

	if (is_stack(run, address)) {
		slot = find_slot(path, address->constant);
		return slot ? slot->value : unknown(run, instruction, 0);
	}
	if (is_thread_itself(run, address))
		return *address;
	value = code_value_node(&run->trace->nodes, CODE_NODE_LOAD, bytes, address);
	note_value(run, X86_TRACE_LOAD, &value, 0);
	return value;
}

static struct code_value read_register(struct run *run, const struct path *path, ZydisRegister name,
				       size_t number)
{
	const struct code_value *value = &path->registers[number];

	if (is_high_byte(name))
		return code_value_node(&run->trace->nodes, CODE_NODE_SHIFTED, 8, value);
	return *value;
}

static struct code_value read_operand(struct run *run, struct path *path,
				      const struct instruction *instruction, size_t number)
{
	const ZydisDecodedOperand *operand = &instruction->operands[number];
	struct code_value address;
	size_t reg;

	if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return code_value_constant(operand->imm.value.s);
	if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER && find_register(operand->reg.value, &reg))
		return read_register(run, path, operand->reg.value, reg);
	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    find_address(run, path, instruction, &operand->mem, &address))
		return load(run, path, instruction, &address, operand->size / 8);
	return unknown(run, instruction, (unsigned int)number);
}

static void write_operand(struct run *run, struct path *path, const struct instruction *instruction,
			  size_t number, const struct code_value *value)
{
	const ZydisDecodedOperand *operand = &instruction->operands[number];
	struct code_value address;
	size_t reg;

	if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER && find_register(operand->reg.value, &reg))
		path->registers[reg] = is_high_byte(operand->reg.value)
					       ? unknown(run, instruction, (unsigned int)number)
					       : *value;
	else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		 find_address(run, path, instruction, &operand->mem, &address))
		store(run, path, &address, value);
}

/* Makes unknown what an unsupported instruction may have written. */
static void forget_written(struct run *run, struct path *path,
			   const struct instruction *instruction)
{
	for (size_t i = 0; i < instruction->is.operand_count; i++) {
		struct code_value value = unknown(run, instruction, (unsigned int)i);

		if (instruction->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			write_operand(run, path, instruction, i, &value);
	}
}

/* Registers that a function may change: psABI, 3.2.1. */
static void forget_call(struct run *run, struct path *path, const struct instruction *instruction)
{
	static const unsigned char volatiles[] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 };

	for (size_t i = 0; i < sizeof(volatiles); i++)
		path->registers[volatiles[i]] = unknown(run, instruction, volatiles[i]);
}

static void move_stack(struct path *path, int64_t bytes)
{
	int64_t *pointer = &path->registers[REGISTER_RSP].constant;

	*pointer = (int64_t)((uint64_t)*pointer + (uint64_t)bytes);
}

static void push(struct run *run, struct path *path, const struct code_value *value)
{
	move_stack(path, -8);
	store(run, path, &path->registers[REGISTER_RSP], value);
}

static struct code_value pop(struct run *run, struct path *path,
			     const struct instruction *instruction)
{
	struct code_value value = load(run, path, instruction, &path->registers[REGISTER_RSP], 8);

	move_stack(path, 8);
	return value;
}

static void add(struct run *run, struct path *path, const struct instruction *instruction,
		const struct code_value *value, int64_t factor)
{
	struct code_value sum = read_operand(run, path, instruction, 0), part;

	if (factor < 0 && !code_value_is_constant(&sum) && !code_value_is_constant(value))
		note(run, (struct x86_trace_event){
				  .kind = X86_TRACE_DIFFERENCE, .value = sum, .other = *value });
	if (!code_value_multiply(value, factor, &part) || !code_value_add(&sum, &part, &sum))
		sum = unknown(run, instruction, 0);
	write_operand(run, path, instruction, 0, &sum);
}

static void multiply(struct run *run, struct path *path, const struct instruction *instruction,
		     struct code_value value, const struct code_value *factor)
{
	if (!code_value_is_constant(factor) ||
	    !code_value_multiply(&value, factor->constant, &value))
		value = unknown(run, instruction, 0);
	write_operand(run, path, instruction, 0, &value);
}

static void shift_left(struct run *run, struct path *path, const struct instruction *instruction)
{
	struct code_value bits = read_operand(run, path, instruction, 1);
	struct code_value factor = code_value_constant((int64_t)1 << (bits.constant & 31));

	if (!code_value_is_constant(&bits))
		factor = bits;
	multiply(run, path, instruction, read_operand(run, path, instruction, 0), &factor);
}

static void shift_right(struct run *run, struct path *path, const struct instruction *instruction)
{
	struct code_value value = read_operand(run, path, instruction, 0);
	struct code_value bits = read_operand(run, path, instruction, 1);

	if (code_value_is_constant(&bits))
		value = code_value_node(&run->trace->nodes, CODE_NODE_SHIFTED,
					(uint64_t)bits.constant & 63, &value);
	else
		value = unknown(run, instruction, 0);
	write_operand(run, path, instruction, 0, &value);
}

/* A test of a right-shifted value is a test of the original's bits. */
static void note_test(struct run *run, struct code_value value, uint64_t mask)
{
	const struct code_node *node = code_value_single(&run->trace->nodes, &value);

	if (node && node->kind == CODE_NODE_SHIFTED) {
		mask <<= node->number;
		value = node->of;
	}
	note_value(run, X86_TRACE_TEST, &value, (int64_t)mask);
}

/* Immediates are extended to 64 bits. */
static uint64_t width_mask(const struct instruction *instruction)
{
	return UINT64_MAX >> (64 - (instruction->operands[0].size & 63 ?: 64));
}

static void mask(struct run *run, struct path *path, const struct instruction *instruction,
		 bool is_kept)
{
	struct code_value value = read_operand(run, path, instruction, 0);
	struct code_value bits = read_operand(run, path, instruction, 1);

	if (code_value_equal(&value, &bits)) {
		note_value(run, X86_TRACE_COMPARE, &value, 0);
		return;
	}
	if (code_value_is_constant(&bits))
		note_test(run, value, (uint64_t)bits.constant & width_mask(instruction));
	if (!is_kept)
		return;
	if (code_value_is_constant(&bits))
		value = code_value_node(&run->trace->nodes, CODE_NODE_MASKED,
					(uint64_t)bits.constant, &value);
	else
		value = unknown(run, instruction, 0);
	write_operand(run, path, instruction, 0, &value);
}

static void compare(struct run *run, struct path *path, const struct instruction *instruction)
{
	struct code_value value = read_operand(run, path, instruction, 0);
	struct code_value other = read_operand(run, path, instruction, 1);

	if (code_value_is_constant(&other))
		note_value(run, X86_TRACE_COMPARE, &value, other.constant);
	else
		note(run, (struct x86_trace_event){
				  .kind = X86_TRACE_DIFFERENCE, .value = value, .other = other });
}

static void exclusive_or(struct run *run, struct path *path, const struct instruction *instruction)
{
	struct code_value zero = code_value_constant(0);

	if (instruction->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    instruction->operands[0].reg.value == instruction->operands[1].reg.value)
		write_operand(run, path, instruction, 0, &zero);
	else
		forget_written(run, path, instruction);
}

static void load_address(struct run *run, struct path *path, const struct instruction *instruction)
{
	struct code_value address;

	if (!find_address(run, path, instruction, &instruction->operands[1].mem, &address))
		address = unknown(run, instruction, 0);
	write_operand(run, path, instruction, 0, &address);
}

/* mov %rbp,%rsp; pop %rbp */
static void leave(struct run *run, struct path *path, const struct instruction *instruction)
{
	path->registers[REGISTER_RSP] = path->registers[REGISTER_RBP];
	path->registers[REGISTER_RBP] = pop(run, path, instruction);
}

/* Executes an instruction that falls through. */
static void execute(struct run *run, struct path *path, const struct instruction *instruction)
{
	struct code_value one = code_value_constant(1), value;

	switch (instruction->is.mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_ENDBR64:
		return;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		value = read_operand(run, path, instruction, 1);
		write_operand(run, path, instruction, 0, &value);
		return;
	case ZYDIS_MNEMONIC_LEA:
		load_address(run, path, instruction);
		return;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		value = read_operand(run, path, instruction, 1);
		add(run, path, instruction, &value,
		    instruction->is.mnemonic == ZYDIS_MNEMONIC_ADD ? 1 : -1);
		return;
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		add(run, path, instruction, &one,
		    instruction->is.mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1);
		return;
	case ZYDIS_MNEMONIC_IMUL:
		if (instruction->is.operand_count_visible != 3)
			break;
		value = read_operand(run, path, instruction, 2);
		multiply(run, path, instruction, read_operand(run, path, instruction, 1), &value);
		return;
	case ZYDIS_MNEMONIC_SHL:
		shift_left(run, path, instruction);
		return;
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
		shift_right(run, path, instruction);
		return;
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_TEST:
		mask(run, path, instruction, instruction->is.mnemonic == ZYDIS_MNEMONIC_AND);
		return;
	case ZYDIS_MNEMONIC_CMP:
		compare(run, path, instruction);
		return;
	case ZYDIS_MNEMONIC_XOR:
		exclusive_or(run, path, instruction);
		return;
	case ZYDIS_MNEMONIC_PUSH:
		value = read_operand(run, path, instruction, 0);
		push(run, path, &value);
		return;
	case ZYDIS_MNEMONIC_POP:
		value = pop(run, path, instruction);
		write_operand(run, path, instruction, 0, &value);
		return;
	case ZYDIS_MNEMONIC_LEAVE:
		leave(run, path, instruction);
		return;
	default:
		break;
	}
	forget_written(run, path, instruction);
}

/* True if the path was not there before; false also if the table is full. */
static bool is_new(struct run *run, const struct path *path)
{
	uint64_t key = hash_bytes(0, path, sizeof(*path)) | 1;
	size_t i = key >> 1 & (SEEN_MAX - 1);

	if (run->seen_count >= SEEN_MAX / 2)
		return false;
	for (; run->seen[i]; i = (i + 1) & (SEEN_MAX - 1))
		if (run->seen[i] == key)
			return false;
	run->seen[i] = key;
	run->seen_count++;
	return true;
}

/* Queues the path to continue at address, unless it is known or the queue is full. */
static void enqueue(struct run *run, const struct path *path, uint64_t address)
{
	struct path *next = &run->paths[(run->path_first + run->path_count) % PATHS_MAX];

	if (run->path_count == PATHS_MAX)
		return;
	*next = *path;
	next->address = address;
	if (is_new(run, next))
		run->path_count++;
}

/* True: the path continues in the caller. */
static bool do_return(struct run *run, struct path *path, const struct instruction *instruction)
{
	if (path->return_count == 0) {
		note_value(run, X86_TRACE_RETURN, &path->registers[REGISTER_RAX], 0);
		return false;
	}
	(void)pop(run, path, instruction);
	path->address = path->returns[--path->return_count];
	path->returns[path->return_count] = 0;
	return true;
}

/* Finds the constant address that an operand refers to, and the slot there. */
static enum x86_slot_kind find_operand_slot(struct run *run, const struct path *path,
					    const struct instruction *instruction,
					    uint64_t *ret_slot, uint64_t *ret_function)
{
	const ZydisDecodedOperand *operand = &instruction->operands[0];
	struct code_value address;

	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    !find_address(run, path, instruction, &operand->mem, &address) ||
	    !code_value_is_constant(&address))
		return X86_SLOT_NONE;
	*ret_slot = (uint64_t)address.constant;
	return run->source->slot(run->source->context, *ret_slot, ret_function);
}

/* Finds the target of a call or a jump to a function. False: it is not known. */
static bool find_function(struct run *run, const struct path *path,
			  const struct instruction *instruction, uint64_t *ret_function)
{
	const ZydisDecodedOperand *operand = &instruction->operands[0];
	uint64_t slot;

	if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction->is, operand,
							     instruction->address, ret_function));
	return find_operand_slot(run, path, instruction, &slot, ret_function) == X86_SLOT_FUNCTION;
}

/*
 * __tls_get_addr() takes the address of a slot; a descriptor is called through its own slot. True:
 * the call was one of these.
 */
static bool do_tls_call(struct run *run, struct path *path, const struct instruction *instruction)
{
	const struct code_value *argument = &path->registers[REGISTER_RDI];
	uint64_t slot = 0, function;

	if (code_value_is_constant(argument) &&
	    run->source->slot(run->source->context, (uint64_t)argument->constant, &function) ==
		    X86_SLOT_TLS)
		slot = (uint64_t)argument->constant;
	else if (find_operand_slot(run, path, instruction, &slot, &function) != X86_SLOT_TLS)
		return false;
	forget_call(run, path, instruction);
	path->registers[REGISTER_RAX] =
		code_value_node(&run->trace->nodes, CODE_NODE_TLS, slot, NULL);
	return true;
}

static void do_call(struct run *run, struct path *path, const struct instruction *instruction)
{
	struct code_value none = unknown(run, instruction, 0);
	uint64_t function;

	if (do_tls_call(run, path, instruction))
		return;
	if (path->return_count >= run->depth || !find_function(run, path, instruction, &function)) {
		forget_call(run, path, instruction);
		return;
	}
	push(run, path, &none);
	path->returns[path->return_count++] = path->address;
	path->address = function;
}

/* True: the path continues. */
static bool do_jump(struct run *run, struct path *path, const struct instruction *instruction)
{
	if (find_function(run, path, instruction, &path->address))
		return true;
	/* A switch, or a function of another object. */
	forget_call(run, path, instruction);
	return do_return(run, path, instruction);
}

/* Queues both outcomes of a conditional branch or move. */
static void do_either(struct run *run, const struct path *path,
		      const struct instruction *instruction)
{
	struct path moved = *path;
	struct code_value value;
	uint64_t target;

	enqueue(run, path, path->address);
	if (instruction->is.meta.category == ZYDIS_CATEGORY_COND_BR) {
		if (find_function(run, path, instruction, &target))
			enqueue(run, path, target);
		return;
	}
	value = read_operand(run, &moved, instruction, 1);
	write_operand(run, &moved, instruction, 0, &value);
	enqueue(run, &moved, path->address);
}

/* False: there is no instruction at address. */
static bool fetch(struct run *run, uint64_t address, struct instruction *ret_instruction)
{
	uint64_t at = address - run->window_address;

	if (at >= run->window_bytes || run->window_bytes - at < ZYDIS_MAX_INSTRUCTION_LENGTH) {
		run->window_address = address;
		run->window_bytes = run->source->read(run->source->context, address, run->window,
						      sizeof(run->window));
		at = 0;
	}
	ret_instruction->address = address;
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&run->decoder, run->window + at,
						   run->window_bytes - at, &ret_instruction->is,
						   ret_instruction->operands));
}

/* Executes one instruction. False: the path ends, or continues in the queued ones. */
static bool step(struct run *run, struct path *path)
{
	struct instruction instruction;

	if (run->trace->step_count == X86_TRACE_STEPS_MAX ||
	    !fetch(run, path->address, &instruction))
		return false;
	run->trace->step_count++;
	path->address += instruction.is.length;
	switch (instruction.is.meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_CMOV:
		do_either(run, path, &instruction);
		return false;
	case ZYDIS_CATEGORY_CALL:
		do_call(run, path, &instruction);
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return do_jump(run, path, &instruction);
	case ZYDIS_CATEGORY_RET:
		return do_return(run, path, &instruction);
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
		return false;
	default:
		if (instruction.is.mnemonic == ZYDIS_MNEMONIC_UD2 ||
		    instruction.is.mnemonic == ZYDIS_MNEMONIC_HLT)
			return false;
		execute(run, path, &instruction);
	}
	/* The code after a call that does not return may belong to another function. */
	return path->address != run->end;
}

static void start(struct run *run, struct path *path, uint64_t address)
{
	/* psABI, 3.2.3: rdi, rsi, rdx, rcx, r8, r9. */
	static const unsigned char arguments[] = { 7, 6, 2, 1, 8, 9 };
	struct code_nodes *nodes = &run->trace->nodes;
	const struct instruction entry = { .address = address };

	*path = (struct path){ .address = address };
	for (unsigned int i = 0; i < REGISTERS; i++)
		path->registers[i] = unknown(run, &entry, i);
	for (size_t i = 0; i < sizeof(arguments); i++)
		path->registers[arguments[i]] = code_value_node(nodes, CODE_NODE_ARGUMENT, i, NULL);
	path->registers[REGISTER_RSP] = code_value_node(nodes, CODE_NODE_STACK, 0, NULL);
}

int x86_trace_run(struct x86_trace *trace, const struct x86_code_source *source, uint64_t address,
		  uint64_t size_bytes, unsigned int depth)
{
	_cleanup_free_ struct run *run = calloc(1, sizeof(*run));
	struct path path;

	if (!run)
		return -ENOMEM;
	run->trace = trace;
	run->source = source;
	run->depth = depth < X86_TRACE_DEPTH_MAX ? depth : X86_TRACE_DEPTH_MAX;
	run->end = size_bytes ? address + size_bytes : 0;
	code_nodes_init(&trace->nodes);
	trace->event_count = trace->step_count = 0;
	(void)ZydisDecoderInit(&run->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	start(run, &path, address);
	for (;;) {
		while (step(run, &path))
			;
		if (run->path_count == 0)
			return 0;
		path = run->paths[run->path_first];
		run->path_first = (run->path_first + 1) % PATHS_MAX;
		run->path_count--;
	}
}
