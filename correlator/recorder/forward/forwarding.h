/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sending, set up from the command line's options: reads secrets and certificates, then runs a
 * sender. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/forward/forward_url.h"
#include "recorder/forward/sender.h"
#include "recorder/forward/tls.h"
#include "recorder/queue/chunk.h"

struct forwarding_options {
	struct forward_url urls[SENDER_URLS_MAX];
	size_t url_count; /* 0 = do not send */
	const char *tag;
	const char *shared_key_path; /* NULL = the environment */
	const char *user; /* NULL = none */
	const char *password_path; /* NULL = the environment */
	struct tls_options tls;
	bool is_gzip;
	bool has_no_acks;
	uint64_t ack_timeout_ns;
	uint64_t retry_max_ns;
};

struct forwarding;

/* Checks everything that can fail before sending. 0, or -errno, logged. options are borrowed. */
int forwarding_new(const struct forwarding_options *options, struct forwarding **ret_forwarding);
void forwarding_free(struct forwarding *forwarding);
DEFINE_CLEANUP(struct forwarding *, forwarding_free);

/*
 * Starts a sender for source. The caller owns it, and must free it before the forwarding.
 * give_up_ns: struct sender_options. 0, or -errno, logged.
 */
int forwarding_start(const struct forwarding *forwarding, const struct chunk_source *source,
		     uint64_t give_up_ns, struct sender **ret_sender);

/* Names of all collectors, for messages. */
const char *forwarding_names(const struct forwarding *forwarding);
