/* SPDX-License-Identifier: Apache-2.0 */
/* printable: makes foreign text safe to show: no part of it can drive a terminal or make a line
 * look like another. r[impl exp.terminal] */
#ifndef HUB_BASE_PRINTABLE_H
#define HUB_BASE_PRINTABLE_H

#include <stddef.h>

/* Returns the bytes of the character at the start of `text`, 1 to 4, or 0 if it must not be shown:
 * bytes that are not UTF-8, control characters (C0, DEL, C1, also tabs and line ends), and
 * characters that change the text direction or end a line (U+061C, U+200E, U+200F, U+2028 to
 * U+202E, U+2066 to U+2069). */
size_t hub_printable_size(const char *text, size_t left);

/* Replaces each byte that does not belong to such a character by '?'. `text` ends with 0. */
void hub_printable_mend(char *text);

/* Writes such bytes, and those in `kept`, as \xHH and all others unchanged. The result is cut at a
 * character and ends with 0. Returns the length of the whole, four times `length` at most. */
size_t hub_printable_escape(const char *text, size_t length, const char *kept, char *to,
                            size_t size);

#endif
