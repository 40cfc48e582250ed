/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/tls.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/log.h"

struct tls_context {
	SSL_CTX *ssl_context;
	char *server_name; /* NULL = the URL's host */
	bool is_unverified;
};

struct tls_stream {
	SSL *ssl;
	const char *host; /* of the URL */
};

/* The oldest error is the cause. Empties OpenSSL's queue. */
static const char *take_reason(void)
{
	unsigned long error = ERR_get_error();
	const char *reason = NULL;

	/* OpenSSL has no text for system errors (ERR_reason_error_string(3)). */
	if (error)
		reason = ERR_SYSTEM_ERROR(error) ? strerror((int)ERR_GET_REASON(error))
						 : ERR_reason_error_string(error);
	ERR_clear_error();
	return reason ? reason : "no reason given";
}

static int refuse_file(const char *what, const char *path)
{
	return log_error(EINVAL, "cannot use %s as %s: %s", path, what, take_reason());
}

static int load_authorities(SSL_CTX *ssl_context, const char *path)
{
	struct stat status;
	bool is_folder;

	if (!path) {
		if (SSL_CTX_set_default_verify_paths(ssl_context) == 1)
			return 0;
		return log_error(EINVAL, "cannot use the system's certificates: %s", take_reason());
	}
	if (stat(path, &status) < 0)
		return log_error_errno(errno, "cannot read --tls-ca %s", path);
	is_folder = S_ISDIR(status.st_mode);
	if (SSL_CTX_load_verify_locations(ssl_context, is_folder ? NULL : path,
					  is_folder ? path : NULL) == 1)
		return 0;
	return refuse_file("certificates of authorities", path);
}

static int load_certificate(SSL_CTX *ssl_context, const struct tls_options *options)
{
	const char *key_path = options->key_path ? options->key_path : options->certificate_path;
	struct stat status;

	if (!options->certificate_path)
		return 0;
	if (SSL_CTX_use_certificate_chain_file(ssl_context, options->certificate_path) != 1)
		return refuse_file("our certificate", options->certificate_path);
	if (SSL_CTX_use_PrivateKey_file(ssl_context, key_path, SSL_FILETYPE_PEM) != 1)
		return refuse_file("our private key", key_path);
	if (stat(key_path, &status) == 0 && (status.st_mode & S_IROTH))
		log_warning("everybody can read our private key in %s: chmod 600 helps", key_path);
	return 0;
}

/* Never prompts for a key's password: there is no user to type it. */
static int refuse_password(char *ret_password, int capacity, int is_writing, void *user)
{
	(void)ret_password;
	(void)capacity;
	(void)is_writing;
	(void)user;
	return -1;
}

static void configure(SSL_CTX *ssl_context, bool is_unverified)
{
	(void)SSL_CTX_set_min_proto_version(ssl_context, TLS1_2_VERSION);
	(void)SSL_CTX_set_mode(ssl_context, SSL_MODE_ENABLE_PARTIAL_WRITE |
						    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
						    SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_verify(ssl_context, is_unverified ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_default_passwd_cb(ssl_context, refuse_password);
	/*
	 * A connection that ends without close_notify is a normal end: the protocol above has acks.
	 */
	(void)SSL_CTX_set_options(ssl_context, SSL_OP_IGNORE_UNEXPECTED_EOF);
}

int tls_context_new(const struct tls_options *options, struct tls_context **ret_context)
{
	_cleanup_(tls_context_freep) struct tls_context *context = calloc(1, sizeof(*context));
	int r;

	ERR_clear_error();
	if (context)
		context->ssl_context = SSL_CTX_new(TLS_client_method());
	if (context && options->server_name)
		context->server_name = strdup(options->server_name);
	if (!context || !context->ssl_context || (options->server_name && !context->server_name))
		return log_error_errno(ENOMEM, "cannot prepare TLS");
	context->is_unverified = options->is_unverified;
	configure(context->ssl_context, options->is_unverified);
	r = options->is_unverified ? 0 : load_authorities(context->ssl_context, options->ca_path);
	if (r == 0)
		r = load_certificate(context->ssl_context, options);
	if (r < 0)
		return r;
	*ret_context = TAKE_PTR(context);
	return 0;
}

void tls_context_free(struct tls_context *context)
{
	if (!context)
		return;
	SSL_CTX_free(context->ssl_context);
	free(context->server_name);
	free(context);
}

/* Requires a certificate for that address, without its zone, or for that name. */
static int expect_name(SSL *ssl, const char *name)
{
	char address[FORWARD_HOST_BYTES];

	(void)snprintf(address, sizeof(address), "%.*s", (int)strcspn(name, "%"), name);
	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), address))
		return 1;
	/* The subject is not a host name (RFC 6125, 6.4.4; RFC 9525, 2). */
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
				       X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return SSL_set1_host(ssl, name) && SSL_set_tlsext_host_name(ssl, name);
}

int tls_stream_new(struct tls_context *context, int fd, const struct forward_url *url,
		   struct tls_stream **ret_stream, struct failure *ret_failure)
{
	_cleanup_(tls_stream_freep) struct tls_stream *stream = calloc(1, sizeof(*stream));
	const char *name = context->server_name ? context->server_name : url->host;

	ERR_clear_error();
	if (stream)
		stream->ssl = SSL_new(context->ssl_context);
	if (!stream || !stream->ssl || SSL_set_fd(stream->ssl, fd) != 1 ||
	    expect_name(stream->ssl, name) != 1) {
		failure_set(ret_failure, FAILURE_INTERNAL, "cannot prepare TLS: %s", take_reason());
		return -ENOMEM;
	}
	stream->host = name;
	SSL_set_connect_state(stream->ssl);
	*ret_stream = TAKE_PTR(stream);
	return 0;
}

void tls_stream_free(struct tls_stream *stream)
{
	if (!stream)
		return;
	SSL_free(stream->ssl);
	free(stream);
}

/*
 * Maps the result of a failed OpenSSL call: -EAGAIN and *ret_events, 0 at the end of the stream,
 * -EPROTO for an error of TLS itself, or the socket's -errno.
 */
static int want(struct tls_stream *stream, int returned, int socket_error, short *ret_events)
{
	switch (SSL_get_error(stream->ssl, returned)) {
	case SSL_ERROR_WANT_READ:
		*ret_events = POLLIN;
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		*ret_events = POLLOUT;
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_SYSCALL:
		return socket_error ? -socket_error : -ECONNRESET;
	default:
		return -EPROTO;
	}
}

static void explain_handshake(struct tls_stream *stream, int r, struct failure *ret_failure)
{
	long verified = SSL_get_verify_result(stream->ssl);
	int reason = ERR_GET_REASON(ERR_peek_error());
	bool is_other = verified == X509_V_ERR_HOSTNAME_MISMATCH;

	if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
		failure_set(ret_failure, FAILURE_TLS, "its certificate does not hold for %s: %s%s",
			    stream->host, X509_verify_cert_error_string(verified),
			    is_other ? " (the names in its subjectAltName count)" : "");
	else if (reason == SSL_R_WRONG_VERSION_NUMBER)
		failure_set(ret_failure, FAILURE_TLS, "it does not speak TLS: use tcp://");
	else if (r == -EPROTO)
		failure_set(ret_failure, FAILURE_TLS, "TLS failed: %s", take_reason());
	else
		failure_set(ret_failure, FAILURE_TLS, "the connection ended in the TLS handshake");
	ERR_clear_error();
}

int tls_stream_handshake(struct tls_stream *stream, short *ret_events, struct failure *ret_failure)
{
	int returned, r;

	ERR_clear_error();
	errno = 0;
	returned = SSL_do_handshake(stream->ssl);
	if (returned == 1)
		return 0;
	r = want(stream, returned, errno, ret_events);
	if (r == -EAGAIN)
		return r;
	explain_handshake(stream, r, ret_failure);
	return r == 0 ? -ECONNRESET : r;
}

/* A collector may still refuse our certificate after the handshake (TLS 1.3). */
static int explain_transfer(struct tls_stream *stream, int returned, int socket_error,
			    short *ret_events, struct failure *ret_failure)
{
	int r = want(stream, returned, socket_error, ret_events);

	if (r == -EPROTO)
		failure_set(ret_failure, FAILURE_TLS, "TLS failed: %s", take_reason());
	return r;
}

static size_t cut_to_int(size_t size_bytes)
{
	return size_bytes < INT_MAX ? size_bytes : INT_MAX;
}

ssize_t tls_stream_read(struct tls_stream *stream, void *ret_bytes, size_t size_bytes,
			short *ret_events, struct failure *ret_failure)
{
	int returned;

	ERR_clear_error();
	errno = 0;
	returned = SSL_read(stream->ssl, ret_bytes, (int)cut_to_int(size_bytes));
	return returned > 0 ? returned
			    : explain_transfer(stream, returned, errno, ret_events, ret_failure);
}

ssize_t tls_stream_write(struct tls_stream *stream, const void *bytes, size_t size_bytes,
			 short *ret_events, struct failure *ret_failure)
{
	int returned, r;

	ERR_clear_error();
	errno = 0;
	returned = SSL_write(stream->ssl, bytes, (int)cut_to_int(size_bytes));
	if (returned > 0)
		return returned;
	r = explain_transfer(stream, returned, errno, ret_events, ret_failure);
	return r == 0 ? -EPIPE : r;
}

void tls_stream_say_goodbye(struct tls_stream *stream)
{
	if (SSL_is_init_finished(stream->ssl))
		(void)SSL_shutdown(stream->ssl);
}
