/* SPDX-License-Identifier: Apache-2.0 */
/* far: a copy of many bytes which another CPU reads next. Where they are stored as any others, each
 * line must first be taken away from that CPU, which still has it from when it read it last. */
#ifndef HUB_BASE_FAR_H
#define HUB_BASE_FAR_H

#include <stddef.h>

/* Of fewer bytes the way through memory takes longer than it saves. */
#define HUB_FAR_ALONE  (32U << 10) /* of a copy that is waited for */
#define HUB_FAR_STREAM (8U << 10)  /* of one of many */

/* As memcpy, past the caches of this CPU: whether that pays says way.h. What is stored behind it is
 * seen behind it, as with memcpy. The bytes lie in memory then: who reads them here waits for them.
 */
void hub_far_stream(void *to, const void *from, size_t size);

/* As hub_atomic_copy_bytes, of bytes that another CPU stored: each is read once, and none behind
 * them. memcpy is `rep movsb` there, which takes up to five times as long where `to` lies less than
 * 32 bytes behind `from` in its page, as memory for a payload often does (docs/adr/0019). */
void hub_far_fetch(void *to, const volatile void *from, size_t size);

/* The same where memcpy is good enough. */
void hub_far_lines(void *to, const void *from, size_t size);

#endif
