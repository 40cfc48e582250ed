/*
 * The text of a Ruby string, by the index of its encoding, as valid UTF-8 (base/text.h). Pure.
 *
 * Indexes 0 to 11 are the same in every CRuby from 2.7 on (encindex.h); those above depend on the
 * build and on what the program loaded, so their text is shown as far as it is ASCII. UTF-16 and
 * UTF-32 are decoded here, not with iconv(3): its converters are files that a small container
 * lacks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Writes the text into ret_text (text_bytes >= 1), NUL-terminated and cut to fit at a whole
 * character or escape; 4 * size_bytes + 1 always fits. is_cut: the string goes on after
 * size_bytes, so a last character that the cut split is dropped. Bytes that are no character in
 * the encoding are escaped as \xNN. Returns the length without the NUL.
 */
size_t ruby_encoding_text(uint8_t encoding, const void *bytes, size_t size_bytes, bool is_cut,
			  char *ret_text, size_t text_bytes);
