/* SPDX-License-Identifier: Apache-2.0 */
/* Loans and views by a stub, which take a shorter way from the second call on: what arrives is the
 * same, and each change of the host is seen. */
#include <pthread.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define KIB ((size_t)1 << 10)

static uint64_t echo_id, behind_id; /* where stubs keep them */

static const struct rapahub_host_options polling = {.guests_max = 2, .waiting = RAPAHUB_WAIT_POLL};

static int echo_by_stub(struct hosting *on, struct rapahub_loan *loan, struct rapahub_bytes in,
                        bool view, struct rapahub_bytes *out)
{
    const void *const arguments[] = {&in, NULL};
    const struct rapahub_call call = {.target = here,
                                      .method = "echo",
                                      .types = RAPAHUB_TYPES(bytes, bytes),
                                      .arguments = arguments,
                                      .loan = loan,
                                      .view = view,
                                      .method_id = &echo_id};

    *out = (struct rapahub_bytes){NULL, 0};
    return rapahub_host_call(on->host, &call, out);
}

static void take(struct hosting *on, size_t size, struct rapahub_loan *loan)
{
    assert_done(rapahub_host_loan(on->host, here, size, loan));
    assert_non_null(loan->data);
    assert_int_equal((uintptr_t)loan->data % 64, 0);
    assert_true(loan->size >= size);
}

static void there_and_back(struct hosting *on, size_t size, bool view)
{
    uint8_t *copy = malloc(size + 1);
    struct rapahub_loan loan;
    struct rapahub_bytes out;

    take(on, size, &loan);
    for (size_t i = 0; i < size; i++)
        copy[i] = ((uint8_t *)loan.data)[i] = (uint8_t)(i * 31 + size);
    assert_done(echo_by_stub(on, &loan, (struct rapahub_bytes){loan.data, size}, view, &out));
    assert_null(loan.data); /* it was sent */
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, copy, size);
    assert_done(echo_by_stub(on, NULL, (struct rapahub_bytes){copy, size}, view, &out));
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, copy, size);
    free(copy);
}

/* Only of a trusted guest an answer is shown. */
static void open_with(struct hosting *on, const char *module, struct rapahub_host_options options)
{
    const struct rapahub_guest_options guest = {.chimod = module, .trust = RAPAHUB_TRUST_TRUSTED};
    const struct rapahub_container_options container = {.id = here, .pool_name = "loan"};

    echo_id = behind_id = 0;
    open_host(on, options);
    assert_done(rapahub_host_spawn(on->host, &guest, &on->guest));
    assert_done(rapahub_host_add_container(on->host, on->guest, &container));
}

/* r[verify hub.loan.align] r[verify hub.view.release] r[verify hub.slot.hold] */
static void loans_and_views_by_a_stub_arrive_as_they_were_written(void **state)
{
    static const size_t sizes[] = {0, 1, 28, 29, 30, 31, 32, 33, 64, 1000, 3960, 4032};
    struct rapahub_host_options few = polling;
    struct hosting on;

    (void)state;
    few.slot_size = 4096;
    few.slot_count = 4;
    for (unsigned several = 0; several < 2; several++) {
        open_with(&on, CALC, several ? polling : few);
        for (unsigned round = 0; round < 20; round++)
            for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
                there_and_back(&on, sizes[i] * (several ? 250 : 1), round % 2 == 0);
        close_host(&on);
    }
}

static int behind_by_stub(struct hosting *on, struct rapahub_string before,
                          struct rapahub_loan *loan, struct rapahub_bytes *out)
{
    const struct rapahub_bytes in = {loan->data, 6000};
    const void *const arguments[] = {&before, &in, NULL};
    const struct rapahub_call call = {.target = here,
                                      .method = "behind",
                                      .types = RAPAHUB_TYPES(bytes, string, bytes),
                                      .arguments = arguments,
                                      .loan = loan,
                                      .view = true,
                                      .method_id = &behind_id};

    return rapahub_host_call(on->host, &call, out);
}

/* Among 60 bytes one is for the metadata, one for the length of the string, two for that of the
 * bytes. r[verify hub.loan.align] */
static void what_stands_before_a_loan_fits_or_is_refused(void **state)
{
    static const char name[] = "0123456789012345678901234567890123456789012345678901234567890123";
    struct rapahub_loan loan;
    struct rapahub_bytes out;
    struct hosting on;

    (void)state;
    open_with(&on, CALC, polling);
    for (size_t size = 1; size < 64; size++) {
        int r;

        take(&on, 6000, &loan);
        memset(loan.data, (int)size, 6000);
        r = behind_by_stub(&on, (struct rapahub_string){name, size}, &loan, &out);
        if (size > 56) {
            assert_int_equal(r, RAPAHUB_EMSGSIZE);
            assert_non_null(loan.data);
            rapahub_host_drop_loan(on.host, &loan);
            continue;
        }
        assert_done(r);
        assert_null(loan.data);
        assert_int_equal(out.size, 6000);
        assert_int_equal(((const uint8_t *)out.data)[5999], size);
    }
    close_host(&on);
}

static void warm_up(struct hosting *on, const char *module)
{
    open_with(on, module, polling);
    for (unsigned i = 0; i < 3; i++)
        there_and_back(on, 8 * KIB, true);
}

static void a_loan_for_what_was_plugged_meanwhile_is_not_sent(void **state)
{
    struct rapahub_loan loan, more;
    struct rapahub_bytes out, in;
    struct hosting on;

    (void)state;
    warm_up(&on, CALC);
    take(&on, 100, &loan);
    in = (struct rapahub_bytes){loan.data, 100};
    memset(loan.data, 3, 100);
    assert_done(rapahub_host_plug(on.host, here, true));
    assert_refused(echo_by_stub(&on, &loan, in, true, &out), RAPAHUB_EPLUGGED, "1.0[0]");
    assert_ptr_equal(loan.data, in.data);
    assert_refused(rapahub_host_loan(on.host, here, 100, &more), RAPAHUB_EPLUGGED, "1.0[0]");
    assert_done(rapahub_host_plug(on.host, here, false));
    assert_done(echo_by_stub(&on, &loan, in, true, &out));
    assert_int_equal(out.size, 100);
    close_host(&on);
}

/* The view of the old life stays until the next call. r[verify hub.view.release] */
static void a_loan_of_a_life_that_is_over_is_not_sent_to_the_next(void **state)
{
    struct rapahub_bytes shown, out;
    struct rapahub_loan loan;
    struct hosting on;

    (void)state;
    warm_up(&on, CALC);
    take(&on, 8 * KIB, &loan);
    memset(loan.data, 0x5a, 8 * KIB);
    assert_done(echo_by_stub(&on, &loan, (struct rapahub_bytes){loan.data, 8 * KIB}, true, &shown));
    take(&on, 100, &loan);
    assert_int_equal(kill(pid_of(&on), SIGKILL), 0);
    assert_true(until(&on, &on.told.ready, 2));
    for (size_t i = 0; i < 8 * KIB; i++)
        assert_int_equal(((const uint8_t *)shown.data)[i], 0x5a);
    assert_refused(echo_by_stub(&on, &loan, (struct rapahub_bytes){loan.data, 100}, true, &out),
                   RAPAHUB_ESTALE, "is over");
    for (unsigned i = 0; i < 20; i++) { /* the new life is near from the second one on */
        there_and_back(&on, 8 * KIB, true);
        assert_refused(echo_by_stub(&on, &loan, (struct rapahub_bytes){loan.data, 100}, true, &out),
                       RAPAHUB_ESTALE, "is over");
    }
    rapahub_host_drop_loan(on.host, &loan);
    close_host(&on);
}

static uint64_t nap_id;

static int nap_by_stub(struct hosting *on, uint32_t ms)
{
    const void *const arguments[] = {&ms, NULL};
    const struct rapahub_call call = {.target = here,
                                      .method = "nap",
                                      .types = RAPAHUB_TYPES(void, u32),
                                      .arguments = arguments,
                                      .view = true,
                                      .method_id = &nap_id};

    return rapahub_host_call(on->host, &call, NULL);
}

static void *kill_soon(void *user)
{
    pause_ms(30);
    kill(*(pid_t *)user, SIGKILL);
    return NULL;
}

/* The owner enters a life only where it waits; there it takes turns, in one of which a life that
 * has ended would be freed. Seen by AddressSanitizer. */
static void a_life_that_ends_while_its_owner_waits_stays_until_it_has_its_answer(void **state)
{
    const struct rapahub_host_options adaptive = {.guests_max = 2};
    struct hosting on;

    (void)state;
    open_with(&on, CALC, adaptive);
    nap_id = 0;
    for (unsigned lives = 2; lives < 5; lives++) {
        pid_t pid = pid_of(&on);
        pthread_t thread;

        there_and_back(&on, 8 * KIB, true);
        for (unsigned i = 0; i < 5; i++)
            assert_done(nap_by_stub(&on, 0));
        assert_int_equal(pthread_create(&thread, NULL, kill_soon, &pid), 0);
        assert_int_equal(nap_by_stub(&on, 20000), RAPAHUB_EDIED);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(until(&on, &on.told.ready, lives));
    }
    close_host(&on);
}

/* Bytes that are not at the start of the loan, or more than it has. */
static void bytes_that_are_not_the_loan_s_are_refused_by_a_stub_too(void **state)
{
    struct rapahub_loan loan, copy;
    struct rapahub_bytes out;
    struct hosting on;

    (void)state;
    warm_up(&on, CALC);
    take(&on, 100, &loan);
    copy = loan;
    assert_refused(
        echo_by_stub(&on, &loan, (struct rapahub_bytes){(uint8_t *)loan.data + 1, 100}, true, &out),
        RAPAHUB_EINVAL, "where the loan does");
    assert_refused(
        echo_by_stub(&on, &loan, (struct rapahub_bytes){loan.data, loan.size + 1}, true, &out),
        RAPAHUB_EINVAL, "where the loan does");
    assert_done(echo_by_stub(&on, &loan, (struct rapahub_bytes){copy.data, 100}, true, &out));
    assert_refused(echo_by_stub(&on, &copy, (struct rapahub_bytes){copy.data, 100}, true, &out),
                   RAPAHUB_EINVAL, "where the loan does");
    close_host(&on);
}

struct lender {
    struct hosting *on;
    unsigned seed, done;
};

static void *lend_often(void *user)
{
    struct lender *lender = user;

    for (unsigned i = 0; i < 300; i++) {
        struct rapahub_loan loan;
        struct rapahub_bytes out;
        size_t size = 100 + (i * 7919 + lender->seed) % 9000;
        int r;

        while ((r = rapahub_host_loan(lender->on->host, here, size, &loan)) == RAPAHUB_EAGAIN)
            pause_ms(1);
        if (r < 0)
            break;
        memset(loan.data, (int)(i + lender->seed), size);
        if (echo_by_stub(lender->on, &loan, (struct rapahub_bytes){loan.data, size}, i % 3 != 0,
                         &out) < 0 ||
            out.size != size ||
            ((const uint8_t *)out.data)[size - 1] != (uint8_t)(i + lender->seed))
            break;
        lender->done++;
    }
    return NULL;
}

static void threads_that_lend_by_a_stub_do_not_disturb_each_other(void **state)
{
    struct rapahub_host_options options = {.guests_max = 2, .own_thread = true};
    struct lender lenders[4];
    pthread_t threads[4];
    struct hosting on;

    (void)state;
    open_with(&on, CALC, options);
    for (unsigned i = 0; i < 4; i++) {
        lenders[i] = (struct lender){.on = &on, .seed = i * 50};
        assert_int_equal(pthread_create(&threads[i], NULL, lend_often, &lenders[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(lenders[i].done, 300);
    }
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loans_and_views_by_a_stub_arrive_as_they_were_written),
        cmocka_unit_test(what_stands_before_a_loan_fits_or_is_refused),
        cmocka_unit_test(a_loan_for_what_was_plugged_meanwhile_is_not_sent),
        cmocka_unit_test(a_loan_of_a_life_that_is_over_is_not_sent_to_the_next),
        cmocka_unit_test(a_life_that_ends_while_its_owner_waits_stays_until_it_has_its_answer),
        cmocka_unit_test(bytes_that_are_not_the_loan_s_are_refused_by_a_stub_too),
        cmocka_unit_test(threads_that_lend_by_a_stub_do_not_disturb_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
