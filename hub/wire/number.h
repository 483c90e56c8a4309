/* SPDX-License-Identifier: Apache-2.0 */
/* number: integers and floats of any size, in memory and as text. The text is the same in every
 * locale. */
#ifndef HUB_WIRE_NUMBER_H
#define HUB_WIRE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

/* Load and store an integer of 1, 2, 4 or 8 bytes as a C object of that size. */
int64_t hub_number_load_signed(const void *value, size_t size);
uint64_t hub_number_load_unsigned(const void *value, size_t size);
void hub_number_store(void *value, size_t size, uint64_t bits);

/* Parses the whole of `text` as a number of `type`, an integer or a float: decimal or 0x; floats
 * also inf, -inf, nan. -EINVAL with the text "'x' is no i64", or with the range of the type. */
int hub_number_parse(const struct rapahub_type *type, const char *text, size_t size, void *value);

/* Bytes that hold any number as text. */
#define HUB_NUMBER_TEXT 48

/* Prints a number of `type`, ended by 0. Floats are printed as the shortest text that reads back as
 * the same value. */
void hub_number_print(const struct rapahub_type *type, const void *value, char to[HUB_NUMBER_TEXT]);

#endif
