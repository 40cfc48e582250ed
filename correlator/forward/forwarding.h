/*
 * Sending as the command line wants it: reads secrets and certificates, then runs a sender.
 * Single thread.
 */
#pragma once

#include "base/cleanup.h"
#include "forward/forward_options.h"
#include "forward/sender.h"
#include "queue/chunk.h"

struct forwarding;

/* What can be wrong before anything is sent. 0, or -errno, logged. options are borrowed. */
int forwarding_new(const struct forward_options *options, struct forwarding **ret_forwarding);
void forwarding_free(struct forwarding *forwarding);
DEFINE_CLEANUP(struct forwarding *, forwarding_free);

/* A sender for this source, the caller's, which must not outlive the forwarding. give_up_ns:
 * struct sender_options. 0, or -errno, logged. */
int forwarding_start(const struct forwarding *forwarding, const struct chunk_source *source,
		     uint64_t give_up_ns, struct sender **ret_sender);

/* Names of all collectors, for messages. */
const char *forwarding_names(const struct forwarding *forwarding);
