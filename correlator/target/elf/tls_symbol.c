#include "target/elf/tls_symbol.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "target/elf/tls_machine.h"
#include "target/elf/tls_slot.h"

/* What one call of tls_symbol_resolve works on. */
struct resolution {
	const struct elf_image *image;
	const struct memory_reader *reader;
	const struct tls_machine *machine;
	const char *name;
	uint64_t load_bias;
	bool is_musl;
	struct elf_symbol symbol;
};

static const uint64_t USER_ADDRESS_MIN = 4096;
static const uint64_t USER_ADDRESS_END = 1ULL << 56; /* five-level x86-64; aarch64 has less */
static const uint64_t BLOCK_OFFSET_END = 1ULL << 30;
static const uint64_t POINTER_ALIGN_MASK = sizeof(uint64_t) - 1;

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

static int read_slot(const struct resolution *resolution, const struct tls_slot *slot, void *buffer,
		     size_t size_bytes)
{
	return memory_read(resolution->reader, resolution->load_bias + slot->virtual_address,
			   buffer, size_bytes);
}

static int set_static(const struct resolution *resolution, uint64_t offset,
		      struct tls_location *location)
{
	if (!tls_machine_is_static_offset(resolution->machine, offset) ||
	    (offset & POINTER_ALIGN_MASK))
		return refuse(resolution, EINVAL, "not an offset from the thread pointer", offset);
	location->model = TLS_MODEL_STATIC;
	location->offset = (int64_t)offset;
	return 0;
}

static int set_dynamic(const struct resolution *resolution, uint64_t module, uint64_t offset,
		       struct tls_location *location)
{
	if (module == 0 || module > TLS_SYMBOL_MODULE_MAX)
		return refuse(resolution, EINVAL, "not a module number", module);
	if (offset >= BLOCK_OFFSET_END || (offset & POINTER_ALIGN_MASK))
		return refuse(resolution, EINVAL, "not an offset in a module's block", offset);
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
		return refuse(resolution, EINVAL, "not a TLS descriptor's argument", argument);
	r = memory_read(resolution->reader, argument, record, sizeof(record));
	if (r < 0)
		return r;
	if (record[1] + slot->delta != resolution->symbol.value)
		return refuse(resolution, ENOTSUP, "its descriptor leads to another variable",
			      record[1]);
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
	if (tls_machine_is_static_offset(resolution->machine, words[1]))
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
		if (tls_machine_local_exec(resolution->machine, &segment, resolution->symbol.value,
					   &offset) < 0)
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
		       struct tls_symbol *ret_symbol)
{
	static const char *const relocations[] = { "none", "DTPMOD64+DTPOFF64", "TLSDESC",
						   "TPOFF64" };
	struct resolution resolution = {
		.image = image,
		.reader = reader,
		.machine = tls_machine_find(elf_image_machine(image)),
		.name = symbol_name,
		.load_bias = load_bias,
		.is_musl = is_musl,
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
	location = tls_machine_location(resolution.machine, is_musl);
	count = tls_slot_find(image, resolution.machine, &resolution.symbol, &slot);
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
	};
	return 0;
}

/* The address of the module's block in one thread. */
static int read_block(const struct tls_location *location, uint64_t thread_pointer,
		      const struct memory_reader *reader, uint64_t *ret_block)
{
	uint64_t length;
	uint64_t block;
	uint64_t dtv;
	int r = memory_read_u64(reader, thread_pointer + (uint64_t)location->dtv_pointer_offset,
				&dtv);

	if (r < 0)
		return r;
	if (!is_user_pointer(dtv))
		return dtv == 0 ? -ENODATA : -EFAULT;
	r = memory_read_u64(
		reader, location->dtv_has_length ? dtv - location->dtv_entry_bytes : dtv, &length);
	if (r < 0)
		return r;
	if (location->module > length)
		return -ENODATA;
	r = memory_read_u64(reader, dtv + location->module * location->dtv_entry_bytes, &block);
	if (r < 0)
		return r;
	/* glibc marks an unallocated block with -1; nptl_db takes any odd value for one. */
	if (block == 0 || (block & 1))
		return -ENODATA;
	*ret_block = block;
	return 0;
}

int tls_symbol_read(const struct tls_location *location, uint64_t thread_pointer,
		    const struct memory_reader *reader, uint64_t *ret_value)
{
	uint64_t block = thread_pointer;
	uint64_t address;
	int r;

	if (location->model != TLS_MODEL_STATIC && location->model != TLS_MODEL_DYNAMIC)
		return -EINVAL;
	if (!is_user_pointer(thread_pointer))
		return -EFAULT;
	if (location->model == TLS_MODEL_DYNAMIC) {
		r = read_block(location, thread_pointer, reader, &block);
		if (r < 0)
			return r;
	}
	address = block + (uint64_t)location->offset;
	if (!is_user_pointer(address))
		return -EFAULT;
	return memory_read_u64(reader, address, ret_value);
}
