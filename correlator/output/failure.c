#include "output/failure.h"

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

bool failure_is_refusal(const struct failure *failure)
{
	return failure->kind == FAILURE_CLOSED || failure->kind == FAILURE_REFUSED;
}
