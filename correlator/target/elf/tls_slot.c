#include "target/elf/tls_slot.h"

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

size_t tls_slot_find(const struct elf_image *image, const struct tls_machine *machine,
		     const struct elf_symbol *symbol, struct tls_slot *ret_slot)
{
	struct elf_relocation relocation;
	size_t anonymous_count = 0;
	size_t cursor = 0;

	*ret_slot = (struct tls_slot){ .kind = TLS_SLOT_NONE };
	while (elf_image_next_relocation(image, &cursor, &relocation)) {
		enum tls_slot_kind kind = tls_machine_slot_kind(machine, relocation.type);

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
