#include "metrics/metrics_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_bytes.h"
#include "base/log.h"
#include "base/thread.h"
#include "metrics/metrics_client.h"
#include "metrics/metrics_text.h"
#include "net/listener.h"

enum {
	CLIENTS_MAX = 8
};

struct metrics_server {
	pthread_t thread;
	bool has_thread;
	int event_fd; /* something new, or the end */
	pthread_mutex_t lock; /* guards published and is_ending */
	struct metrics published;
	bool is_ending;
	/* The thread's: */
	struct metrics metrics; /* what is given out */
	struct listener listener;
	struct metrics_client clients[CLIENTS_MAX];
	char *file; /* NULL = none */
	bool has_file_failed;
};

/* All of it, or the one before: readers never see a half. */
static int write_file(const char *path, const struct metrics *metrics)
{
	_cleanup_free_ char *text = NULL, *other = NULL;
	_cleanup_fd_ int fd = -1;
	size_t size_bytes;
	int r = metrics_text(metrics, METRICS_FORMAT_CLASSIC, &text, &size_bytes);

	if (r)
		return r;
	/* node_exporter takes what ends in .prom. */
	if (asprintf(&other, "%s.new", path) < 0) {
		other = NULL;
		return -ENOMEM;
	}
	fd = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	r = file_bytes_write(fd, (const uint8_t *)text, size_bytes, 0);
	return r ? r : rename(other, path) ? -errno : 0;
}

static void update_file(struct metrics_server *server)
{
	int r = server->file ? write_file(server->file, &server->metrics) : 0;

	if (r && !server->has_file_failed)
		(void)log_error_errno(r, "--metrics: cannot write %s", server->file);
	server->has_file_failed = r != 0;
}

/* False: it is time to end. */
static bool take_published(struct metrics_server *server)
{
	uint64_t count;
	bool is_ending;

	(void)!read(server->event_fd, &count, sizeof(count));
	(void)pthread_mutex_lock(&server->lock);
	server->metrics = server->published;
	is_ending = server->is_ending;
	(void)pthread_mutex_unlock(&server->lock);
	if (server->metrics.tool_version)
		update_file(server);
	return !is_ending;
}

static struct metrics_client *find_free(struct metrics_server *server)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (server->clients[i].fd < 0)
			return &server->clients[i];
	return NULL;
}

/* When all places are taken the rest waits to be accepted: each place is free within seconds. */
static void accept_clients(struct metrics_server *server)
{
	struct metrics_client *client;
	int fd;

	while ((client = find_free(server))) {
		fd = accept4(server->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		metrics_client_init(client, fd);
	}
}

static int until_deadline_ms(const struct metrics_server *server)
{
	const uint64_t ns_per_ms = 1000000;
	uint64_t now_ns = clock_monotonic_ns(), first_ns = UINT64_MAX;

	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (server->clients[i].fd >= 0 && server->clients[i].deadline_ns < first_ns)
			first_ns = server->clients[i].deadline_ns;
	if (first_ns == UINT64_MAX)
		return -1;
	return first_ns > now_ns ? (int)((first_ns - now_ns) / ns_per_ms) + 1 : 0;
}

static void handle_clients(struct metrics_server *server, const struct pollfd *fds)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct metrics_client *client = &server->clients[i];

		if (client->fd < 0)
			continue;
		if (now_ns >= client->deadline_ns ||
		    (fds[i].revents && !metrics_client_handle(client, &server->metrics)))
			metrics_client_deinit(client);
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
			fds[2 + i] = (struct pollfd){ .fd = server->clients[i].fd,
						      .events = metrics_client_events(
							      &server->clients[i]) };
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

	server->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->event_fd < 0)
		return log_error_errno(errno, "cannot serve metrics");
	r = thread_start(&server->thread, serve, server);
	server->has_thread = r == 0;
	return r ? log_error_errno(r, "cannot serve metrics") : 0;
}

int metrics_server_new(const char *address, struct metrics_server **ret_server)
{
	static const char file[] = "file:";
	_cleanup_(metrics_server_freep) struct metrics_server *server = calloc(1, sizeof(*server));
	int r = 0;

	if (!server)
		return log_error_errno(ENOMEM, "cannot serve metrics");
	server->event_fd = server->listener.fd = -1;
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		server->clients[i].fd = -1;
	(void)pthread_mutex_init(&server->lock, NULL);
	if (!strncmp(address, file, sizeof(file) - 1) && address[sizeof(file) - 1]) {
		server->file = strdup(address + sizeof(file) - 1);
		if (!server->file)
			r = log_error_errno(ENOMEM, "cannot serve metrics");
	} else {
		r = listener_open(address, &server->listener);
	}
	if (!r)
		r = start(server);
	if (!r)
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
			metrics_client_deinit(&server->clients[i]);
	listener_close(&server->listener);
	if (server->event_fd >= 0)
		(void)close(server->event_fd);
	(void)pthread_mutex_destroy(&server->lock);
	free(server->file);
	free(server);
}

void metrics_server_publish(struct metrics_server *server, const struct metrics *metrics)
{
	(void)pthread_mutex_lock(&server->lock);
	server->published = *metrics;
	(void)pthread_mutex_unlock(&server->lock);
	(void)eventfd_write(server->event_fd, 1);
}
