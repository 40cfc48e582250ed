/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/look_failure.h"

#include <errno.h>

#include "base/exit_code.h"
#include "base/log.h"
#include "recorder/target/proc/process.h"
#include "recorder/target/proc/process_access.h"

int look_failure_explain(pid_t pid, int r)
{
	char reason[PROCESS_ACCESS_TEXT_BYTES];
	pid_t of_thread = r == -ESRCH ? process_of_thread(pid) : 0;

	if (of_thread)
		(void)log_error(r, "%d is no process, but a thread of process %d: use -p %d", pid,
				of_thread, of_thread);
	else if (r == -ESRCH)
		(void)log_error(r, "there is no process %d", pid);
	else if (r == -EMFILE || r == -ENFILE)
		(void)log_error_errno(
			r,
			"cannot look at process %d (allow more open files: ulimit -n, "
			"or LimitNOFILE= of the unit)",
			pid);
	else if (r == -EPERM || r == -EACCES) {
		process_access_explain(pid, reason);
		(void)log_error(r, "not allowed to read process %d: %s", pid, reason);
		return EXIT_CODE_UNSUPPORTED;
	} else
		(void)log_error_errno(r, "cannot look at process %d", pid);
	return r == -ESRCH ? EXIT_CODE_NO_TARGET : EXIT_CODE_FAILURE;
}
