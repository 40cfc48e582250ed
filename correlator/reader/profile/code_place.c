/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/profile/code_place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/display.h"

enum {
	PARTS_SHOWN = 3
};

/* After the last of these the path is a library's own. */
static const char *const library_folders[] = { "/gems/", "/vendor_ruby/", "/vendor/",
					       "/lib/ruby/" };
/* The start of the path of Ruby's built-in code: "<internal:kernel>". */
static const char internal[] = "<internal:";

/* Where a library's own path begins; NULL: it is not in a library. */
static const char *find_library_path(const char *path)
{
	const char *found = strncmp(path, internal, sizeof(internal) - 1) == 0 ? path : NULL;

	for (size_t i = 0; i < sizeof(library_folders) / sizeof(library_folders[0]); i++) {
		const char *folder = library_folders[i], *at = path;

		while ((at = strstr(at, folder))) {
			at += strlen(folder) - 1;
			if (!found || at + 1 > found)
				found = at + 1;
		}
	}
	return found;
}

static const char *find_last_parts(const char *path, int parts)
{
	const char *at = path + strlen(path);

	while (at > path && (at[-1] != '/' || --parts > 0))
		at--;
	return at;
}

void code_place_write(const struct frames_text *file, enum frame_kind kind, uint32_t line,
		      char ret_text[static FRAMES_TEXT_ESCAPED_BYTES])
{
	bool is_ruby = kind == FRAME_KIND_RUBY;
	const char *path = file ? file->bytes : "";
	const char *shown = is_ruby ? find_library_path(path) : find_last_parts(path, 1);
	size_t length;

	if (!shown)
		shown = find_last_parts(path, PARTS_SHOWN);
	ret_text[0] = '\0';
	if (!shown[0])
		return;
	ret_text[0] = ' ';
	length = 1 +
		 display_escape(shown, strlen(shown), ret_text + 1, FRAMES_TEXT_ESCAPED_BYTES - 1);
	if (line > 0)
		(void)snprintf(ret_text + length, FRAMES_TEXT_ESCAPED_BYTES - length, ":%" PRIu32,
			       line);
}

bool code_place_is_of_application(const struct frames_text *file, enum frame_kind kind)
{
	return kind == FRAME_KIND_RUBY && file && !find_library_path(file->bytes);
}
