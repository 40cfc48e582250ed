/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that the current task of two_tasks.h has open under DESCRIPTOR, and its system call. */
#pragma once

#include "bpf/two_tasks.h"

enum {
	DESCRIPTOR = 3,
	INODE = 77,
	DEVICE = 8 << 20 | 1,
};

static struct {
	struct super_block super;
	struct inode inode;
	struct file file;
	struct file *table[DESCRIPTOR + 1];
	struct fdtable descriptors;
	struct files_struct files;
	struct address_space mapping;
	struct page page;
	struct eventpoll set;
	struct epitem items[2];
	struct dentry names[4], top, point;
	struct mount mount, root;
	struct socket socket;
	union {
		struct sock sock;
		struct unix_sock unix_sock;
		struct inet_connection_sock tcp;
	} own, peer;
	struct inet_bind_bucket bucket;
	uint64_t own_address[16], peer_address[16];
} files;

static void be_in_call(int64_t number, uint64_t first, uint64_t second)
{
#ifdef __TARGET_ARCH_arm64
	struct pt_regs___arm64_call *registers = native_registers();

	registers->syscallno = (int)number;
	registers->orig_x0 = first;
	registers->regs[1] = second;
#else
	struct pt_regs___x86_call *registers = native_registers();

	registers->orig_ax = (unsigned long)number;
	registers->di = first;
	registers->si = second;
#endif
}

/* A file of no kind. */
static void begin_files(void)
{
	memset(&files, 0, sizeof(files));
	files.inode.i_sb = &files.super;
	files.inode.i_ino = INODE;
	files.file.f_inode = &files.inode;
	files.table[DESCRIPTOR] = &files.file;
	files.descriptors = (struct fdtable){ .max_fds = DESCRIPTOR + 1, .fd = files.table };
	files.files.fdt = &files.descriptors;
	kernel.current.files = &files.files;
}

static struct sock_common *open_socket(uint16_t family)
{
	files.inode.i_mode = 0140777;
	files.file.private_data = &files.socket;
	files.socket.sk = &files.own.sock;
	files.socket.file = &files.file;
	files.own.sock.sk_socket = &files.socket;
	files.own.sock.__sk_common.skc_family = family;
	return &files.own.sock.__sk_common;
}

static void name_unix(struct unix_sock *sock, uint64_t *room, const char *path, size_t length)
{
	struct unix_address *address = (void *)room;

	address->len = (int)length + 2;
	memcpy(address->name[0].sun_path, path, length);
	sock->addr = address;
}
