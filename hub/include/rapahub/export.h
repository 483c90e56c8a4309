/* SPDX-License-Identifier: Apache-2.0 */
/* export: attributes of public functions: visibility, checked results, printf formats. */
#ifndef RAPAHUB_EXPORT_H
#define RAPAHUB_EXPORT_H

#ifdef __cplusplus
#define RAPAHUB_BEGIN_DECLS extern "C" {
#define RAPAHUB_END_DECLS   }
#else
#define RAPAHUB_BEGIN_DECLS
#define RAPAHUB_END_DECLS
#endif

/* Exports a symbol as part of the library's interface. */
#define RAPAHUB_API __attribute__((visibility("default")))

/* The same for a function whose result reports failure: the caller must check it. */
#define RAPAHUB_API_CHECKED RAPAHUB_API __attribute__((warn_unused_result))

/* Argument number `index` is a printf format for the arguments from number `first` on, both counted
 * from 1. */
#define RAPAHUB_PRINTF(index, first) __attribute__((format(printf, index, first)))

#endif
