/* SPDX-License-Identifier: Apache-2.0 */
/* sha256: asked of the kernel. */
#ifndef CLI_SHA256_H
#define CLI_SHA256_H

#include <stdbool.h>
#include <stddef.h>

/* In hexadecimal; false where this kernel does not do it. */
bool cli_sha256(const void *data, size_t size, char to[65]);

#endif
