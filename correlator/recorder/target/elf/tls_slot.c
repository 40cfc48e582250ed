/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/tls_slot.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>

#include "base/log.h"

static const uint64_t USER_ADDRESS_MIN = 4096;
static const uint64_t USER_ADDRESS_END = 1ULL << 56; /* five-level x86-64; aarch64 has less */
static const uint64_t BLOCK_OFFSET_END = 1ULL << 30;
static const uint64_t POINTER_ALIGN_MASK = sizeof(uint64_t) - 1;

enum tls_slot_kind tls_slot_kind_of(const struct tls_machine *machine,
				    const struct elf_relocation *relocation)
{
	if (relocation->type == machine->module_relocation)
		return TLS_SLOT_MODULE;
	if (relocation->type == machine->descriptor_relocation)
		return TLS_SLOT_DESCRIPTOR;
	if (relocation->type == machine->static_relocation)
		return TLS_SLOT_OFFSET;
	return TLS_SLOT_NONE;
}

bool tls_slot_offset_word(const struct elf_image *image, const struct tls_machine *machine,
			  uint64_t virtual_address, size_t symbol_index,
			  struct elf_relocation *ret_relocation)
{
	size_t cursor = 0;

	while (elf_image_next_relocation(image, &cursor, ret_relocation))
		if (ret_relocation->type == machine->offset_relocation &&
		    ret_relocation->symbol == symbol_index &&
		    ret_relocation->offset == virtual_address + sizeof(uint64_t))
			return true;
	return false;
}

/* Converts what a relocation stands for into an offset in the object's own TLS block. */
static bool find_block_offset(const struct elf_image *image,
			      const struct elf_relocation *relocation, uint64_t *ret_offset)
{
	*ret_offset = 0;
	if (relocation->symbol && !elf_image_defined_at(image, relocation->symbol, ret_offset))
		return false;
	*ret_offset += (uint64_t)relocation->addend;
	return true;
}

/* The module's own relocation has no offset; the next word has it. */
static bool find_module_offset(const struct elf_image *image, const struct tls_machine *machine,
			       const struct elf_relocation *module, uint64_t *ret_offset)
{
	struct elf_relocation relocation;

	if (tls_slot_offset_word(image, machine, module->offset, module->symbol, &relocation))
		return find_block_offset(image, &relocation, ret_offset);
	return elf_image_read(image, module->offset + sizeof(*ret_offset), ret_offset,
			      sizeof(*ret_offset)) == 0;
}

int tls_slot_at(const struct elf_image *image, const struct tls_machine *machine,
		uint64_t virtual_address, int64_t delta, struct tls_slot *ret_slot)
{
	struct elf_relocation relocation;
	uint64_t offset;
	size_t cursor = 0;

	while (elf_image_next_relocation(image, &cursor, &relocation)) {
		enum tls_slot_kind kind = tls_slot_kind_of(machine, &relocation);

		if (relocation.offset != virtual_address || kind == TLS_SLOT_NONE)
			continue;
		if (kind == TLS_SLOT_MODULE
			    ? !find_module_offset(image, machine, &relocation, &offset)
			    : !find_block_offset(image, &relocation, &offset))
			return -ENOENT;
		*ret_slot = (struct tls_slot){ .kind = kind,
					       .has_offset_word = kind == TLS_SLOT_MODULE,
					       .virtual_address = virtual_address,
					       .delta = (uint64_t)delta,
					       .block_offset = offset + (uint64_t)delta };
		return 0;
	}
	return -ENOENT;
}

static bool is_user_pointer(uint64_t address)
{
	return address >= USER_ADDRESS_MIN && address < USER_ADDRESS_END &&
	       !(address & POINTER_ALIGN_MASK);
}

/* Rejects a value read from the process; the loader may not be done with it. */
static int doubt(const struct tls_object *object, const char *what, uint64_t value)
{
	if (!object->logged_name)
		return -EUCLEAN;
	return log_error(EUCLEAN, "thread-local %s: %s (0x%" PRIx64 ")", object->logged_name, what,
			 value);
}

static int read_slot(const struct tls_object *object, const struct tls_slot *slot, void *buffer,
		     size_t size_bytes)
{
	return memory_read(object->reader, object->load_bias + slot->virtual_address, buffer,
			   size_bytes);
}

static int set_static(const struct tls_object *object, uint64_t offset,
		      struct tls_location *location)
{
	if (!tls_machine_is_static_offset(object->machine, offset) || (offset & POINTER_ALIGN_MASK))
		return doubt(object, "not an offset from the thread pointer", offset);
	location->model = TLS_MODEL_STATIC;
	location->offset = (int64_t)offset;
	return 0;
}

static int set_dynamic(const struct tls_object *object, uint64_t module, uint64_t offset,
		       struct tls_location *location)
{
	if (module == 0 || module > TLS_SLOT_MODULE_MAX)
		return doubt(object, "not a module number", module);
	if (offset >= BLOCK_OFFSET_END || (offset & POINTER_ALIGN_MASK))
		return doubt(object, "not an offset in a module's block", offset);
	location->model = TLS_MODEL_DYNAMIC;
	location->module = module;
	location->offset = (int64_t)offset;
	return 0;
}

/*
 * The loader may have bound the symbol to another object's definition. So if the offset word has
 * its own relocation, the loader's value counts, else the ELF file's.
 */
static int resolve_module(const struct tls_object *object, const struct tls_slot *slot,
			  struct tls_location *location)
{
	uint64_t offset = slot->block_offset;
	uint64_t words[2];
	int r = read_slot(object, slot, words, sizeof(words));

	if (r < 0)
		return r;
	if (words[0] == 0)
		return -EAGAIN;
	if (slot->has_offset_word) {
		/* The loader writes the module first: a zero may still be the file's. */
		if (words[1] == 0 && offset != slot->delta)
			return -EAGAIN;
		offset = words[1] + slot->delta;
	}
	return set_dynamic(object, words[0], offset, location);
}

/*
 * True for addresses in the object itself: glibc before 2.34 binds descriptors lazily and parks
 * them there.
 */
static bool is_in_object(const struct tls_object *object, uint64_t address)
{
	struct elf_segment segment;
	size_t cursor = 0;

	while (elf_image_next_segment(object->image, &cursor, &segment))
		if (segment.type == PT_LOAD &&
		    address - (object->load_bias + segment.virtual_address) < segment.memory_bytes)
			return true;
	return false;
}

/* argument -> {module, offset, ...} in both libcs. */
static int resolve_descriptor_record(const struct tls_object *object, const struct tls_slot *slot,
				     uint64_t argument, struct tls_location *location)
{
	uint64_t record[2];
	int r;

	if (!is_user_pointer(argument))
		return doubt(object, "not a TLS descriptor's argument", argument);
	r = memory_read(object->reader, argument, record, sizeof(record));
	if (r < 0)
		return r;
	if (record[1] + slot->delta != slot->block_offset)
		return doubt(object, "its descriptor leads to another variable", record[1]);
	return set_dynamic(object, record[0], record[1] + slot->delta, location);
}

static int resolve_descriptor(const struct tls_object *object, const struct tls_slot *slot,
			      struct tls_location *location)
{
	uint64_t words[2];
	int r = read_slot(object, slot, words, sizeof(words));

	if (r < 0)
		return r;
	if (words[0] == 0 || is_in_object(object, words[0]) || is_in_object(object, words[1]))
		return -EAGAIN;
	if (tls_machine_is_static_offset(object->machine, words[1]))
		return set_static(object, words[1] + slot->delta, location);
	return resolve_descriptor_record(object, slot, words[1], location);
}

static int resolve_offset(const struct tls_object *object, const struct tls_slot *slot,
			  struct tls_location *location)
{
	uint64_t offset;
	int r = read_slot(object, slot, &offset, sizeof(offset));

	if (r < 0)
		return r;
	/* musl on aarch64 can place a library at the thread pointer itself. */
	if (offset == 0 && !(object->is_musl && object->machine->is_above_thread_pointer))
		return -EAGAIN;
	return set_static(object, offset + slot->delta, location);
}

int tls_slot_resolve(const struct tls_object *object, const struct tls_slot *slot,
		     struct tls_location *ret_location)
{
	struct tls_location location = tls_machine_location(object->machine, object->is_musl);
	int r = -EUCLEAN;

	switch (slot->kind) {
	case TLS_SLOT_MODULE:
		r = resolve_module(object, slot, &location);
		break;
	case TLS_SLOT_DESCRIPTOR:
		r = resolve_descriptor(object, slot, &location);
		break;
	case TLS_SLOT_OFFSET:
		r = resolve_offset(object, slot, &location);
		break;
	case TLS_SLOT_NONE:
		r = set_static(object, slot->delta, &location);
		break;
	}
	if (r == 0)
		*ret_location = location;
	return r;
}
