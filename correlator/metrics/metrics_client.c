#include "metrics/metrics_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "metrics/metrics_text.h"

void metrics_client_init(struct metrics_client *client, int fd)
{
	const uint64_t ns_per_ms = 1000000;

	*client = (struct metrics_client){
		.fd = fd,
		.deadline_ns = clock_monotonic_ns() + METRICS_CLIENT_MS * ns_per_ms,
	};
}

void metrics_client_deinit(struct metrics_client *client)
{
	(void)close(client->fd);
	free(client->answer);
	*client = (struct metrics_client){ .fd = -1 };
}

short metrics_client_events(const struct metrics_client *client)
{
	return client->answer ? POLLOUT : POLLIN;
}

/* What Prometheus asks for by its Accept header, and everybody gets who does not ask. */
static enum metrics_format choose_format(const char *request)
{
	const char *accept = strcasestr(request, "\naccept:");

	if (!accept || strcasestr(accept, "application/openmetrics-text") ||
	    !strcasestr(accept, "text/plain"))
		return METRICS_FORMAT_OPENMETRICS;
	return METRICS_FORMAT_CLASSIC;
}

static int answer_with(struct metrics_client *client, const char *status, const char *type,
		       const char *body, size_t body_bytes, bool has_body)
{
	int size = asprintf(&client->answer,
			    "HTTP/1.0 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			    "Connection: close\r\n\r\n%.*s",
			    status, type, body_bytes, has_body ? (int)body_bytes : 0, body);

	if (size < 0) {
		client->answer = NULL;
		return -ENOMEM;
	}
	client->answer_bytes = (size_t)size;
	return 0;
}

static int answer_metrics(struct metrics_client *client, const struct metrics *metrics)
{
	static const char *const types[] = {
		[METRICS_FORMAT_OPENMETRICS] =
			"application/openmetrics-text; version=1.0.0; charset=utf-8",
		[METRICS_FORMAT_CLASSIC] = "text/plain; version=0.0.4; charset=utf-8",
	};
	enum metrics_format format = choose_format(client->request);
	_cleanup_free_ char *text = NULL;
	size_t size_bytes;
	int r = metrics_text(metrics, format, &text, &size_bytes);

	return r ? r
		 : answer_with(client, "200 OK", types[format], text, size_bytes,
			       client->request[0] == 'G');
}

static int answer_error(struct metrics_client *client, const char *status)
{
	static const char body[] = "GET /metrics\n";

	return answer_with(client, status, "text/plain; charset=utf-8", body, sizeof(body) - 1,
			   true);
}

static bool is_target(const char *request, const char *line)
{
	size_t length = strlen(line);

	return !strncmp(request, line, length) && strchr(" ?\r\n", request[length]) != NULL;
}

static int answer(struct metrics_client *client, const struct metrics *metrics)
{
	const char *request = client->request;

	if (strncmp(request, "GET ", 4) != 0 && strncmp(request, "HEAD ", 5) != 0)
		return answer_error(client, "405 Method Not Allowed");
	request = strchr(request, ' ') + 1;
	if (!is_target(request, "/metrics") && !is_target(request, "/"))
		return answer_error(client, "404 Not Found");
	return answer_metrics(client, metrics);
}

/* True while it may go on. */
static bool read_request(struct metrics_client *client, const struct metrics *metrics)
{
	ssize_t got = recv(client->fd, client->request + client->request_bytes,
			   METRICS_REQUEST_BYTES_MAX - client->request_bytes, 0);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!got)
		return false;
	client->request_bytes += (size_t)got;
	client->request[client->request_bytes] = '\0';
	if (strstr(client->request, "\r\n\r\n") || strstr(client->request, "\n\n"))
		return !answer(client, metrics);
	return client->request_bytes < METRICS_REQUEST_BYTES_MAX ||
	       !answer_error(client, "431 Request Header Fields Too Large");
}

static bool write_answer(struct metrics_client *client)
{
	ssize_t sent = send(client->fd, client->answer + client->sent_bytes,
			    client->answer_bytes - client->sent_bytes, MSG_NOSIGNAL);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	client->sent_bytes += (size_t)sent;
	return client->sent_bytes < client->answer_bytes;
}

bool metrics_client_handle(struct metrics_client *client, const struct metrics *metrics)
{
	return client->answer ? write_answer(client) : read_request(client, metrics);
}
