/* SPDX-License-Identifier: GPL-2.0-only */
#include "forward/collector.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <msgpack.h>

#include "forward/collector_handshake.h"
#include "forward/kept.h"
#include "recorder/queue/numbered_entries.h"

enum {
	ID_BYTES = 64,
};

struct collector {
	struct collector_options options;
	struct sockaddr_un address;
	int listen_fd, stop_fd;
	pthread_t thread;
	struct kept kept;
	uint64_t sent_bytes_max;
	uint64_t connections;
	uint64_t message_ends[COLLECTOR_MESSAGES_MAX]; /* of the first connection */
	size_t messages;
};

struct connection {
	struct collector *collector;
	int fd;
	uint64_t sent_bytes;
	uint64_t received_bytes;
	msgpack_unpacker unpacker;
	bool is_known; /* the handshake is done, or there is none */
};

static void check(bool is_ok, const char *what)
{
	if (is_ok)
		return;
	(void)fprintf(stderr, "collector: %s: %s\n", what, strerror(errno));
	abort();
}

static void listen_on(struct collector *collector)
{
	(void)unlink(collector->address.sun_path);
	collector->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	check(collector->listen_fd >= 0, "socket");
	check(!bind(collector->listen_fd, (const struct sockaddr *)&collector->address,
		    sizeof(collector->address)),
	      "bind");
	check(!listen(collector->listen_fd, 8), "listen");
}

/* False: the other end is gone, or it is time to stop. */
static bool await(const struct collector *collector, int fd, short events)
{
	struct pollfd fds[] = { { .fd = collector->stop_fd, .events = POLLIN },
				{ .fd = fd, .events = events } };

	while (poll(fds, 2, -1) < 0)
		continue;
	return !fds[0].revents;
}

/* False: the connection is over, by its end or ours. */
static bool send_bytes(struct connection *connection, const void *bytes, size_t size_bytes)
{
	struct collector *collector = connection->collector;
	uint64_t cut = collector->options.cut_after_bytes;
	bool is_cut = false;

	if (collector->options.cuts && connection->sent_bytes + size_bytes >= cut) {
		size_bytes = cut > connection->sent_bytes ? cut - connection->sent_bytes : 0;
		collector->options.cuts--;
		is_cut = true;
	}
	connection->sent_bytes += size_bytes;
	if (connection->sent_bytes > collector->sent_bytes_max)
		collector->sent_bytes_max = connection->sent_bytes;
	if (size_bytes && send(connection->fd, bytes, size_bytes, MSG_NOSIGNAL) < 0)
		return false;
	return !is_cut;
}

/* How many; 0: it is over. */
static size_t receive(struct connection *connection, size_t most_bytes)
{
	ssize_t got;

	if (!await(connection->collector, connection->fd, POLLIN))
		return 0;
	check(msgpack_unpacker_reserve_buffer(&connection->unpacker, most_bytes), "memory");
	got = recv(connection->fd, msgpack_unpacker_buffer(&connection->unpacker), most_bytes, 0);
	if (got <= 0)
		return 0;
	msgpack_unpacker_buffer_consumed(&connection->unpacker, (size_t)got);
	connection->received_bytes += (uint64_t)got;
	return (size_t)got;
}

static bool send_hello(struct connection *connection)
{
	msgpack_sbuffer bytes;
	bool is_sent;

	msgpack_sbuffer_init(&bytes);
	collector_hello(!connection->collector->options.says_that_it_closes, &bytes);
	is_sent = send_bytes(connection, bytes.data, bytes.size);
	msgpack_sbuffer_destroy(&bytes);
	return is_sent;
}

static bool answer_ping(struct connection *connection, const msgpack_object_array *ping)
{
	msgpack_sbuffer bytes;
	bool is_sent;

	msgpack_sbuffer_init(&bytes);
	check(collector_pong(ping, connection->collector->options.shared_key, &bytes), "PING");
	is_sent = send_bytes(connection, bytes.data, bytes.size);
	msgpack_sbuffer_destroy(&bytes);
	return is_sent;
}

static bool send_ack(struct connection *connection, const char *id, size_t most_bytes, bool is_slow)
{
	char bytes[ID_BYTES + 16];
	int size = snprintf(bytes, sizeof(bytes),
			    "\x81\xa3"
			    "ack%c%s",
			    (char)(0xa0 | (strlen(id) & 0x1f)), id);

	if ((size_t)size > most_bytes)
		size = (int)most_bytes;
	for (int i = 0; is_slow && i < size; i++) {
		if (!send_bytes(connection, bytes + i, 1))
			return false;
		(void)usleep(20);
	}
	return is_slow || send_bytes(connection, bytes, (size_t)size);
}

static void reset(int fd)
{
	/* Unread bytes make a Unix socket reset; TCP by its linger time. */
	const struct linger now = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static bool has_number(const msgpack_object_bin *entries, uint64_t number)
{
	for (size_t i = 0; i < entries->size / sizeof(struct numbered_entry); i++)
		if (entry_number(entries->ptr, i) == number)
			return true;
	return false;
}

static void await_end(struct connection *connection)
{
	char bytes[256];

	while (await(connection->collector, connection->fd, POLLIN) &&
	       recv(connection->fd, bytes, sizeof(bytes), 0) > 0)
		continue;
}

/* False: the connection ends. */
static bool respond(struct connection *connection, const char *id,
		    const msgpack_object_bin *entries, struct fault_plan plan)
{
	static const char huge[] = "\xdb\xff\xff\xff\xff....";
	struct collector *collector = connection->collector;

	switch (plan.fault) {
	case FAULT_KEEP_AND_CLOSE:
		kept_add(&collector->kept, id, entries->ptr, entries->size);
		return false;
	case FAULT_CUT_ACK:
		kept_add(&collector->kept, id, entries->ptr, entries->size);
		(void)send_ack(connection, id, plan.bytes % 30, false);
		return false;
	case FAULT_SILENT:
		await_end(connection);
		return false;
	case FAULT_WRONG_ACK:
		(void)send_ack(connection, "AAAAAAAAAAAAAAAAAAAAAA==", ID_BYTES, false);
		await_end(connection);
		return false;
	case FAULT_EMPTY_MAP:
		(void)send_bytes(connection, "\x80", 1);
		await_end(connection);
		return false;
	case FAULT_GARBAGE:
		(void)send_bytes(connection, "\xc1\xff{", 3);
		await_end(connection);
		return false;
	case FAULT_HUGE:
		for (size_t i = 0; i < 100; i++)
			if (!send_bytes(connection, huge, sizeof(huge) - 1))
				return false;
		await_end(connection);
		return false;
	case FAULT_ABSENT:
		(void)close(collector->listen_fd);
		(void)shutdown(connection->fd, SHUT_RDWR);
		(void)usleep(plan.bytes % 200 * 10);
		listen_on(collector);
		return false;
	case FAULT_CLOSE_EARLY:
	case FAULT_RESET_EARLY:
		return false;
	default:
		kept_add(&collector->kept, id, entries->ptr, entries->size);
		return send_ack(connection, id, ID_BYTES, plan.fault == FAULT_SLOW_ACK) &&
		       !collector->options.says_that_it_closes;
	}
}

/* [tag, bin, {"size": n, "chunk": id}] */
static bool handle_chunk(struct connection *connection, const msgpack_object_array *request)
{
	static const char tag[] = "correlator.test";
	struct collector *collector = connection->collector;
	const msgpack_object_bin *entries;
	const msgpack_object_map *option;
	char id[ID_BYTES] = "";
	uint64_t size = 0;

	check(request->size == 3 && request->ptr[1].type == MSGPACK_OBJECT_BIN &&
		      request->ptr[2].type == MSGPACK_OBJECT_MAP,
	      "no PackedForward");
	check(request->ptr[0].type == MSGPACK_OBJECT_STR &&
		      request->ptr[0].via.str.size == strlen(tag) &&
		      !memcmp(request->ptr[0].via.str.ptr, tag, strlen(tag)),
	      "tag");
	entries = &request->ptr[1].via.bin;
	option = &request->ptr[2].via.map;
	for (uint32_t i = 0; i < option->size; i++) {
		const msgpack_object_kv *pair = &option->ptr[i];

		if (pair->val.type == MSGPACK_OBJECT_STR)
			(void)snprintf(id, sizeof(id), "%.*s", (int)pair->val.via.str.size,
				       pair->val.via.str.ptr);
		else if (pair->val.type == MSGPACK_OBJECT_POSITIVE_INTEGER)
			size = pair->val.via.u64;
	}
	check(strlen(id) == 24 && size == entries->size / sizeof(struct numbered_entry), "option");
	if (has_number(entries, collector->options.poison))
		return false;
	return respond(connection, id, entries,
		       collector->options.plan
			       ? collector->options.plan(collector->options.user,
							 entry_number(entries->ptr, 0),
							 (uint32_t)size)
			       : (struct fault_plan){ 0 });
}

static bool handle_message(struct connection *connection, const msgpack_object *message)
{
	struct collector *collector = connection->collector;

	check(message->type == MSGPACK_OBJECT_ARRAY, "no array");
	if (collector->connections == 1 && collector->messages < COLLECTOR_MESSAGES_MAX)
		collector->message_ends[collector->messages++] = connection->received_bytes;
	if (connection->is_known)
		return handle_chunk(connection, &message->via.array);
	connection->is_known = true;
	return answer_ping(connection, &message->via.array);
}

/* The plan of a chunk that is not even read is made before it comes. */
static bool serve_next(struct connection *connection)
{
	msgpack_unpacked message;
	msgpack_unpack_return r;
	bool goes_on = true;

	msgpack_unpacked_init(&message);
	while (goes_on && (r = msgpack_unpacker_next(&connection->unpacker, &message)) ==
				  MSGPACK_UNPACK_SUCCESS)
		goes_on = handle_message(connection, &message.data);
	msgpack_unpacked_destroy(&message);
	return goes_on;
}

/* The last byte alone: what is whole before it is answered. */
static size_t step_of(const struct fault_plan *early, uint64_t left)
{
	const size_t most_bytes = 65536;

	if (early->fault == FAULT_SLOW_READ)
		return 16;
	if (left > most_bytes)
		return most_bytes;
	return left > 1 ? left - 1 : 1;
}

static void serve(struct collector *collector, int fd)
{
	struct connection connection = { .collector = collector,
					 .fd = fd,
					 .is_known = !collector->options.shared_key };
	struct fault_plan early = { 0 };
	uint64_t left = UINT64_MAX; /* bytes to read before it ends */
	size_t got;

	collector->connections++;
	check(msgpack_unpacker_init(&connection.unpacker, 4096), "memory");
	if (collector->options.plan)
		early = collector->options.plan(collector->options.user, UINT64_MAX, 0);
	if (early.fault == FAULT_CLOSE_EARLY || early.fault == FAULT_RESET_EARLY)
		left = early.bytes ? early.bytes : 1;
	if (connection.is_known || send_hello(&connection))
		while ((got = receive(&connection, step_of(&early, left)))) {
			left -= got;
			if (!left || !serve_next(&connection))
				break;
		}
	if (early.fault == FAULT_RESET_EARLY)
		reset(fd);
	msgpack_unpacker_destroy(&connection.unpacker);
	(void)close(fd);
}

static void *run(void *user)
{
	struct collector *collector = user;
	int fd;

	while (await(collector, collector->listen_fd, POLLIN)) {
		fd = accept4(collector->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			serve(collector, fd);
	}
	return NULL;
}

struct collector *collector_start(const char *path, const struct collector_options *options)
{
	struct collector *collector = calloc(1, sizeof(*collector));

	check(collector != NULL, "memory");
	collector->options = *options;
	collector->address.sun_family = AF_UNIX;
	(void)snprintf(collector->address.sun_path, sizeof(collector->address.sun_path), "%s",
		       path);
	collector->stop_fd = eventfd(0, EFD_CLOEXEC);
	kept_init(&collector->kept);
	listen_on(collector);
	check(!pthread_create(&collector->thread, NULL, run, collector), "thread");
	return collector;
}

void collector_stop(struct collector *collector)
{
	check(!eventfd_write(collector->stop_fd, 1), "eventfd");
	(void)pthread_join(collector->thread, NULL);
	(void)close(collector->stop_fd);
	(void)close(collector->listen_fd);
	(void)unlink(collector->address.sun_path);
	kept_deinit(&collector->kept);
	free(collector);
}

uint32_t collector_count(struct collector *collector, uint64_t number)
{
	return kept_count(&collector->kept, number);
}

uint64_t collector_changed_chunks(struct collector *collector)
{
	return kept_changed_chunks(&collector->kept);
}

uint64_t collector_sent_bytes(struct collector *collector)
{
	return collector->sent_bytes_max;
}

size_t collector_message_ends(const struct collector *collector,
			      uint64_t ret_ends[static COLLECTOR_MESSAGES_MAX])
{
	memcpy(ret_ends, collector->message_ends, sizeof(collector->message_ends));
	return collector->messages;
}
