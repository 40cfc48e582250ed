/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Part of the sanitized tool, which the tests here start some hundred times: to look for leaks when
 * it ends takes as long as all else that it does. The tests of its parts look for them.
 */
const char *__asan_default_options(void);

/* sanitizer/asan_interface.h, of the compiler */
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
