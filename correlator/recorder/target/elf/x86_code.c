/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/x86_code.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "recorder/target/elf/code_scan.h"

/* A decoded instruction. */
struct decoded {
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/*
 * True for instructions of straight-line code. All others end it: jumps that are not branches the
 * kernel knows, traps, locks, waits, repeats, and instructions newer than those that compilers put
 * at a function's entry by default.
 */
static bool is_plain(const ZydisDecodedInstruction *instruction)
{
	switch (instruction->meta.category) {
	case ZYDIS_CATEGORY_BINARY:
	case ZYDIS_CATEGORY_BITBYTE:
	case ZYDIS_CATEGORY_CMOV:
	case ZYDIS_CATEGORY_CONVERT:
	case ZYDIS_CATEGORY_DATAXFER:
	case ZYDIS_CATEGORY_LOGICAL:
	case ZYDIS_CATEGORY_LOGICAL_FP:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_POP:
	case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_ROTATE:
	case ZYDIS_CATEGORY_SETCC:
	case ZYDIS_CATEGORY_SHIFT:
	case ZYDIS_CATEGORY_SSE:
	case ZYDIS_CATEGORY_WIDENOP:
		return true;
	default:
		return instruction->mnemonic == ZYDIS_MNEMONIC_ENDBR64 ||
		       instruction->mnemonic == ZYDIS_MNEMONIC_LEA ||
		       instruction->mnemonic == ZYDIS_MNEMONIC_PAUSE;
	}
}

/* jmp, call and jcc with a displacement: the opcodes that the kernel knows. */
static enum x86_code_kind branch_kind(const ZydisDecodedInstruction *instruction)
{
	uint8_t opcode = instruction->opcode;

	if (instruction->opcode_map == ZYDIS_OPCODE_MAP_0F)
		return (opcode & 0xf0) == 0x80 ? X86_CODE_JCC : X86_CODE_PLAIN;
	if (instruction->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
		return X86_CODE_PLAIN;
	if ((opcode & 0xf0) == 0x70)
		return X86_CODE_JCC;
	if (opcode == 0xe9 || opcode == 0xeb)
		return X86_CODE_JMP;
	return opcode == 0xe8 ? X86_CODE_CALL : X86_CODE_PLAIN;
}

static bool is_stack(const ZydisDecodedOperandMem *memory)
{
	return memory->base == ZYDIS_REGISTER_RSP && memory->segment != ZYDIS_REGISTER_FS &&
	       memory->segment != ZYDIS_REGISTER_GS;
}

static bool stores(const struct decoded *decoded)
{
	for (size_t i = 0; i < decoded->instruction.operand_count; i++) {
		const ZydisDecodedOperand *operand = &decoded->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    !is_stack(&operand->mem))
			return true;
	}
	return false;
}

static enum x86_code_kind kind_of(const struct decoded *decoded)
{
	const ZydisDecodedInstruction *instruction = &decoded->instruction;
	bool is_one_byte = instruction->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
	uint8_t prefix_count = instruction->raw.prefix_count;
	enum x86_code_kind branch = branch_kind(instruction);

	/* The kernel refuses a branch with a prefix, 66 above all, or takes it for another one. */
	if (branch != X86_CODE_PLAIN)
		return prefix_count == 0 ? branch : X86_CODE_LEAVE;
	if (instruction->opcode_map == ZYDIS_OPCODE_MAP_0F && instruction->opcode == 0x1f)
		return X86_CODE_LONG_NOP;
	if (stores(decoded))
		return X86_CODE_STORE;
	if (is_one_byte && (instruction->opcode & 0xf8) == 0x50 &&
	    (prefix_count == 0 ||
	     (prefix_count == 1 && instruction->raw.prefixes[0].value == 0x41)))
		return X86_CODE_PUSH;
	if (is_one_byte && instruction->opcode == 0x90 && prefix_count == 0)
		return X86_CODE_NOP;
	return X86_CODE_PLAIN;
}

int x86_code_decode(const uint8_t *code, size_t size_bytes, struct x86_code *ret_code)
{
	ZydisDecoder decoder;
	struct decoded decoded;
	bool is_branch;

	if (ZYAN_FAILED(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, size_bytes, &decoded.instruction,
					       decoded.operands)))
		return -EINVAL;
	is_branch = branch_kind(&decoded.instruction) != X86_CODE_PLAIN;
	if (!is_branch && !is_plain(&decoded.instruction))
		return -EINVAL;
	/*
	 * A branch's displacement after 66 is 2 or 4 bytes, by CPU vendor: its length is not known.
	 */
	if (is_branch && (decoded.instruction.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE))
		return -EINVAL;
	if (decoded.instruction.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY ||
	    (decoded.instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK))
		return -EINVAL;
	*ret_code = (struct x86_code){
		.kind = kind_of(&decoded),
		.length_bytes = decoded.instruction.length,
	};
	return 0;
}

bool x86_code_is_emulated(enum x86_code_kind kind)
{
	return kind >= X86_CODE_PUSH && kind <= X86_CODE_JCC;
}

/* REX.W, opcode, ModRM, displacement. */
enum {
	REFERENCE_BYTES = 7
};

static bool refers(void *context, const uint8_t *code, uint64_t address)
{
	const uint64_t *slot = context;
	int32_t displacement;

	/* lea, mov, add: to a 64-bit register, from or at rip + displacement. */
	if ((code[0] & 0xf8) != 0x48 || (code[1] != 0x8d && code[1] != 0x8b && code[1] != 0x03) ||
	    (code[2] & 0xc7) != 0x05)
		return false;
	memcpy(&displacement, code + 3, sizeof(displacement));
	return address + REFERENCE_BYTES + (uint64_t)(int64_t)displacement == *slot;
}

size_t x86_code_find_references(const struct elf_image *image, uint64_t slot,
				uint64_t *ret_addresses, size_t limit)
{
	if (elf_image_machine(image) != EM_X86_64)
		return 0;
	return code_scan_run((struct code_scan){ .image = image,
						 .step_bytes = 1,
						 .instruction_bytes = REFERENCE_BYTES,
						 .is_wanted = refers,
						 .context = &slot,
						 .addresses = ret_addresses,
						 .limit = limit });
}
