/*
 * The options of sending to collectors, which `record` and `forward` share: a child parser for
 * argp, whose input is a struct forward_options.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "forward/forward_url.h"
#include "forward/sender.h"
#include "forward/tls.h"

struct forward_options {
	struct forward_url urls[SENDER_URLS_MAX];
	size_t url_count; /* 0 = nothing is sent */
	const char *tag;
	const char *shared_key_path; /* NULL = the environment */
	const char *user; /* NULL = none */
	const char *password_path; /* NULL = the environment */
	struct tls_options tls;
	bool is_gzip;
	bool has_no_acks;
	uint64_t ack_timeout_ns;
	uint64_t retry_max_ns;
	const char *first_option; /* that was given besides URLs; NULL = none */
	bool is_failed; /* an option was refused, and said why */
};

void forward_options_init(struct forward_options *options);

/* Adds one collector: 0, or -EINVAL, logged. */
int forward_options_add_url(struct forward_options *options, const char *text);

/* To be a child of the command's parser, in the group of that number. */
extern const struct argp forward_options_argp;

/* What fits together only as a whole: 0, or -EINVAL, logged. */
int forward_options_check(const struct forward_options *options);
