/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/metrics/metrics_server.h"

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
#include "base/cpu_budget.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/thread.h"
#include "recorder/metrics/metrics_pages.h"
#include "recorder/metrics/scraper.h"
#include "recorder/net/listener.h"

enum {
	SCRAPERS_MAX = 8,
	SCRAPER_MS = 5000, /* from connecting to the last byte */
	DAWDLE_MS = 100, /* since it last took 64 KiB, if another scraper may wait */
	RETRY_S = 5, /* for an address that another process has */
	FILE_MODE = 0644, /* readable by all, like HTTP answers */
};

struct metrics_server {
	pthread_t thread;
	bool has_thread;
	int event_fd; /* new metrics, or the end */
	pthread_mutex_t lock; /* guards published and is_ending */
	struct metrics published;
	struct request_figures *published_requests; /* published.requests, owned; NULL = none */
	bool is_ending;
	/* Owned by the thread: */
	struct metrics metrics; /* served now */
	struct request_figures *requests; /* metrics.requests, owned */
	struct metrics_pages pages; /* metrics as text */
	char *address; /* to listen on; NULL = writes a file */
	struct listener listener;
	uint64_t retry_ns; /* CLOCK_MONOTONIC: next try to listen; UINT64_MAX = listening */
	struct scraper scrapers[SCRAPERS_MAX];
	struct cpu_budget budget; /* for serving requests */
	uint64_t cpu_ns; /* of the thread, at the last check */
	char *file; /* NULL = none */
	bool has_file_failed;
};

/*
 * Replaces the file atomically: readers never see a partial one. node_exporter reads names that end
 * in .prom.
 */
static int write_file(struct metrics_server *server)
{
	struct metrics_page *page =
		metrics_pages_hold(&server->pages, &server->metrics, METRICS_FORMAT_CLASSIC);
	struct output_file file;
	int r = page ? output_file_begin(server->file, FILE_MODE, &file) : -ENOMEM;

	if (r == 0) {
		(void)fwrite(page->text, 1, page->size_bytes, file.file);
		r = output_file_end(&file, 0);
	}
	metrics_page_release(page);
	return r;
}

static void update_file(struct metrics_server *server)
{
	int r;

	if (!server->file)
		return;
	r = write_file(server);
	if (r < 0 && !server->has_file_failed)
		(void)log_error_errno(r, "--metrics: cannot write %s", server->file);
	server->has_file_failed = r < 0;
}

/* Copies from, and its request figures into figures, which must be large enough. */
static void take(struct metrics *metrics, struct request_figures *figures,
		 const struct metrics *from)
{
	*metrics = *from;
	metrics->requests = figures;
	if (figures)
		request_figures_assign(figures, from->requests);
}

/* False: the thread must end. */
static bool take_published(struct metrics_server *server)
{
	eventfd_t count;
	bool is_ending;

	(void)eventfd_read(server->event_fd, &count);
	(void)pthread_mutex_lock(&server->lock);
	take(&server->metrics, server->requests, &server->published);
	is_ending = server->is_ending;
	(void)pthread_mutex_unlock(&server->lock);
	metrics_pages_forget(&server->pages);
	update_file(server);
	return !is_ending;
}

/* When its time is over, and when it may be evicted for another one (CLOCK_MONOTONIC). */
static uint64_t end_ns(const struct scraper *scraper)
{
	return scraper->begin_ns + SCRAPER_MS * NS_PER_MS;
}

static uint64_t dawdles_ns(const struct scraper *scraper)
{
	return scraper->moved_ns + DAWDLE_MS * NS_PER_MS;
}

static int listen_now(struct metrics_server *server)
{
	int r = listener_open(server->address, &server->listener);

	if (r < 0)
		return r;
	server->retry_ns = UINT64_MAX;
	if (server->listener.port)
		log_info("metrics on port %d", server->listener.port);
	return 0;
}

static void listen_again(struct metrics_server *server, uint64_t now_ns)
{
	if (now_ns >= server->retry_ns && listen_now(server) < 0)
		server->retry_ns = now_ns + RETRY_S * NS_PER_S;
}

/* True if one is evicted for a new scraper before other. */
static bool yields_before(const struct scraper *one, const struct scraper *other)
{
	if (!one->head_bytes != !other->head_bytes)
		return !one->head_bytes;
	return one->moved_ns < other->moved_ns;
}

/* A free place, or else that of the first scraper to evict, if any dawdles; NULL: none. */
static struct scraper *find_place(struct metrics_server *server, uint64_t now_ns)
{
	struct scraper *found = NULL;

	for (size_t i = 0; i < SCRAPERS_MAX; i++) {
		struct scraper *scraper = &server->scrapers[i];

		if (scraper->fd < 0)
			return scraper;
		if (now_ns >= dawdles_ns(scraper) && (!found || yields_before(scraper, found)))
			found = scraper;
	}
	return found;
}

/* Accepts scrapers while there is a place for them; the kernel queues the rest. */
static void accept_scrapers(struct metrics_server *server, uint64_t now_ns)
{
	struct scraper *scraper;
	int fd;

	while ((scraper = find_place(server, now_ns))) {
		fd = accept4(server->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		if (scraper->fd >= 0)
			scraper_end(scraper);
		scraper_begin(scraper, fd, server->listener.port != 0, now_ns);
	}
}

/* The time (CLOCK_MONOTONIC) of the next deadline; UINT64_MAX = none. */
static uint64_t next_ns(struct metrics_server *server, uint64_t now_ns)
{
	uint64_t first_ns = server->retry_ns;
	bool has_place = find_place(server, now_ns) != NULL;

	for (size_t i = 0; i < SCRAPERS_MAX; i++) {
		const struct scraper *scraper = &server->scrapers[i];
		uint64_t ns = end_ns(scraper);

		if (scraper->fd < 0)
			continue;
		if (!has_place && dawdles_ns(scraper) < ns)
			ns = dawdles_ns(scraper);
		if (ns < first_ns)
			first_ns = ns;
	}
	return first_ns;
}

static int timeout_ms(uint64_t until_ns, uint64_t now_ns)
{
	if (until_ns == UINT64_MAX)
		return -1;
	return until_ns > now_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

static void handle_scrapers(struct metrics_server *server, const struct pollfd *fds,
			    uint64_t now_ns)
{
	for (size_t i = 0; i < SCRAPERS_MAX; i++) {
		struct scraper *scraper = &server->scrapers[i];

		if (scraper->fd >= 0 &&
		    (now_ns >= end_ns(scraper) ||
		     (fds[i].revents &&
		      !scraper_go_on(scraper, &server->pages, &server->metrics, now_ns))))
			scraper_end(scraper);
	}
}

/* Waits for events and deadlines of the listener and the scrapers, and handles them. */
static void await_scrapers(struct metrics_server *server, struct pollfd *fds)
{
	uint64_t now_ns = clock_monotonic_ns();

	fds[1] = (struct pollfd){ .fd = find_place(server, now_ns) ? server->listener.fd : -1,
				  .events = POLLIN };
	for (size_t i = 0; i < SCRAPERS_MAX; i++)
		fds[2 + i] = (struct pollfd){ .fd = server->scrapers[i].fd,
					      .events = scraper_events(&server->scrapers[i]) };
	(void)poll(fds, 2 + SCRAPERS_MAX, timeout_ms(next_ns(server, now_ns), now_ns));
	now_ns = clock_monotonic_ns();
	listen_again(server, now_ns);
	handle_scrapers(server, fds + 2, now_ns);
	if (fds[1].revents)
		accept_scrapers(server, now_ns);
}

/* Serves nobody until until_ns, and moves all deadlines by the length of the pause. */
static void pause_until(struct metrics_server *server, struct pollfd *event, uint64_t until_ns)
{
	uint64_t begin_ns = clock_monotonic_ns(), paused_ns;

	(void)poll(event, 1, timeout_ms(until_ns, begin_ns));
	paused_ns = clock_monotonic_ns() - begin_ns;
	for (size_t i = 0; i < SCRAPERS_MAX; i++) {
		server->scrapers[i].begin_ns += paused_ns;
		server->scrapers[i].moved_ns += paused_ns;
	}
}

/* Charges the budget with the CPU time that the thread has used since the last call. */
static void spend(struct metrics_server *server, uint64_t now_ns)
{
	uint64_t cpu_ns = clock_thread_cpu_ns();

	cpu_budget_spend(&server->budget, now_ns, cpu_ns - server->cpu_ns);
	server->cpu_ns = cpu_ns;
}

static void *serve(void *user)
{
	struct metrics_server *server = user;
	struct pollfd fds[2 + SCRAPERS_MAX];

	for (;;) {
		uint64_t now_ns = clock_monotonic_ns(), until_ns;

		spend(server, now_ns);
		until_ns = cpu_budget_next_ns(&server->budget, now_ns);
		fds[0] = (struct pollfd){ .fd = server->event_fd, .events = POLLIN };
		if (until_ns > now_ns)
			pause_until(server, fds, until_ns);
		else
			await_scrapers(server, fds);
		if (fds[0].revents && !take_published(server))
			return NULL;
	}
}

static int start(struct metrics_server *server)
{
	int r;

	/* There are metrics to publish at once. */
	server->event_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->event_fd < 0)
		return log_error_errno(errno, "cannot serve metrics");
	r = thread_start(&server->thread, serve, server);
	server->has_thread = r == 0;
	return r < 0 ? log_error_errno(r, "cannot serve metrics") : 0;
}

/* If another process has the address, it may become free later: the recording starts without it. */
static int listen_at(struct metrics_server *server, const char *address)
{
	int r;

	server->address = strdup(address);
	if (!server->address)
		return log_error_errno(ENOMEM, "cannot serve metrics");
	r = listen_now(server);
	if (r == -EINVAL)
		return log_error(EINVAL,
				 "--metrics %s: not unix:PATH, tcp://127.0.0.1:PORT, "
				 "tcp://[::1]:PORT or file:PATH",
				 address);
	if (r < 0 && r != -EADDRINUSE)
		return log_error_errno(r, "--metrics: cannot listen on %s", address);
	if (r < 0) {
		log_warning("--metrics: another process listens on %s: it is tried again every "
			    "%d s",
			    address, RETRY_S);
		server->retry_ns = clock_monotonic_ns() + RETRY_S * NS_PER_S;
	}
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
	server->retry_ns = UINT64_MAX;
	for (size_t i = 0; i < SCRAPERS_MAX; i++)
		server->scrapers[i].fd = -1;
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
		r = listen_at(server, address);
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
	for (size_t i = 0; i < SCRAPERS_MAX; i++)
		if (server->scrapers[i].fd >= 0)
			scraper_end(&server->scrapers[i]);
	metrics_pages_forget(&server->pages);
	listener_close(&server->listener);
	cleanup_fd(&server->event_fd);
	(void)pthread_mutex_destroy(&server->lock);
	free(server->published_requests);
	free(server->requests);
	free(server->address);
	free(server->file);
	free(server);
}

uint64_t metrics_server_pages(const struct metrics_server *server)
{
	return atomic_load(&server->pages.held);
}

uint64_t metrics_server_cpu_ns(const struct metrics_server *server)
{
	return clock_cpu_of_thread_ns(server->thread);
}

void metrics_server_publish(struct metrics_server *server, const struct metrics *metrics)
{
	(void)pthread_mutex_lock(&server->lock);
	take(&server->published, server->published_requests, metrics);
	(void)pthread_mutex_unlock(&server->lock);
	(void)eventfd_write(server->event_fd, 1);
}
