/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/file_rights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit_test.h"

#include "ears.h"

UNIT_TEST_ALONE;

#define OTHER ((uid_t)54321)

/* By root and by others alike. */
uid_t getuid(void)
{
	return 1000;
}

static void expect(uid_t owner, mode_t mode, const char *expected)
{
	struct stat status = { .st_uid = owner, .st_mode = mode };
	struct ears ears = ears_open();
	char said[256];

	file_rights_warn("a\nfile", &status, "choose what is run");
	ears_close(&ears, said, sizeof(said));
	assert_string_equal(said, expected);
}

TEST(file_rights_trust_files_of_root_and_own_user)
{
	expect(0, S_IFREG | 0775, "");
	expect(1000, S_IFREG | 0664, "");
	/* There is nothing in a device to change. */
	expect(0, S_IFCHR | 0666, "");
}

TEST(file_rights_warn_about_files_writable_by_others)
{
	expect(OTHER, S_IFREG | 0600,
	       "correlator: warning: a\\x0afile belongs to user 54321, who can change it, and so "
	       "choose what is run: chown helps\n");
	expect(0, S_IFREG | 0602,
	       "correlator: warning: everybody can write a\\x0afile, and so choose what is run: "
	       "chmod o-w helps\n");
}

TEST(file_rights_trust_files_of_sudo_caller)
{
	assert_int_equal(setenv("SUDO_UID", "54321", 1), 0);
	expect(OTHER, S_IFREG | 0600, "");
	assert_int_equal(setenv("SUDO_UID", "5432", 1), 0);
	expect(OTHER, S_IFREG | 0600,
	       "correlator: warning: a\\x0afile belongs to user 54321, who can change it, and so "
	       "choose what is run: chown helps\n");
	assert_int_equal(unsetenv("SUDO_UID"), 0);
}
