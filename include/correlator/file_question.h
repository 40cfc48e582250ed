/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface of the program identify_file, which identifies the file behind a mapping of the calling
 * process by the address of the file's inode in the kernel. Each test run takes two arguments: the
 * mapping's address, and the number of a part of the inode's address. The return value is the whole
 * answer, so a caller shares nothing with an earlier caller that may still wait for one. It is that
 * part or -errno; no part can be mistaken for an error:
 *   -EOPNOTSUPP   a process answers for the file
 *   -ENOENT       there is no file
 *   -EBUSY        the mappings are being changed: ask again
 */
#pragma once

enum {
	FILE_INODE_PART_BITS = 22, /* part 0 is the lowest */
	FILE_INODE_PARTS = 3,
};
