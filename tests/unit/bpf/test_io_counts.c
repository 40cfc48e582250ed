/* SPDX-License-Identifier: GPL-2.0-only */
/* What calls read and write, by file and peer, the account that it is charged to, and what is lost:
 * bpf/io_counts.bpf.h. */
#include "bpf/forged_files.h"
#include "bpf/two_tasks.h"

#include "unit_test.h"

#include "syscall.bpf.h"

#define CHARGED_MAP  io
#define CHARGED_KEY  struct io_key
#define CHARGED_SUMS struct io_sums
#include "bpf/charged_map.h"

UNIT_TEST_ALONE;

enum {
	STEP_NS = 10, /* between two edges */
	SECOND = 2, /* a descriptor */
	NO_DESCRIPTOR = 1,
	OPENINGS = 4,
	ADDRESS_FAMILY = 0, /* offsets in a struct sockaddr, linux/in.h and in6.h */
	ADDRESS_PORT = 2,
	ADDRESS_IPV4 = 4,
	ADDRESS_IPV6 = 8,
	ADDRESS_BYTES = 28,
};

static struct {
	struct io_opening_key keys[OPENINGS];
	uint64_t since_ns[OPENINGS];
	size_t count;
	struct io_path path;
	uint64_t path_hash;
	bool has_no_paths;
} sockets;

static void *find_in_sockets(const void *map, const void *key)
{
	if (map == &io_paths)
		return sockets.path_hash && *(const uint64_t *)key == sockets.path_hash
			       ? &sockets.path
			       : NULL;
	for (size_t i = 0; map == &io_openings && i < sockets.count; i++)
		if (!memcmp(key, &sockets.keys[i], sizeof(sockets.keys[i])))
			return &sockets.since_ns[i];
	return charged_find(map, key);
}

static long update_sockets(const void *map, const void *key, const void *value, uint64_t flags)
{
	uint64_t *since_ns;

	if (map == &io_paths) {
		if (sockets.has_no_paths)
			return -ENOMEM;
		sockets.path_hash = *(const uint64_t *)key;
		sockets.path = *(const struct io_path *)value;
		return 0;
	}
	if (map != &io_openings)
		return charged_update(map, key, value, flags);
	since_ns = find_in_sockets(map, key);
	if (!since_ns) {
		assert_in_range(sockets.count, 0, OPENINGS - 1);
		sockets.keys[sockets.count] = *(const struct io_opening_key *)key;
		since_ns = &sockets.since_ns[sockets.count++];
	}
	*since_ns = *(const uint64_t *)value;
	return 0;
}

static bool remove_from_sockets(const void *map, const void *key)
{
	uint64_t *since_ns = map == &io_openings ? find_in_sockets(map, key) : NULL;

	if (since_ns)
		memset(&sockets.keys[since_ns - sockets.since_ns], 0, sizeof(sockets.keys[0]));
	return since_ns;
}

static int set_up(void **state)
{
	begin_charges(state);
	memset(&sockets, 0, sizeof(sockets));
	memset(&io_share, 0, sizeof(io_share));
	io_connects = 0;
	kernel.find = find_in_sockets;
	kernel.update = update_sockets;
	kernel.remove = remove_from_sockets;
	native_session.has_io = 1;
	memset(native_registers(), 0, sizeof(struct pt_regs___x86_call));
	begin_files();
	files.inode.i_mode = 0100644;
	return 0;
}

/* The arguments that be_in_call() does not set. */
static void set_arguments(uint64_t third, uint64_t fifth)
{
#ifdef __TARGET_ARCH_arm64
	struct pt_regs___arm64_call *registers = native_registers();

	registers->regs[2] = third;
	registers->regs[4] = fifth;
#else
	struct pt_regs___x86_call *registers = native_registers();

	registers->dx = third;
	registers->r8 = fifth;
#endif
}

static void enter(int64_t number)
{
	unsigned long long arguments[] = { (uintptr_t)native_registers(), (uint64_t)number };

	kernel.now_ns += STEP_NS;
	assert_int_equal(on_sys_enter(arguments), 0);
	assert_false(thread->is_busy);
}

static void leave(int64_t result)
{
	unsigned long long arguments[] = { (uintptr_t)native_registers(), (uint64_t)result };

	kernel.now_ns += STEP_NS;
	assert_int_equal(on_sys_exit(arguments), 0);
	assert_false(thread->is_busy);
}

/* A call with its first two arguments. */
static void call_with(int64_t number, uint64_t first, uint64_t second, int64_t result)
{
	be_in_call(number, first, second);
	enter(number);
	leave(result);
}

static void call(int64_t number, int64_t result)
{
	call_with(number, DESCRIPTOR, 0, result);
}

static void charge(void)
{
	charge_pending(thread, &kernel.current, kernel.now_ns);
}

static const struct io_place *place(size_t i)
{
	assert_true(thread->io.places[i].object.on != IO_ON_NOTHING);
	return &thread->io.places[i];
}

static void expect_place(size_t i, uint32_t on, uint64_t calls, uint64_t in_bytes,
			 uint64_t out_bytes)
{
	assert_int_equal(place(i)->object.on, on);
	assert_int_equal(place(i)->sums.calls, calls);
	assert_int_equal(place(i)->sums.in_bytes, in_bytes);
	assert_int_equal(place(i)->sums.out_bytes, out_bytes);
}

static void expect_wait(size_t i, uint64_t count, uint64_t wait_ns)
{
	assert_int_equal(place(i)->sums.waits, count);
	assert_int_equal(place(i)->sums.wait_ns, wait_ns);
}

static void expect_nothing_more(size_t i)
{
	assert_int_equal(thread->io.places[i].object.on, IO_ON_NOTHING);
}

static uint64_t lost(void)
{
	return process_of(LIFE)->books.losses[COUNTER_IO_LOST];
}

#define IO_TEST(test) TEST_WITH(test, set_up, NULL)

IO_TEST(io_counts_bytes_in_direction_of_call)
{
	call(BLOCKED_CALL_read, 100);
	call(BLOCKED_CALL_pread64, 20);
	call(BLOCKED_CALL_write, 3);
	expect_place(0, IO_ON_FILE, 3, 120, 3);
	expect_nothing_more(1);
}

IO_TEST(io_counts_calls_that_fail_without_bytes)
{
	call(BLOCKED_CALL_read, -11);
	call(BLOCKED_CALL_write, 0);
	call(BLOCKED_CALL_fsync, 0);
	expect_place(0, IO_ON_FILE, 3, 0, 0);
}

IO_TEST(io_does_not_count_other_calls_or_closed_descriptors)
{
	call(BLOCKED_CALL_futex, 100);
	call_with(BLOCKED_CALL_read, NO_DESCRIPTOR, 0, -9);
	call_with(BLOCKED_CALL_read, DESCRIPTOR + 1, 0, -9);
	expect_nothing_more(0);
	kernel.is_32_bit_call = true;
	call(BLOCKED_CALL_read, 100);
	expect_nothing_more(0);
	assert_int_equal(lost(), 0);
}

IO_TEST(io_tells_kinds_of_files_apart)
{
	static const struct {
		uint16_t mode;
		uint32_t on;
	} kinds[] = { { 0100644, IO_ON_FILE },
		      { 0010600, IO_ON_PIPE },
		      { 0020600, IO_ON_OTHER },
		      { 0060600, IO_ON_FILE } };

	for (size_t i = 0; i < 3; i++) {
		files.inode.i_mode = kinds[i].mode;
		call(BLOCKED_CALL_read, (int64_t)i + 1);
		expect_place(i, kinds[i].on, 1, i + 1, 0);
	}
	files.inode.i_mode = kinds[3].mode;
	call(BLOCKED_CALL_read, 7);
	expect_place(0, IO_ON_FILE, 2, 8, 0);
}

static struct sock_common *open_tcp(void)
{
	struct sock_common *sock = open_socket(FAMILY_IPV4);

	files.own.sock.sk_protocol = PROTOCOL_TCP;
	files.own.tcp.icsk_bind_hash = &files.bucket;
	files.bucket.fastreuse = -1;
	memcpy(&sock->skc_daddr, "\012\0\0\7", 4);
	memcpy(&sock->skc_rcv_saddr, "\012\0\0\1", 4);
	sock->skc_dport = 0x3815; /* 5432, in network byte order */
	sock->skc_num = 4000;
	return sock;
}

static void expect_end(size_t i, const char *address, uint16_t port, bool is_own)
{
	const struct socket_end *end = &place(i)->object.end;

	assert_memory_equal(end->address, address, 4);
	assert_int_equal(end->port, port);
	assert_int_equal(end->is_own, is_own);
}

IO_TEST(io_names_peer_of_connection_and_own_end_of_accepted_one)
{
	(void)open_tcp();
	call(BLOCKED_CALL_sendto, 5);
	expect_place(0, IO_ON_TCP, 1, 0, 5);
	expect_end(0, "\012\0\0\7", 5432, false);
	files.bucket.fastreuse = 0;
	call(BLOCKED_CALL_recvfrom, 6);
	expect_place(1, IO_ON_TCP, 1, 6, 0);
	expect_end(1, "\012\0\0\1", 4000, true);
	files.own.sock.sk_protocol = PROTOCOL_MPTCP;
	call(BLOCKED_CALL_recvfrom, 6);
	expect_place(1, IO_ON_TCP, 2, 12, 0);
}

IO_TEST(io_has_one_kind_for_sockets_of_other_families)
{
	(void)open_socket(16); /* netlink, linux/socket.h */
	call(BLOCKED_CALL_sendmsg, 5);
	expect_place(0, IO_ON_SOCKET, 1, 0, 5);
	files.socket.sk = NULL;
	call(BLOCKED_CALL_sendmsg, 5);
	expect_place(0, IO_ON_SOCKET, 2, 0, 10);
}

static struct sock_common *open_udp(void)
{
	struct sock_common *sock = open_tcp();

	files.own.sock.sk_protocol = PROTOCOL_UDP;
	return sock;
}

IO_TEST(io_tells_dns_by_protocol_and_port)
{
	struct sock_common *sock = open_udp();

	call(BLOCKED_CALL_write, 5);
	expect_place(0, IO_ON_UDP, 1, 0, 5);
	expect_end(0, "\012\0\0\7", 5432, false);
	sock->skc_dport = 0x3500;
	call(BLOCKED_CALL_write, 5);
	expect_place(1, IO_ON_DNS, 1, 0, 5);
	files.own.sock.sk_protocol = PROTOCOL_TCP;
	call(BLOCKED_CALL_write, 5);
	expect_place(2, IO_ON_TCP, 1, 0, 5);
}

static uint64_t user_address(uint16_t family, uint16_t port, size_t at, const char *bytes,
			     size_t size_bytes)
{
	uint8_t address[ADDRESS_BYTES] = { 0 };
	uint16_t big_endian = (uint16_t)(port << 8 | port >> 8);
	uint64_t taken = forged_take(&memory, sizeof(address));

	memcpy(address + ADDRESS_FAMILY, &family, sizeof(family));
	memcpy(address + ADDRESS_PORT, &big_endian, sizeof(big_endian));
	memcpy(address + at, bytes, size_bytes);
	forged_write(&memory, taken, address, sizeof(address));
	return taken;
}

IO_TEST(io_of_unconnected_datagrams_is_on_address_that_they_are_sent_to)
{
	struct sock_common *sock = open_udp();

	sock->skc_dport = 0;
	set_arguments(0, user_address(FAMILY_IPV4, 8125, ADDRESS_IPV4, "\012\0\0\3", 4));
	call(BLOCKED_CALL_sendto, 5);
	expect_place(0, IO_ON_UDP, 1, 0, 5);
	expect_end(0, "\012\0\0\3", 8125, false);
	/* From anybody. */
	call(BLOCKED_CALL_recvfrom, 6);
	expect_place(1, IO_ON_UDP, 1, 6, 0);
	expect_end(1, "\012\0\0\1", 4000, true);
	set_arguments(0, user_address(FAMILY_IPV4, 53, ADDRESS_IPV4, "\012\0\0\3", 4));
	call(BLOCKED_CALL_recvfrom, 6);
	expect_place(2, IO_ON_DNS, 1, 6, 0);
	set_arguments(0, user_address(FAMILY_IPV6, 53, ADDRESS_IPV6, "0123456789abcdef", 16));
	call(BLOCKED_CALL_sendto, 6);
	expect_place(3, IO_ON_DNS, 1, 0, 6);
	assert_memory_equal(place(3)->object.end.address, "0123456789abcdef", 16);
	assert_true(place(3)->object.end.is_ipv6);
	/* Not told, not readable, of no family of IP. */
	set_arguments(0, 0);
	call(BLOCKED_CALL_sendto, 7);
	set_arguments(0, 4096);
	call(BLOCKED_CALL_sendto, 8);
	set_arguments(0, user_address(1, 53, ADDRESS_IPV4, "\012\0\0\3", 4));
	call(BLOCKED_CALL_sendto, 9);
	expect_place(1, IO_ON_UDP, 4, 6, 24);
}

IO_TEST(io_finds_address_in_header_of_message)
{
	struct sock_common *sock = open_udp();
	uint64_t header = forged_take(&memory, 56);

	sock->skc_dport = 0;
	forged_write_u64(&memory, header,
			 user_address(FAMILY_IPV4, 53, ADDRESS_IPV4, "\012\0\0\3", 4));
	call_with(BLOCKED_CALL_sendmsg, DESCRIPTOR, header, 5);
	expect_place(0, IO_ON_DNS, 1, 0, 5);
	expect_end(0, "\012\0\0\3", 53, false);
	call_with(BLOCKED_CALL_sendmsg, DESCRIPTOR, 4096, 5);
	expect_end(1, "\012\0\0\1", 4000, true);
}

IO_TEST(io_counts_bytes_of_each_message_of_a_vector)
{
	uint64_t messages = forged_take(&memory, (IO_MESSAGES_MAX + 2) * MESSAGE_BYTES);

	for (uint64_t i = 0; i < IO_MESSAGES_MAX + 2; i++)
		forged_write_u64(&memory, messages + i * MESSAGE_BYTES + MESSAGE_LENGTH_AT, 10 + i);
	(void)open_tcp();
	call_with(BLOCKED_CALL_sendmmsg, DESCRIPTOR, messages, 2);
	expect_place(0, IO_ON_TCP, 1, 0, 21);
	call_with(BLOCKED_CALL_recvmmsg, DESCRIPTOR, messages, 1);
	expect_place(0, IO_ON_TCP, 2, 10, 21);
	call_with(BLOCKED_CALL_recvmmsg, DESCRIPTOR, 4096, 1);
	assert_int_equal(lost(), 0);
	/* Further messages are lost. */
	call_with(BLOCKED_CALL_sendmmsg, DESCRIPTOR, messages, IO_MESSAGES_MAX + 2);
	expect_place(0, IO_ON_TCP, 4, 10, 21 + IO_MESSAGES_MAX * (IO_MESSAGES_MAX + 19) / 2);
	assert_int_equal(lost(), 1);
}

IO_TEST(io_names_unix_socket_by_hash_of_path)
{
	uint64_t hash;

	(void)open_socket(FAMILY_UNIX);
	call(BLOCKED_CALL_read, 5);
	expect_place(0, IO_ON_UNIX, 1, 5, 0);
	assert_int_equal(sockets.path_hash, 0);
	name_unix(&files.own.unix_sock, files.own_address, "/run/own", 9);
	call(BLOCKED_CALL_read, 6);
	expect_place(1, IO_ON_UNIX, 1, 6, 0);
	assert_string_equal(sockets.path.text, "/run/own");
	memcpy(&hash, place(1)->object.end.address, sizeof(hash));
	assert_true(hash == sockets.path_hash);
	assert_true(place(1)->object.end.is_own);
	files.own.unix_sock.peer = &files.peer.sock;
	name_unix(&files.peer.unix_sock, files.peer_address, "/run/peer", 10);
	call(BLOCKED_CALL_read, 7);
	expect_place(2, IO_ON_UNIX, 1, 7, 0);
	assert_false(place(2)->object.end.is_own);
	call(BLOCKED_CALL_read, 7);
	expect_place(2, IO_ON_UNIX, 2, 14, 0);
	/* Without room for the path. */
	sockets.path_hash = 0;
	sockets.has_no_paths = true;
	call(BLOCKED_CALL_read, 1);
	expect_place(0, IO_ON_UNIX, 2, 6, 0);
}

IO_TEST(io_counts_both_files_of_a_copy)
{
	static struct file second;
	static struct inode pipe = { .i_mode = 0010600 };

	second.f_inode = &pipe;
	files.table[SECOND] = &second;
	call_with(BLOCKED_CALL_sendfile, SECOND, DESCRIPTOR, 50);
	expect_place(0, IO_ON_PIPE, 1, 0, 50);
	expect_place(1, IO_ON_FILE, 1, 50, 0);
	set_arguments(SECOND, 0);
	call_with(IO_CALL_splice, DESCRIPTOR, 0, 60);
	expect_place(0, IO_ON_PIPE, 2, 0, 110);
	expect_place(1, IO_ON_FILE, 2, 110, 0);
	set_arguments(NO_DESCRIPTOR, 0);
	call_with(IO_CALL_copy_file_range, DESCRIPTOR, 0, 1);
	expect_place(1, IO_ON_FILE, 3, 111, 0);
	expect_nothing_more(2);
}

IO_TEST(io_times_connect_that_blocks)
{
	(void)open_tcp();
	call(BLOCKED_CALL_connect, 0);
	expect_place(0, IO_ON_TCP, 1, 0, 0);
	expect_wait(0, 1, STEP_NS);
	/* A connect that fails has ended, too. */
	call(BLOCKED_CALL_connect, -111);
	expect_wait(0, 2, 2 * STEP_NS);
	/* This connect waits for a queue. */
	(void)open_socket(FAMILY_UNIX);
	call(BLOCKED_CALL_connect, -11);
	expect_wait(1, 0, 0);
	call(BLOCKED_CALL_connect, 0);
	expect_wait(1, 1, STEP_NS);
	/* It only sets a peer. */
	(void)open_udp();
	call(BLOCKED_CALL_connect, 0);
	expect_wait(2, 0, 0);
}

static void ask_for_error(void)
{
	set_arguments(OPTION_ERROR, 0);
	call_with(IO_CALL_getsockopt, DESCRIPTOR, LEVEL_SOCKET, 0);
}

IO_TEST(io_times_connect_in_background_until_it_is_seen_to_have_ended)
{
	struct sock_common *sock = open_tcp();

	sock->skc_state = SOCKET_CONNECTS;
	call(BLOCKED_CALL_connect, ERROR_IN_PROGRESS);
	ask_for_error();
	call(BLOCKED_CALL_connect, ERROR_ALREADY);
	expect_place(0, IO_ON_TCP, 2, 0, 0);
	expect_wait(0, 0, 0);
	sock->skc_state = 1;
	ask_for_error();
	expect_place(0, IO_ON_TCP, 2, 0, 0);
	expect_wait(0, 1, 7 * STEP_NS);
	ask_for_error();
	expect_wait(0, 1, 7 * STEP_NS);
	/* By the first transfer, */
	call(BLOCKED_CALL_connect, ERROR_INTERRUPTED);
	call(BLOCKED_CALL_write, 1);
	expect_wait(0, 2, 10 * STEP_NS);
	/* by the call that the kernel makes again after a signal, */
	call(BLOCKED_CALL_connect, ERROR_RESTARTS);
	call(BLOCKED_CALL_connect, ERROR_RESTARTS);
	call(BLOCKED_CALL_connect, 0);
	expect_wait(0, 3, 15 * STEP_NS);
	/* or by another connect(), which says so. */
	call(BLOCKED_CALL_connect, ERROR_IN_PROGRESS);
	call(BLOCKED_CALL_connect, -106);
	expect_wait(0, 4, 18 * STEP_NS);
}

IO_TEST(io_of_another_option_is_not_asked_for_connect)
{
	(void)open_tcp();
	call(BLOCKED_CALL_connect, ERROR_IN_PROGRESS);
	set_arguments(OPTION_ERROR + 1, 0);
	call_with(IO_CALL_getsockopt, DESCRIPTOR, LEVEL_SOCKET, 0);
	set_arguments(OPTION_ERROR, 0);
	call_with(IO_CALL_getsockopt, DESCRIPTOR, LEVEL_SOCKET + 5, 0);
	expect_wait(0, 0, 0);
	/* A socket that is not known to connect. */
	files.inode.i_ino++;
	ask_for_error();
	expect_wait(0, 0, 0);
}

IO_TEST(io_times_answers_of_dns_from_query_and_from_answer_before)
{
	struct sock_common *sock = open_udp();

	sock->skc_dport = 0x3500;
	call(BLOCKED_CALL_recvfrom, 9);
	expect_wait(0, 0, 0);
	call(BLOCKED_CALL_sendto, 5);
	call(BLOCKED_CALL_recvfrom, -11);
	expect_wait(0, 0, 0);
	call(BLOCKED_CALL_recvfrom, 50);
	expect_wait(0, 1, 4 * STEP_NS);
	call(BLOCKED_CALL_recvfrom, 50);
	expect_wait(0, 2, 6 * STEP_NS);
}

IO_TEST(io_is_charged_with_time_to_account)
{
	const struct io_key key = { .account = { CONTEXT_HASH_NONE, 6, LIFE },
				    .object = { .on = IO_ON_FILE } };
	const struct io_sums *sums;

	call(BLOCKED_CALL_read, 100);
	files.inode.i_mode = 0010600;
	call(BLOCKED_CALL_write, 2);
	assert_int_equal(bench.counts[0], 0);
	charge();
	assert_int_equal(bench.counts[0], 2);
	files.inode.i_mode = 0100644;
	call(BLOCKED_CALL_read, 10);
	charge();
	assert_int_equal(bench.counts[0], 2);
	sums = find_row(0, &key);
	assert_non_null(sums);
	assert_int_equal(sums->calls, 2);
	assert_int_equal(sums->in_bytes, 110);
	expect_nothing_more(0);
	assert_int_equal(io_share[0].used, 2);
	assert_int_equal(io_share[0].used_by[FAMILY], 2);
	assert_int_equal(lost(), 0);
}

IO_TEST(io_in_overflow_is_charged_to_overflow)
{
	const struct io_key key = { .account = { CONTEXT_HASH_OVERFLOW, 6, LIFE },
				    .object = { .on = IO_ON_FILE } };

	bench.opened.life = 0;
	call(BLOCKED_CALL_read, 100);
	charge();
	assert_non_null(find_row(0, &key));
}

IO_TEST(io_without_room_in_window_is_counted_as_lost)
{
	call(BLOCKED_CALL_read, 100);
	call(BLOCKED_CALL_read, 100);
	bench.is_full = true;
	charge();
	assert_int_equal(lost(), 2);
	call(BLOCKED_CALL_read, 100);
	bench.has_no_epochs = true;
	charge();
	assert_int_equal(lost(), 3);
	expect_nothing_more(0);
}

IO_TEST(io_at_held_books_is_counted_as_lost)
{
	be_in_call(BLOCKED_CALL_read, DESCRIPTOR, 0);
	enter(BLOCKED_CALL_read);
	thread->is_busy = 1;
	{
		unsigned long long arguments[] = { (uintptr_t)native_registers(), 7 };

		assert_int_equal(on_sys_exit(arguments), 0);
	}
	thread->is_busy = 0;
	assert_int_equal(lost(), 1);
}

static void read_from_port(uint16_t port)
{
	struct sock_common *sock = open_tcp();

	sock->skc_dport = port;
	call(BLOCKED_CALL_read, 1);
}

IO_TEST(io_of_many_peers_is_charged_before_places_run_out)
{
	for (uint16_t port = 1; port < IO_PLACES; port++)
		read_from_port(port);
	assert_true(thread->io.is_full);
	assert_int_equal(bench.counts[0], 0);
	/* At the entry of the next call. */
	read_from_port(IO_PLACES);
	assert_int_equal(bench.counts[0], IO_PLACES - 1);
	assert_false(thread->io.is_full);
	for (uint16_t port = IO_PLACES + 1; port < 3 * IO_PLACES; port++)
		read_from_port(port);
	charge();
	assert_int_equal(bench.counts[0], 3 * IO_PLACES - 1);
	assert_int_equal(lost(), 0);
}

IO_TEST(io_without_place_is_counted_as_lost)
{
	for (size_t i = 0; i < IO_PLACES; i++)
		thread->io.places[i].object =
			(struct io_object){ .on = IO_ON_TCP, .end.port = (__u16)i };
	be_in_call(BLOCKED_CALL_read, DESCRIPTOR, 0);
	assert_true(boundary_begin(thread, &kernel.current, kernel.now_ns, BOUNDARY_RETURN));
	(void)io_count(thread, IO_IN, 5);
	thread_release(thread);
	assert_int_equal(lost(), 1);
}

/* A call that moves nothing passes through the slot, one that does goes to the books. */
IO_TEST(io_takes_books_only_at_exits_of_its_calls)
{
	be_in_call(BLOCKED_CALL_futex, DESCRIPTOR, 0);
	enter(BLOCKED_CALL_futex);
	leave(0);
	assert_int_equal(kernel.edge_slot.serial, thread->serial);
	enter(BLOCKED_CALL_futex);
	leave(0);
	assert_int_equal(kernel.edge_slot.times.syscalls, 1);
	be_in_call(BLOCKED_CALL_read, DESCRIPTOR, 0);
	enter(BLOCKED_CALL_read);
	assert_int_equal(kernel.edge_slot.times.syscalls, 2);
	leave(7);
	expect_place(0, IO_ON_FILE, 1, 7, 0);
	assert_int_equal(thread->pending.syscalls, 3);
}
