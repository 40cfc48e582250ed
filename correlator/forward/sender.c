#include "forward/sender.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/thread.h"
#include "forward/sender_internal.h"

/* A collector that is gone is not waited for at the end, but for the time of one try. */
#define DRAIN_FAILING_NS NS_PER_S

static bool has_given_up(const struct sender *sender, uint64_t now_ns)
{
	return sender->options.give_up_ns &&
	       now_ns - sender->last_ack_ns >= sender->options.give_up_ns;
}

static void pause_before_retry(struct sender *sender)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t end_ns = now_ns + backoff_next(&sender->backoff, random_seed());

	if (sender->options.give_up_ns && end_ns > sender->last_ack_ns + sender->options.give_up_ns)
		end_ns = sender->last_ack_ns + sender->options.give_up_ns;
	waiter_idle(&sender->waiter, NULL, 0, end_ns);
}

/* Until a chunk may be there. A collector that closes meanwhile is noticed. */
static void wait_for_chunk(struct sender *sender)
{
	struct forward_peer *peer = sender->peers[sender->current];
	struct pollfd fds[] = {
		{ .fd = sender->source.event_fd, .events = POLLIN },
		{ .fd = forward_peer_fd(peer), .events = POLLIN },
	};

	waiter_idle(&sender->waiter, fds, sizeof(fds) / sizeof(fds[0]), UINT64_MAX);
	if (fds[1].revents)
		(void)forward_peer_check(peer);
}

/* False: it is over. */
static bool send_next(struct sender *sender)
{
	struct chunk chunk;
	int r = sender->source.next(sender->source.user, &chunk);

	if (r == -EAGAIN && !waiter_is_stopping(&sender->waiter)) {
		wait_for_chunk(sender);
		return true;
	}
	if (r < 0 && r != -ENOMEM)
		return false;
	if (r == 0 && sender_try_chunk(sender, &chunk) == DELIVERY_ACKED)
		return true;
	/* While stopping, a collector that does not take it now does not get it. */
	if (waiter_is_stopping(&sender->waiter))
		return false;
	if (has_given_up(sender, clock_monotonic_ns()))
		return false;
	pause_before_retry(sender);
	return !has_given_up(sender, clock_monotonic_ns());
}

static void *run(void *user)
{
	struct sender *sender = user;
	const uint64_t one = 1;

	while (send_next(sender))
		continue;
	for (size_t i = 0; i < sender->options.url_count; i++)
		forward_peer_close(sender->peers[i]);
	if (write(sender->ended_fd, &one, sizeof(one)) < 0)
		log_warning("cannot say that the sender has ended: %s", strerror(errno));
	return NULL;
}

static int make_peers(struct sender *sender)
{
	const struct sender_options *options = &sender->options;

	for (size_t i = 0; i < options->url_count; i++) {
		const struct forward_peer_options peer_options = {
			.url = &sender->urls[i],
			.tls = options->tls,
			.credentials = options->credentials,
			.client_name = options->client_name,
			.waiter = &sender->waiter,
			.wants_ack = !options->has_no_acks,
			.ack_timeout_ns = options->ack_timeout_ns,
		};

		sender->urls[i] = options->urls[i];
		sender->peers[i] = forward_peer_new(&peer_options);
		if (!sender->peers[i])
			return -ENOMEM;
	}
	if (options->is_gzip)
		sender->compressor = compressor_new();
	return options->is_gzip && !sender->compressor ? -ENOMEM : 0;
}

static int start_thread(struct sender *sender)
{
	int r = thread_start(&sender->thread, run, sender);

	sender->is_running = r == 0;
	return r;
}

int sender_start(const struct sender_options *options, const struct chunk_source *source,
		 struct sender **ret_sender)
{
	_cleanup_(sender_freep) struct sender *sender = calloc(1, sizeof(*sender));
	int r;

	if (!sender)
		return log_error_errno(ENOMEM, "cannot start sending");
	sender->options = *options;
	sender->source = *source;
	sender->backoff = (struct backoff){ .base_ns = options->backoff_base_ns,
					    .ceiling_max_ns = options->backoff_max_ns };
	sender->last_ack_ns = clock_monotonic_ns();
	(void)pthread_mutex_init(&sender->mutex, NULL);
	sender->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = waiter_init(&sender->waiter);
	if (r == 0)
		r = sender->ended_fd < 0 ? -errno : make_peers(sender);
	if (r == 0)
		r = start_thread(sender);
	if (r < 0)
		return log_error_errno(r, "cannot start sending");
	*ret_sender = TAKE_PTR(sender);
	return 0;
}

int sender_ended_fd(const struct sender *sender)
{
	return sender->ended_fd;
}

void sender_stop(struct sender *sender, uint64_t drain_ns)
{
	struct sender_status status;

	if (!sender->is_running)
		return;
	sender_get_status(sender, &status);
	if (status.failures && !status.is_delivering && drain_ns > DRAIN_FAILING_NS)
		drain_ns = DRAIN_FAILING_NS;
	waiter_stop(&sender->waiter, clock_monotonic_ns() + drain_ns);
	(void)pthread_join(sender->thread, NULL);
	sender->is_running = false;
}

void sender_free(struct sender *sender)
{
	if (!sender)
		return;
	sender_stop(sender, 0);
	for (size_t i = 0; i < sender->options.url_count; i++)
		forward_peer_free(sender->peers[i]);
	sender_forget_suspects(sender);
	compressor_free(sender->compressor);
	waiter_deinit(&sender->waiter);
	if (sender->ended_fd >= 0)
		(void)close(sender->ended_fd);
	(void)pthread_mutex_destroy(&sender->mutex);
	free(sender);
}

void sender_get_status(struct sender *sender, struct sender_status *ret_status)
{
	(void)pthread_mutex_lock(&sender->mutex);
	*ret_status = sender->status;
	(void)pthread_mutex_unlock(&sender->mutex);
}
