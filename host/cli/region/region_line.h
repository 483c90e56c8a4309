/* SPDX-License-Identifier: Apache-2.0 */
/* region_line: a line in the user bytes of a position of a sequencer, as the commands have it: its
 * length, 4 bytes, and its bytes. */
#ifndef CLI_REGION_LINE_H
#define CLI_REGION_LINE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns how long a line may be. */
static inline size_t cli_region_line_room(uint32_t user_bytes)
{
    return user_bytes > sizeof(uint32_t) ? user_bytes - sizeof(uint32_t) : 0;
}

/* Writes a line that has room. */
static inline void cli_region_line_put(void *user, const char *line, size_t size)
{
    uint32_t length = (uint32_t)size;

    memcpy(user, &length, sizeof length);
    memcpy((char *)user + sizeof length, line, size);
}

/* Copies `user_bytes` to `to`, for other processes can write them, and returns how long the line in
 * them says to be; it follows the first 4 bytes of the copy. */
static inline size_t cli_region_line_get(const void *user, uint32_t user_bytes, char *to)
{
    uint32_t length = 0;

    memcpy(to, user, user_bytes);
    if (user_bytes >= sizeof length)
        memcpy(&length, to, sizeof length);
    return length;
}

#endif
