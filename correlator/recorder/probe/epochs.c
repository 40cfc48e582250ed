/* SPDX-License-Identifier: GPL-2.0-only */
/* Pairs of maps, one for each parity of the window. */
#include <errno.h>

#include <bpf/bpf.h>

#include <correlator/io_counts.h>
#include <correlator/stacks.h>
#include <correlator/syscall_counts.h>

#include "base/log.h"
#include "recorder/probe/open_session.h"

enum {
	DRAIN_BATCH = 1024
};

/* Keys and values of the maps that are drained here. */
union any_key {
	struct account_key account; /* the first member of the others, too */
	struct sample_key sample;
	struct syscall_key syscall;
	struct io_key io;
};

union any_value {
	uint64_t count;
	struct wait_sums waits;
	struct syscall_sums syscalls;
	struct io_sums io;
};

int epochs_set(const struct bpf_map *both, const struct bpf_map *even, const struct bpf_map *odd)
{
	for (__u32 slot = 0; slot < 2; slot++) {
		int fd = bpf_map__fd(slot ? odd : even);

		if (bpf_map_update_elem(bpf_map__fd(both), &slot, &fd, BPF_ANY))
			return log_error_errno(errno, "cannot set the epochs of %s",
					       bpf_map__name(both));
	}
	return 0;
}

int epochs_drain(const struct session *session, const struct bpf_map *map, epochs_entry_fn on_entry,
		 void *context)
{
	size_t key_bytes = bpf_map__key_size(map), value_bytes = bpf_map__value_size(map);
	union any_key keys[DRAIN_BATCH];
	union any_value values[DRAIN_BATCH];
	__u32 position, count;
	void *in = NULL;
	int failed, r = 0;

	do {
		count = DRAIN_BATCH;
		failed = bpf_map_lookup_and_delete_batch(bpf_map__fd(map), in, &position, keys,
							 values, &count, NULL);
		if (failed && errno != ENOENT)
			return log_error_errno(errno, "cannot drain the map %s",
					       bpf_map__name(map));
		for (__u32 i = 0; i < count && r >= 0; i++) {
			const void *key = (const char *)keys + i * key_bytes;
			const struct account_key *account = key;

			if (!calibrations_own(session, account->life))
				r = on_entry(context, key, (const char *)values + i * value_bytes);
		}
		in = &position;
	} while (!failed && r >= 0);
	return r < 0 ? r : 0;
}
