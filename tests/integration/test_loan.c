/* SPDX-License-Identifier: Apache-2.0 */
/* Loans: arguments that are written where the guest reads them. */
#include <pthread.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define KIB ((size_t)1 << 10)

static const struct rapahub_host_options small = {
    .guests_max = 2, .ring_size = 8, .slot_size = 4096, .slot_count = 4};

static void open_small(struct hosting *on)
{
    open_host(on, small);
    assert_done(start(on, CALC, here, NULL));
}

static int echo_loan(struct hosting *on, struct rapahub_loan *loan, size_t used,
                     struct rapahub_bytes *out)
{
    struct rapahub_bytes in = {loan->data, used};
    const struct rapahub_call call = {.target = here,
                                      .method = "echo(bytes) -> bytes",
                                      .arguments = (const void *const[]){&in, NULL},
                                      .loan = loan};

    return rapahub_host_call(on->host, &call, out);
}

static void take(struct hosting *on, size_t size, struct rapahub_loan *loan)
{
    assert_done(rapahub_host_loan(on->host, here, size, loan));
    assert_non_null(loan->data);
    assert_int_equal((uintptr_t)loan->data % 64, 0);
    assert_true(loan->size >= size);
}

static void there_and_back(struct hosting *on, size_t size)
{
    struct rapahub_loan loan;
    struct rapahub_bytes out;
    uint8_t *copy = malloc(size + 1);

    take(on, size, &loan);
    for (size_t i = 0; i < size; i++)
        copy[i] = ((uint8_t *)loan.data)[i] = (uint8_t)(i * 31 + size);
    assert_done(echo_loan(on, &loan, size, &out));
    assert_null(loan.data); /* it was sent */
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, copy, size);
    free(copy);
}

/* r[verify hub.loan.align] r[verify shm.payload.inline] r[verify shm.slot.payload-offset] */
static void a_loan_of_any_size_arrives_as_it_was_written(void **state)
{
    static const size_t sizes[] = {0, 1, 28, 29, 32, 33, 64, 1000, 4000, 4032};
    struct hosting on;

    (void)state;
    open_small(&on); /* pools of one size */
    for (unsigned round = 0; round < 20; round++)
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
            there_and_back(&on, sizes[i]);
    close_host(&on);
    open_calc(&on); /* slots of several sizes */
    for (unsigned round = 0; round < 20; round++)
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
            there_and_back(&on, sizes[i] * 250);
    close_host(&on);
}

/* r[verify hub.loan.align] */
static void a_loan_is_sent_once_or_dropped(void **state)
{
    struct rapahub_loan loan, again;
    struct rapahub_bytes out;
    struct hosting on;

    (void)state;
    open_small(&on);
    take(&on, 100, &loan);
    again = loan;
    assert_done(echo_loan(&on, &loan, 100, &out));
    assert_refused(echo_loan(&on, &loan, 0, &out), RAPAHUB_EINVAL, "where the loan does");
    rapahub_host_drop_loan(on.host, &loan);
    rapahub_host_drop_loan(on.host, &loan);
    take(&on, 100, &again);
    rapahub_host_drop_loan(on.host, &again);
    close_host(&on);
}

/* The library uses the memory of a handle again. */
static void a_copy_of_a_dropped_loan_names_no_other_one(void **state)
{
    struct rapahub_loan loan, copy;
    struct rapahub_bytes out;
    struct hosting on;

    (void)state;
    open_small(&on);
    take(&on, 100, &loan);
    copy = loan;
    rapahub_host_drop_loan(on.host, &loan);
    take(&on, 100, &loan);
    assert_refused(echo_loan(&on, &copy, 100, &out), RAPAHUB_EINVAL, "where the loan does");
    rapahub_host_drop_loan(on.host, &copy);
    assert_done(echo_loan(&on, &loan, 100, &out));
    close_host(&on);
}

static void what_cannot_be_lent_is_refused(void **state)
{
    struct rapahub_loan loans[5] = {{.data = NULL}}, more;
    struct rapahub_bytes out;
    struct hosting on;
    unsigned count = 0;
    int r;

    (void)state;
    open_small(&on);
    assert_refused(rapahub_host_loan(on.host, here, 4033, &more), RAPAHUB_EMSGSIZE, "4033 bytes");
    assert_null(more.data);
    assert_refused(rapahub_host_loan(on.host, here, SIZE_MAX, &more), RAPAHUB_EMSGSIZE, "loan");
    while ((r = rapahub_host_loan(on.host, here, 1000, &loans[count])) == 0)
        count++;
    assert_int_equal(r, RAPAHUB_EAGAIN);
    assert_int_equal(count, 4);
    assert_non_null(strstr(rapahub_last_error()->text, "no slot for 1000 bytes"));
    rapahub_host_drop_loan(on.host, &loans[0]);
    take(&on, 1000, &loans[0]);
    assert_refused(echo_loan(&on, &loans[0], 5000, &out), RAPAHUB_EINVAL, "where the loan does");
    assert_non_null(loans[0].data); /* it was not sent */
    for (unsigned i = 0; i < 4; i++)
        assert_done(echo_loan(&on, &loans[i], 1000, &out));
    close_host(&on);
}

static void a_loan_is_for_a_last_argument_of_bytes_and_a_call_that_waits(void **state)
{
    int64_t a = 1;
    struct rapahub_loan loan;
    struct hosting on;
    struct rapahub_call call = {.target = here,
                                .method = "add(i64, i64) -> i64",
                                .arguments = (const void *const[]){&a, &a, NULL},
                                .loan = &loan};

    (void)state;
    open_small(&on);
    take(&on, 100, &loan);
    assert_refused(rapahub_host_call(on.host, &call, &a), RAPAHUB_EARGUMENTS, "is not bytes");
    assert_refused(rapahub_host_call_async(on.host, &call, NULL, NULL, NULL), RAPAHUB_EINVAL,
                   "that is waited for");
    rapahub_host_drop_loan(on.host, &loan);
    close_host(&on);
}

/* r[verify hub.view.release] */
static void memory_of_a_dead_guest_stays_until_it_is_dropped(void **state)
{
    static const enum rapahub_trust trusts[] = {RAPAHUB_TRUST_STANDARD, RAPAHUB_TRUST_TRUSTED};

    (void)state;
    for (unsigned t = 0; t < 2; t++) {
        const struct rapahub_guest_options guest = {.chimod = CALC, .trust = trusts[t]};
        const struct rapahub_container_options container = {.id = here, .pool_name = "loan"};
        struct rapahub_loan loan;
        struct rapahub_bytes out;
        struct hosting on;

        open_host(&on, (struct rapahub_host_options){.guests_max = 4});
        assert_done(rapahub_host_spawn(on.host, &guest, &on.guest));
        assert_done(rapahub_host_add_container(on.host, on.guest, &container));
        take(&on, 64 * KIB, &loan);
        memset(loan.data, 0x5a, 64 * KIB);
        assert_int_equal(kill(pid_of(&on), SIGKILL), 0);
        assert_true(until(&on, &on.told.ready, 2));
        assert_refused(echo_loan(&on, &loan, 100, &out), RAPAHUB_ESTALE, "is over");
        for (size_t i = 0; i < 64 * KIB; i++)
            assert_int_equal(((uint8_t *)loan.data)[i], 0x5a);
        rapahub_host_drop_loan(on.host, &loan);
        there_and_back(&on, 64 * KIB); /* by the new life */
        take(&on, 100, &loan);         /* and one that the end of the host takes back */
        close_host(&on);
    }
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
        struct rapahub_bytes out = {NULL, 0};
        size_t size = 100 + (i * 7919 + lender->seed) % 3900;
        int r;

        while ((r = rapahub_host_loan(lender->on->host, here, size, &loan)) == RAPAHUB_EAGAIN)
            pause_ms(1);
        if (r < 0)
            break;
        memset(loan.data, (int)(i + lender->seed), size);
        if (i % 5 == 0) {
            rapahub_host_drop_loan(lender->on->host, &loan);
        } else if (echo_loan(lender->on, &loan, size, &out) < 0 || out.size != size ||
                   ((const uint8_t *)out.data)[size - 1] != (uint8_t)(i + lender->seed)) {
            break;
        }
        lender->done++;
    }
    return NULL;
}

static void many_threads_lend_at_once(void **state)
{
    struct rapahub_host_options options = small;
    struct lender lenders[4];
    pthread_t threads[4];
    struct hosting on;

    (void)state;
    options.own_thread = true;
    open_host(&on, options);
    assert_done(start(&on, CALC, here, NULL));
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
        cmocka_unit_test(a_loan_of_any_size_arrives_as_it_was_written),
        cmocka_unit_test(a_loan_is_sent_once_or_dropped),
        cmocka_unit_test(a_copy_of_a_dropped_loan_names_no_other_one),
        cmocka_unit_test(what_cannot_be_lent_is_refused),
        cmocka_unit_test(a_loan_is_for_a_last_argument_of_bytes_and_a_call_that_waits),
        cmocka_unit_test(memory_of_a_dead_guest_stays_until_it_is_dropped),
        cmocka_unit_test(many_threads_lend_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
