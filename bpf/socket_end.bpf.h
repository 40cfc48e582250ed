/* SPDX-License-Identifier: GPL-2.0-only */
/* The ends of a socket: the addresses of IP, the path of a Unix socket. */
#pragma once

#include "kernel_compat.bpf.h"

#include <correlator/socket_end.h>

enum {
	SOCKET_LISTENS = 10, /* TCP_LISTEN, net/tcp_states.h */
	FAMILY_UNIX = 1, /* linux/socket.h */
	FAMILY_IPV4 = 2,
	FAMILY_IPV6 = 10,
};

static __always_inline void socket_end_read_address(struct socket_end *end, struct sock *sock)
{
	__u32 address;

	if (!end->is_ipv6) {
		address = end->is_own ? BPF_CORE_READ(sock, __sk_common.skc_rcv_saddr)
				      : BPF_CORE_READ(sock, __sk_common.skc_daddr);
		__builtin_memcpy(end->address, &address, sizeof(address));
	} else if (bpf_core_field_exists(sock->__sk_common.skc_v6_daddr)) {
		(void)bpf_probe_read_kernel(end->address, sizeof(end->address),
					    end->is_own ? &sock->__sk_common.skc_v6_rcv_saddr
							: &sock->__sk_common.skc_v6_daddr);
	}
}

/* Reads the peer of a socket; its own end if it has no peer, or if wants_own. Sets all of *end,
 * which is all zeros. False: its family is not IP. */
static __always_inline bool socket_end_read(struct socket_end *end, struct sock *sock,
					    bool wants_own)
{
	__u16 family = BPF_CORE_READ(sock, __sk_common.skc_family);
	__u16 port = BPF_CORE_READ(sock, __sk_common.skc_dport);

	if (family != FAMILY_IPV4 && family != FAMILY_IPV6)
		return false;
	end->is_ipv6 = family == FAMILY_IPV6;
	end->is_own =
		wants_own || !port || BPF_CORE_READ(sock, __sk_common.skc_state) == SOCKET_LISTENS;
	end->port = (__u16)(port << 8 | port >> 8);
	if (end->is_own)
		end->port = BPF_CORE_READ(sock, __sk_common.skc_num);
	socket_end_read_address(end, sock);
	return true;
}

/* path has SOCKET_PATH_BYTES. An abstract one begins with @ in place of the NUL. */
static __always_inline bool socket_path_read_of(char *path, struct sock *sock)
{
	struct unix_sock *own = (void *)sock;
	struct unix_address *address = BPF_CORE_READ(own, addr);
	__s64 bytes = address ? (__s64)BPF_CORE_READ(address, len) - 2 : 0;

	if (bytes <= 0 || bytes > SOCKET_PATH_BYTES)
		return false;
	if (bpf_probe_read_kernel(path, (__u32)bytes,
				  (const char *)address +
					  bpf_core_field_offset(struct unix_address, name) + 2))
		return false;
	if (!path[0])
		path[0] = '@';
	return true;
}

enum socket_path {
	SOCKET_PATH_NONE = 0,
	SOCKET_PATH_OF_PEER = 1,
	SOCKET_PATH_OWN = 2, /* it listens, or was accepted */
};

/* Reads the path of a Unix socket, that of the end that listens or has listened, to path, which is
 * all zeros and has SOCKET_PATH_BYTES. Returns enum socket_path. */
static __always_inline __u32 socket_path_read(char *path, struct sock *sock)
{
	struct sock *peer;

	if (!bpf_core_field_exists(((struct unix_sock *)NULL)->peer))
		return SOCKET_PATH_NONE;
	peer = BPF_CORE_READ((struct unix_sock *)sock, peer);
	if (peer && socket_path_read_of(path, peer))
		return SOCKET_PATH_OF_PEER;
	return socket_path_read_of(path, sock) ? SOCKET_PATH_OWN : SOCKET_PATH_NONE;
}
