/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines of a map for perf(1), in two pieces, and a lookup in between. */
#include "fuzz.h"
#include "recorder/symbolize/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	_cleanup_(perf_map_freep) struct perf_map *map = perf_map_new(1);
	const char *text = (const char *)data, *name;
	size_t used_bytes;

	FUZZ_REQUIRE(map);
	used_bytes = perf_map_add(map, text, size_bytes / 2);
	FUZZ_REQUIRE(used_bytes <= size_bytes / 2);
	name = perf_map_find(map, 0x1000);
	FUZZ_REQUIRE(!name || strlen(name) < PERF_MAP_NAME_BYTES);
	FUZZ_REQUIRE(perf_map_add(map, text + used_bytes, size_bytes - used_bytes) <=
		     size_bytes - used_bytes);
	for (uint64_t address = 0x1000; address; address <<= 4) {
		name = perf_map_find(map, address);
		FUZZ_REQUIRE(!name || strlen(name) < PERF_MAP_NAME_BYTES);
	}
	return 0;
}
