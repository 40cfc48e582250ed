#include "target/elf/x86_instruction.h"

#include <errno.h>

enum {
	LENGTH_MAX = 15
};

/* How the bytes after an opcode are read, and what the instruction does. */
enum opcode_form {
	KNOWN = 1 << 0,
	MODRM = 1 << 1,
	WRITES = 1 << 2, /* its ModRM operand */
	IMM8 = 1 << 3,
	IMM_OPERAND = 1 << 4, /* 4 bytes; 2 with the 66 prefix */
	IMM_FULL = 1 << 5, /* as IMM_OPERAND; 8 with REX.W */
	REL8 = 1 << 6,
	REL32 = 1 << 7,
	LONG_NOP = 1 << 8,
	GROUP = 1 << 9, /* the ModRM reg field says what it does: see group_form */
};

enum {
	READ = KNOWN | MODRM,
	WRITE = READ | WRITES,
};

#define ARITHMETIC(base)                                                          \
	[base] = WRITE, [base + 1] = WRITE, [base + 2] = READ, [base + 3] = READ, \
	[base + 4] = KNOWN | IMM8, [base + 5] = KNOWN | IMM_OPERAND

static const uint16_t one_byte_forms[256] = {
	ARITHMETIC(0x00),
	ARITHMETIC(0x08),
	ARITHMETIC(0x10),
	ARITHMETIC(0x18),
	ARITHMETIC(0x20),
	ARITHMETIC(0x28),
	ARITHMETIC(0x30),
	[0x38 ... 0x3b] = READ, /* cmp */
	[0x3c] = KNOWN | IMM8,
	[0x3d] = KNOWN | IMM_OPERAND,
	[0x50 ... 0x5f] = KNOWN, /* push, pop */
	[0x63] = READ, /* movsxd */
	[0x68] = KNOWN | IMM_OPERAND,
	[0x69] = READ | IMM_OPERAND, /* imul */
	[0x6a] = KNOWN | IMM8,
	[0x6b] = READ | IMM8,
	[0x70 ... 0x7f] = KNOWN | REL8,
	[0x80] = READ | GROUP | IMM8,
	[0x81] = READ | GROUP | IMM_OPERAND,
	[0x83] = READ | GROUP | IMM8,
	[0x84 ... 0x85] = READ, /* test */
	[0x86 ... 0x89] = WRITE, /* xchg, mov */
	[0x8a ... 0x8b] = READ,
	[0x8d] = READ, /* lea */
	[0x90] = KNOWN,
	[0x98 ... 0x99] = KNOWN, /* cdqe, cqo */
	[0xa8] = KNOWN | IMM8, /* test */
	[0xa9] = KNOWN | IMM_OPERAND,
	[0xb0 ... 0xb7] = KNOWN | IMM8,
	[0xb8 ... 0xbf] = KNOWN | IMM_FULL,
	[0xc0 ... 0xc1] = WRITE | IMM8, /* shifts */
	[0xc6] = WRITE | IMM8,
	[0xc7] = WRITE | IMM_OPERAND,
	[0xd0 ... 0xd3] = WRITE,
	[0xe8 ... 0xe9] = KNOWN | REL32,
	[0xeb] = KNOWN | REL8,
	[0xf6 ... 0xf7] = READ | GROUP,
	[0xfe] = WRITE,
};

static const uint16_t two_byte_forms[256] = {
	[0x10] = READ, /* SSE moves and arithmetic */
	[0x11] = WRITE,
	[0x12] = READ,
	[0x13] = WRITE,
	[0x14] = READ,
	[0x16] = READ,
	[0x17] = WRITE,
	[0x1e] = READ, /* endbr64, rdssp */
	[0x1f] = READ | LONG_NOP,
	[0x28] = READ,
	[0x29] = WRITE,
	[0x2a] = READ,
	[0x2c ... 0x2f] = READ,
	[0x40 ... 0x4f] = READ, /* cmov */
	[0x51 ... 0x5f] = READ,
	[0x60 ... 0x62] = READ,
	[0x6c ... 0x6f] = READ,
	[0x70] = READ | IMM8,
	[0x7e ... 0x7f] = WRITE,
	[0x80 ... 0x8f] = KNOWN | REL32,
	[0x90 ... 0x9f] = WRITE, /* setcc */
	[0xa3] = READ, /* bt */
	[0xaf] = READ, /* imul */
	[0xb6 ... 0xb7] = READ, /* movzx */
	[0xbe ... 0xbf] = READ, /* movsx */
	[0xd6] = WRITE,
	[0xef] = READ, /* pxor */
};

/* An instruction while it is read. */
struct decoder {
	const uint8_t *code;
	size_t size_bytes;
	size_t at;
	bool has_legacy_prefix;
	bool has_operand_prefix; /* 66 */
	bool has_segment_prefix; /* fs, gs */
	uint8_t rex;
	uint8_t opcode;
	bool is_two_byte;
	bool is_memory; /* the ModRM operand */
	bool is_stack; /* and it is addressed from rsp */
	uint8_t group; /* the ModRM reg field */
};

static bool take_byte(struct decoder *decoder, uint8_t *ret_byte)
{
	if (decoder->at >= decoder->size_bytes || decoder->at >= LENGTH_MAX)
		return false;
	*ret_byte = decoder->code[decoder->at++];
	return true;
}

static bool skip(struct decoder *decoder, size_t count)
{
	decoder->at += count;
	return decoder->at <= decoder->size_bytes && decoder->at <= LENGTH_MAX;
}

static bool take_prefix(struct decoder *decoder, uint8_t byte)
{
	switch (byte) {
	case 0x66:
		decoder->has_operand_prefix = true;
		break;
	case 0x64:
	case 0x65:
		decoder->has_segment_prefix = true;
		break;
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x26:
	case 0xf2:
	case 0xf3:
		break;
	default:
		return false;
	}
	decoder->has_legacy_prefix = true;
	return true;
}

static bool take_opcode(struct decoder *decoder)
{
	uint8_t byte;

	do {
		if (!take_byte(decoder, &byte))
			return false;
	} while (take_prefix(decoder, byte));
	if ((byte & 0xf0) == 0x40) {
		decoder->rex = byte;
		if (!take_byte(decoder, &byte))
			return false;
	}
	decoder->is_two_byte = byte == 0x0f;
	if (decoder->is_two_byte && !take_byte(decoder, &byte))
		return false;
	decoder->opcode = byte;
	return true;
}

static bool take_modrm(struct decoder *decoder)
{
	uint8_t modrm;
	uint8_t base;
	uint8_t mod;

	if (!take_byte(decoder, &modrm))
		return false;
	mod = modrm >> 6;
	base = modrm & 7;
	decoder->group = (modrm >> 3) & 7;
	decoder->is_memory = mod != 3;
	if (!decoder->is_memory)
		return true;
	if (base == 4) {
		if (!take_byte(decoder, &base))
			return false;
		base &= 7;
		decoder->is_stack = base == 4 && !(decoder->rex & 1);
	}
	if (mod == 1)
		return skip(decoder, 1);
	return skip(decoder, mod == 2 || base == 5 ? 4 : 0);
}

/* 80, 81, 83: all but /7 (cmp) write. f6, f7: /0 and /1 (test) have an immediate, /2 and /3 write.
 */
static unsigned int group_form(const struct decoder *decoder)
{
	if (decoder->opcode < 0xf6)
		return decoder->group == 7 ? 0 : WRITES;
	if (decoder->group <= 1)
		return decoder->opcode == 0xf6 ? IMM8 : IMM_OPERAND;
	return decoder->group <= 3 ? WRITES : 0;
}

static bool take_immediate(struct decoder *decoder, unsigned int form)
{
	size_t operand_bytes = decoder->has_operand_prefix ? 2 : 4;

	if (form & (IMM8 | REL8))
		return skip(decoder, 1);
	if (form & REL32)
		return skip(decoder, 4);
	if (form & IMM_OPERAND)
		return skip(decoder, operand_bytes);
	if (form & IMM_FULL)
		return skip(decoder, decoder->rex & 8 ? 8 : operand_bytes);
	return true;
}

static enum x86_instruction_kind branch_kind(const struct decoder *decoder)
{
	/* The kernel refuses 66 here; other prefixes are not worth telling apart. */
	if (decoder->has_legacy_prefix || decoder->rex)
		return X86_INSTRUCTION_LEAVE;
	if (decoder->is_two_byte || decoder->opcode < 0x80)
		return X86_INSTRUCTION_JCC;
	return decoder->opcode == 0xe8 ? X86_INSTRUCTION_CALL : X86_INSTRUCTION_JMP;
}

static enum x86_instruction_kind kind_of(const struct decoder *decoder, unsigned int form)
{
	bool is_bare = !decoder->is_two_byte && !decoder->has_legacy_prefix;

	if (form & (REL8 | REL32))
		return branch_kind(decoder);
	if (form & LONG_NOP)
		return X86_INSTRUCTION_LONG_NOP;
	if ((form & WRITES) && decoder->is_memory &&
	    (!decoder->is_stack || decoder->has_segment_prefix))
		return X86_INSTRUCTION_STORE;
	if (is_bare && (decoder->opcode & 0xf8) == 0x50 &&
	    (decoder->rex == 0 || decoder->rex == 0x41))
		return X86_INSTRUCTION_PUSH;
	if (is_bare && decoder->opcode == 0x90 && decoder->rex == 0)
		return X86_INSTRUCTION_NOP;
	return X86_INSTRUCTION_PLAIN;
}

int x86_instruction_decode(const uint8_t *code, size_t size_bytes,
			   struct x86_instruction *ret_instruction)
{
	struct decoder decoder = { .code = code, .size_bytes = size_bytes };
	unsigned int form;

	if (!take_opcode(&decoder))
		return -EINVAL;
	form = decoder.is_two_byte ? two_byte_forms[decoder.opcode]
				   : one_byte_forms[decoder.opcode];
	if (!(form & KNOWN) || ((form & MODRM) && !take_modrm(&decoder)))
		return -EINVAL;
	if (form & GROUP)
		form |= group_form(&decoder);
	/* A branch's displacement under 66 is 2 or 4 bytes, by maker: its length is not known. */
	if ((form & REL32) && decoder.has_operand_prefix)
		return -EINVAL;
	if (!take_immediate(&decoder, form))
		return -EINVAL;
	*ret_instruction = (struct x86_instruction){
		.kind = kind_of(&decoder, form),
		.length_bytes = decoder.at,
	};
	return 0;
}

bool x86_instruction_is_emulated(enum x86_instruction_kind kind)
{
	return kind >= X86_INSTRUCTION_PUSH && kind <= X86_INSTRUCTION_JCC;
}
