/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attaches the programs of one object, says "ready", and waits for the end of its input:
 *
 *   bench_attach OBJECT TARGET_PID [--uprobe FILE] [--no-syscalls]
 *
 * --uprobe: its uprobe program goes where Correlator's would in FILE; without it, or in an object
 * that has none, there is no uprobe.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "recorder/target/elf/elf_image.h"
#include "recorder/target/open_elf.h"
#include "recorder/target/publisher/probe_site.h"

DEFINE_CLEANUP(struct bpf_object *, bpf_object__close);

enum {
	ATTACH_TYPE_UPROBE_MULTI = 48 /* BPF_TRACE_UPROBE_MULTI, include/uapi/linux/bpf.h, v6.6 */
};

/* The part of union bpf_attr that BPF_LINK_CREATE reads: include/uapi/linux/bpf.h, v6.6. */
struct uprobe_multi_attributes {
	__u32 program_fd;
	__u32 target_fd;
	__u32 attach_type;
	__u32 link_flags;
	__u64 path;
	__u64 offsets;
	__u64 reference_counter_offsets;
	__u64 cookies;
	__u32 count;
	__u32 flags;
	__u32 pid;
	__u32 reserved;
};

struct arguments {
	const char *object;
	const char *uprobed_file; /* NULL: no uprobe */
	__u32 target_tgid;
	bool has_syscalls;
};

static int parse_arguments(int argc, char **argv, struct arguments *ret_arguments)
{
	struct arguments arguments = { .has_syscalls = true };

	if (argc < 3)
		return log_error(EINVAL, "usage: bench_attach OBJECT TARGET_PID "
					 "[--uprobe FILE] [--no-syscalls]");
	arguments.object = argv[1];
	arguments.target_tgid = (__u32)strtoul(argv[2], NULL, 10);
	for (int i = 3; i < argc; i++) {
		if (!strcmp(argv[i], "--no-syscalls"))
			arguments.has_syscalls = false;
		else if (!strcmp(argv[i], "--uprobe") && i + 1 < argc)
			arguments.uprobed_file = argv[++i];
		else
			return log_error(EINVAL, "unknown argument %s", argv[i]);
	}
	*ret_arguments = arguments;
	return 0;
}

static bool is_uprobe(const struct bpf_program *program)
{
	return !strcmp(bpf_program__section_name(program), "uprobe");
}

static bool is_wanted(const struct bpf_program *program, const struct arguments *arguments)
{
	if (is_uprobe(program))
		return arguments->uprobed_file != NULL;
	return arguments->has_syscalls || !strstr(bpf_program__section_name(program), "/sys_e");
}

static int find_site(const char *path, struct probe_site *ret_site)
{
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct probe_site sites[PROBE_SITES_MAX];
	int result = fd < 0 ? -errno : open_elf(fd, &image);

	if (result)
		return log_error_errno(result, "cannot read %s", path);
	if (probe_site_find(image, "ruby_profiler_state", sites) < 1)
		return log_error(ENOENT, "%s has no place for a uprobe", path);
	*ret_site = sites[0];
	return 0;
}

static int attach_uprobe(const struct bpf_program *program, const char *path)
{
	struct probe_site site;
	struct uprobe_multi_attributes attributes = {
		.program_fd = (__u32)bpf_program__fd(program),
		.attach_type = ATTACH_TYPE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)&site.file_offset,
		.count = 1,
	};
	int result = find_site(path, &site);

	if (result)
		return result;
	/* Links are held to the end of the process, and nobody needs them before. */
	if (syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes)) < 0)
		return log_error_errno(errno, "cannot attach the uprobe");
	return 0;
}

static void configure(struct bpf_object *object, const struct arguments *arguments)
{
	struct bpf_program *program;
	struct bpf_map *map;

	bpf_object__for_each_program(program, object) {
		(void)bpf_program__set_autoload(program, is_wanted(program, arguments));
		if (is_uprobe(program))
			(void)bpf_program__set_expected_attach_type(
				program, (enum bpf_attach_type)ATTACH_TYPE_UPROBE_MULTI);
	}
	map = bpf_object__find_map_by_name(object, ".rodata");
	/* Of the programs that filter: their one constant. */
	if (map)
		(void)bpf_map__set_initial_value(map, &arguments->target_tgid,
						 sizeof(arguments->target_tgid));
}

static int attach(struct bpf_object *object, const struct arguments *arguments)
{
	struct bpf_program *program;
	int result = 0;

	bpf_object__for_each_program(program, object) {
		if (!is_wanted(program, arguments))
			continue;
		if (is_uprobe(program))
			result = attach_uprobe(program, arguments->uprobed_file);
		else if (!bpf_program__attach(program))
			result = log_error_errno(errno, "cannot attach to %s",
						 bpf_program__section_name(program));
		if (result)
			return result;
	}
	return 0;
}

static struct bpf_object *load(const struct arguments *arguments)
{
	_cleanup_(bpf_object__closep) struct bpf_object *object =
		bpf_object__open_file(arguments->object, NULL);

	if (object)
		configure(object, arguments);
	if (!object || bpf_object__load(object)) {
		(void)log_error_errno(errno, "cannot load %s", arguments->object);
		return NULL;
	}
	return TAKE_PTR(object);
}

int main(int argc, char **argv)
{
	_cleanup_(bpf_object__closep) struct bpf_object *object = NULL;
	struct arguments arguments = { 0 };
	char unused[64];

	if (parse_arguments(argc, argv, &arguments))
		return 2;
	object = load(&arguments);
	if (!object)
		return 1;
	if (attach(object, &arguments))
		return 1;
	(void)puts("ready");
	(void)fflush(stdout);
	while (read(STDIN_FILENO, unused, sizeof(unused)) > 0)
		;
	return 0;
}
