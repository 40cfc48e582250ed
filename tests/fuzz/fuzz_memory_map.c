/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc/PID/maps: paths in it are the target's. */
#include "fuzz.h"
#include "recorder/target/proc/memory_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct memory_map map = { 0 };
	const struct memory_map_entry *object, *last = NULL;
	size_t cursor = 0, objects = 0;

	if (memory_map_parse((const char *)data, size_bytes, &map) < 0)
		return 0;
	FUZZ_REQUIRE(map.count <= MEMORY_MAP_ENTRIES_MAX && map.count <= size_bytes);
	for (size_t i = 0; i < map.count; i++) {
		FUZZ_REQUIRE(map.entries[i].start < map.entries[i].end);
		FUZZ_REQUIRE(strlen(map.entries[i].path) <= size_bytes);
	}
	while ((object = memory_map_next_object(&map, &cursor)) != NULL) {
		FUZZ_REQUIRE(object->path[0] != '\0' && ++objects <= map.count);
		FUZZ_REQUIRE(!last || !memory_map_same_object(last, object));
		last = object;
	}
	memory_map_deinit(&map);
	return 0;
}
