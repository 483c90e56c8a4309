/* SPDX-License-Identifier: Apache-2.0 */
/* echo: returns its argument, with a method for each kind of value; waits and fails on request. */
#include <poll.h>
#include <time.h>

#include <rapahub/chimod.h>

#define NS_PER_S  UINT64_C(1000000000)
#define STEP_NS   UINT64_C(10000000)
#define SLEEP_MAX (UINT64_C(3600) * NS_PER_S)

struct point {
    double x, y;
};
RAPAHUB_RECORD(point, RAPAHUB_MEMBER(point, x, f64), RAPAHUB_MEMBER(point, y, f64));

static int echo_bytes(void *self, struct rapahub_bytes value, struct rapahub_bytes *same)
{
    (void)self;
    *same = value;
    return 0;
}

static int echo_string(void *self, struct rapahub_string value, struct rapahub_string *same)
{
    (void)self;
    *same = value;
    return 0;
}

static int echo_i32(void *self, int32_t value, int32_t *same)
{
    (void)self;
    *same = value;
    return 0;
}

static int echo_i64(void *self, int64_t value, int64_t *same)
{
    (void)self;
    *same = value;
    return 0;
}

static int echo_u64(void *self, uint64_t value, uint64_t *same)
{
    (void)self;
    *same = value;
    return 0;
}

static int echo_f64(void *self, double value, double *same)
{
    (void)self;
    *same = value;
    return 0;
}

static int echo_bool(void *self, bool value, bool *same)
{
    (void)self;
    *same = value;
    return 0;
}

static int echo_point(void *self, struct point value, struct point *same)
{
    (void)self;
    *same = value;
    return 0;
}

static int echo_nothing(void *self)
{
    (void)self;
    return 0;
}

/* Sleeps in steps, so that it ends soon after its caller has given up. */
static int echo_sleep_ns(void *self, uint64_t ns)
{
    (void)self;
    if (ns > SLEEP_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "%" PRIu64 " ns is more than an hour", ns);
    while (ns > 0) {
        uint64_t step = ns < STEP_NS ? ns : STEP_NS;
        const struct timespec time = {.tv_nsec = (long)step};

        if (rapahub_chimod_cancelled())
            return rapahub_fail(RAPAHUB_ECANCELED, "", "cancelled with %" PRIu64 " ns to go", ns);
        (void)ppoll(NULL, 0, &time, NULL);
        ns -= step;
    }
    return 0;
}

static int echo_fail(void *self, int32_t code, struct rapahub_string text)
{
    (void)self;
    if (code >= 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "%" PRId32 " is no error code: they are negative",
                            code);
    return rapahub_fail(code, "", "%.*s", text.size < 1024 ? (int)text.size : 1024,
                        text.size > 0 ? text.data : "");
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(bytes, echo_bytes, bytes, bytes),
    RAPAHUB_METHOD(string, echo_string, string, string),
    RAPAHUB_METHOD(i32, echo_i32, i32, i32),
    RAPAHUB_METHOD(i64, echo_i64, i64, i64),
    RAPAHUB_METHOD(u64, echo_u64, u64, u64),
    RAPAHUB_METHOD(f64, echo_f64, f64, f64),
    RAPAHUB_METHOD(bool, echo_bool, bool, bool),
    RAPAHUB_METHOD(point, echo_point, point, point),
    RAPAHUB_METHOD(nothing, echo_nothing, void, void),
    RAPAHUB_METHOD(sleep_ns, echo_sleep_ns, void, u64),
    RAPAHUB_METHOD(fail, echo_fail, void, i32, string),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "echo", .version = "1.0.0", .methods = methods);
