/* SPDX-License-Identifier: GPL-2.0-only */
/* Stepping down while recording: each mode costs less and tells less. */
#include <errno.h>

#include "base/log.h"
#include "probe/session_internal.h"

enum session_mode session_get_mode(const struct session *session)
{
	return session->mode;
}

bool session_has_kernel_split(const struct session *session)
{
	return session->options.has_kernel_split && session->mode != SESSION_MODE_SWITCH_ONLY;
}

static void detach(struct bpf_link **link)
{
	(void)bpf_link__destroy(*link);
	*link = NULL;
}

static int step_to_lean(struct session *session)
{
	struct correlator_bpf *skeleton = session->skeleton;

	/* First every boundary reads, then the probes go: no change of context is missed between.
	 */
	__atomic_store_n(&skeleton->bss->is_lean, 1, __ATOMIC_SEQ_CST);
	if (session->options.has_kernel_split) {
		skeleton->links.on_sys_enter_lean =
			bpf_program__attach(skeleton->progs.on_sys_enter_lean);
		if (!skeleton->links.on_sys_enter_lean)
			return log_error_errno(errno, "cannot attach to sys_enter");
		detach(&skeleton->links.on_sys_enter);
	}
	uprobe_detach(session, 0);
	if (session->calibration)
		calibration_renew(session->calibration);
	return 0;
}

int session_step_down(struct session *session, enum session_mode mode)
{
	struct correlator_bpf *skeleton = session->skeleton;
	int result = 0;

	if (session->mode == SESSION_MODE_EXACT && mode >= SESSION_MODE_LEAN)
		result = step_to_lean(session);
	if (!result && mode == SESSION_MODE_SWITCH_ONLY) {
		detach(&skeleton->links.on_sys_enter);
		detach(&skeleton->links.on_sys_enter_lean);
		detach(&skeleton->links.on_sys_exit);
		if (session->calibration)
			calibration_end(session->calibration);
	}
	if (!result)
		session->mode = mode;
	return result;
}
