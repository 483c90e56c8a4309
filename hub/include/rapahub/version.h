/* SPDX-License-Identifier: Apache-2.0 */
/* version: the versions of the library, of the segment's format, and of the interface between guest
 * and chimod. */
#ifndef RAPAHUB_VERSION_H
#define RAPAHUB_VERSION_H

#include <stdint.h>

#include <rapahub/export.h>

RAPAHUB_BEGIN_DECLS

#define RAPAHUB_VERSION         "0.1.0"
#define RAPAHUB_VERSION_NUMBER  0x000100 /* major << 16 | minor << 8 | patch */
#define RAPAHUB_SEGMENT_VERSION 1
#define RAPAHUB_CHIMOD_ABI      1

/* Returns the version of the library at run time, in the form of RAPAHUB_VERSION. Any thread. */
RAPAHUB_API const char *rapahub_version(void);

RAPAHUB_END_DECLS

#endif
