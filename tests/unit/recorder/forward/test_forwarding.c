/* SPDX-License-Identifier: GPL-2.0-only */
/* What can be wrong before anything is sent. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit_test.h"

#include "ears.h"
#include "failing_memory.h"
#include "recorder/forward/forwarding.h"

UNIT_TEST_ALONE;

static char folder[] = "/tmp/test_forwarding.XXXXXX";

/* Two identities, each with its key in a file of its own, one with both in one, and one with a
 * password on its key. */
static int make_files(void **state)
{
	char line[1024];

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(
		line, sizeof(line),
		"cd %s && for name in one two; do openssl req -x509 -newkey ec -pkeyopt "
		"ec_paramgen_curve:P-256 -nodes -subj /CN=$name -days 2 -keyout $name.key "
		"-out $name.pem 2>/dev/null || exit 1; done; cat one.key one.pem > both.pem; "
		"openssl pkey -in one.key -aes256 -passout pass:secret -out locked.key; "
		": > empty; printf secret > key; printf wonder > password; "
		"chmod 600 key password *.key both.pem; mkdir authorities",
		folder);
	return system(line);
}

static int remove_files(void **state)
{
	char line[64];

	(void)state;
	(void)snprintf(line, sizeof(line), "rm -rf %s", folder);
	return system(line);
}

static struct forwarding_options make_options(const char *const *urls, size_t count)
{
	struct forwarding_options options = { .tag = "correlator.test", .url_count = count };
	const char *problem;

	for (size_t i = 0; i < count; i++)
		assert_int_equal(forward_url_parse(urls[i], &options.urls[i], &problem), 0);
	return options;
}

/* What forwarding_new gives, and says. */
static int try_options(const struct forwarding_options *options, char *ret_said, size_t said_bytes)
{
	_cleanup_(forwarding_freep) struct forwarding *forwarding = NULL;
	struct ears ears = ears_open();
	int r = forwarding_new(options, &forwarding);

	ears_close(&ears, ret_said, said_bytes);
	assert_int_equal(r == 0, forwarding != NULL);
	return r;
}

/* Instead of libc's. */
static bool has_no_host_name;

int gethostname(char *name, size_t size_bytes)
{
	if (has_no_host_name) {
		errno = EPERM;
		return -1;
	}
	(void)snprintf(name, size_bytes, "shop");
	return 0;
}

TEST(forwarding_new_fails_without_host_name)
{
	static const char *const urls[] = { "unix:/a" };
	const struct forwarding_options options = make_options(urls, 1);
	char said[256];

	has_no_host_name = true;
	assert_int_equal(try_options(&options, said, sizeof(said)), -EPERM);
	has_no_host_name = false;
	assert_non_null(strstr(said, "cannot read the host's name"));
}

TEST(forwarding_names_lists_all_collectors)
{
	static const char *const urls[] = { "unix:/a", "tcp://b:1", "unix:/c" };
	const struct forwarding_options options = make_options(urls, 3);
	_cleanup_(forwarding_freep) struct forwarding *forwarding = NULL;

	assert_int_equal(forwarding_new(&options, &forwarding), 0);
	assert_string_equal(forwarding_names(forwarding), "unix:/a or tcp://b:1 or unix:/c");
}

/* NULL: none; else a file of the folder. */
static const char *path_of(const char *name, char path[static 64])
{
	if (name)
		(void)snprintf(path, 64, "%s/%s", folder, name);
	return name ? path : NULL;
}

TEST(forwarding_user_requires_password_and_shared_key)
{
	static const struct {
		const char *user, *key, *password;
		int result;
	} cases[] = {
		{ NULL, NULL, NULL, 0 },
		{ NULL, "key", NULL, 0 },
		{ "alice", "key", "password", 0 },
		{ "alice", "key", NULL, -EINVAL },
		{ "alice", NULL, "password", -EINVAL },
		{ NULL, "none", NULL, -ENOENT },
		{ "alice", "key", "none", -ENOENT },
		{ NULL, "empty", NULL, -EINVAL },
	};
	static const char *const urls[] = { "unix:/a" };
	struct forwarding_options options = make_options(urls, 1);
	char key[64], password[64], said[1024];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		options.user = cases[i].user;
		options.shared_key_path = path_of(cases[i].key, key);
		options.password_path = path_of(cases[i].password, password);
		assert_int_equal(try_options(&options, said, sizeof(said)), cases[i].result);
		assert_int_equal(strlen(said) > 0, cases[i].result < 0);
	}
}

TEST(forwarding_new_loads_tls_files_and_rejects_unusable_ones)
{
	static const struct {
		const char *ca, *certificate, *key;
		bool is_unverified;
		int result;
	} cases[] = {
		{ NULL, NULL, NULL, false, 0 },
		{ "one.pem", NULL, NULL, false, 0 },
		{ "authorities", NULL, NULL, false, 0 },
		{ "none", NULL, NULL, false, -ENOENT },
		{ "empty", NULL, NULL, false, -EINVAL },
		{ "none", NULL, NULL, true, 0 },
		{ NULL, "one.pem", "one.key", false, 0 },
		{ NULL, "one.pem", "one.key", true, 0 },
		{ NULL, "empty", "one.key", true, -EINVAL },
		{ NULL, "both.pem", NULL, false, 0 },
		{ NULL, "one.pem", NULL, false, -EINVAL },
		{ NULL, "one.pem", "two.key", false, -EINVAL },
		{ NULL, "one.pem", "empty", false, -EINVAL },
		{ NULL, "empty", "one.key", false, -EINVAL },
	};
	static const char *const urls[] = { "tcp://a:1", "tls://b:1" };
	char ca[64], certificate[64], key[64], said[1024];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct forwarding_options options = make_options(urls, 2);

		options.tls = (struct tls_options){
			.ca_path = path_of(cases[i].ca, ca),
			.certificate_path = path_of(cases[i].certificate, certificate),
			.key_path = path_of(cases[i].key, key),
			.is_unverified = cases[i].is_unverified,
		};
		assert_int_equal(try_options(&options, said, sizeof(said)), cases[i].result);
		assert_int_equal(strlen(said) > 0, cases[i].result < 0 || cases[i].is_unverified);
		/* Where there is no TLS, nothing is needed. */
		options.url_count = 1;
		assert_int_equal(try_options(&options, said, sizeof(said)), 0);
		assert_string_equal(said, "");
	}
}

/* As where there is no terminal, but something to read: it holds the key's password. */
static int try_with_the_password_at_hand(const struct forwarding_options *options)
{
	_cleanup_(forwarding_freep) struct forwarding *forwarding = NULL;
	int fds[2];

	if (setsid() < 0 || pipe(fds) < 0 || dup2(fds[0], STDIN_FILENO) < 0 ||
	    write(fds[1], "secret\n", 7) != 7 || close(fds[1]) < 0)
		return 0;
	return forwarding_new(options, &forwarding);
}

TEST(forwarding_never_prompts_for_key_password)
{
	static const char *const urls[] = { "tls://b:1" };
	struct forwarding_options options = make_options(urls, 1);
	char certificate[64], key[64];
	int status;
	pid_t child;

	options.tls.certificate_path = path_of("one.pem", certificate);
	options.tls.key_path = path_of("locked.key", key);
	child = fork();
	if (child == 0)
		_exit(try_with_the_password_at_hand(&options) == -EINVAL ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

TEST(forwarding_warns_of_no_ack_and_tls_insecure)
{
	static const char *const urls[] = { "tls://a:1" };
	struct forwarding_options options = make_options(urls, 1);
	char said[1024];

	options.has_no_acks = true;
	assert_int_equal(try_options(&options, said, sizeof(said)), 0);
	assert_non_null(strstr(said, "warning: --no-ack"));
	assert_null(strstr(said, "--tls-insecure"));
	options.has_no_acks = false;
	options.tls.is_unverified = true;
	assert_int_equal(try_options(&options, said, sizeof(said)), 0);
	assert_non_null(strstr(said, "warning: --tls-insecure"));
	assert_null(strstr(said, "--no-ack"));
}

static int have_nothing(void *user, struct chunk *ret_chunk)
{
	(void)user;
	(void)ret_chunk;
	return -EAGAIN;
}

static int try_start(struct forwarding *forwarding, struct sender **ret_sender, char *ret_said,
		     size_t said_bytes)
{
	static const struct chunk_source source = { .next = have_nothing, .event_fd = -1 };
	struct ears ears = ears_open();
	int r = forwarding_start(forwarding, &source, 0, ret_sender);

	ears_close(&ears, ret_said, said_bytes);
	return r;
}

TEST(forwarding_start_fails_without_memory)
{
	static const char *const urls[] = { "unix:/a", "unix:/b" };
	struct forwarding_options options = make_options(urls, 2);
	struct forwarding *forwarding = NULL;
	struct sender *sender = NULL;
	size_t failures = 0;
	char said[1024];

	options.is_gzip = true;
	memory_fails_once_after(0);
	assert_int_equal(try_options(&options, said, sizeof(said)), -ENOMEM);
	memory_never_fails();
	assert_int_equal(forwarding_new(&options, &forwarding), 0);
	assert_each_allocation_can_fail(try_start(forwarding, &sender, said, sizeof(said)),
					(failures++, assert_null(sender),
					 assert_non_null(strstr(said, "cannot start sending"))));
	/* Each collector, what is common to all, and what compresses. */
	assert_true(failures >= 4);
	sender_free(sender);
	sender_free(NULL);
	forwarding_free(forwarding);
	forwarding_free(NULL);
}

TEST_GROUP(make_files, remove_files)

int main(void)
{
	(void)unsetenv("CORRELATOR_SHARED_KEY");
	(void)unsetenv("CORRELATOR_PASSWORD");
	return unit_test_run(NULL);
}
