/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "tests/support/testing.h"

#define SOON (20 * HUB_SECOND)

static void a_word_that_is_another_already_is_not_waited_for(void **state)
{
    struct hub_a32 word = {1};

    (void)state;
    assert_int_equal(hub_futex_wait(&word, 0, 1, hub_clock_after(SOON)), -EAGAIN);
    assert_int_equal(hub_futex_wait_private(&word, 0, hub_clock_after(SOON)), -EAGAIN);
}

static void a_wait_ends_at_its_deadline_and_not_before(void **state)
{
    struct hub_a32 word = {0};
    uint64_t deadline = hub_clock_after(3 * HUB_MILLISECOND);

    (void)state;
    assert_int_equal(hub_futex_wait(&word, 0, 1, deadline), -ETIMEDOUT);
    assert_int_equal(hub_clock_left(deadline), 0);
    deadline = hub_clock_after(3 * HUB_MILLISECOND);
    assert_int_equal(hub_futex_wait_private(&word, 0, deadline), -ETIMEDOUT);
    assert_int_equal(hub_clock_left(deadline), 0);
}

static void a_deadline_in_the_past_does_not_wait(void **state)
{
    struct hub_a32 word = {0};

    (void)state;
    assert_int_equal(hub_futex_wait(&word, 0, 1, 1), -ETIMEDOUT);
    assert_int_equal(hub_futex_wait_private(&word, 0, 1), -ETIMEDOUT);
}

struct sleeper {
    struct hub_a32 word;
    struct hub_a32 awake;
    uint32_t bits; /* 0: private */
    uint64_t deadline;
    int result;
};

static void *sleep_on(void *user)
{
    struct sleeper *sleeper = user;

    while (hub_observe(&sleeper->word) == 0 && sleeper->result == 0)
        sleeper->result = sleeper->bits
                              ? hub_futex_wait(&sleeper->word, 0, sleeper->bits, sleeper->deadline)
                              : hub_futex_wait_private(&sleeper->word, 0, sleeper->deadline);
    hub_publish(&sleeper->awake, 1);
    return NULL;
}

static void assert_woken(struct sleeper *sleeper, uint32_t wake_bits)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, sleep_on, sleeper), 0);
    hub_publish(&sleeper->word, 1);
    if (wake_bits)
        hub_futex_wake(&sleeper->word, wake_bits);
    else
        hub_futex_wake_private(&sleeper->word);
    pthread_join(thread, NULL);
    assert_true(sleeper->result == 0 || sleeper->result == -EAGAIN);
}

static void a_wake_ends_a_wait_without_a_deadline(void **state)
{
    struct sleeper shared = {.bits = 2, .deadline = HUB_NEVER};
    struct sleeper own = {.bits = 0, .deadline = HUB_NEVER};

    (void)state;
    assert_woken(&shared, 2);
    assert_woken(&own, 0);
}

static void *sleep_once(void *user)
{
    struct sleeper *sleeper = user;

    sleeper->result = hub_futex_wait(&sleeper->word, 0, sleeper->bits, sleeper->deadline);
    hub_publish(&sleeper->awake, 1);
    return NULL;
}

/* The word stays as it is, so only a wake that is felt could end the wait before its deadline. */
static void only_a_wake_with_a_common_bit_is_felt(void **state)
{
    struct sleeper sleeper = {.bits = 1, .deadline = hub_clock_after(20 * HUB_MILLISECOND)};
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, sleep_once, &sleeper), 0);
    while (hub_observe(&sleeper.awake) == 0) {
        hub_futex_wake(&sleeper.word, 2 | 4);
        sched_yield();
    }
    pthread_join(thread, NULL);
    assert_int_equal(sleeper.result, -ETIMEDOUT);
}

static void a_wake_with_a_common_bit_ends_the_wait_though_the_word_is_the_same(void **state)
{
    struct sleeper sleeper = {.bits = 1 | 8, .deadline = hub_clock_after(SOON)};
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, sleep_once, &sleeper), 0);
    while (hub_observe(&sleeper.awake) == 0) {
        hub_futex_wake(&sleeper.word, 8);
        sched_yield();
    }
    pthread_join(thread, NULL);
    assert_int_equal(sleeper.result, 0);
}

/* The word lies in shared memory: at another address in another process it is the same word. */
static void a_wake_reaches_another_process(void **state)
{
    struct sleeper *sleeper =
        mmap(NULL, sizeof *sleeper, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;
    pid_t child;

    (void)state;
    assert_ptr_not_equal(sleeper, MAP_FAILED);
    sleeper->bits = 4;
    sleeper->deadline = hub_clock_after(SOON);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sleep_once(sleeper);
        _exit(sleeper->result == 0 ? 0 : 1);
    }
    while (hub_observe(&sleeper->awake) == 0 && hub_clock_left(sleeper->deadline) != 0) {
        hub_futex_wake(&sleeper->word, 4);
        sched_yield();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    munmap(sleeper, sizeof *sleeper);
}

struct looker {
    struct hub_a32 *words; /* two of them */
    struct hub_a32 result; /* 1 more than the place */
};

static void *look_at_two(void *user)
{
    struct looker *looker = user;
    const struct hub_futex_look looks[] = {{&looker->words[0], 0, false},
                                           {&looker->words[1], 0, true}};
    int r = hub_futex_wait_any(looks, 2, hub_clock_after(SOON));

    hub_publish(&looker->result, r < 0 ? UINT32_MAX : (uint32_t)r + 1);
    return NULL;
}

/* Whatever bits the wake is for; the first word is private, the second between processes. */
static void who_sleeps_on_two_words_is_woken_by_each(void **state)
{
    (void)state;
    for (uint32_t place = 0; place < 2; place++) {
        struct hub_a32 words[2] = {{0}, {0}};
        struct looker looker = {.words = words};
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, look_at_two, &looker), 0);
        while (hub_observe(&looker.result) == 0) {
            if (place == 0)
                hub_futex_wake_private(&words[0]);
            else
                hub_futex_wake(&words[1], 4);
            sched_yield();
        }
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(hub_observe(&looker.result), place + 1);
    }
}

static void one_of_two_words_that_is_another_already_is_enough(void **state)
{
    struct hub_a32 words[2] = {{1}, {2}};
    const struct hub_futex_look looks[] = {{&words[0], 1, false}, {&words[1], 1, true}};
    uint64_t deadline = hub_clock_after(3 * HUB_MILLISECOND);

    (void)state;
    assert_int_equal(hub_futex_wait_any(looks, 2, hub_clock_after(SOON)), -EAGAIN);
    hub_store_relaxed(&words[1], 1);
    assert_int_equal(hub_futex_wait_any(looks, 2, deadline), -ETIMEDOUT);
    assert_int_equal(hub_clock_left(deadline), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sleeps_on_two_words_is_woken_by_each),
        cmocka_unit_test(one_of_two_words_that_is_another_already_is_enough),
        cmocka_unit_test(a_word_that_is_another_already_is_not_waited_for),
        cmocka_unit_test(a_wait_ends_at_its_deadline_and_not_before),
        cmocka_unit_test(a_deadline_in_the_past_does_not_wait),
        cmocka_unit_test(a_wake_ends_a_wait_without_a_deadline),
        cmocka_unit_test(only_a_wake_with_a_common_bit_is_felt),
        cmocka_unit_test(a_wake_with_a_common_bit_ends_the_wait_though_the_word_is_the_same),
        cmocka_unit_test(a_wake_reaches_another_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
