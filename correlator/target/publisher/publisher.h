/*
 * One loaded object of a process that defines the thread-local: where it lies, its file, where the
 * variable is once the loader has relocated it, and where uprobes go. A process may have several
 * (two versions of the gem, or two gems): each has a variable of its own. Owned by a ruby_target;
 * single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/elf/elf_image.h"
#include "target/elf/link_map.h"
#include "target/elf/tls_symbol.h"
#include "target/proc/memory_map.h"
#include "target/proc/memory_reader.h"
#include "target/publisher/probe_site.h"

enum {
	OBJECT_PATH_BYTES = 512
};

struct publisher {
	char path[OBJECT_PATH_BYTES];
	bool is_deleted; /* the file has no name any more, or another file has it now */
	uint64_t device;
	uint64_t inode;
	uint64_t start; /* of its mappings in the process, all of them */
	uint64_t end;
	int fd; /* Owned. */
	struct probe_site sites[PROBE_SITES_MAX];
	size_t site_count;
	bool is_located; /* tls is valid: the loader is done with it */
	struct tls_symbol tls;
	bool is_refused; /* the two ways disagree, or no loader writes what is there */
};

/*
 * Looks whether an object defines the thread-local: 1, *ret_publisher is set, not located yet, and
 * owns fd; or 0. entry: the object's first mapping.
 */
int publisher_open(const struct memory_map *map, const struct memory_map_entry *entry, int fd,
		   const struct elf_image *image, struct publisher *ret_publisher);
void publisher_deinit(struct publisher *publisher);

/* True if the process still maps it where it was. */
bool publisher_is_mapped(const struct publisher *publisher, const struct memory_map *map);

/* The same by one small read of the process, which another file's mapping can deceive. */
bool publisher_is_there(const struct publisher *publisher, pid_t pid);

/*
 * Locates the variable, by the object's relocation and, where the loader's list can be read, by
 * that: 1, 0 (the loader is not done with the object yet), or a negative result of
 * tls_symbol_resolve() or link_map_confirm(), which is final.
 */
int publisher_locate(struct publisher *publisher, const struct memory_map *map,
		     const struct memory_reader *reader, const struct link_map_layout *layout);
