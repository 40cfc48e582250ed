/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/tls_symbol.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "recorder/target/elf/tls_slot.h"

/* With a symbol the slot stands for symbol + addend, without one for the block's start + addend. */
static struct tls_slot slot_of(const struct elf_symbol *symbol, enum tls_slot_kind kind,
			       const struct elf_relocation *relocation, bool is_of_symbol)
{
	return (struct tls_slot){
		.kind = kind,
		.virtual_address = relocation->offset,
		.delta = (is_of_symbol ? 0 : symbol->value) - (uint64_t)relocation->addend,
		.block_offset = symbol->value,
	};
}

/* A module number serves every variable of the object; the other kinds serve a single offset. */
static bool fits(const struct elf_symbol *symbol, enum tls_slot_kind kind,
		 const struct elf_relocation *relocation)
{
	return kind == TLS_SLOT_MODULE || (uint64_t)relocation->addend == symbol->value;
}

/* The word after the module is the offset, with a relocation of its own or fixed by ld. */
static void find_offset_word(const struct elf_image *image, const struct tls_machine *machine,
			     const struct elf_symbol *symbol, struct tls_slot *slot)
{
	struct elf_relocation relocation;

	if (!tls_slot_offset_word(image, machine, slot->virtual_address, symbol->index,
				  &relocation))
		return;
	slot->has_offset_word = true;
	slot->delta = -(uint64_t)relocation.addend;
}

/*
 * Takes the relocation of the symbol itself; else the one without a symbol, which stands for the
 * object's own TLS block, if its addend fits. Returns the number of relocations of the second kind:
 * if above 1, it is ambiguous which is the variable's, and *ret_slot is one of them.
 */
static size_t find_slot(const struct elf_image *image, const struct tls_machine *machine,
			const struct elf_symbol *symbol, struct tls_slot *ret_slot)
{
	struct elf_relocation relocation;
	size_t anonymous_count = 0;
	size_t cursor = 0;

	*ret_slot = (struct tls_slot){ .kind = TLS_SLOT_NONE };
	while (elf_image_next_relocation(image, &cursor, &relocation)) {
		enum tls_slot_kind kind = tls_slot_kind_of(machine, &relocation);

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

static int refuse(const char *name, int error, const char *what, uint64_t value)
{
	return log_error(error, "thread-local %s: %s (0x%" PRIx64 ")", name, what, value);
}

/* Without a slot: the linker's fixed offset, in a main program. */
static int find_program_offset(const struct tls_object *object, const char *name,
			       uint64_t symbol_value, uint64_t *ret_offset)
{
	struct elf_segment segment;
	size_t cursor = 0;

	if (!elf_image_is_program(object->image))
		return refuse(name, ENOTSUP, "no TLS relocation leads to it; st_value",
			      symbol_value);
	while (elf_image_next_segment(object->image, &cursor, &segment)) {
		if (segment.type != PT_TLS)
			continue;
		if (!tls_machine_program_offset(object->machine, &segment, symbol_value,
						ret_offset))
			return refuse(name, EINVAL, "alignment of PT_TLS", segment.align);
		return 0;
	}
	return refuse(name, EINVAL, "no PT_TLS; st_value", symbol_value);
}

/* False: the object does not define it as a thread-local. */
static bool find_symbol(const struct elf_image *image, const char *name,
			struct elf_symbol *ret_symbol)
{
	return elf_image_find_symbol(image, name, ret_symbol) == 0 && ret_symbol->is_defined &&
	       ret_symbol->type == STT_TLS;
}

int tls_symbol_resolve(const struct elf_image *image, uint64_t load_bias,
		       const struct memory_reader *reader, const char *symbol_name, bool is_musl,
		       bool is_final, struct tls_symbol *ret_symbol)
{
	static const char *const relocations[] = {
		[TLS_SLOT_NONE] = "none",
		[TLS_SLOT_MODULE] = "DTPMOD64+DTPOFF64",
		[TLS_SLOT_DESCRIPTOR] = "TLSDESC",
		[TLS_SLOT_OFFSET] = "TPOFF64",
	};
	const struct tls_object object = {
		.image = image,
		.machine = tls_machine_of(image),
		.reader = reader,
		.load_bias = load_bias,
		.is_musl = is_musl,
		.logged_name = is_final ? symbol_name : NULL,
	};
	struct tls_location location;
	struct elf_symbol symbol;
	struct tls_slot slot;
	size_t count;
	int r = 0;

	if (!find_symbol(image, symbol_name, &symbol))
		return -ENOENT;
	if (!object.machine)
		return refuse(symbol_name, ENOTSUP, "TLS of this ELF machine is not known",
			      elf_image_machine(image));
	count = find_slot(image, object.machine, &symbol, &slot);
	if (count > 1)
		return refuse(symbol_name, ENOTSUP, "several relocations may be its own", count);
	if (slot.kind == TLS_SLOT_NONE)
		r = find_program_offset(&object, symbol_name, symbol.value, &slot.delta);
	if (r == 0)
		r = tls_slot_resolve(&object, &slot, &location);
	if (r < 0)
		return r;
	*ret_symbol = (struct tls_symbol){
		.location = location,
		.relocation = relocations[slot.kind],
		.slot_address = slot.kind ? load_bias + slot.virtual_address : 0,
		.symbol_value = symbol.value,
		.is_above_thread_pointer = object.machine->is_above_thread_pointer,
	};
	return 0;
}

int tls_symbol_find_slot(const struct elf_image *image, const char *symbol_name,
			 uint64_t *ret_virtual_address)
{
	const struct tls_machine *machine = tls_machine_of(image);
	struct elf_symbol symbol;
	struct tls_slot slot;

	if (!machine || elf_image_find_symbol(image, symbol_name, &symbol) < 0 ||
	    find_slot(image, machine, &symbol, &slot) > 1 || slot.kind == TLS_SLOT_NONE)
		return -ENOENT;
	*ret_virtual_address = slot.virtual_address;
	return 0;
}
