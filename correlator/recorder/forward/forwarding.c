/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/forwarding.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "recorder/forward/secret.h"

enum {
	BACKOFF_BASE_MS = 500,
	HOST_NAME_BYTES = 256,
	NAMES_BYTES = SENDER_URLS_MAX * (FORWARD_NAME_BYTES + 4),
};

struct forwarding {
	const struct forwarding_options *options;
	struct tls_context *tls;
	char *shared_key;
	char *password;
	struct forward_credentials credentials;
	char client_name[HOST_NAME_BYTES + sizeof("correlator@")];
	char names[NAMES_BYTES];
};

static int read_secrets(struct forwarding *forwarding)
{
	const struct forwarding_options *options = forwarding->options;
	int r = secret_read(options->shared_key_path, "CORRELATOR_SHARED_KEY",
			    &forwarding->shared_key);

	if (r == 0)
		r = secret_read(options->password_path, "CORRELATOR_PASSWORD",
				&forwarding->password);
	if (r < 0)
		return r;
	if (options->user && !forwarding->password)
		return log_error(EINVAL, "--user needs a password: --password-file FILE, or "
					 "CORRELATOR_PASSWORD in the environment");
	if (options->user && !forwarding->shared_key)
		return log_error(EINVAL, "--user needs the shared key, too: --shared-key-file "
					 "FILE, or CORRELATOR_SHARED_KEY in the environment");
	forwarding->credentials = (struct forward_credentials){
		.shared_key = forwarding->shared_key,
		.user = options->user ? options->user : "",
		.password = options->user ? forwarding->password : "",
	};
	return 0;
}

static int read_names(struct forwarding *forwarding)
{
	char host_name[HOST_NAME_BYTES] = "";
	size_t used = 0;

	if (gethostname(host_name, sizeof(host_name) - 1) < 0)
		return log_error_errno(errno, "cannot read the host's name");
	(void)snprintf(forwarding->client_name, sizeof(forwarding->client_name), "correlator@%s",
		       host_name);
	for (size_t i = 0; i < forwarding->options->url_count; i++)
		used += (size_t)snprintf(forwarding->names + used, sizeof(forwarding->names) - used,
					 "%s%s", i ? " or " : "",
					 forwarding->options->urls[i].name);
	return 0;
}

static int prepare_tls(struct forwarding *forwarding)
{
	const struct forwarding_options *options = forwarding->options;
	bool is_wanted = false;

	for (size_t i = 0; i < options->url_count; i++)
		is_wanted = is_wanted || options->urls[i].transport == FORWARD_TRANSPORT_TLS;
	if (!is_wanted)
		return 0;
	if (options->tls.is_unverified)
		log_warning("--tls-insecure: any server that answers is taken for the collector");
	return tls_context_new(&options->tls, &forwarding->tls);
}

int forwarding_new(const struct forwarding_options *options, struct forwarding **ret_forwarding)
{
	_cleanup_(forwarding_freep) struct forwarding *forwarding = calloc(1, sizeof(*forwarding));
	int r;

	if (!forwarding)
		return log_error_errno(ENOMEM, "cannot prepare to send");
	forwarding->options = options;
	r = read_secrets(forwarding);
	if (r == 0)
		r = read_names(forwarding);
	if (r == 0)
		r = prepare_tls(forwarding);
	if (r < 0)
		return r;
	if (options->has_no_acks)
		log_warning("--no-ack: the collector acknowledges nothing; records lost on the "
			    "way are not sent again");
	*ret_forwarding = TAKE_PTR(forwarding);
	return 0;
}

void forwarding_free(struct forwarding *forwarding)
{
	if (!forwarding)
		return;
	tls_context_free(forwarding->tls);
	secret_free(forwarding->shared_key);
	secret_free(forwarding->password);
	free(forwarding);
}

int forwarding_start(const struct forwarding *forwarding, const struct chunk_source *source,
		     uint64_t give_up_ns, struct sender **ret_sender)
{
	const struct forwarding_options *options = forwarding->options;
	const uint64_t base_ns = BACKOFF_BASE_MS * NS_PER_MS;
	const struct sender_options sender_options = {
		.urls = options->urls,
		.url_count = options->url_count,
		.tls = forwarding->tls,
		.credentials = forwarding->shared_key ? &forwarding->credentials : NULL,
		.client_name = forwarding->client_name,
		.tag = options->tag,
		.is_gzip = options->is_gzip,
		.has_no_acks = options->has_no_acks,
		.ack_timeout_ns = options->ack_timeout_ns,
		.backoff_base_ns =
			base_ns < options->retry_max_ns ? base_ns : options->retry_max_ns,
		.backoff_max_ns = options->retry_max_ns,
		.give_up_ns = give_up_ns,
	};

	return sender_start(&sender_options, source, ret_sender);
}

const char *forwarding_names(const struct forwarding *forwarding)
{
	return forwarding->names;
}
