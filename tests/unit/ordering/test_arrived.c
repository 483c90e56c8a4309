/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of a guest looks at what waits for it, and sleeps; another one publishes a request and
 * says so. No request is slept over. */
#include <string.h>

#include "guest-sdk/arrived.h"
#include "tests/unit/ordering/ordering.h"

struct rig {
    struct hub_a32 arrived, queued;
    bool sleeps;
};

static void begin(void *user)
{
    struct rig *rig = user;

    memset(rig, 0, sizeof *rig);
}

static void begin_after_another(void *user)
{
    struct rig *rig = user;

    begin(user);
    hub_publish(&rig->arrived, 1);
}

static void hand_over(void *user)
{
    struct rig *rig = user;

    hub_publish(&rig->queued, 1);
    hub_publish(&rig->arrived, 1);
}

static void look_and_sleep(void *user)
{
    struct rig *rig = user;

    guest_arrived_clear(&rig->arrived);
    rig->sleeps = hub_load_relaxed(&rig->queued) == 0;
}

static void nobody_sleeps_on(void *user)
{
    const struct rig *rig = user;

    weak_expect(!rig->sleeps || rig->arrived.word != 0,
                "asleep, and the word says that nothing arrived");
}

/* r[verify hub.wait.arrived] */
static void no_request_is_slept_over(void **state)
{
    struct weak_plan plan = {
        .begin = begin, .threads = {hand_over, look_and_sleep}, .end = nobody_sleeps_on};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
    plan.begin = begin_after_another;
    assert_ordered(&plan, &rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_request_is_slept_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
