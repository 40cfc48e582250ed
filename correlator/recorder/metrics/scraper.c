/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/metrics/scraper.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	READS_MAX = 64, /* a request arrives in one piece, or a few */
	MOVE_BYTES = 65536, /* sent at once: the scraper makes progress */
};

void scraper_begin(struct scraper *scraper, int fd, bool names_host, uint64_t now_ns)
{
	*scraper = (struct scraper){
		.fd = fd, .names_host = names_host, .begin_ns = now_ns, .moved_ns = now_ns
	};
}

void scraper_end(struct scraper *scraper)
{
	(void)close(scraper->fd);
	metrics_page_release(scraper->page);
	*scraper = (struct scraper){ .fd = -1 };
}

short scraper_events(const struct scraper *scraper)
{
	return scraper->head_bytes ? POLLOUT : POLLIN;
}

/* The weight q (RFC 9110, 12.4.2) of a media range with its parameters, up to end. */
static double read_weight(const char *range, const char *end)
{
	const char *parameter = range;

	while ((parameter = memchr(parameter, ';', (size_t)(end - parameter)))) {
		parameter += 1 + strspn(parameter + 1, " \t");
		if (strncasecmp(parameter, "q=", 2) == 0)
			return strtod(parameter + 2, NULL);
	}
	return 1;
}

/*
 * The weight that a list of media ranges (RFC 9110, 12.5.1), up to the end of its line, gives to a
 * type: the highest one for its exact name; 0 = not listed.
 */
static double accept_weight(const char *accept, const char *type)
{
	size_t length = strlen(type);
	double most = 0, weight;

	for (;;) {
		const char *range = accept + strspn(accept, " \t,");
		const char *end = range + strcspn(range, ",\r\n");

		if (strncasecmp(range, type, length) == 0 && strchr(" \t;,\r\n", range[length])) {
			weight = read_weight(range, end);
			most = weight > most ? weight : most;
		}
		if (*end != ',')
			return most;
		accept = end;
	}
}

/*
 * The value of a request's header field, up to the end of its line; NULL = absent. name: a newline,
 * the name in lower case, and a colon.
 */
static const char *find_field(const char *request, const char *name)
{
	const char *field = strcasestr(request, name);

	return field ? field + strlen(name) + strspn(field + strlen(name), " \t") : NULL;
}

/*
 * OpenMetrics for a client that asks for it, as Prometheus does; otherwise the classic format,
 * because promtool reads what curl gets.
 */
static enum metrics_format choose_format(const char *request)
{
	const char *accept = find_field(request, "\naccept:");
	double newer, older;

	if (!accept)
		return METRICS_FORMAT_CLASSIC;
	newer = accept_weight(accept, "application/openmetrics-text");
	older = accept_weight(accept, "text/plain");
	return newer > 0 && newer >= older ? METRICS_FORMAT_OPENMETRICS : METRICS_FORMAT_CLASSIC;
}

/*
 * True if the request names this machine's loopback interface as its host, or no host, as HTTP/1.0
 * may. Another name means that its owner has pointed it here, so that a page of that name can read
 * the metrics through a user's browser (DNS rebinding).
 */
static bool is_meant_for_us(const char *request)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
	const char *host = find_field(request, "\nhost:");

	if (!host)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);

		if (strncasecmp(host, names[i], length) == 0 && strchr(": \t\r\n", host[length]))
			return true;
	}
	return false;
}

/* body: NULL = the client asked for the header only. */
static void answer_with(struct scraper *scraper, const char *status, const char *type,
			const char *body, size_t body_bytes)
{
	scraper->head_bytes = (size_t)snprintf(scraper->head, sizeof(scraper->head),
					       "HTTP/1.0 %s\r\nContent-Type: %s\r\n"
					       "Content-Length: %zu\r\nConnection: close\r\n\r\n",
					       status, type, body_bytes);
	scraper->body = body;
	scraper->body_bytes = body ? body_bytes : 0;
}

static bool answer_metrics(struct scraper *scraper, struct metrics_pages *pages,
			   const struct metrics *metrics)
{
	static const char *const types[_METRICS_FORMAT_MAX] = {
		[METRICS_FORMAT_OPENMETRICS] =
			"application/openmetrics-text; version=1.0.0; charset=utf-8",
		[METRICS_FORMAT_CLASSIC] = "text/plain; version=0.0.4; charset=utf-8",
	};
	enum metrics_format format = choose_format(scraper->request);
	bool wants_body = scraper->request[0] == 'G';

	scraper->page = metrics_pages_hold(pages, metrics, format);
	if (!scraper->page)
		return false;
	answer_with(scraper, "200 OK", types[format], wants_body ? scraper->page->text : NULL,
		    scraper->page->size_bytes);
	return true;
}

static bool answer_error(struct scraper *scraper, const char *status, const char *text)
{
	answer_with(scraper, status, "text/plain; charset=utf-8", text, strlen(text));
	return true;
}

static bool is_target(const char *request, const char *line)
{
	size_t length = strlen(line);

	return strncmp(request, line, length) == 0 && strchr(" ?\r\n", request[length]) != NULL;
}

static bool answer(struct scraper *scraper, struct metrics_pages *pages,
		   const struct metrics *metrics)
{
	static const char usage[] = "GET /metrics\n";
	const char *request = scraper->request;

	if (scraper->names_host && !is_meant_for_us(request))
		return answer_error(scraper, "421 Misdirected Request",
				    "ask by localhost, 127.0.0.1 or [::1] (Host)\n");
	if (strncmp(request, "GET ", 4) != 0 && strncmp(request, "HEAD ", 5) != 0)
		return answer_error(scraper, "405 Method Not Allowed", usage);
	request = strchr(request, ' ') + 1;
	if (!is_target(request, "/metrics") && !is_target(request, "/"))
		return answer_error(scraper, "404 Not Found", usage);
	return answer_metrics(scraper, pages, metrics);
}

/* True while the connection may continue. */
static bool read_request(struct scraper *scraper, struct metrics_pages *pages,
			 const struct metrics *metrics)
{
	ssize_t got = recv(scraper->fd, scraper->request + scraper->request_bytes,
			   SCRAPER_REQUEST_BYTES_MAX - scraper->request_bytes, 0);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (got == 0)
		return false;
	scraper->request_bytes += (size_t)got;
	if (strstr(scraper->request, "\r\n\r\n") || strstr(scraper->request, "\n\n"))
		return answer(scraper, pages, metrics);
	if (scraper->request_bytes == SCRAPER_REQUEST_BYTES_MAX)
		return answer_error(scraper, "431 Request Header Fields Too Large",
				    "a shorter request, please\n");
	return ++scraper->reads < READS_MAX;
}

static bool write_answer(struct scraper *scraper, uint64_t now_ns)
{
	bool is_head = scraper->sent_bytes < scraper->head_bytes;
	size_t from = is_head ? scraper->sent_bytes : scraper->sent_bytes - scraper->head_bytes;
	size_t left = (is_head ? scraper->head_bytes : scraper->body_bytes) - from;
	int more = is_head && scraper->body_bytes ? MSG_MORE : 0;
	ssize_t sent = send(scraper->fd, (is_head ? scraper->head : scraper->body) + from, left,
			    MSG_NOSIGNAL | more);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	if (sent >= MOVE_BYTES)
		scraper->moved_ns = now_ns;
	scraper->sent_bytes += (size_t)sent;
	return scraper->sent_bytes < scraper->head_bytes + scraper->body_bytes;
}

bool scraper_go_on(struct scraper *scraper, struct metrics_pages *pages,
		   const struct metrics *metrics, uint64_t now_ns)
{
	return scraper->head_bytes ? write_answer(scraper, now_ns)
				   : read_request(scraper, pages, metrics);
}
