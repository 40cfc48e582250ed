/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file on which the current thread waited: read from the kernel's own structures when its wait
 * is over and it is still in the same system call. If another thread has closed the descriptor and
 * opened another file under its number meanwhile, that one is read.
 */
#pragma once

#include "blocked.bpf.h"
#include "hold.bpf.h"

#include <correlator/blocked_reason.h>
#include <correlator/stall.h>
#include <correlator/syscall_counts.h>

enum {
/* asm/unistd_64.h and asm-generic/unistd.h, v6.18 */
#ifdef __TARGET_ARCH_arm64
	STALL_CALL_FLOCK = 32,
#else
	STALL_CALL_FLOCK = 73,
#endif
	SOCKET_LISTENS = 10, /* TCP_LISTEN, net/tcp_states.h */
	PIPE_FS_MAGIC = 0x50495045, /* linux/magic.h */
	FAMILY_UNIX = 1, /* linux/socket.h */
	FAMILY_IPV4 = 2,
	FAMILY_IPV6 = 10,
};

/* struct pollfd, asm-generic/poll.h. */
struct stall_polled {
	__s32 descriptor;
	__s16 events;
	__s16 happened;
};

static __always_inline bool stall_polls(__u32 number)
{
#ifndef __TARGET_ARCH_arm64
	if (number == BLOCKED_CALL_poll)
		return true;
#endif
	return number == BLOCKED_CALL_ppoll;
}

/* Whether the first argument of a call is the descriptor that it waits on. */
static __always_inline bool stall_takes_descriptor(__u32 number)
{
	__u32 reason = blocked_reason_of_call(number, 0);

#ifndef __TARGET_ARCH_arm64
	if (number == BLOCKED_CALL_epoll_wait)
		return true;
#endif
	return reason == BLOCKED_ON_FILE || reason == BLOCKED_ON_NETWORK ||
	       number == BLOCKED_CALL_fsync || number == BLOCKED_CALL_fdatasync ||
	       number == BLOCKED_CALL_epoll_pwait || number == BLOCKED_CALL_epoll_pwait2 ||
	       number == STALL_CALL_FLOCK;
}

/* The descriptor that the current task waits on in this native call; UINT64_MAX: no single one. */
VERIFIED_ONCE __u64 stall_descriptor(__u32 number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 argument = compat_call(task).argument;
	struct stall_polled polled;

	if (stall_takes_descriptor(number))
		return (__u32)argument;
	if (stall_polls(number) && compat_call_second_argument(task) == 1 &&
	    !bpf_probe_read_user(&polled, sizeof(polled), (const void *)compat_untag(argument)) &&
	    polled.descriptor >= 0)
		return (__u32)polled.descriptor;
	return ~0ULL;
}

/* The names of the path of a struct file, from the last one up, over mounts. */
VERIFIED_ONCE int stall_read_path(struct stall *stall, __u64 file_address)
{
	struct file *file = (void *)file_address;
	struct dentry *entry = BPF_CORE_READ(file, f_path.dentry), *parent;
	struct mount *mount = (void *)((__u64)BPF_CORE_READ(file, f_path.mnt) -
				       bpf_core_field_offset(struct mount, mnt));
	struct mount *above;

	if (!stall)
		return 0;
	stall->object = STALL_OBJECT_PATH;
	for (__u32 i = 0; i < STALL_NAMES; i++) {
		parent = BPF_CORE_READ(entry, d_parent);
		/* A file outside of any tree, such as an epoll set, is its own root, too. */
		if ((i > 0 && entry == parent) ||
		    (entry != parent && entry == BPF_CORE_READ(mount, mnt.mnt_root))) {
			above = BPF_CORE_READ(mount, mnt_parent);
			if (above == mount)
				break;
			entry = BPF_CORE_READ(mount, mnt_mountpoint);
			mount = above;
			continue;
		}
		(void)bpf_probe_read_kernel_str(stall->names[i], STALL_NAME_BYTES,
						BPF_CORE_READ(entry, d_name.name));
		entry = parent;
	}
	return 0;
}

static __always_inline bool stall_read_unix_path(struct stall *stall, struct sock *sock)
{
	struct unix_sock *own = (void *)sock;
	struct unix_address *address = BPF_CORE_READ(own, addr);
	__s64 bytes = address ? (__s64)BPF_CORE_READ(address, len) - 2 : 0;

	if (bytes <= 0 || bytes > STALL_UNIX_PATH_BYTES)
		return false;
	if (bpf_probe_read_kernel(stall->names, (__u32)bytes,
				  (const char *)address +
					  bpf_core_field_offset(struct unix_address, name) + 2))
		return false;
	/* An abstract one begins with a NUL. */
	if (!stall->names[0][0])
		stall->names[0][0] = '@';
	return true;
}

/* The path is that of one of the two ends: of the listening one. */
static __always_inline void stall_read_unix(struct stall *stall, struct sock *sock)
{
	struct sock *peer;

	stall->object = STALL_OBJECT_UNIX;
	if (!bpf_core_field_exists(((struct unix_sock *)NULL)->peer))
		return;
	peer = BPF_CORE_READ((struct unix_sock *)sock, peer);
	if (!peer || !stall_read_unix_path(stall, peer))
		stall->is_local = stall_read_unix_path(stall, sock);
}

VERIFIED_ONCE int stall_read_socket(struct stall *stall, __u64 file_address)
{
	struct file *file = (void *)file_address;
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sock = BPF_CORE_READ(socket, sk);
	__u16 family, port;
	bool is_ipv4;

	if (!stall || !sock)
		return 0;
	family = BPF_CORE_READ(sock, __sk_common.skc_family);
	if (family == FAMILY_UNIX)
		stall_read_unix(stall, sock);
	is_ipv4 = family == FAMILY_IPV4;
	if (!is_ipv4 && family != FAMILY_IPV6)
		return 0;
	stall->object = is_ipv4 ? STALL_OBJECT_IPV4 : STALL_OBJECT_IPV6;
	port = BPF_CORE_READ(sock, __sk_common.skc_dport);
	stall->port = (__u16)(port << 8 | port >> 8);
	stall->is_local = !port || BPF_CORE_READ(sock, __sk_common.skc_state) == SOCKET_LISTENS;
	if (stall->is_local)
		stall->port = BPF_CORE_READ(sock, __sk_common.skc_num);
	if (is_ipv4) {
		__u32 address = stall->is_local ? BPF_CORE_READ(sock, __sk_common.skc_rcv_saddr)
						: BPF_CORE_READ(sock, __sk_common.skc_daddr);

		__builtin_memcpy(stall->address, &address, sizeof(address));
	} else if (bpf_core_field_exists(sock->__sk_common.skc_v6_daddr)) {
		(void)bpf_probe_read_kernel(stall->address, sizeof(stall->address),
					    stall->is_local ? &sock->__sk_common.skc_v6_rcv_saddr
							    : &sock->__sk_common.skc_v6_daddr);
	}
	return 0;
}

/* The current task is still in the native call that the stall names. */
static __always_inline void stall_object_read(struct stall *stall, struct task_struct *task)
{
	__u64 descriptor = stall_descriptor(syscall_call_number(stall->call));
	struct file *file = descriptor == ~0ULL ? NULL : open_file(task, descriptor);
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;
	__u32 kind;

	if (!inode)
		return;
	kind = BPF_CORE_READ(inode, i_mode) & 0170000;
	if (kind == 0140000) { /* S_IFSOCK, linux/stat.h */
		(void)stall_read_socket(stall, (__u64)file);
	} else if (kind == 0010000 && /* S_IFIFO */
		   BPF_CORE_READ(inode, i_sb, s_magic) == PIPE_FS_MAGIC) {
		stall->object = STALL_OBJECT_PIPE;
		stall->inode = BPF_CORE_READ(inode, i_ino);
	} else {
		(void)stall_read_path(stall, (__u64)file);
	}
}
