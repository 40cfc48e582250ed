/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the program identify_file is asked about the file behind a mapping of who asks, a test run
 * each, with two arguments: the mapping's address, and which part of the inode's. Its return value
 * is all that there is of an answer, so nothing is shared between who asks now and who may still be
 * waiting for one. Each answer is that part or -errno, and no part can be taken for an error:
 * -EOPNOTSUPP: a process answers for the file; -ENOENT: there is none; -EBUSY: ask again, the
 * mappings are being changed.
 */
#pragma once

enum {
	FILE_INODE_PART_BITS = 22, /* part 0 is the lowest */
	FILE_INODE_PARTS = 3,
};
