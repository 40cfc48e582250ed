/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file on which the current thread waited: read from the kernel's own structures when its wait
 * is over and it is still in the same system call. If another thread has closed the descriptor and
 * opened another file under its number meanwhile, that one is read.
 */
#pragma once

#include "blocked.bpf.h"
#include "hold.bpf.h"
#include "socket_end.bpf.h"

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
	PIPE_FS_MAGIC = 0x50495045, /* linux/magic.h */
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

static __always_inline bool stall_waits_for_set(__u64 number)
{
#ifndef __TARGET_ARCH_arm64
	if (number == BLOCKED_CALL_epoll_wait)
		return true;
#endif
	return number == BLOCKED_CALL_epoll_pwait || number == BLOCKED_CALL_epoll_pwait2;
}

/* Whether the first argument of a call is the descriptor that it waits on. */
static __always_inline bool stall_takes_descriptor(__u32 number)
{
	__u32 reason = blocked_reason_of_call(number, 0);

	return reason == BLOCKED_ON_FILE || reason == BLOCKED_ON_NETWORK ||
	       number == BLOCKED_CALL_fsync || number == BLOCKED_CALL_fdatasync ||
	       number == STALL_CALL_FLOCK || stall_waits_for_set(number);
}

/*
 * The task, which is asleep, is being woken. If it waits for an epoll set, notes the first file of
 * the set that is ready: a task that sleeps there has found none, so it is the one that ends the
 * wait. (ep_poll_callback() puts it there before it wakes: fs/eventpoll.c, v6.18.)
 */
static __noinline int stall_note_ready(struct stall_watch *watch, struct task_struct *task)
{
	struct compat_call call = compat_call(task);
	struct list_head *first, *ready;
	struct epitem *item;
	struct file *file;

	if (call.number < 0 || !stall_waits_for_set(call.number) || compat_call_is_32_bit(task))
		return 0;
	file = open_file(task, call.argument);
	if (!file)
		return 0;
	ready = (void *)((__u64)BPF_CORE_READ(file, private_data) +
			 bpf_core_field_offset(struct eventpoll, rdllist));
	first = BPF_CORE_READ(ready, next);
	if (!first || first == ready)
		return 0;
	item = (void *)((__u64)first - bpf_core_field_offset(struct epitem, rdllink));
	watch->ready_descriptor = (__u32)BPF_CORE_READ(item, ffd.fd);
	watch->ready_file = (__u64)BPF_CORE_READ(item, ffd.file);
	return 0;
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

VERIFIED_ONCE int stall_read_socket(struct stall *stall, __u64 file_address)
{
	struct file *file = (void *)file_address;
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sock = BPF_CORE_READ(socket, sk);

	if (!stall || !sock)
		return 0;
	if (BPF_CORE_READ(sock, __sk_common.skc_family) == FAMILY_UNIX) {
		stall->object = STALL_OBJECT_UNIX;
		stall->peer.is_own =
			socket_path_read((char *)stall->names, sock) == SOCKET_PATH_OWN;
	} else if (socket_end_read(&stall->peer, sock, false)) {
		stall->object = STALL_OBJECT_ADDRESS;
	}
	return 0;
}

/* The file of the epoll set that ended the wait, if it is still open; NULL = it is not known. */
static __always_inline struct file *stall_ready_file(const struct stall_watch *watch,
						     struct task_struct *task)
{
	struct file *file;

	if (!watch->ready_file)
		return NULL;
	file = open_file(task, watch->ready_descriptor);
	return (__u64)file == watch->ready_file ? file : NULL;
}

/* The current task is still in the native call that the stall names. */
static __always_inline void stall_object_read(struct stall *stall, const struct stall_watch *watch,
					      struct task_struct *task)
{
	__u64 descriptor = stall_descriptor(syscall_call_number(stall->call));
	struct file *ready = stall_ready_file(watch, task), *file = ready;
	struct inode *inode;
	__u32 kind;

	if (!ready && descriptor != ~0ULL)
		file = open_file(task, descriptor);
	inode = file ? BPF_CORE_READ(file, f_inode) : NULL;
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
	if (ready && stall->object != STALL_OBJECT_NONE)
		stall->flags |= STALL_OBJECT_IS_IN_SET;
}
