/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the program identify_file is asked about the file behind a mapping of who asks, a test run
 * each, with two arguments: the address and the question. Its return value is all that there is of
 * an answer, so nothing is shared between who asks now and who may still be waiting for one.
 */
#pragma once

enum file_question {
	FILE_STATUS = 0, /* 0; -EOPNOTSUPP: a process answers for the file; -errno */
	FILE_INODE_LOW = 1, /* the inode's address, 0 = there is no file */
	FILE_INODE_HIGH = 2,
	_FILE_QUESTION_MAX,
};
