/* SPDX-License-Identifier: GPL-2.0-only */
/* The server's name from a command line, /proc/PID/cmdline. */
#include "fuzz.h"
#include "recorder/target/proc/process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	const char *name = process_server_name_of((const char *)data, size_bytes);

	FUZZ_REQUIRE(!name || (strlen(name) > 0 && strlen(name) < 16));
	return 0;
}
