/* SPDX-License-Identifier: Apache-2.0 */
/* export: what leaves a library, what must be looked at, what is a printf format. */
#ifndef RAPAHUB_EXPORT_H
#define RAPAHUB_EXPORT_H

#ifdef __cplusplus
#define RAPAHUB_BEGIN_DECLS extern "C" {
#define RAPAHUB_END_DECLS   }
#else
#define RAPAHUB_BEGIN_DECLS
#define RAPAHUB_END_DECLS
#endif

/* A symbol of the library's interface. */
#define RAPAHUB_API __attribute__((visibility("default")))

/* The same, and its result tells of failure: it must be looked at. */
#define RAPAHUB_API_CHECKED RAPAHUB_API __attribute__((warn_unused_result))

/* Argument number `index` is a printf format for the arguments from `first` on (both from 1). */
#define RAPAHUB_PRINTF(index, first) __attribute__((format(printf, index, first)))

#endif
