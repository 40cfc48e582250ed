#include "report/json_part.h"

#include <errno.h>
#include <string.h>

#include "record/record_view.h"
#include "report/display.h"

enum {
	ESCAPED_BYTES = 4 * RECORD_VIEW_TEXT_BYTES_MAX + 1
};

static const size_t dump_flags =
	JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9) | JSON_ENCODE_ANY;

json_t *json_part_bytes(const char *text, size_t size_bytes)
{
	char escaped[ESCAPED_BYTES];

	(void)display_escape(text, size_bytes, escaped, sizeof(escaped));
	return json_string(escaped);
}

json_t *json_part_text(const char *text)
{
	return json_part_bytes(text, strlen(text));
}

void json_part_set(json_t *object, const char *name, json_t *value, int *r)
{
	if (json_object_set_new(object, name, value) < 0)
		*r = -ENOMEM;
}

void json_part_append(json_t *array, json_t *value, int *r)
{
	if (json_array_append_new(array, value) < 0)
		*r = -ENOMEM;
}

int json_part_print(const char *before, json_t *part, int r, FILE *out)
{
	char *text = r == 0 && part ? json_dumps(part, dump_flags) : NULL;

	json_decref(part);
	if (!text)
		return -ENOMEM;
	(void)fprintf(out, "%s%s", before, text);
	free(text);
	return 0;
}
