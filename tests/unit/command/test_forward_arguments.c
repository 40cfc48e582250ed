/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/forward_arguments.h"

#include <errno.h>
#include <stdlib.h>

#include "unit_test.h"

#include "base/clock.h"
#include "command_line.h"
#include "recorder/forward/forward_handshake.h"
#include "recorder/forward/forward_message.h"

static struct forward_arguments arguments;
static char said[4096];

/* What is checked of these options, beside collectors at these URLs. */
static int parse(const char *line, const char *const urls[])
{
	static char copy[COMMAND_LINE_BYTES];
	static char *words[COMMAND_WORDS_MAX];
	struct ears ears = ears_open();
	int r = 0;

	(void)snprintf(copy, sizeof(copy), "test %s", line);
	forward_arguments_init(&arguments);
	for (size_t i = 0; urls[i] && r == 0; i++)
		r = forward_arguments_add_url(&arguments, urls[i]);
	if (r == 0)
		r = argp_parse(&forward_arguments_argp, command_split(copy, words), words, 0, NULL,
			       &arguments);
	if (r == 0)
		r = forward_arguments_check(&arguments);
	ears_close(&ears, said, sizeof(said));
	return r;
}

static const char *const none[] = { NULL };
static const char *const plain[] = { "tcp://h:1", NULL };
static const char *const secure[] = { "tcp://h:1", "tls://h:2", NULL };

static const struct forwarding_options *take(const char *line, const char *const urls[])
{
	int r = parse(line, urls);

	if (r || said[0])
		fail_msg("%s: %d: %s", line, r, said);
	return &arguments.options;
}

static void refuse(const char *line, const char *const urls[], const char *says)
{
	int r = parse(line, urls);

	if (r != -EINVAL || !strstr(said, says))
		fail_msg("%s: %d: %s", line, r, said);
}

TEST(forward_arguments_have_defaults_without_options)
{
	const struct forwarding_options *options = take("", plain);

	assert_int_equal(options->url_count, 1);
	assert_string_equal(options->tag, "correlator.records");
	assert_true(options->ack_timeout_ns == 30 * NS_PER_S);
	assert_true(options->retry_max_ns == 60 * NS_PER_S);
	assert_false(options->is_gzip);
	assert_false(options->has_no_acks);
	assert_null(options->shared_key_path);
	assert_null(options->user);
	assert_null(options->password_path);
	assert_null(options->tls.ca_path);
	assert_null(options->tls.certificate_path);
	assert_null(options->tls.key_path);
	assert_null(options->tls.server_name);
	assert_false(options->tls.is_unverified);
	(void)take("", none);
}

TEST(forward_arguments_set_only_their_own_fields)
{
	const struct forwarding_options *options = take("--tag a.B_9- --compress gzip", plain);

	assert_string_equal(options->tag, "a.B_9-");
	assert_true(options->is_gzip && !options->has_no_acks);
	options = take("--no-ack", plain);
	assert_true(!options->is_gzip && options->has_no_acks && !options->shared_key_path);
	options = take("--ack-timeout 10ms --retry-max 2m", plain);
	assert_true(options->ack_timeout_ns == 10 * NS_PER_MS);
	assert_true(options->retry_max_ns == 120 * NS_PER_S);
	options = take("--ack-timeout 1s", plain);
	assert_true(options->retry_max_ns == 60 * NS_PER_S);
	options = take("--shared-key-file k", plain);
	assert_string_equal(options->shared_key_path, "k");
	assert_null(options->password_path);
	options = take("--user u --password-file p", plain);
	assert_string_equal(options->user, "u");
	assert_string_equal(options->password_path, "p");
	assert_null(options->tls.ca_path);
	options = take("--tls-ca a", secure);
	assert_string_equal(options->tls.ca_path, "a");
	assert_null(options->tls.certificate_path);
	options = take("--tls-cert c", secure);
	assert_string_equal(options->tls.certificate_path, "c");
	assert_null(options->tls.key_path);
	options = take("--tls-cert c --tls-key k", secure);
	assert_string_equal(options->tls.key_path, "k");
	assert_null(options->tls.server_name);
	options = take("--tls-server-name n", secure);
	assert_string_equal(options->tls.server_name, "n");
	assert_false(options->tls.is_unverified);
	options = take("--tls-insecure", secure);
	assert_true(options->tls.is_unverified);
}

TEST(forward_arguments_keep_values_separate_if_combined)
{
	const struct forwarding_options *options =
		take("--tls-insecure --tls-server-name n --tls-key k --tls-cert c --tls-ca a "
		     "--user u --password-file p --shared-key-file s --no-ack --retry-max 1s "
		     "--ack-timeout 2s --compress gzip --tag t",
		     secure);

	assert_true(options->tls.is_unverified);
	assert_string_equal(options->tls.server_name, "n");
	assert_string_equal(options->tls.key_path, "k");
	assert_string_equal(options->tls.certificate_path, "c");
	assert_string_equal(options->tls.ca_path, "a");
	assert_string_equal(options->user, "u");
	assert_string_equal(options->password_path, "p");
	assert_string_equal(options->shared_key_path, "s");
	assert_true(options->has_no_acks);
	assert_true(options->retry_max_ns == NS_PER_S);
	assert_true(options->ack_timeout_ns == 2 * NS_PER_S);
	assert_true(options->is_gzip);
	assert_string_equal(options->tag, "t");
}

TEST(forward_arguments_reject_more_than_maximum_collectors)
{
	const char *urls[SENDER_URLS_MAX + 2] = { NULL };

	for (size_t i = 0; i < SENDER_URLS_MAX; i++)
		urls[i] = "tcp://h:1";
	assert_int_equal(take("", urls)->url_count, SENDER_URLS_MAX);
	urls[SENDER_URLS_MAX] = "tcp://last:1";
	refuse("", urls, "tcp://last:1: at most 8");
	refuse("", (const char *const[]){ "h:1", NULL }, "`h:1`: ");
	assert_int_equal(arguments.options.url_count, 0);
}

/* A line of an option and a word of so many letters. */
static const char *with_word(const char *option, size_t length)
{
	static char line[COMMAND_LINE_BYTES];

	(void)snprintf(line, sizeof(line), "%s %0*d", option, (int)length, 0);
	return line;
}

TEST(forward_arguments_reject_invalid_and_overlong_tag)
{
	static const char *const wrong[] = { "a/b", "/", "é", "a*" };
	char line[32];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)snprintf(line, sizeof(line), "--tag %s", wrong[i]);
		refuse(line, plain, line);
	}
	refuse("--tag=", plain, "--tag ");
	(void)take(with_word("--tag", FORWARD_TAG_BYTES_MAX), plain);
	refuse(with_word("--tag", FORWARD_TAG_BYTES_MAX + 1), plain, "at most");
}

TEST(forward_arguments_reject_empty_overlong_and_missing_user)
{
	refuse("--user=", plain, "--user");
	(void)take(with_word("--user", FORWARD_CREDENTIAL_BYTES_MAX), plain);
	refuse(with_word("--user", FORWARD_CREDENTIAL_BYTES_MAX + 1), plain, "--user");
	refuse("--password-file p", plain, "--password-file needs --user");
}

TEST(forward_arguments_report_invalid_values)
{
	refuse("--compress zstd", plain, "--compress zstd");
	refuse("--ack-timeout 9ms", plain, "--ack-timeout 9ms");
	refuse("--retry-max 9ms", plain, "--retry-max 9ms");
	/* Also before one that is right. */
	refuse("--tag a/b --no-ack", plain, "--tag a/b");
}

TEST(forward_arguments_reject_tls_options_without_tls_collector)
{
	static const char *const lines[] = { "--tls-ca a", "--tls-cert c", "--tls-server-name n",
					     "--tls-insecure" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		refuse(lines[i], plain, "tls://HOST:PORT");
		(void)take(lines[i], secure);
	}
	refuse("--tls-key k", secure, "--tls-key needs --tls-cert");
}

TEST(forward_arguments_reject_options_without_collector)
{
	static const char *const lines[] = { "--tag a",	   "--compress gzip",  "--no-ack",
					     "--user u",   "--ack-timeout 1s", "--tls-ca a",
					     "--tls-key k" };
	char expected[64];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		(void)snprintf(expected, sizeof(expected), "%.*s needs a collector",
			       (int)strcspn(lines[i], " "), lines[i]);
		refuse(lines[i], none, expected);
	}
	/* The first is named. */
	refuse("--no-ack --tag a", none, "--no-ack needs a collector");
}
