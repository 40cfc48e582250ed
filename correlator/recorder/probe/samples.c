/* SPDX-License-Identifier: GPL-2.0-only */
/* The sampler: a clock on each CPU, the rings of stacks and tips, the two epochs of samples. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include <correlator/stacks.h>

#include "base/clock.h"
#include "base/log.h"
#include "recorder/probe/open_session.h"

int samples_forward_stack(void *context, void *data, size_t size_bytes)
{
	const size_t head_bytes = offsetof(struct stack_message, frames.frames);
	struct session *session = context;
	const struct stack_message *message = data;

	if (session->on_stack && size_bytes >= head_bytes &&
	    message->frames.count <= RUBY_FRAMES_MAX &&
	    size_bytes - head_bytes >= message->frames.count * sizeof(struct ruby_frame))
		session->on_stack(session->stack_context, message);
	return 0;
}

static bool has_whole_stack(const struct tip_with_stack *tip, size_t size_bytes)
{
	const size_t head_bytes = offsetof(struct tip_with_stack, stack.bytes);

	return size_bytes >= head_bytes && tip->stack.size_bytes <= USER_STACK_BYTES_MAX &&
	       size_bytes - head_bytes >= tip->stack.size_bytes;
}

int samples_forward_tip(void *context, void *data, size_t size_bytes)
{
	const size_t head_bytes = offsetof(struct tip_message, kernel);
	struct session *session = context;
	const struct tip_message *message = data;

	if (session->on_tip && size_bytes >= head_bytes &&
	    message->kernel_count <= KERNEL_FRAMES_MAX &&
	    size_bytes - head_bytes >= message->kernel_count * sizeof(message->kernel[0]) &&
	    (!message->has_stack || has_whole_stack(data, size_bytes)))
		session->on_tip(session->stack_context, message);
	return 0;
}

int samples_open(struct session *session)
{
	const struct correlator_bpf *skeleton = session->skeleton;
	int r;

	if (!session->options.stacks_hz)
		return 0;
	r = epochs_set(skeleton->maps.samples, skeleton->maps.samples_a, skeleton->maps.samples_b);
	if (r == 0 && session->options.has_wait_stacks)
		r = epochs_set(skeleton->maps.waits, skeleton->maps.waits_a,
			       skeleton->maps.waits_b);
	if (r < 0)
		return r;
	return ring_buffer__add(session->ring, bpf_map__fd(skeleton->maps.stacks),
				samples_forward_stack, session) ||
			       ring_buffer__add(session->ring, bpf_map__fd(skeleton->maps.tips),
						samples_forward_tip, session)
		       ? log_error_errno(errno, "cannot open the rings of stacks")
		       : 0;
}

static int start_clock(struct session *session, int cpu)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NS_PER_S / session->options.stacks_hz,
		.exclude_idle = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;

	if (fd < 0)
		return errno == ENODEV || errno == ENXIO ? 0 : -errno; /* not online */
	link = bpf_program__attach_perf_event(session->skeleton->progs.on_sample, fd);
	if (!link) {
		int error = errno;

		(void)close(fd);
		return -error;
	}
	session->clocks[session->clock_count++] = link;
	return 0;
}

int samples_attach(struct session *session)
{
	int cpus = libbpf_num_possible_cpus(), r = cpus < 0 ? cpus : 0;

	if (!session->options.stacks_hz)
		return 0;
	session->clocks = r == 0 ? calloc((size_t)cpus, sizeof(*session->clocks)) : NULL;
	if (!session->clocks)
		r = r < 0 ? r : -ENOMEM;
	for (int cpu = 0; cpu < cpus && r == 0; cpu++)
		r = start_clock(session, cpu);
	return r < 0 ? log_error_errno(-r, "cannot start the clocks of --stacks") : 0;
}

void samples_close(struct session *session)
{
	for (size_t i = 0; i < session->clock_count; i++)
		(void)bpf_link__destroy(session->clocks[i]);
	free(session->clocks);
}

int session_set_stack_layout(struct session *session, uint64_t life,
			     const struct ruby_stack_layout *layout)
{
	__u64 key = life;

	if (bpf_map_update_elem(bpf_map__fd(session->skeleton->maps.stack_layouts), &key, layout,
				BPF_ANY))
		return -errno;
	return 0;
}

void session_on_stacks(struct session *session, session_stack_fn on_stack, void *context)
{
	session->on_stack = on_stack;
	session->stack_context = context;
}

void session_on_tips(struct session *session, session_tip_fn on_tip)
{
	session->on_tip = on_tip;
}

/* Receives the entries; one of the two functions is set. */
struct receiver {
	session_sample_fn on_sample;
	session_wait_fn on_wait;
	void *context;
};

static int hand_over_sample(void *user, const void *key, const void *count)
{
	const struct receiver *receiver = user;

	return receiver->on_sample(receiver->context, key, *(const uint64_t *)count);
}

int session_drain_samples(struct session *session, uint64_t epoch, session_sample_fn on_sample,
			  void *context)
{
	struct receiver receiver = { .on_sample = on_sample, .context = context };
	const struct bpf_map *maps[] = { session->skeleton->maps.samples_a,
					 session->skeleton->maps.samples_b };

	return session->options.stacks_hz
		       ? epochs_drain(session, maps[epoch & 1], hand_over_sample, &receiver)
		       : 0;
}

static int hand_over_wait(void *user, const void *key, const void *sums)
{
	const struct receiver *receiver = user;

	return receiver->on_wait(receiver->context, key, sums);
}

int session_drain_waits(struct session *session, uint64_t epoch, session_wait_fn on_wait,
			void *context)
{
	struct receiver receiver = { .on_wait = on_wait, .context = context };
	const struct bpf_map *maps[] = { session->skeleton->maps.waits_a,
					 session->skeleton->maps.waits_b };

	return session->options.has_wait_stacks
		       ? epochs_drain(session, maps[epoch & 1], hand_over_wait, &receiver)
		       : 0;
}
