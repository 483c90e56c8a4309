/* SPDX-License-Identifier: Apache-2.0 */
/* weak_builtins: included in front of a source (-include), it redirects the atomic builtins that
 * hub/base/atomic.h uses to the memory of weak.h. Nothing else in that source changes. */
#ifndef TESTS_SUPPORT_WEAK_BUILTINS_H
#define TESTS_SUPPORT_WEAK_BUILTINS_H

#include "tests/support/weak.h"

#define HUB_ATOMIC_BUILTINS_ONLY

#define WEAK_TYPE(word) __typeof__(+*(word))

/* Has the type of the word, and may be unused. */
#define WEAK_RESULT(word, result)                            \
    __extension__({                                          \
        WEAK_TYPE(word) result_ = (WEAK_TYPE(word))(result); \
        result_;                                             \
    })

#define __atomic_load_n(from, order)       ((WEAK_TYPE(from))weak_load(from, sizeof *(from), order))
#define __atomic_store_n(to, value, order) weak_store(to, sizeof *(to), value, order)
#define __atomic_exchange_n(word, value, order) \
    ((WEAK_TYPE(word))weak_exchange(word, sizeof *(word), value, order))
#define __atomic_fetch_add(word, value, order) \
    WEAK_RESULT(word, weak_add(word, sizeof *(word), value, order))
#define __atomic_fetch_or(word, value, order) \
    WEAK_RESULT(word, weak_or(word, sizeof *(word), value, order))
#define __atomic_fetch_and(word, value, order) \
    WEAK_RESULT(word, weak_and(word, sizeof *(word), value, order))
#define __atomic_compare_exchange_n(word, expected, wanted, weak, order, otherwise) \
    weak_swap(word, sizeof *(word), expected, wanted, order)
#define __atomic_thread_fence(order) weak_fence(order)

#endif
