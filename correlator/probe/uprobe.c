/* SPDX-License-Identifier: GPL-2.0-only */
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
#include "probe/open_session.h"

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

static int attach_multi(struct bpf_program *program, pid_t pid, const char *path,
			const uint64_t *offsets, size_t count)
{
	const struct uprobe_multi_attributes attributes = {
		.program_fd = (__u32)bpf_program__fd(program),
		.attach_type = FEATURE_ATTACH_TYPE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.count = (__u32)count,
		.pid = (__u32)pid,
	};
	int link = link_create(&attributes);

	return link < 0 ? -errno : link;
}

int uprobe_attach(struct session *session, struct bpf_program *program, pid_t pid, int fd,
		  const uint64_t *offsets, size_t count)
{
	size_t link_count = session->has_uprobe_multi ? 1 : count;
	char path[32];

	if (session->link_count + link_count > UPROBE_LINKS_MAX)
		return -ENOSPC;
	/* By the open file, so it is the one that was looked into, whatever its path holds now. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < link_count; i++) {
		struct uprobe_link link = { .pid = pid, .fd = -1 };

		if (session->has_uprobe_multi)
			link.fd = attach_multi(program, pid, path, offsets, count);
		else
			link.link = bpf_program__attach_uprobe(program, false, pid ? pid : -1, path,
							       offsets[i]);
		if (link.fd < 0 && !link.link)
			return session->has_uprobe_multi ? link.fd : -errno;
		session->links[session->link_count++] = link;
	}
	return 0;
}

void uprobe_detach(struct session *session, pid_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < session->link_count; i++) {
		struct uprobe_link *link = &session->links[i];

		if (link->pid != pid) {
			session->links[kept++] = *link;
			continue;
		}
		if (link->fd >= 0)
			(void)close(link->fd);
		(void)bpf_link__destroy(link->link);
	}
	session->link_count = kept;
	if (!pid)
		session->file_count = 0;
}

void uprobe_detach_all(struct session *session)
{
	while (session->link_count > 0)
		uprobe_detach(session, session->links[0].pid);
}
