#include "net/failure.h"

#include <stdarg.h>
#include <stdio.h>

void failure_set(struct failure *failure, enum failure_kind kind, const char *format, ...)
{
	va_list args;

	if (failure->kind != FAILURE_NONE)
		return;
	failure->kind = kind;
	va_start(args, format);
	(void)vsnprintf(failure->text, sizeof(failure->text), format, args);
	va_end(args);
}

const char *failure_kind_name(enum failure_kind kind)
{
	static const char *const names[_FAILURE_KIND_MAX] = {
		[FAILURE_NONE] = "none",
		[FAILURE_INTERNAL] = "internal",
		[FAILURE_CANCELLED] = "cancelled",
		[FAILURE_RESOLVE] = "resolve",
		[FAILURE_CONNECT] = "connect",
		[FAILURE_TLS] = "tls",
		[FAILURE_NO_HELLO] = "no_hello",
		[FAILURE_KEY_WANTED] = "key_wanted",
		[FAILURE_KEY_REFUSED] = "key_refused",
		[FAILURE_IMPOSTOR] = "impostor",
		[FAILURE_STALLED] = "stalled",
		[FAILURE_SILENT] = "silent",
		[FAILURE_CLOSED] = "closed",
		[FAILURE_REFUSED] = "refused",
		[FAILURE_WRONG_ACK] = "wrong_ack",
		[FAILURE_GARBAGE] = "garbage",
	};

	return names[kind];
}

bool failure_is_refusal(const struct failure *failure)
{
	return failure->kind == FAILURE_CLOSED || failure->kind == FAILURE_REFUSED;
}
