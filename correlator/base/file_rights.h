/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether others may change a file by which they would decide what we do. */
#pragma once

#include <sys/stat.h>

/*
 * Warns if it belongs to another user than root and the caller (also by sudo(8): SUDO_UID), or if
 * everybody may write it. To a group somebody gave it. what: behind "and so", such as "choose what
 * is run".
 */
void file_rights_warn(const char *path, const struct stat *status, const char *what);
