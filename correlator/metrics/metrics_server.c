/* SPDX-License-Identifier: GPL-2.0-only */
#include "metrics/metrics_server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/thread.h"
#include "metrics/metrics_text.h"
#include "net/listener.h"

enum {
	CLIENTS_MAX = 8,
	CLIENT_MS = 5000, /* from connecting to the last byte */
	REQUEST_BYTES_MAX = 4096,
	FILE_MODE = 0644, /* as of what is asked for by HTTP */
};

/* One scraper: its request, and our answer, by HTTP/1.0 (RFC 1945; HTTP/1.1 clients take it). */
struct client {
	int fd; /* -1 = free */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	char request[REQUEST_BYTES_MAX + 1]; /* zeros behind what came */
	size_t request_bytes;
	char *answer; /* NULL = the request has not come yet */
	size_t answer_bytes;
	size_t sent_bytes;
};

struct metrics_server {
	pthread_t thread;
	bool has_thread;
	int event_fd; /* something new, or the end */
	pthread_mutex_t lock; /* guards published and is_ending */
	struct metrics published;
	struct request_figures *published_requests; /* owned: what it points to; NULL = none */
	bool is_ending;
	/* The thread's: */
	struct metrics metrics; /* what is given out */
	struct request_figures *requests; /* owned: the same */
	struct listener listener;
	struct client clients[CLIENTS_MAX];
	char *file; /* NULL = none */
	bool has_file_failed;
};

static void client_init(struct client *client, int fd)
{
	*client = (struct client){
		.fd = fd,
		.deadline_ns = clock_monotonic_ns() + CLIENT_MS * NS_PER_MS,
	};
}

static void client_deinit(struct client *client)
{
	(void)close(client->fd);
	free(client->answer);
	*client = (struct client){ .fd = -1 };
}

static short client_events(const struct client *client)
{
	return client->answer ? POLLOUT : POLLIN;
}

/* Of a media range and its parameters, up to end: its q (RFC 9110, 12.4.2). */
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

/* How much a list of media ranges (RFC 9110, 12.5.1), which ends with its line, wants a type: the
 * most that it says by name; 0 = nothing. */
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

/* The newer one for who asks for it, as Prometheus does; promtool reads what curl gets. */
static enum metrics_format choose_format(const char *request)
{
	static const char name[] = "\naccept:";
	const char *accept = strcasestr(request, name);
	double newer, older;

	if (!accept)
		return METRICS_FORMAT_CLASSIC;
	accept += sizeof(name) - 1;
	newer = accept_weight(accept, "application/openmetrics-text");
	older = accept_weight(accept, "text/plain");
	return newer > 0 && newer >= older ? METRICS_FORMAT_OPENMETRICS : METRICS_FORMAT_CLASSIC;
}

static int answer_with(struct client *client, const char *status, const char *type,
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

static int answer_metrics(struct client *client, const struct metrics *metrics)
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

	return r < 0 ? r
		     : answer_with(client, "200 OK", types[format], text, size_bytes,
				   client->request[0] == 'G');
}

static int answer_error(struct client *client, const char *status)
{
	static const char body[] = "GET /metrics\n";

	return answer_with(client, status, "text/plain; charset=utf-8", body, sizeof(body) - 1,
			   true);
}

static bool is_target(const char *request, const char *line)
{
	size_t length = strlen(line);

	return strncmp(request, line, length) == 0 && strchr(" ?\r\n", request[length]) != NULL;
}

static int answer(struct client *client, const struct metrics *metrics)
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
static bool read_request(struct client *client, const struct metrics *metrics)
{
	ssize_t got = recv(client->fd, client->request + client->request_bytes,
			   REQUEST_BYTES_MAX - client->request_bytes, 0);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (got == 0)
		return false;
	client->request_bytes += (size_t)got;
	if (strstr(client->request, "\r\n\r\n") || strstr(client->request, "\n\n"))
		return answer(client, metrics) == 0;
	return client->request_bytes < REQUEST_BYTES_MAX ||
	       answer_error(client, "431 Request Header Fields Too Large") == 0;
}

static bool write_answer(struct client *client)
{
	ssize_t sent = send(client->fd, client->answer + client->sent_bytes,
			    client->answer_bytes - client->sent_bytes, MSG_NOSIGNAL);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	client->sent_bytes += (size_t)sent;
	return client->sent_bytes < client->answer_bytes;
}

static bool client_handle(struct client *client, const struct metrics *metrics)
{
	return client->answer ? write_answer(client) : read_request(client, metrics);
}

/* All of it, or the one before: readers never see a half. node_exporter takes what ends in .prom.
 */
static int write_file(const char *path, const struct metrics *metrics)
{
	_cleanup_free_ char *text = NULL;
	struct output_file file;
	size_t size_bytes;
	int r = metrics_text(metrics, METRICS_FORMAT_CLASSIC, &text, &size_bytes);

	if (r == 0)
		r = output_file_begin(path, FILE_MODE, &file);
	if (r < 0)
		return r;
	(void)fwrite(text, 1, size_bytes, file.file);
	return output_file_end(&file, 0);
}

static void update_file(struct metrics_server *server)
{
	int r;

	if (!server->file)
		return;
	r = write_file(server->file, &server->metrics);
	if (r < 0 && !server->has_file_failed)
		(void)log_error_errno(r, "--metrics: cannot write %s", server->file);
	server->has_file_failed = r < 0;
}

/* With a copy of what it points to, into figures, which has room for it. */
static void take(struct metrics *metrics, struct request_figures *figures,
		 const struct metrics *from)
{
	*metrics = *from;
	metrics->requests = figures;
	if (figures)
		request_figures_assign(figures, from->requests);
}

/* False: it is time to end. */
static bool take_published(struct metrics_server *server)
{
	eventfd_t count;
	bool is_ending;

	(void)eventfd_read(server->event_fd, &count);
	(void)pthread_mutex_lock(&server->lock);
	take(&server->metrics, server->requests, &server->published);
	is_ending = server->is_ending;
	(void)pthread_mutex_unlock(&server->lock);
	update_file(server);
	return !is_ending;
}

static struct client *find_free(struct metrics_server *server)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (server->clients[i].fd < 0)
			return &server->clients[i];
	return NULL;
}

/* When all places are taken the rest waits to be accepted: each place is free within seconds. */
static void accept_clients(struct metrics_server *server)
{
	struct client *client;
	int fd;

	while ((client = find_free(server))) {
		fd = accept4(server->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		client_init(client, fd);
	}
}

static int until_deadline_ms(const struct metrics_server *server)
{
	uint64_t now_ns = clock_monotonic_ns(), first_ns = UINT64_MAX;

	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (server->clients[i].fd >= 0 && server->clients[i].deadline_ns < first_ns)
			first_ns = server->clients[i].deadline_ns;
	if (first_ns == UINT64_MAX)
		return -1;
	return first_ns > now_ns ? (int)((first_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

static void handle_clients(struct metrics_server *server, const struct pollfd *fds)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *client = &server->clients[i];

		if (client->fd >= 0 &&
		    (now_ns >= client->deadline_ns ||
		     (fds[i].revents && !client_handle(client, &server->metrics))))
			client_deinit(client);
	}
}

static void *serve(void *user)
{
	struct metrics_server *server = user;
	struct pollfd fds[2 + CLIENTS_MAX];

	for (;;) {
		fds[0] = (struct pollfd){ .fd = server->event_fd, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = find_free(server) ? server->listener.fd : -1,
					  .events = POLLIN };
		for (size_t i = 0; i < CLIENTS_MAX; i++)
			fds[2 + i] =
				(struct pollfd){ .fd = server->clients[i].fd,
						 .events = client_events(&server->clients[i]) };
		(void)poll(fds, 2 + CLIENTS_MAX, until_deadline_ms(server));
		if (fds[0].revents && !take_published(server))
			return NULL;
		handle_clients(server, fds + 2);
		if (fds[1].revents)
			accept_clients(server);
	}
}

static int start(struct metrics_server *server)
{
	int r;

	/* There is something to give out at once. */
	server->event_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->event_fd < 0)
		return log_error_errno(errno, "cannot serve metrics");
	r = thread_start(&server->thread, serve, server);
	server->has_thread = r == 0;
	return r < 0 ? log_error_errno(r, "cannot serve metrics") : 0;
}

static int listen_at(const char *address, struct listener *ret_listener)
{
	int r = listener_open(address, ret_listener);

	if (r == -EINVAL)
		return log_error(EINVAL,
				 "--metrics %s: not unix:PATH, tcp://127.0.0.1:PORT, "
				 "tcp://[::1]:PORT or file:PATH",
				 address);
	if (r < 0)
		return log_error_errno(r, "--metrics: cannot listen on %s", address);
	if (ret_listener->port)
		log_info("metrics on port %d", ret_listener->port);
	return 0;
}

int metrics_server_new(const char *address, const struct metrics *metrics,
		       struct metrics_server **ret_server)
{
	static const char file[] = "file:";
	_cleanup_(metrics_server_freep) struct metrics_server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return log_error_errno(ENOMEM, "cannot serve metrics");
	server->event_fd = server->listener.fd = -1;
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		server->clients[i].fd = -1;
	(void)pthread_mutex_init(&server->lock, NULL);
	if (metrics->requests) {
		server->published_requests = request_figures_copy(metrics->requests);
		server->requests = request_figures_copy(metrics->requests);
		if (!server->published_requests || !server->requests)
			return log_error_errno(ENOMEM, "cannot serve metrics");
	}
	take(&server->published, server->published_requests, metrics);
	take(&server->metrics, server->requests, metrics);
	if (strncmp(address, file, sizeof(file) - 1) == 0 && address[sizeof(file) - 1]) {
		server->file = strdup(address + sizeof(file) - 1);
		r = server->file ? 0 : log_error_errno(ENOMEM, "cannot serve metrics");
	} else {
		r = listen_at(address, &server->listener);
	}
	if (r == 0)
		r = start(server);
	if (r == 0)
		*ret_server = TAKE_PTR(server);
	return r;
}

void metrics_server_free(struct metrics_server *server)
{
	if (!server)
		return;
	if (server->has_thread) {
		(void)pthread_mutex_lock(&server->lock);
		server->is_ending = true;
		(void)pthread_mutex_unlock(&server->lock);
		(void)eventfd_write(server->event_fd, 1);
		(void)pthread_join(server->thread, NULL);
	}
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (server->clients[i].fd >= 0)
			client_deinit(&server->clients[i]);
	listener_close(&server->listener);
	cleanup_fd(&server->event_fd);
	(void)pthread_mutex_destroy(&server->lock);
	free(server->published_requests);
	free(server->requests);
	free(server->file);
	free(server);
}

void metrics_server_publish(struct metrics_server *server, const struct metrics *metrics)
{
	(void)pthread_mutex_lock(&server->lock);
	take(&server->published, server->published_requests, metrics);
	(void)pthread_mutex_unlock(&server->lock);
	(void)eventfd_write(server->event_fd, 1);
}
