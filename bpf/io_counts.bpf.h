/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads and writes of threads (correlator/io_counts.h): counted in a thread's state at the exit of
 * each system call that moves data, and charged with its pending time, to the same account. So the
 * context need not be known when they are counted. Only native system calls are seen: no io_uring,
 * no mapped files. Without --io none of this is loaded: session.has_io is a constant 0 then.
 * Kernels before 6.8 verify global functions even if nothing calls them, so that each one asks for
 * it.
 *
 * The descriptor is looked up when the call ends. If another thread has closed it and opened
 * another file under its number meanwhile, that one is meant.
 */
#pragma once

#include "hold.bpf.h"
#include "open_file.bpf.h"
#include "socket_end.bpf.h"

#include <correlator/io_counts.h>

EPOCHS(io, struct io_key, struct io_sums, IO_PER_ACCOUNT *ACCOUNTS_MAX);

struct share_table io_share[2];

/* The paths of Unix sockets, by the hash that stands for them in an io_object. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, IO_PATHS_MAX);
	__type(key, __u64);
	__type(value, struct io_path);
} io_paths SEC(".maps");

/* A socket, for good: its address may come again, but then with another number. */
struct io_opening_key {
	__u64 sock;
	__u64 inode;
};

/* Connects and queries of DNS that are under way, by their sockets: when they began. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, IO_OPENINGS_MAX);
	__type(key, struct io_opening_key);
	__type(value, __u64);
} io_openings SEC(".maps");

/* Number of connects in io_openings, or more if some were forgotten. */
__u32 io_connects;

enum {
	/* linux/in.h */
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	PROTOCOL_MPTCP = 262,
	SOCKET_CONNECTS = 2, /* TCP_SYN_SENT, net/tcp_states.h */
	/* asm-generic/socket.h */
	LEVEL_SOCKET = 1,
	OPTION_ERROR = 4,
	/* asm-generic/errno.h, linux/errno.h */
	ERROR_INTERRUPTED = -4,
	ERROR_RESTARTS = -512, /* interrupted, and called again by the kernel: ERESTARTSYS */
	ERROR_TRY_AGAIN = -11,
	ERROR_ALREADY = -114,
	ERROR_IN_PROGRESS = -115,
	/* struct mmsghdr, linux/socket.h: a struct msghdr, which begins with the address of a
	 * struct sockaddr, and the number of bytes. */
	MESSAGE_BYTES = 64,
	MESSAGE_LENGTH_AT = 56,
};

/* struct sockaddr_in or sockaddr_in6, up to the address. */
struct io_user_address {
	__u16 family;
	__u16 port;
	__u8 bytes[20]; /* of IPv4 the first four, of IPv6 the last 16 */
};

/*
 * Whether others made this connection to the process. The port of a socket that connects is chosen
 * among ports whose fastreuse is -1, and no other socket has such a one (__inet_hash_connect(),
 * net/ipv4/inet_hashtables.c, v6.18); one that was bound before it connected counts as accepted.
 */
static __always_inline bool io_is_accepted(struct sock *sock)
{
	struct inet_connection_sock *tcp = (void *)sock;
	struct inet_bind_bucket *bucket = BPF_CORE_READ(tcp, icsk_bind_hash);

	return bucket && BPF_CORE_READ(bucket, fastreuse) >= 0;
}

/* The address that a datagram is sent to, or came from, if the call tells. */
static __always_inline void io_read_user_address(struct io_object *object, struct task_struct *task,
						 __s64 number)
{
	__u64 pointer = compat_call_fifth_argument(task);
	struct io_user_address address;

	if (number != BLOCKED_CALL_sendto && number != BLOCKED_CALL_recvfrom &&
	    bpf_probe_read_user(&pointer, sizeof(pointer),
				(const void *)compat_untag(compat_call_second_argument(task))))
		return;
	if (!pointer ||
	    bpf_probe_read_user(&address, sizeof(address), (const void *)compat_untag(pointer)))
		return;
	address.port = (__u16)(address.port << 8 | address.port >> 8);
	/* Datagrams come to a server from anybody. */
	if (io_way(number) & IO_IN && address.port != IO_DNS_PORT)
		return;
	if (address.family == FAMILY_IPV4) {
		__builtin_memset(object->end.address, 0, sizeof(object->end.address));
		__builtin_memcpy(object->end.address, address.bytes, 4);
	} else if (address.family == FAMILY_IPV6) {
		__builtin_memcpy(object->end.address, address.bytes + 4,
				 sizeof(object->end.address));
	} else {
		return;
	}
	object->end.is_ipv6 = address.family == FAMILY_IPV6;
	object->end.port = address.port;
	object->end.is_own = 0;
}

static __always_inline bool io_takes_address(__s64 number)
{
	return number == BLOCKED_CALL_sendto || number == BLOCKED_CALL_recvfrom ||
	       number == BLOCKED_CALL_sendmsg || number == BLOCKED_CALL_recvmsg ||
	       number == BLOCKED_CALL_sendmmsg || number == BLOCKED_CALL_recvmmsg;
}

/* Sets the object of a socket over IP. */
VERIFIED_ONCE int io_find_address(struct thread_state *thread, __u64 sock_address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sock *sock = (void *)sock_address;
	struct io_object *object;
	__u32 protocol;
	__s64 number;

	if (!session.has_io || !thread)
		return 0;
	object = &thread->io.now.object;
	number = compat_call(task).number;
	protocol = BPF_CORE_READ(sock, sk_protocol);
	if (protocol == PROTOCOL_TCP || protocol == PROTOCOL_MPTCP)
		object->on = IO_ON_TCP;
	else if (protocol == PROTOCOL_UDP)
		object->on = IO_ON_UDP;
	(void)socket_end_read(&object->end, sock, object->on == IO_ON_TCP && io_is_accepted(sock));
	if (object->on != IO_ON_UDP)
		return 0;
	if (object->end.is_own && io_takes_address(number))
		io_read_user_address(object, task, number);
	if (!object->end.is_own && object->end.port == IO_DNS_PORT)
		object->on = IO_ON_DNS;
	return 0;
}

/* Sets the object of a Unix socket. */
VERIFIED_ONCE int io_find_path(struct thread_state *thread, __u64 sock_address)
{
	/* Before 6.2 a map takes no key or value out of a global function's argument. */
	struct io_path path = { 0 };
	struct context_hash_state state;
	__u32 whose;
	__u64 hash;

	if (!session.has_io || !thread)
		return 0;
	thread->io.now.object.on = IO_ON_UNIX;
	whose = socket_path_read(path.text, (void *)sock_address);
	if (whose == SOCKET_PATH_NONE)
		return 0;
	context_hash_init(&state, (const struct context_hash_key *)&hash_key);
	for (__u32 i = 0; i < sizeof(path.words) / 8; i++)
		context_hash_add(&state, path.words[i]);
	hash = context_hash_final(&state);
	if (!bpf_map_lookup_elem(&io_paths, &hash) &&
	    bpf_map_update_elem(&io_paths, &hash, &path, BPF_NOEXIST) &&
	    !bpf_map_lookup_elem(&io_paths, &hash))
		return 0;
	__builtin_memcpy(thread->io.now.object.end.address, &hash, sizeof(hash));
	thread->io.now.object.end.is_own = whose == SOCKET_PATH_OWN;
	return 0;
}

/* Sets the object of a file. Returns its socket; 0 = it is none. */
static __always_inline __u64 io_find_object(struct thread_state *thread, struct file *file)
{
	struct io_object *object = &thread->io.now.object;
	__u32 kind = BPF_CORE_READ(file, f_inode, i_mode) & 0170000; /* linux/stat.h */
	struct socket *socket;
	struct sock *sock;
	__u32 family;

	__builtin_memset(object, 0, sizeof(*object));
	object->on = kind == 0010000					     ? IO_ON_PIPE
		     : kind == 0100000 || kind == 0060000 || kind == 0040000 ? IO_ON_FILE
									     : IO_ON_OTHER;
	if (kind != 0140000)
		return 0;
	object->on = IO_ON_SOCKET;
	socket = BPF_CORE_READ(file, private_data);
	sock = BPF_CORE_READ(socket, sk);
	if (!sock)
		return 0;
	family = BPF_CORE_READ(sock, __sk_common.skc_family);
	if (family == FAMILY_UNIX)
		(void)io_find_path(thread, (__u64)sock);
	else if (family == FAMILY_IPV4 || family == FAMILY_IPV6)
		(void)io_find_address(thread, (__u64)sock);
	return (__u64)sock;
}

/* Adds up the bytes of the first `count` messages, up to IO_MESSAGES_MAX. */
VERIFIED_ONCE __u64 io_message_bytes(__u64 messages, __u64 count)
{
	__u64 bytes = 0;
	__u32 length;

	for (__u32 i = 0; i < IO_MESSAGES_MAX; i++) {
		if (i >= count)
			break;
		if (bpf_probe_read_user(&length, sizeof(length),
					(const void *)compat_untag(messages + i * MESSAGE_BYTES +
								   MESSAGE_LENGTH_AT)))
			break;
		bytes += length;
	}
	return bytes;
}

static __always_inline void io_end_wait(struct thread_state *thread, __u64 since_ns)
{
	thread->io.now.sums.waits = 1;
	thread->io.now.sums.wait_ns = account_growth(thread->clock.mark_ns, since_ns);
}

static __always_inline void io_forget_connect(const struct io_opening_key *key)
{
	if (!bpf_map_delete_elem(&io_openings, key))
		__sync_fetch_and_sub(&io_connects, 1);
}

/*
 * A connect that went on in the background has ended if its socket does not connect any more: seen
 * at the first call after that. That of DNS ends with each answer, and the next one is awaited.
 */
VERIFIED_ONCE int io_follow_opening(struct thread_state *thread, __u64 sock_address, __u32 way)
{
	struct sock *sock = (void *)sock_address;
	struct socket *socket = BPF_CORE_READ(sock, sk_socket);
	struct io_opening_key key = { sock_address, 0 };
	__u64 now_ns, moved_bytes, *since_ns;

	if (!session.has_io || !thread || !socket)
		return 0;
	key.inode = BPF_CORE_READ(socket, file, f_inode, i_ino);
	now_ns = thread->clock.mark_ns;
	since_ns = bpf_map_lookup_elem(&io_openings, &key);
	if (thread->io.now.object.on == IO_ON_DNS) {
		moved_bytes = thread->io.now.sums.in_bytes + thread->io.now.sums.out_bytes;
		if (!moved_bytes)
			return 0;
		if (way & IO_IN && since_ns)
			io_end_wait(thread, *since_ns);
		(void)bpf_map_update_elem(&io_openings, &key, &now_ns, BPF_ANY);
		return 0;
	}
	if (!since_ns || BPF_CORE_READ(sock, __sk_common.skc_state) == SOCKET_CONNECTS)
		return 0;
	io_end_wait(thread, *since_ns);
	io_forget_connect(&key);
	return 0;
}

/* A connect() has returned. */
VERIFIED_ONCE int io_connect(struct thread_state *thread, __u64 sock_address, __s64 result)
{
	struct sock *sock = (void *)sock_address;
	struct socket *socket = BPF_CORE_READ(sock, sk_socket);
	struct io_opening_key key = { sock_address, 0 };
	__u64 began_ns, *since_ns;
	__u32 on;

	if (!session.has_io || !thread || !socket)
		return 0;
	on = thread->io.now.object.on;
	if ((on != IO_ON_TCP && on != IO_ON_UNIX) || result == ERROR_TRY_AGAIN ||
	    result == ERROR_ALREADY)
		return 0;
	key.inode = BPF_CORE_READ(socket, file, f_inode, i_ino);
	began_ns = thread->io.entered_ns;
	since_ns = bpf_map_lookup_elem(&io_openings, &key);
	if ((result == ERROR_INTERRUPTED || result == ERROR_RESTARTS) && since_ns)
		return 0;
	if (result == ERROR_IN_PROGRESS || result == ERROR_INTERRUPTED ||
	    result == ERROR_RESTARTS) {
		if (!bpf_map_update_elem(&io_openings, &key, &began_ns, BPF_ANY) && !since_ns)
			__sync_fetch_and_add(&io_connects, 1);
		return 0;
	}
	io_end_wait(thread, since_ns ? *since_ns : began_ns);
	if (since_ns)
		io_forget_connect(&key);
	return 0;
}

/* Counts what was found, and swaps directions for the other file of the call. */
static __always_inline void io_add(struct thread_state *thread)
{
	struct io_sums *sums = &thread->io.now.sums;
	__u64 in_bytes = sums->in_bytes;

	if (!io_counts_add(&thread->io, &thread->io.now.object, sums))
		count_loss(thread->life, COUNTER_IO_LOST);
	sums->in_bytes = sums->out_bytes;
	sums->out_bytes = in_bytes;
	sums->waits = sums->wait_ns = 0;
}

/* The call's second file, which what it read was written to, or the reverse. */
VERIFIED_ONCE int io_count_second(struct thread_state *thread, __u32 way)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file *file;

	if (!session.has_io || !thread)
		return 0;
	file = open_file(task, way & IO_TO_THIRD ? compat_call_third_argument(task)
						 : compat_call_second_argument(task));
	if (!file)
		return 0;
	(void)io_find_object(thread, file);
	io_add(thread);
	return 0;
}

/* Sets the sums of one call, without its waits. */
static __always_inline void io_measure(struct thread_state *thread, struct task_struct *task,
				       __u32 way, __s64 result)
{
	struct io_sums *sums = &thread->io.now.sums;
	__u64 bytes = result > 0 ? (__u64)result : 0;

	if (way & IO_MESSAGES && bytes > IO_MESSAGES_MAX)
		count_loss(thread->life, COUNTER_IO_LOST);
	if (way & IO_MESSAGES)
		bytes = io_message_bytes(compat_call_second_argument(task), bytes);
	__builtin_memset(sums, 0, sizeof(*sums));
	sums->calls = !(way & IO_ASKS);
	sums->in_bytes = way & IO_IN ? bytes : 0;
	sums->out_bytes = way & IO_OUT ? bytes : 0;
}

/* The current thread, whose books are written up to now, leaves a call. way: io_way() of it, not 0.
 */
VERIFIED_ONCE int io_count(struct thread_state *thread, __u32 way, __s64 result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct compat_call call = compat_call(task);
	struct file *file;
	__u64 sock;

	if (!session.has_io || !thread || compat_call_is_32_bit(task))
		return 0;
	if (way & IO_ASKS && (compat_call_second_argument(task) != LEVEL_SOCKET ||
			      compat_call_third_argument(task) != OPTION_ERROR))
		return 0;
	file = open_file(task, call.argument);
	if (!file)
		return 0;
	io_measure(thread, task, way, result);
	sock = io_find_object(thread, file);
	if (sock && way & IO_CONNECTS)
		(void)io_connect(thread, sock, result);
	else if (sock && (thread->io.now.object.on == IO_ON_DNS ||
			  (thread->io.now.object.on == IO_ON_TCP && io_connects)))
		(void)io_follow_opening(thread, sock, way);
	if (way & IO_ASKS && !thread->io.now.sums.waits)
		return 0;
	io_add(thread);
	if (way & (IO_FROM_SECOND | IO_TO_THIRD))
		(void)io_count_second(thread, way);
	return 0;
}

/* False: no space left. The account is of this thread, which is held: nothing else counts there. */
static __always_inline bool io_charge_place(const struct thread_state *thread, void *epoch,
					    const struct io_key *key, const struct io_sums *counted)
{
	struct io_sums fresh = *counted; /* as in io_find_path() */
	struct share_table *share = &io_share[thread->io.charged_epoch & 1];
	struct io_sums *sums = bpf_map_lookup_elem(epoch, key);

	if (sums) {
		io_sums_add(sums, &fresh);
		return true;
	}
	if (!share_has_room(share, thread->config.family, IO_PER_ACCOUNT * session.accounts_max) ||
	    bpf_map_update_elem(epoch, key, &fresh, BPF_NOEXIST))
		return false;
	share_add(share, thread->config.family);
	return true;
}

/* Adds all counts of the thread to the window; returns the number of calls that did not fit. */
static __always_inline __u64 io_charge_all(struct thread_state *thread)
{
	struct io_key key = {
		.account.context_hash = thread->io.charged_hash,
		.account.thread_serial = thread->serial,
		.account.life = thread->life,
	};
	__u32 active = thread->io.charged_epoch & 1;
	void *epoch = bpf_map_lookup_elem(&io, &active);
	__u64 lost = 0;

	for (__u32 i = 0; i < IO_PLACES; i++) {
		struct io_place *place = &thread->io.places[i];

		if (!place->object.on)
			break;
		key.object = place->object;
		if (!epoch || !io_charge_place(thread, epoch, &key, &place->sums))
			lost += place->sums.calls;
		__builtin_memset(place, 0, sizeof(*place));
	}
	return lost;
}

/* Call after charge_to_account(), with the thread still held. */
VERIFIED_ONCE int io_counts_charge(struct thread_state *thread)
{
	__u64 lost;

	if (!session.has_io || !thread || !thread->io.is_charged)
		return 0;
	thread->io.is_charged = 0;
	if (!thread->io.has_some)
		return 0;
	thread->io.has_some = thread->io.is_full = 0;
	lost = io_charge_all(thread);
	if (lost)
		count_losses(thread->life, COUNTER_IO_LOST, lost);
	return 0;
}
