/* SPDX-License-Identifier: Apache-2.0 */
/* direct: calls into a library that is loaded into this very process: what isolation is paid
 * against. */
#include <dlfcn.h>
#include <errno.h>
#include <ffi.h>

#include "tests/bench/place.h"
#include "tests/bench/suite.h"

#define MANY 1000 /* in one operation: one alone is as short as what counts it */

enum direct_kind { FUNCTION, FFI };

typedef int plain_add(void *self, int64_t a, int64_t b, int64_t *sum);

struct direct {
    plain_add *function;
    ffi_cif interface;
    ffi_type *types[4];
};

static int once_function(void *user)
{
    const struct direct *direct = user;
    int64_t sum = 0;
    int r = 0;

    for (int i = 0; i < MANY; i++)
        r |= direct->function(NULL, sum, 1, &sum);
    return r == 0 && sum == MANY ? 0 : -EIO;
}

static int once_ffi(void *user)
{
    struct direct *direct = user;
    int64_t sum = 0, one = 1, *to = &sum;
    void *self = NULL, *arguments[] = {&self, &sum, &one, &to};
    ffi_arg r = 0, all = 0;

    for (int i = 0; i < MANY; i++) {
        ffi_call(&direct->interface, FFI_FN(direct->function), &r, arguments);
        all |= r;
    }
    return (int)all == 0 && sum == MANY ? 0 : -EIO;
}

static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    static int (*const once[])(void *) = {once_function, once_ffi};
    struct direct direct = {
        .types = {&ffi_type_pointer, &ffi_type_sint64, &ffi_type_sint64, &ffi_type_pointer}};
    const struct trial_plan plan = {.once = once[subject->kind],
                                    .user = &direct,
                                    .ms = options->trial_ms,
                                    .fifo = options->fifo,
                                    .per = MANY};
    void *library = dlopen(BENCH_PLAIN, RTLD_NOW | RTLD_LOCAL);
    int r = -ENOENT;

    if (library)
        *(void **)&direct.function = dlsym(library, "bench_plain_add");
    if (direct.function && ffi_prep_cif(&direct.interface, FFI_DEFAULT_ABI, 4, &ffi_type_sint,
                                        direct.types) == FFI_OK) {
        (void)place_pin(0, 0);
        r = trial_run(&plan, out);
        place_end();
    }
    if (library)
        dlclose(library);
    return r;
}

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject direct_subjects[] = {
    {"dlopened", "a function of a loaded library", run, SUITE_POLL, SUITE_SAME, FUNCTION, 16, 0, 0},
    {"libffi", "the same through libffi", run, SUITE_POLL, SUITE_SAME, FFI, 16, 0, 0},
    {0},
};
