/* SPDX-License-Identifier: GPL-2.0-only */
#include "target/elf/tls_symbol.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>

#include "base/log.h"

enum tls_slot_kind {
	TLS_SLOT_NONE = 0,
	TLS_SLOT_MODULE = 1, /* {module, offset}: general dynamic */
	TLS_SLOT_DESCRIPTOR = 2, /* {function, argument}: TLSDESC */
	TLS_SLOT_OFFSET = 3, /* offset from the thread pointer: initial exec */
};

/*
 * What the machines differ in. Numbers: x86-64 psABI and AArch64 ELF psABI, "relocation types"; DTV
 * shapes: glibc 2.36 sysdeps/{x86_64,aarch64}/nptl/tls.h, elf/dl-tls.c, and musl 1.2
 * src/internal/pthread_impl.h.
 */
struct tls_machine {
	uint16_t elf_machine;
	bool is_above_thread_pointer; /* blocks lie above the thread pointer (variant I) */
	uint32_t module_relocation; /* DTPMOD64 */
	uint32_t offset_relocation; /* DTPOFF64, DTPREL64 */
	uint32_t descriptor_relocation;
	uint32_t static_relocation; /* TPOFF64, TPREL64 */
	int32_t glibc_dtv_offset; /* of the DTV's address, from the thread pointer */
	int32_t musl_dtv_offset;
	uint64_t static_offset_limit; /* a descriptor's argument below it is no address */
};

/* The slot of an object's data that the loader relocates for the variable. */
struct tls_slot {
	enum tls_slot_kind kind; /* TLS_SLOT_NONE: no relocation leads to the variable */
	uint64_t virtual_address; /* of the ELF file: add the load bias */
	/* To add to what the slot stands for, modulo 2^64: 0 but with odd addends. */
	uint64_t delta;
	bool has_offset_word; /* TLS_SLOT_MODULE: the loader writes the offset too */
};

enum {
	GLIBC_DTV_ENTRY_BYTES = 16, /* {value, to_free} */
	MUSL_DTV_ENTRY_BYTES = 8,
	THREAD_CONTROL_BLOCK_BYTES = 16, /* aarch64: two words at the thread pointer */
	STATIC_OFFSET_MAX = 1 << 30,
};

static const struct tls_machine machines[] = {
	{
		.elf_machine = EM_X86_64,
		.is_above_thread_pointer = false,
		.module_relocation = R_X86_64_DTPMOD64,
		.offset_relocation = R_X86_64_DTPOFF64,
		.descriptor_relocation = R_X86_64_TLSDESC,
		.static_relocation = R_X86_64_TPOFF64,
		.glibc_dtv_offset = 8,
		.musl_dtv_offset = 8,
		.static_offset_limit = STATIC_OFFSET_MAX,
	},
	{
		.elf_machine = EM_AARCH64,
		.is_above_thread_pointer = true,
		.module_relocation = R_AARCH64_TLS_DTPMOD,
		.offset_relocation = R_AARCH64_TLS_DTPREL,
		.descriptor_relocation = R_AARCH64_TLSDESC,
		.static_relocation = R_AARCH64_TLS_TPREL,
		.glibc_dtv_offset = 0,
		.musl_dtv_offset = -8,
		/* Offsets are positive here, so only what is too low to be mapped is surely none.
		 */
		.static_offset_limit = 65536,
	},
};

/* NULL: a machine whose TLS is not known. */
static const struct tls_machine *find_machine(const struct elf_image *image)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].elf_machine == elf_image_machine(image))
			return &machines[i];
	return NULL;
}

static enum tls_slot_kind slot_kind(const struct tls_machine *machine, uint32_t relocation)
{
	if (relocation == machine->module_relocation)
		return TLS_SLOT_MODULE;
	if (relocation == machine->descriptor_relocation)
		return TLS_SLOT_DESCRIPTOR;
	if (relocation == machine->static_relocation)
		return TLS_SLOT_OFFSET;
	return TLS_SLOT_NONE;
}

/* The location with the machine's and libc's DTV, all else 0. */
static struct tls_location empty_location(const struct tls_machine *machine, bool is_musl)
{
	return (struct tls_location){
		.model = TLS_MODEL_NONE,
		.dtv_pointer_offset =
			is_musl ? machine->musl_dtv_offset : machine->glibc_dtv_offset,
		.dtv_entry_bytes = is_musl ? MUSL_DTV_ENTRY_BYTES : GLIBC_DTV_ENTRY_BYTES,
		.dtv_has_length = !is_musl,
	};
}

/* True if a value can be the static offset of a variable from the thread pointer. */
static bool is_static_offset(const struct tls_machine *machine, uint64_t offset)
{
	if (machine->is_above_thread_pointer)
		return offset < machine->static_offset_limit;
	return offset > -machine->static_offset_limit;
}

/*
 * Offset from the thread pointer of st_value in a main program's block, as linkers compute it.
 * False: the PT_TLS segment's alignment is no power of two.
 */
static bool local_exec_offset(const struct tls_machine *machine, const struct elf_segment *tls,
			      uint64_t symbol_value, uint64_t *ret_offset)
{
	uint64_t mask = tls->align ? tls->align - 1 : 0;
	uint64_t block;

	if (tls->align & mask)
		return false;
	if (machine->is_above_thread_pointer)
		block = THREAD_CONTROL_BLOCK_BYTES +
			((tls->virtual_address - THREAD_CONTROL_BLOCK_BYTES) & mask);
	else
		block = -(tls->memory_bytes + (-(tls->virtual_address + tls->memory_bytes) & mask));
	*ret_offset = block + symbol_value;
	return true;
}

/* With a symbol the slot stands for symbol + addend, without one for the block's start + addend. */
static struct tls_slot slot_of(const struct elf_symbol *symbol, enum tls_slot_kind kind,
			       const struct elf_relocation *relocation, bool is_of_symbol)
{
	return (struct tls_slot){
		.kind = kind,
		.virtual_address = relocation->offset,
		.delta = (is_of_symbol ? 0 : symbol->value) - (uint64_t)relocation->addend,
	};
}

/* A module number serves every variable of the object, the other kinds one offset only. */
static bool fits(const struct elf_symbol *symbol, enum tls_slot_kind kind,
		 const struct elf_relocation *relocation)
{
	return kind == TLS_SLOT_MODULE || (uint64_t)relocation->addend == symbol->value;
}

/* The module's word is followed by the offset's, with a relocation of its own or fixed by ld. */
static void find_offset_word(const struct elf_image *image, const struct tls_machine *machine,
			     const struct elf_symbol *symbol, struct tls_slot *slot)
{
	struct elf_relocation relocation;
	size_t cursor = 0;

	while (elf_image_next_relocation(image, &cursor, &relocation)) {
		if (relocation.type != machine->offset_relocation ||
		    relocation.symbol != symbol->index ||
		    relocation.offset != slot->virtual_address + sizeof(uint64_t))
			continue;
		slot->has_offset_word = true;
		slot->delta = -(uint64_t)relocation.addend;
		return;
	}
}

/*
 * Takes the relocation of the symbol itself; else the one without a symbol, which stands for the
 * object's own TLS block, if its addend fits. Returns how many relocations of that second sort
 * there were: above 1 it is open which is the variable's, and *ret_slot is one of them.
 */
static size_t find_slot(const struct elf_image *image, const struct tls_machine *machine,
			const struct elf_symbol *symbol, struct tls_slot *ret_slot)
{
	struct elf_relocation relocation;
	size_t anonymous_count = 0;
	size_t cursor = 0;

	*ret_slot = (struct tls_slot){ .kind = TLS_SLOT_NONE };
	while (elf_image_next_relocation(image, &cursor, &relocation)) {
		enum tls_slot_kind kind = slot_kind(machine, relocation.type);

		if (kind == TLS_SLOT_NONE)
			continue;
		if (symbol->is_dynamic && relocation.symbol == symbol->index) {
			*ret_slot = slot_of(symbol, kind, &relocation, true);
			if (kind == TLS_SLOT_MODULE)
				find_offset_word(image, machine, symbol, ret_slot);
			return 0;
		}
		if (relocation.symbol == 0 && fits(symbol, kind, &relocation)) {
			*ret_slot = slot_of(symbol, kind, &relocation, false);
			anonymous_count++;
		}
	}
	return anonymous_count;
}

static const uint64_t USER_ADDRESS_MIN = 4096;
static const uint64_t USER_ADDRESS_END = 1ULL << 56; /* five-level x86-64; aarch64 has less */
static const uint64_t BLOCK_OFFSET_END = 1ULL << 30;
static const uint64_t POINTER_ALIGN_MASK = sizeof(uint64_t) - 1;

/* What one call of tls_symbol_resolve works on. */
struct resolution {
	const struct elf_image *image;
	const struct memory_reader *reader;
	const struct tls_machine *machine;
	const char *name;
	uint64_t load_bias;
	bool is_musl;
	bool is_final;
	struct elf_symbol symbol;
};

static bool is_user_pointer(uint64_t address)
{
	return address >= USER_ADDRESS_MIN && address < USER_ADDRESS_END &&
	       !(address & POINTER_ALIGN_MASK);
}

static int refuse(const struct resolution *resolution, int error, const char *what, uint64_t value)
{
	return log_error(error, "thread-local %s: %s (0x%" PRIx64 ")", resolution->name, what,
			 value);
}

/* Of what is read in the process: the loader may not be done with it. */
static int doubt(const struct resolution *resolution, const char *what, uint64_t value)
{
	return resolution->is_final ? refuse(resolution, EUCLEAN, what, value) : -EUCLEAN;
}

static int read_slot(const struct resolution *resolution, const struct tls_slot *slot, void *buffer,
		     size_t size_bytes)
{
	return memory_read(resolution->reader, resolution->load_bias + slot->virtual_address,
			   buffer, size_bytes);
}

static int set_static(const struct resolution *resolution, uint64_t offset,
		      struct tls_location *location)
{
	if (!is_static_offset(resolution->machine, offset) || (offset & POINTER_ALIGN_MASK))
		return doubt(resolution, "not an offset from the thread pointer", offset);
	location->model = TLS_MODEL_STATIC;
	location->offset = (int64_t)offset;
	return 0;
}

static int set_dynamic(const struct resolution *resolution, uint64_t module, uint64_t offset,
		       struct tls_location *location)
{
	if (module == 0 || module > TLS_SYMBOL_MODULE_MAX)
		return doubt(resolution, "not a module number", module);
	if (offset >= BLOCK_OFFSET_END || (offset & POINTER_ALIGN_MASK))
		return doubt(resolution, "not an offset in a module's block", offset);
	location->model = TLS_MODEL_DYNAMIC;
	location->module = module;
	location->offset = (int64_t)offset;
	return 0;
}

/*
 * The loader may have bound the symbol to another object's definition, so with a relocation of
 * its own the offset is the loader's word, else the ELF file's.
 */
static int resolve_module(const struct resolution *resolution, const struct tls_slot *slot,
			  struct tls_location *location)
{
	uint64_t offset = resolution->symbol.value;
	uint64_t words[2];
	int r = read_slot(resolution, slot, words, sizeof(words));

	if (r < 0)
		return r;
	if (words[0] == 0)
		return -EAGAIN;
	if (slot->has_offset_word) {
		/* The loader writes the module first: a zero may be the file's still. */
		if (words[1] == 0 && offset != slot->delta)
			return -EAGAIN;
		offset = words[1] + slot->delta;
	}
	return set_dynamic(resolution, words[0], offset, location);
}

/* In the object itself: glibc before 2.34 binds descriptors lazily and parks them there. */
static bool is_in_object(const struct resolution *resolution, uint64_t address)
{
	struct elf_segment segment;
	size_t cursor = 0;

	while (elf_image_next_segment(resolution->image, &cursor, &segment))
		if (segment.type == PT_LOAD &&
		    address - (resolution->load_bias + segment.virtual_address) <
			    segment.memory_bytes)
			return true;
	return false;
}

/* argument -> {module, offset, ...} in both libcs. */
static int resolve_descriptor_record(const struct resolution *resolution,
				     const struct tls_slot *slot, uint64_t argument,
				     struct tls_location *location)
{
	uint64_t record[2];
	int r;

	if (!is_user_pointer(argument))
		return doubt(resolution, "not a TLS descriptor's argument", argument);
	r = memory_read(resolution->reader, argument, record, sizeof(record));
	if (r < 0)
		return r;
	if (record[1] + slot->delta != resolution->symbol.value)
		return doubt(resolution, "its descriptor leads to another variable", record[1]);
	return set_dynamic(resolution, record[0], record[1] + slot->delta, location);
}

static int resolve_descriptor(const struct resolution *resolution, const struct tls_slot *slot,
			      struct tls_location *location)
{
	uint64_t words[2];
	int r = read_slot(resolution, slot, words, sizeof(words));

	if (r < 0)
		return r;
	if (words[0] == 0 || is_in_object(resolution, words[0]) ||
	    is_in_object(resolution, words[1]))
		return -EAGAIN;
	if (is_static_offset(resolution->machine, words[1]))
		return set_static(resolution, words[1] + slot->delta, location);
	return resolve_descriptor_record(resolution, slot, words[1], location);
}

static int resolve_offset(const struct resolution *resolution, const struct tls_slot *slot,
			  struct tls_location *location)
{
	uint64_t offset;
	int r = read_slot(resolution, slot, &offset, sizeof(offset));

	if (r < 0)
		return r;
	/* musl on aarch64 can place a library at the thread pointer itself. */
	if (offset == 0 && !(resolution->is_musl && resolution->machine->is_above_thread_pointer))
		return -EAGAIN;
	return set_static(resolution, offset + slot->delta, location);
}

static int resolve_local_exec(const struct resolution *resolution, struct tls_location *location)
{
	struct elf_segment segment;
	uint64_t offset;
	size_t cursor = 0;

	if (!elf_image_is_program(resolution->image))
		return refuse(resolution, ENOTSUP, "no TLS relocation leads to it; st_value",
			      resolution->symbol.value);
	while (elf_image_next_segment(resolution->image, &cursor, &segment)) {
		if (segment.type != PT_TLS)
			continue;
		if (!local_exec_offset(resolution->machine, &segment, resolution->symbol.value,
				       &offset))
			return refuse(resolution, EINVAL, "alignment of PT_TLS", segment.align);
		return set_static(resolution, offset, location);
	}
	return refuse(resolution, EINVAL, "no PT_TLS; st_value", resolution->symbol.value);
}

static int resolve_slot(const struct resolution *resolution, const struct tls_slot *slot,
			struct tls_location *location)
{
	switch (slot->kind) {
	case TLS_SLOT_MODULE:
		return resolve_module(resolution, slot, location);
	case TLS_SLOT_DESCRIPTOR:
		return resolve_descriptor(resolution, slot, location);
	case TLS_SLOT_OFFSET:
		return resolve_offset(resolution, slot, location);
	case TLS_SLOT_NONE:
		break;
	}
	return resolve_local_exec(resolution, location);
}

int tls_symbol_resolve(const struct elf_image *image, uint64_t load_bias,
		       const struct memory_reader *reader, const char *symbol_name, bool is_musl,
		       bool is_final, struct tls_symbol *ret_symbol)
{
	static const char *const relocations[] = { "none", "DTPMOD64+DTPOFF64", "TLSDESC",
						   "TPOFF64" };
	struct resolution resolution = {
		.image = image,
		.reader = reader,
		.machine = find_machine(image),
		.name = symbol_name,
		.load_bias = load_bias,
		.is_musl = is_musl,
		.is_final = is_final,
	};
	struct tls_location location;
	struct tls_slot slot;
	size_t count;
	int r = elf_image_find_symbol(image, symbol_name, &resolution.symbol);

	if (r < 0 || !resolution.symbol.is_defined || resolution.symbol.type != STT_TLS)
		return -ENOENT;
	if (!resolution.machine)
		return refuse(&resolution, ENOTSUP, "TLS of this ELF machine is not known",
			      elf_image_machine(image));
	location = empty_location(resolution.machine, is_musl);
	count = find_slot(image, resolution.machine, &resolution.symbol, &slot);
	if (count > 1)
		return refuse(&resolution, ENOTSUP, "several relocations may be its own", count);
	r = resolve_slot(&resolution, &slot, &location);
	if (r < 0)
		return r;
	*ret_symbol = (struct tls_symbol){
		.location = location,
		.relocation = relocations[slot.kind],
		.slot_address = slot.kind ? load_bias + slot.virtual_address : 0,
		.symbol_value = resolution.symbol.value,
		.is_above_thread_pointer = resolution.machine->is_above_thread_pointer,
	};
	return 0;
}

int tls_symbol_find_slot(const struct elf_image *image, const char *symbol_name,
			 uint64_t *ret_virtual_address)
{
	const struct tls_machine *machine = find_machine(image);
	struct elf_symbol symbol;
	struct tls_slot slot;

	if (!machine || elf_image_find_symbol(image, symbol_name, &symbol) < 0 ||
	    find_slot(image, machine, &symbol, &slot) > 1 || slot.kind == TLS_SLOT_NONE)
		return -ENOENT;
	*ret_virtual_address = slot.virtual_address;
	return 0;
}
