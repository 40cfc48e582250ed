/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "recorder/forward/forward_url.h"

static struct forward_url parse(const char *text)
{
	struct forward_url url;
	const char *problem = NULL;

	if (forward_url_parse(text, &url, &problem) < 0)
		fail_msg("%s: %s", text, problem);
	return url;
}

TEST(forward_url_parses_all_tcp_and_tls_forms)
{
	static const struct {
		const char *text, *host, *port, *name;
		enum forward_transport transport;
	} cases[] = {
		{ "tcp://fluent.example:24225", "fluent.example", "24225",
		  "tcp://fluent.example:24225", FORWARD_TRANSPORT_TCP },
		{ "tls://fluent", "fluent", "24224", "tls://fluent:24224", FORWARD_TRANSPORT_TLS },
		{ "tcp://127.0.0.1:1", "127.0.0.1", "1", "tcp://127.0.0.1:1",
		  FORWARD_TRANSPORT_TCP },
		{ "tcp://[::1]", "::1", "24224", "tcp://[::1]:24224", FORWARD_TRANSPORT_TCP },
		{ "tls://[fe80::1%eth0]:65535", "fe80::1%eth0", "65535",
		  "tls://[fe80::1%eth0]:65535", FORWARD_TRANSPORT_TLS },
		{ "tcp://a_b.c-d:0080", "a_b.c-d", "80", "tcp://a_b.c-d:80",
		  FORWARD_TRANSPORT_TCP },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct forward_url url = parse(cases[i].text);

		assert_string_equal(url.host, cases[i].host);
		assert_string_equal(url.port, cases[i].port);
		assert_string_equal(url.name, cases[i].name);
		assert_string_equal(url.path, "");
		assert_int_equal(url.transport, cases[i].transport);
	}
}

TEST(forward_url_parses_unix_path_up_to_its_limit)
{
	char text[5 + FORWARD_PATH_BYTES + 1] = "unix:/";
	struct forward_url url = parse("unix:/run/fluent.sock");
	const char *problem = NULL;

	assert_int_equal(url.transport, FORWARD_TRANSPORT_UNIX);
	assert_string_equal(url.path, "/run/fluent.sock");
	assert_string_equal(url.name, "unix:/run/fluent.sock");
	memset(text + 6, 'x', FORWARD_PATH_BYTES - 2);
	url = parse(text);
	assert_int_equal(strlen(url.path), FORWARD_PATH_BYTES - 1);
	text[5 + FORWARD_PATH_BYTES - 1] = 'x';
	assert_int_equal(forward_url_parse(text, &url, &problem), -EINVAL);
	assert_non_null(problem);
}

TEST(forward_url_names_problem_of_invalid_text)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "tcp://HOST:PORT" },
		{ "fluent:24224", "tcp://HOST:PORT" },
		{ "http://fluent", "tcp://HOST:PORT" },
		{ "tcp://", "host is missing" },
		{ "tcp://:24224", "host is missing" },
		{ "tcp://host:", "port" },
		{ "tcp://host:0", "port" },
		{ "tcp://host:65536", "port" },
		{ "tcp://host:+1", "port" },
		{ "tcp://host:1 ", "port" },
		{ "tcp://host:1/", "port" },
		{ "tcp://host/", "host name" },
		{ "tcp://ho st", "host name" },
		{ "tcp://user@host", "host name" },
		{ "tcp://-host", "host name" },
		{ "tcp://::1", "brackets" },
		{ "tcp://::1:24224", "brackets" },
		{ "tcp://[::1", "closing ]" },
		{ "tcp://[::1]24224", ":PORT" },
		{ "tcp://[host]:1", "IPv6" },
		{ "tcp://[::1%]:1", "IPv6" },
		{ "tcp://[]:1", "host is missing" },
		{ "unix:", "begin with /" },
		{ "unix://run/x", NULL },
		{ "unix:run/x", "begin with /" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct forward_url url = { .port = "same" };
		const char *problem = "";

		if (!cases[i].says) {
			(void)parse(cases[i].text);
			continue;
		}
		assert_int_equal(forward_url_parse(cases[i].text, &url, &problem), -EINVAL);
		if (!strstr(problem, cases[i].says))
			fail_msg("%s: %s", cases[i].text, problem);
		assert_string_equal(url.port, "same");
	}
}

TEST(forward_url_limits_host_to_255_characters)
{
	char text[6 + FORWARD_HOST_BYTES + 16] = "tcp://";
	struct forward_url url;
	const char *problem = NULL;

	memset(text + 6, 'h', FORWARD_HOST_BYTES - 1);
	(void)strcpy(text + 6 + FORWARD_HOST_BYTES - 1, ":65535");
	url = parse(text);
	assert_string_equal(url.name, text);
	(void)strcpy(text + 6 + FORWARD_HOST_BYTES - 1, "h:65535");
	assert_int_equal(forward_url_parse(text, &url, &problem), -EINVAL);
}
