/* SPDX-License-Identifier: Apache-2.0 */
/* streaming_copy: streaming copies of many bytes that another CPU reads next. With ordinary stores
 * each line must first be taken away from that CPU, which still caches it from its last read. */
#ifndef HUB_BASE_STREAMING_COPY_H
#define HUB_BASE_STREAMING_COPY_H

#include <stddef.h>

/* Thresholds in bytes; smaller copies lose more by going through memory than they save. */
#define HUB_STREAMING_COPY_ALONE  (32U << 10) /* for a copy that is waited for */
#define HUB_STREAMING_COPY_STREAM (8U << 10)  /* for one of many copies */

/* Copies like memcpy, but past the caches of this CPU; way.h says when that pays. Later stores
 * become visible after these, as with memcpy. The bytes are in memory then, so a reader on this CPU
 * waits for them. */
void hub_streaming_copy_stream(void *to, const void *from, size_t size);

/* Copies like hub_atomic_copy_bytes from bytes that another CPU stored. Each byte is read once, and
 * none after the last. memcpy is `rep movsb` there, which takes up to five times as long if `to`
 * lies less than 32 bytes after `from` in its page, as memory for a payload often does
 * (docs/adr/0019). */
void hub_streaming_copy_fetch(void *to, const volatile void *from, size_t size);

/* The same by whole lines, for places where memcpy would be slow. */
void hub_streaming_copy_lines(void *to, const void *from, size_t size);

#endif
