/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/identity/join_token.h"
#include "tests/support/testing.h"

#define NOW    UINT64_C(1800000000)
#define ID     "0123456789abcdef"
#define SECRET "00112233445566778899aabbccddeeff"

static int parse(const char *text, struct cluster_join_token *out)
{
    return cluster_join_token_parse((struct rapahub_string){text, strlen(text)}, out);
}

/* r[verify cluster.identity.token] */
static void a_token_is_printed_and_read(void **state)
{
    struct cluster_join_token token, again;
    char text[CLUSTER_JOIN_TOKEN_TEXT];

    (void)state;
    assert_int_equal(cluster_join_token_make(&token), 0);
    cluster_join_token_print(&token, text);
    assert_int_equal(strlen(text), CLUSTER_JOIN_TOKEN_TEXT - 1);
    assert_int_equal(parse(text, &again), 0);
    assert_true(again.id == token.id);
    assert_memory_equal(again.secret, token.secret, sizeof token.secret);
    assert_int_equal(parse("rh1." ID "." SECRET, &token), 0);
    assert_true(token.id == UINT64_C(0x0123456789abcdef));
    assert_int_equal(token.secret[15], 0xff);
    cluster_join_token_print(&token, text);
    assert_string_equal(text, "rh1." ID "." SECRET);
}

/* r[verify cluster.identity.token] */
static void another_text_is_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "x",
                                        "rh1.",
                                        "rh1." ID,
                                        "rh1." ID ".",
                                        "rh1." ID "." SECRET "0",
                                        "rh1." ID "." SECRET "\n",
                                        "rh2." ID "." SECRET,
                                        "RH1." ID "." SECRET,
                                        " h1." ID "." SECRET,
                                        "rh1.0000000000000000." SECRET,
                                        "rh1.0123456789ABCDEF." SECRET,
                                        "rh1." ID ":" SECRET,
                                        "rh1.012345678 abcdef." SECRET,
                                        "rh1." ID ".00112233445566778899aabbccddeefg",
                                        "rh1.-123456789abcdef." SECRET};
    struct cluster_join_token token;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(parse(texts[i], &token), RAPAHUB_EINVAL);
        assert_null(strstr(rapahub_last_error()->text, SECRET)); /* it may be a log's */
    }
    assert_int_equal(cluster_join_token_parse((struct rapahub_string){NULL, 0}, &token),
                     RAPAHUB_EINVAL);
}

static void begin(struct cluster_join_token *token, struct cluster_join_token_state *state,
                  uint32_t uses)
{
    *state = (struct cluster_join_token_state){
        .until_s = NOW + 60, .uses = uses, .tries = CLUSTER_JOIN_TOKEN_TRIES};
    assert_int_equal(cluster_join_token_make(token), 0);
    assert_int_equal(cluster_join_token_digest(token, state->digest), 0);
}

/* r[verify cluster.identity.token] */
static void a_token_is_good_as_often_as_it_says(void **unused)
{
    struct cluster_join_token_state state;
    struct cluster_join_token token;

    (void)unused;
    begin(&token, &state, 2);
    assert_int_equal(cluster_join_token_judge(&token, NOW, &state), CLUSTER_JOIN_TOKEN_GOOD);
    assert_int_equal(cluster_join_token_judge(&token, NOW + 59, &state), CLUSTER_JOIN_TOKEN_GOOD);
    assert_int_equal(cluster_join_token_judge(&token, NOW, &state), CLUSTER_JOIN_TOKEN_USED);
    assert_int_equal(state.uses, 0);
    assert_int_equal(state.tries, CLUSTER_JOIN_TOKEN_TRIES);
}

/* r[verify cluster.identity.token] */
static void an_old_token_is_good_for_nothing(void **unused)
{
    struct cluster_join_token_state state;
    struct cluster_join_token token;

    (void)unused;
    begin(&token, &state, 1);
    assert_int_equal(cluster_join_token_judge(&token, NOW + 60, &state), CLUSTER_JOIN_TOKEN_OLD);
    assert_int_equal(state.uses, 1);
}

/* r[verify cluster.identity.token] */
static void who_guesses_five_times_ends_it(void **unused)
{
    struct cluster_join_token_state state;
    struct cluster_join_token token, guess;

    (void)unused;
    begin(&token, &state, 1);
    guess = token;
    for (unsigned i = 0; i < CLUSTER_JOIN_TOKEN_TRIES; i++) {
        guess.secret[i] ^= 1;
        assert_int_equal(cluster_join_token_judge(&guess, NOW, &state), CLUSTER_JOIN_TOKEN_WRONG);
    }
    assert_int_equal(cluster_join_token_judge(&guess, NOW, &state), CLUSTER_JOIN_TOKEN_GUESSED);
    assert_int_equal(cluster_join_token_judge(&token, NOW, &state), CLUSTER_JOIN_TOKEN_GUESSED);
    assert_int_equal(state.uses, 1);
}

/* A wrong secret is told to be wrong, whether the token is used or old. */
static void who_does_not_know_it_learns_nothing(void **unused)
{
    struct cluster_join_token_state state;
    struct cluster_join_token token, guess;

    (void)unused;
    begin(&token, &state, 0);
    guess = token;
    guess.secret[0] ^= 1;
    assert_int_equal(cluster_join_token_judge(&guess, NOW + 99, &state), CLUSTER_JOIN_TOKEN_WRONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_printed_and_read),
        cmocka_unit_test(another_text_is_refused),
        cmocka_unit_test(a_token_is_good_as_often_as_it_says),
        cmocka_unit_test(an_old_token_is_good_for_nothing),
        cmocka_unit_test(who_guesses_five_times_ends_it),
        cmocka_unit_test(who_does_not_know_it_learns_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
