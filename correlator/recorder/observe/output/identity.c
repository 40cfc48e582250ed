/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/output/identity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/random.h"

int identity_read(struct identity *ret_identity)
{
	_cleanup_file_ FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	struct identity identity = { .pid = (uint32_t)getpid(), .nonce = random_seed() >> 16 };

	if (gethostname(identity.host_name, sizeof(identity.host_name) - 1) < 0)
		return log_error_errno(errno, "cannot read the host's name");
	/* A /proc without sys (subset=pid) has none: the nonce keeps records apart. */
	if (!file || !fgets(identity.boot_id, sizeof(identity.boot_id), file))
		(void)snprintf(identity.boot_id, sizeof(identity.boot_id), "unknown");
	identity.boot_id[strcspn(identity.boot_id, "\n")] = '\0';
	*ret_identity = identity;
	return 0;
}

void identity_stamp(struct identity *identity, uint64_t wall_ns, struct record_common *common)
{
	(void)snprintf(identity->record_id, sizeof(identity->record_id),
		       "%.8s:%" PRIu32 ":%012" PRIx64 ":%" PRIu64, identity->boot_id, identity->pid,
		       identity->nonce, ++identity->record_number);
	common->wall_ns = wall_ns;
	common->clock_set_ns = identity->clock_set_ns;
	common->record_id = identity->record_id;
	common->host_name = identity->host_name;
	if (!common->pid)
		common->pid = identity->pid;
}
