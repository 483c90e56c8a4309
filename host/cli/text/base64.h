/* SPDX-License-Identifier: Apache-2.0 */
/* base64: how bytes stand in JSON. */
#ifndef CLI_BASE64_H
#define CLI_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Decodes in place; false where it is no base64 with its padding. */
bool cli_base64_decode(char *text, size_t size, size_t *out);

#endif
