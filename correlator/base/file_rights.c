/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/file_rights.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"

static bool is_callers(uid_t owner)
{
	const char *by_sudo = getenv("SUDO_UID");

	return owner == 0 || owner == getuid() ||
	       (by_sudo && *by_sudo && strtoul(by_sudo, NULL, 10) == owner);
}

void file_rights_warn(const char *path, const struct stat *status, const char *what)
{
	if (!is_callers(status->st_uid))
		log_warning("%s belongs to user %u, who can change it, and so %s: chown helps",
			    path, status->st_uid, what);
	else if (S_ISREG(status->st_mode) && (status->st_mode & S_IWOTH))
		log_warning("everybody can write %s, and so %s: chmod o-w helps", path, what);
}
