/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/native_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash_table.h"
#include "base/text.h"
#include "recorder/symbolize/demangler.h"
#include "recorder/symbolize/perf_map.h"
#include "recorder/target/elf/debug_file.h"
#include "recorder/target/elf/elf_functions.h"
#include "recorder/target/elf/unwind_table.h"
#include "recorder/target/proc/memory_map.h"

/* Pause between reads of a process's mappings, in multiples of the time that the last read took. */
#define MAP_PAUSE_PART 50
/* Age at which an address without a file is looked up anew: a file may be mapped there now. */
#define MAP_OLD_NS NS_PER_S

/* Exported by libruby in all versions, and by programs that embed Ruby. */
#define RUBY_SYMBOL "ruby_init"

/* A mapping of code. */
struct code {
	struct memory_map_entry entry; /* path points into native_process.paths */
	struct object_file *file; /* held; NULL = not opened yet */
	uint64_t mapped_ns; /* when the file was last found to be mapped there */
};

struct native_process {
	pid_t pid;
	bool has_map;
	uint64_t read_ns; /* when the mappings were read */
	uint64_t cost_ns; /* time that this took */
	struct code *code; /* by address */
	size_t count;
	char *paths;
	unsigned int costly_calls;
	struct perf_map *generated; /* NULL = none was looked for yet */
};

/* The data read from a file. */
struct object_functions {
	uint64_t serial; /* of the file, from its note */
	uint64_t asked; /* native_names.asked at its last use */
	struct elf_functions *functions;
	bool is_ruby;
	UT_hash_handle hh;
};

struct start_key {
	uint64_t serial;
	uint64_t address; /* virtual address in the file */
};

struct known_start {
	struct start_key key;
	uint64_t start; /* start of its function; UINT64_MAX = not known */
	UT_hash_handle hh;
};

struct native_names {
	struct object_files *files;
	struct demangler *demangler;
	struct object_functions *objects; /* uthash, by serial */
	struct known_start *starts; /* uthash, by key */
	uint64_t serials; /* handed out so far */
	uint64_t asked;
	size_t size_bytes; /* of all objects' functions */
};

struct native_names *native_names_new(struct object_files *files)
{
	struct native_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->files = files;
	names->demangler = demangler_new();
	if (names->demangler)
		return names;
	free(names);
	return NULL;
}

static void forget_starts(struct native_names *names)
{
	struct known_start *start, *next;

	HASH_ITER(hh, names->starts, start, next) {
		HASH_DEL(names->starts, start);
		free(start);
	}
}

static void forget_object(struct native_names *names, struct object_functions *object)
{
	HASH_DEL(names->objects, object);
	names->size_bytes -= elf_functions_size_bytes(object->functions);
	elf_functions_free(object->functions);
	free(object);
}

void native_names_free(struct native_names *names)
{
	struct object_functions *object, *next;

	if (!names)
		return;
	HASH_ITER(hh, names->objects, object, next)
		forget_object(names, object);
	forget_starts(names);
	demangler_free(names->demangler);
	free(names);
}

size_t native_names_size_bytes(const struct native_names *names)
{
	return names->size_bytes;
}

/* ---- the process ---- */

struct native_process *native_process_new(pid_t pid)
{
	struct native_process *process = calloc(1, sizeof(*process));

	if (process)
		process->pid = pid;
	return process;
}

static void forget_code(struct code *code, size_t count)
{
	for (size_t i = 0; i < count; i++)
		object_file_release(code[i].file);
	free(code);
}

void native_process_free(struct native_process *process)
{
	if (!process)
		return;
	forget_code(process->code, process->count);
	free(process->paths);
	perf_map_free(process->generated);
	free(process);
}

static bool is_same_mapping(const struct memory_map_entry *a, const struct memory_map_entry *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       memory_map_same_object(a, b);
}

/* Moves held files to the same mappings in code. Both lists are sorted by address. */
static void keep_files(struct code *code, size_t count, struct native_process *process)
{
	size_t old = 0;

	for (size_t i = 0; i < count; i++) {
		while (old < process->count && process->code[old].entry.start < code[i].entry.start)
			old++;
		if (old < process->count &&
		    is_same_mapping(&process->code[old].entry, &code[i].entry))
			code[i].file = TAKE_PTR(process->code[old].file);
	}
}

/* Copies the code mappings of a map and their paths, up to the limits. 0 or -ENOMEM. */
static int take_code(const struct memory_map *map, struct code **ret_code, size_t *ret_count,
		     char **ret_paths)
{
	_cleanup_free_ struct code *code = calloc(NATIVE_CODE_MAX, sizeof(*code));
	_cleanup_free_ char *paths = malloc(NATIVE_PATHS_BYTES_MAX);
	size_t count = 0, used = 0;

	if (!code || !paths)
		return -ENOMEM;
	for (size_t i = 0; i < map->count && count < NATIVE_CODE_MAX; i++) {
		size_t path_bytes = strlen(map->entries[i].path) + 1;

		if (!map->entries[i].is_executable || path_bytes > NATIVE_PATHS_BYTES_MAX - used)
			continue;
		code[count].entry = map->entries[i];
		code[count].entry.path = memcpy(paths + used, map->entries[i].path, path_bytes);
		used += path_bytes;
		count++;
	}
	*ret_code = TAKE_PTR(code);
	*ret_count = count;
	*ret_paths = TAKE_PTR(paths);
	return 0;
}

static int read_code(struct native_process *process, uint64_t now_ns)
{
	uint64_t begin_ns = clock_monotonic_ns();
	struct memory_map map = { 0 };
	struct code *code = NULL;
	char *paths = NULL;
	size_t count = 0;
	int r = memory_map_of_process(process->pid, &map);

	process->read_ns = now_ns;
	process->has_map = true;
	if (r == 0)
		r = take_code(&map, &code, &count, &paths);
	memory_map_deinit(&map);
	process->cost_ns = clock_monotonic_ns() - begin_ns;
	if (r < 0)
		return r;
	keep_files(code, count, process);
	forget_code(process->code, process->count);
	free(process->paths);
	process->code = code;
	process->count = count;
	process->paths = paths;
	return 0;
}

/* Reads the mappings unless they were just read. 0; -EAGAIN: not now; -errno. */
static int refresh(struct native_process *process, uint64_t now_ns, bool may_read)
{
	if (!may_read ||
	    (process->has_map && now_ns - process->read_ns < MAP_PAUSE_PART * process->cost_ns))
		return -EAGAIN;
	return read_code(process, now_ns);
}

/* NULL: no code is known to be mapped there. */
static struct code *find_code(const struct native_process *process, uint64_t address)
{
	size_t low = 0, high = process->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (process->code[middle].entry.end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < process->count && process->code[low].entry.start <= address
		       ? &process->code[low]
		       : NULL;
}

static bool is_vdso(const struct memory_map_entry *entry)
{
	return strcmp(entry->path, "[vdso]") == 0;
}

static bool is_of_file(const struct memory_map_entry *entry)
{
	return entry->path[0] == '/' && entry->inode != 0;
}

/*
 * Opens the file that is mapped there now. Where stat(2) shows another inode than the map
 * (overlays), only a map that was just read proves that it is still the mapping's file.
 */
static int open_file(const struct native_names *names, const struct native_process *process,
		     uint64_t now_ns, struct code *code)
{
	int r = object_file_get(names->files, process->pid, &code->entry, &code->file);

	if (r < 0 || object_file_inode(code->file) == code->entry.inode ||
	    process->read_ns == now_ns)
		return r;
	object_file_release(TAKE_PTR(code->file));
	return -ESTALE;
}

/* Makes sure that a mapping's file is held. 0; -ESTALE: no longer mapped there; -errno. */
static int hold_file(const struct native_names *names, const struct native_process *process,
		     uint64_t now_ns, bool may_read, struct code *code)
{
	int r = code->file || may_read ? 0 : -EAGAIN;

	if (r == 0 && !code->file)
		r = open_file(names, process, now_ns, code);
	if (r < 0)
		return r;
	if (code->mapped_ns == now_ns)
		return 0;
	if (object_file_is_mapped(code->file, process->pid, &code->entry)) {
		code->mapped_ns = now_ns;
		return 0;
	}
	object_file_release(TAKE_PTR(code->file));
	return -ESTALE;
}

/*
 * Finds the current mapping of an address, and its file if it can be opened. *ret_code: NULL = not
 * known. 0 or -errno.
 */
static int locate(const struct native_names *names, struct native_process *process,
		  uint64_t address, uint64_t now_ns, bool may_read, struct code **ret_code)
{
	struct code *code = find_code(process, address);
	int r = 0;

	if (code && is_of_file(&code->entry))
		r = hold_file(names, process, now_ns, may_read, code);
	else if (!code || now_ns - process->read_ns >= MAP_OLD_NS)
		r = -ESTALE;
	if (r == -ESTALE) {
		r = refresh(process, now_ns, may_read);
		code = r == 0 ? find_code(process, address) : NULL;
		if (code && is_of_file(&code->entry))
			r = hold_file(names, process, now_ns, may_read, code);
	}
	/* Only its file could have confirmed that it is still mapped there. */
	if (r < 0 && now_ns - process->read_ns >= MAP_OLD_NS)
		code = NULL;
	*ret_code = r == -ESTALE ? NULL : code;
	return r;
}

pid_t native_process_pid(const struct native_process *process)
{
	return process->pid;
}

void native_process_note_cost(struct native_process *process)
{
	process->costly_calls++;
}

bool native_process_is_costly(const struct native_process *process)
{
	return process->costly_calls >= NATIVE_COSTLY_CALLS_MAX;
}

/* ---- the file ---- */

/* 0: out of memory. */
static uint64_t serial_of(struct native_names *names, struct object_file *file)
{
	uint64_t *serial = object_file_note(file, "native", sizeof(*serial));

	if (serial && *serial == 0)
		*serial = ++names->serials;
	return serial ? *serial : 0;
}

/* Drops the least recently used objects until the limit holds; keeps the one in use now. */
static void make_room(struct native_names *names)
{
	struct object_functions *object, *next, *oldest;

	while (names->size_bytes > NATIVE_FUNCTIONS_BYTES_MAX) {
		oldest = NULL;
		HASH_ITER(hh, names->objects, object, next)
			if (!oldest || object->asked < oldest->asked)
				oldest = object;
		if (!oldest || oldest->asked == names->asked)
			return;
		forget_object(names, oldest);
	}
}

static struct object_functions *read_functions(struct native_names *names, uint64_t serial,
					       const struct elf_image *image, pid_t pid,
					       const char *path)
{
	struct object_functions *object = calloc(1, sizeof(*object));
	struct elf_symbol symbol;

	if (!object)
		return NULL;
	object->serial = serial;
	object->is_ruby = elf_image_find_defined(image, RUBY_SYMBOL, &symbol);
	if (elf_functions_read(image, &object->functions) < 0) {
		free(object);
		return NULL;
	}
	if (!elf_functions_are_all(object->functions))
		debug_file_replace(image, pid, path, &object->functions);
	HASH_ADD(hh, names->objects, serial, sizeof(object->serial), object);
	if (!object->hh.tbl) {
		elf_functions_free(object->functions);
		free(object);
		return NULL;
	}
	names->size_bytes += elf_functions_size_bytes(object->functions);
	return object;
}

/* The functions of a file; NULL = not known, or not yet. */
static const struct object_functions *functions_of(struct native_names *names, uint64_t serial,
						   const struct elf_image *image, pid_t pid,
						   const char *path, bool may_read)
{
	struct object_functions *object;

	HASH_FIND(hh, names->objects, &serial, sizeof(serial), object);
	if (!object && may_read)
		object = read_functions(names, serial, image, pid, path);
	if (!object)
		return NULL;
	object->asked = ++names->asked;
	make_room(names);
	return object;
}

/*
 * Finds the start of the function that contains an address of a file, by its unwind table. -ENOENT.
 */
static int find_start(struct native_names *names, uint64_t serial, const struct elf_image *image,
		      uint64_t address, uint64_t *ret_start)
{
	const struct start_key key = { serial, address };
	struct known_start *known;

	HASH_FIND(hh, names->starts, &key, sizeof(key), known);
	if (!known) {
		if (HASH_COUNT(names->starts) >= NATIVE_STARTS_MAX)
			forget_starts(names);
		known = calloc(1, sizeof(*known));
		if (!known)
			return -ENOENT;
		known->key = key;
		if (unwind_table_find(image, address, &known->start) < 0)
			known->start = UINT64_MAX;
		HASH_ADD(hh, names->starts, key, sizeof(known->key), known);
		*ret_start = known->start;
		if (!known->hh.tbl)
			free(known);
	} else {
		*ret_start = known->start;
	}
	return *ret_start == UINT64_MAX ? -ENOENT : 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_label(struct native_name *name, const char *text)
{
	(void)text_escape(text, strlen(text), 0, name->label, sizeof(name->label));
}

static void label_by_function(const struct native_names *names, struct native_process *process,
			      const char *function, bool may_read, struct native_name *name)
{
	bool may_ask = may_read && !native_process_is_costly(process);
	char text[FRAME_LABEL_BYTES];

	if (!demangler_write(names->demangler, function, may_ask, text, sizeof(text)))
		native_process_note_cost(process);
	put_label(name, text);
}

/* Uses the file's name alone. */
static void label_by_file(struct native_name *name, const char *path)
{
	char text[FRAME_PATH_BYTES + 8];

	(void)snprintf(text, sizeof(text), "[%s]", base_name(path));
	put_label(name, text);
}

static void label_by_start(struct native_name *name, const char *path, uint64_t start)
{
	char text[FRAME_PATH_BYTES + 32];

	(void)snprintf(text, sizeof(text), "%.*s+0x%" PRIx64, (int)(FRAME_LABEL_BYTES / 2),
		       base_name(path), start);
	put_label(name, text);
}

/*
 * Finds an address in the ELF file that is mapped there, and the file's functions. NULL: not known,
 * or not yet.
 */
static const struct object_functions *place_in_file(struct native_names *names,
						    const struct native_process *process,
						    const struct code *code, uint64_t address,
						    bool may_read, struct native_place *place)
{
	const struct elf_image *image = object_file_image(code->file);
	const struct memory_map_entry *entry = &code->entry;
	const struct object_functions *object;

	*place = (struct native_place){ .file = code->file,
					.path = entry->path,
					.serial = serial_of(names, code->file),
					.begin = entry->start,
					.end = entry->end };
	if (place->serial == 0 ||
	    elf_image_virtual_address(image, address - entry->start + entry->offset,
				      &place->address) < 0)
		return NULL;
	object = functions_of(names, place->serial, image, process->pid, entry->path, may_read);
	place->is_ruby = object && object->is_ruby;
	return object;
}

static void name_in_file(struct native_names *names, struct native_process *process,
			 const struct code *code, uint64_t address, bool may_read,
			 struct native_name *name)
{
	struct native_place place;
	const struct object_functions *object =
		place_in_file(names, process, code, address, may_read, &place);
	const char *function = object ? elf_functions_find(object->functions, place.address) : NULL;
	uint64_t start;

	label_by_file(name, code->entry.path);
	if (!object)
		return;
	name->is_ruby = place.is_ruby;
	if (function)
		label_by_function(names, process, function, may_read, name);
	else if (find_start(names, place.serial, object_file_image(place.file), place.address,
			    &start) == 0)
		label_by_start(name, place.path, start);
}

int native_names_place(struct native_names *names, struct native_process *process, uint64_t address,
		       uint64_t now_ns, bool may_read, struct native_place *ret_place)
{
	struct code *code = NULL;
	int r = locate(names, process, address, now_ns, may_read, &code);

	if (code && is_vdso(&code->entry) && address > UINT32_MAX) {
		*ret_place = (struct native_place){ .path = code->entry.path,
						    .serial = UINT64_MAX,
						    .address = address - code->entry.start };
		return 0;
	}
	if (code && (!is_of_file(&code->entry) || (r == 0 && !object_file_image(code->file))))
		return -ENXIO;
	if (r < 0 || !code)
		return -ENOENT;
	return place_in_file(names, process, code, address, may_read, ret_place) ? 0 : -ENOENT;
}

/* Names code that the process generated. False: it does not say. */
static bool name_generated(struct native_process *process, uint64_t address, uint64_t now_ns,
			   bool may_read, struct native_name *name)
{
	const char *text;

	if (!process->generated)
		process->generated = perf_map_new(process->pid);
	if (!process->generated)
		return false;
	if (may_read)
		perf_map_look(process->generated, now_ns);
	text = perf_map_find(process->generated, address);
	if (!text)
		return false;
	put_label(name, text);
	name->is_ruby = true;
	return true;
}

void native_names_find(struct native_names *names, struct native_process *process, uint64_t address,
		       uint64_t now_ns, bool may_read, struct native_name *ret_name)
{
	struct code *code = NULL;
	int r = locate(names, process, address, now_ns, may_read, &code);

	*ret_name = (struct native_name){ .label = FRAME_UNKNOWN };
	if (!code)
		return;
	if (is_vdso(&code->entry)) {
		(void)strcpy(ret_name->label, "[vdso]");
		return;
	}
	if (!is_of_file(&code->entry)) {
		ret_name->label[0] = '\0';
		(void)name_generated(process, address, now_ns, may_read, ret_name);
		return;
	}
	(void)text_escape(code->entry.path, strlen(code->entry.path), 0, ret_name->path,
			  sizeof(ret_name->path));
	if (r == 0 && object_file_image(code->file))
		name_in_file(names, process, code, address, may_read, ret_name);
	/* Shared memory may have generated code, too. */
	else if (r < 0 || !name_generated(process, address, now_ns, may_read, ret_name))
		label_by_file(ret_name, code->entry.path);
}
