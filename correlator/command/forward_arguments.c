/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/forward_arguments.h"

#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/log.h"
#include "command/arguments.h"
#include "recorder/forward/forward_message.h"

enum {
	OPTION_TAG = 0x200,
	OPTION_COMPRESS,
	OPTION_NO_ACK,
	OPTION_ACK_TIMEOUT,
	OPTION_RETRY_MAX,
	OPTION_SHARED_KEY_FILE,
	OPTION_USER,
	OPTION_PASSWORD_FILE,
	OPTION_TLS_CA,
	OPTION_TLS_CERT,
	OPTION_TLS_KEY,
	OPTION_TLS_SERVER_NAME,
	OPTION_TLS_INSECURE,
};

#define DEFAULT_TAG	    "correlator.records"
#define DEFAULT_ACK_TIMEOUT "30s"
#define DEFAULT_RETRY_MAX   "60s"

static const struct argp_option options_table[] = {
	{ "tag", OPTION_TAG, "TAG", 0, "Tag of the records there (default " DEFAULT_TAG ")", 1 },
	{ "compress", OPTION_COMPRESS, "gzip", 0, "Compress: worth it over a slow network", 1 },
	{ "no-ack", OPTION_NO_ACK, NULL, 0,
	  "For receivers that cannot acknowledge (Fluentd's in_unix, Vector's Unix socket): at most "
	  "once, what they or the network lose is lost",
	  1 },
	{ "ack-timeout", OPTION_ACK_TIMEOUT, "TIME", 0,
	  "Send again what is not acknowledged by then (default " DEFAULT_ACK_TIMEOUT ")", 1 },
	{ "retry-max", OPTION_RETRY_MAX, "TIME", 0,
	  "Longest pause between tries (default " DEFAULT_RETRY_MAX ")", 1 },
	{ "shared-key-file", OPTION_SHARED_KEY_FILE, "FILE", 0,
	  "Shake hands with the key in this file (or in $CORRELATOR_SHARED_KEY)", 1 },
	{ "user", OPTION_USER, "NAME", 0, "And as this user", 1 },
	{ "password-file", OPTION_PASSWORD_FILE, "FILE", 0,
	  "With the password in this file (or in $CORRELATOR_PASSWORD)", 1 },
	{ "tls-ca", OPTION_TLS_CA, "PATH", 0,
	  "Trust these authorities, a PEM file or a folder (default: the system's)", 1 },
	{ "tls-cert", OPTION_TLS_CERT, "FILE", 0, "Our own certificate, with its chain", 1 },
	{ "tls-key", OPTION_TLS_KEY, "FILE", 0, "Its key (default: in the same file)", 1 },
	{ "tls-server-name", OPTION_TLS_SERVER_NAME, "NAME", 0,
	  "Expect a certificate of this name, not of the URL's host", 1 },
	{ "tls-insecure", OPTION_TLS_INSECURE, NULL, 0,
	  "Do not verify certificates: anybody on the way can read and answer", 1 },
	{ 0 },
};

void forward_arguments_init(struct forward_arguments *arguments)
{
	struct forwarding_options *options = &arguments->options;

	*arguments = (struct forward_arguments){ .options.tag = DEFAULT_TAG };
	(void)duration_parse(DEFAULT_ACK_TIMEOUT, &options->ack_timeout_ns);
	(void)duration_parse(DEFAULT_RETRY_MAX, &options->retry_max_ns);
}

int forward_arguments_add_url(struct forward_arguments *arguments, const char *text)
{
	struct forwarding_options *options = &arguments->options;
	const char *problem;

	if (options->url_count == SENDER_URLS_MAX)
		return log_error(EINVAL, "%s: at most %d collectors", text, SENDER_URLS_MAX);
	if (forward_url_parse(text, &options->urls[options->url_count], &problem) < 0)
		return log_error(EINVAL, "`%s`: %s", text, problem);
	options->url_count++;
	return 0;
}

/* A tag is words with dots, which every receiver can match. */
static int parse_tag(const char *text, const char **ret_tag)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strspn(text, allowed);

	if (length == 0 || text[length] || length > FORWARD_TAG_BYTES_MAX)
		return log_error(EINVAL,
				 "--tag %s: a tag is letters, digits, dots, - and _, at most %d",
				 text, FORWARD_TAG_BYTES_MAX);
	*ret_tag = text;
	return 0;
}

static int parse_user(const char *text, const char **ret_user)
{
	if (!text[0] || strlen(text) > FORWARD_CREDENTIAL_BYTES_MAX)
		return log_error(EINVAL, "--user: a name of 1 to %d characters",
				 FORWARD_CREDENTIAL_BYTES_MAX);
	*ret_user = text;
	return 0;
}

static int parse_compression(const char *text, bool *ret_is_gzip)
{
	if (strcmp(text, "gzip") != 0)
		return log_error(EINVAL, "--compress %s: the protocol knows only gzip", text);
	*ret_is_gzip = true;
	return 0;
}

/* Parses the options that take any text, or none. False: another option. */
static bool parse_plain(struct forwarding_options *options, int key, const char *text)
{
	switch (key) {
	case OPTION_NO_ACK:
		options->has_no_acks = true;
		return true;
	case OPTION_SHARED_KEY_FILE:
		options->shared_key_path = text;
		return true;
	case OPTION_PASSWORD_FILE:
		options->password_path = text;
		return true;
	case OPTION_TLS_CA:
		options->tls.ca_path = text;
		return true;
	case OPTION_TLS_CERT:
		options->tls.certificate_path = text;
		return true;
	case OPTION_TLS_KEY:
		options->tls.key_path = text;
		return true;
	case OPTION_TLS_SERVER_NAME:
		options->tls.server_name = text;
		return true;
	case OPTION_TLS_INSECURE:
		options->tls.is_unverified = true;
		return true;
	default:
		return false;
	}
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct forward_arguments *arguments = state->input;
	struct forwarding_options *options = &arguments->options;
	int r = 0;

	switch (key) {
	case OPTION_TAG:
		r = parse_tag(text, &options->tag);
		break;
	case OPTION_COMPRESS:
		r = parse_compression(text, &options->is_gzip);
		break;
	case OPTION_ACK_TIMEOUT:
		r = arguments_parse_time("ack-timeout", text, ARGUMENTS_TIME_MIN_NS,
					 &options->ack_timeout_ns);
		break;
	case OPTION_RETRY_MAX:
		r = arguments_parse_time("retry-max", text, ARGUMENTS_TIME_MIN_NS,
					 &options->retry_max_ns);
		break;
	case OPTION_USER:
		r = parse_user(text, &options->user);
		break;
	default:
		if (!parse_plain(options, key, text))
			return ARGP_ERR_UNKNOWN;
	}
	for (size_t i = 0; options_table[i].name && !arguments->first_option; i++) {
		if (options_table[i].key == key)
			arguments->first_option = options_table[i].name;
	}
	arguments->is_failed |= r != 0;
	return 0;
}

const struct argp forward_arguments_argp = { .options = options_table, .parser = parse_option };

static bool has_tls_url(const struct forwarding_options *options)
{
	for (size_t i = 0; i < options->url_count; i++) {
		if (options->urls[i].transport == FORWARD_TRANSPORT_TLS)
			return true;
	}
	return false;
}

int forward_arguments_check(const struct forward_arguments *arguments)
{
	const struct forwarding_options *options = &arguments->options;
	const struct tls_options *tls = &options->tls;

	if (arguments->is_failed)
		return -EINVAL;
	if (options->url_count == 0 && arguments->first_option)
		return log_error(EINVAL, "--%s needs a collector: none is named",
				 arguments->first_option);
	if (tls->key_path && !tls->certificate_path)
		return log_error(EINVAL, "--tls-key needs --tls-cert");
	if ((tls->ca_path || tls->certificate_path || tls->server_name || tls->is_unverified) &&
	    !has_tls_url(options))
		return log_error(EINVAL, "--tls-* is for collectors at tls://HOST:PORT, and none "
					 "of them is");
	if (options->password_path && !options->user)
		return log_error(EINVAL, "--password-file needs --user");
	return 0;
}
