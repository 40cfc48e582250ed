/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel measured of our programs. */
#include <string.h>

#include <bpf/bpf.h>

#include "probe/session_internal.h"

size_t session_read_programs(const struct session *session,
			     struct session_program ret_programs[static SESSION_PROGRAMS_MAX])
{
	struct bpf_program *program;
	uint64_t runs = 0;
	size_t count = 0;

	bpf_object__for_each_program(program, session->skeleton->obj) {
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(program);

		if (fd < 0 || count == SESSION_PROGRAMS_MAX ||
		    bpf_obj_get_info_by_fd(fd, &info, &size))
			continue;
		ret_programs[count].name = bpf_program__name(program);
		ret_programs[count].run_count = info.run_cnt;
		ret_programs[count++].run_ns = info.run_time_ns;
		runs += info.run_cnt;
	}
	/* The scheduler's runs all the time: no runs at all means that none are counted. */
	return runs ? count : 0;
}
