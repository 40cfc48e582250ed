/* SPDX-License-Identifier: GPL-2.0-only */
/* Warns about files that control what we do but that others may change. */
#pragma once

#include <sys/stat.h>

/*
 * Warns if the file belongs to a user other than root and the caller (for sudo(8), SUDO_UID), or if
 * it is a regular file that everybody may write. Write access for a group is accepted: it was
 * granted deliberately. what: completes "and so ...", such as "choose what is run".
 */
void file_rights_warn(const char *path, const struct stat *status, const char *what);
