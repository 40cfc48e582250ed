/* SPDX-License-Identifier: GPL-2.0-only */
/* The collector's part of the handshake, written from the protocol's specification alone. */
#pragma once

#include <stdbool.h>

#include <msgpack.h>

void collector_hello(bool is_kept_alive, msgpack_sbuffer *bytes);
/* ["PING", host, salt, digest, user, password]. False: the digest is not of that key. */
bool collector_pong(const msgpack_object_array *ping, const char *key, msgpack_sbuffer *bytes);
