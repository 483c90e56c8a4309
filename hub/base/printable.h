/* SPDX-License-Identifier: Apache-2.0 */
/* printable: text that somebody else wrote, before a person sees it: nothing of it drives a
 * terminal or makes a line look like another one. r[impl exp.terminal] */
#ifndef HUB_BASE_PRINTABLE_H
#define HUB_BASE_PRINTABLE_H

#include <stddef.h>

/* Bytes of the character that `text` begins with, 1 to 4; 0 where it begins with none that may be
 * shown: no UTF-8, a control (C0, DEL, C1; tabs and ends of lines, too), or one that turns the
 * direction of what follows or ends a line (U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to
 * U+2069). */
size_t hub_printable_size(const char *text, size_t left);

/* Makes each byte that does not belong to such a character a '?'; `text` is ended by 0. */
void hub_printable_mend(char *text);

/* Writes such bytes as \xHH, all others as they are, and of `kept` each; cut at a character, ended
 * by 0. Returns how long the whole is: four times `length` at most. */
size_t hub_printable_escape(const char *text, size_t length, const char *kept, char *to,
                            size_t size);

#endif
