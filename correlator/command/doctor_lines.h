/* The lines of `doctor`, and those about OpenTelemetry. Writes to standard output; single thread.
 */
#pragma once

#include "observe/key_options.h"
#include "target/elf/tls_symbol.h"
#include "target/otel/otel_target.h"

/* What a column shows; a line with a remedy follows what is missing. */
enum verdict {
	VERDICT_OK,
	VERDICT_NOTE,
	VERDICT_BAD
};

enum {
	DOCTOR_INDENT = 29 /* of what doctor_say() has behind the name */
};

void doctor_say(enum verdict verdict, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* How a thread's variable is reached. */
void doctor_say_tls(const struct tls_symbol *tls);

/* What a process publishes of OpenTelemetry (it does), and which of the wanted keys are there. */
void doctor_say_otel(const struct otel_target *otel, const struct key_options *keys);
