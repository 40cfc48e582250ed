/*
 * Attaching uprobes. With a uprobe_multi link (6.6) where the kernel has it: no perf events, hence
 * no cost at context switches, and no CAP_SYS_ADMIN. The installed libbpf may be older than that
 * link type, so the call is made here.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "base/cleanup.h"
#include "probe/features.h"
#include "probe/session_internal.h"

/* The part of union bpf_attr that BPF_LINK_CREATE reads for uprobe_multi: include/uapi/linux/bpf.h,
 * v6.6 (link_create.uprobe_multi). */
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

static int link_create(const struct uprobe_multi_attributes *attributes)
{
	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, attributes, sizeof(*attributes));
}

bool uprobe_multi_is_supported(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool is_supported = false;

	if (!btf)
		return false;
	is_supported = btf__find_by_name_kind(btf, "bpf_uprobe_multi_link", BTF_KIND_STRUCT) > 0;
	btf__free(btf);
	return is_supported;
}

int uprobe_attach_multi(struct session *session, int fd, const uint64_t *offsets, size_t count)
{
	char path[32];
	struct uprobe_multi_attributes attributes = {
		.program_fd = (__u32)bpf_program__fd(session->skeleton->progs.on_context_change),
		.attach_type = FEATURE_ATTACH_TYPE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.count = (__u32)count,
	};
	int link;

	/* By the open file, so it is the one that was looked into, whatever its path holds now. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	link = link_create(&attributes);
	if (link < 0)
		return -errno;
	session->link_fds[session->link_fd_count++] = link;
	return 0;
}

int uprobe_attach_each(struct session *session, int fd, const uint64_t *offsets, size_t count)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < count; i++) {
		struct bpf_link *link = bpf_program__attach_uprobe(
			session->skeleton->progs.on_context_change, false, -1, path, offsets[i]);

		if (!link)
			return -errno;
		session->links[session->link_count++] = link;
	}
	return 0;
}

void uprobe_detach_all(struct session *session)
{
	for (size_t i = 0; i < session->link_fd_count; i++)
		(void)close(session->link_fds[i]);
	for (size_t i = 0; i < session->link_count; i++)
		(void)bpf_link__destroy(session->links[i]);
	session->link_fd_count = 0;
	session->link_count = 0;
	session->file_count = 0;
}
