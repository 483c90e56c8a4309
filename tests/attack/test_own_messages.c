/* SPDX-License-Identifier: Apache-2.0 */
/* No guest can make the host send one of the host's own messages: by no path to another guest, to
 * itself or to the host, and at no level of trust. */
#include "tests/attack/own_messages.h"
#include "tests/attack/plugins.h"

/* A way in, by a guest made of such a module; and what comes of it. */
struct way {
    const char *chimod, *name;
    uint32_t number;
    bool visited; /* inside of a call of the victim, which so waits in a chain with the attacker */
    bool accused; /* it is a violation; else refused, and counted where it is not the guest's own */
    bool own;     /* a guest's own message to its host is accepted */
};

static const struct way ways[] = {
    {USURPER, "a call", 0, false, true, false},
    {USURPER, "a call with a stream", 1, false, true, false},
    {USURPER, "a call for a result", 2, false, true, false},
    {USURPER, "a call of itself", 3, false, true, false},
    {USURPER, "a call of an offer", 4, false, true, false},
    {USURPER, "a call in the victim's own", 0, true, true, false},
    {RAW, "a request", 0, false, true, false},
    {RAW, "a request in a chain", 1, false, true, false},
    {RAW, "requests of which none is waited for", 2, false, true, false},
    {RAW, "a request in a slot", 3, false, true, false},
    {RAW, "a request to itself", 4, false, true, false},
    {RAW, "a request to an offer", 5, false, true, false},
    {RAW, "a request without a target", 6, false, false, true},
    {RAW, "a request in the victim's chain", 0, true, true, false},
};
#define WAYS (sizeof(ways) / sizeof(*ways))

static int offered(void *self, int64_t number, int64_t *result)
{
    (void)self;
    *result = number;
    return 0;
}

static const struct rapahub_method offers[] = {RAPAHUB_METHOD(same, offered, i64, i64),
                                               RAPAHUB_METHOD_END};

static void on_asked(void *user, int status, const void *result)
{
    (void)status;
    (void)result;
    ++*(unsigned *)user;
}

/* Tells the attacker, or has the victim call it. */
static void begin(struct plugins *plugins, const struct way *way, const struct own_message *message,
                  unsigned *ended)
{
    const struct rapahub_bytes bytes = {message->arguments, message->size};
    const void *const arguments[] = {&way->number, &message->id, &bytes, NULL};
    const struct rapahub_call call = {
        .target = way->visited ? of_victim : of_attacker,
        .method = way->visited ? "visit(u32, u64, bytes) -> i32" : "usurp(u32, u64, bytes) -> i32",
        .arguments = arguments,
    };

    check_done(rapahub_host_call_async(plugins->host, &call, on_asked, ended, NULL));
}

static void check_verdict(struct plugins *plugins, const struct way *way,
                          const struct own_message *message)
{
    bool heard = way->own && message - own_messages >= OWN_TO_GUESTS;

    if (way->accused) {
        if (!until(plugins, &plugins->violations, 1))
            print_error("%s: %s is no violation\n", way->name, message->name);
        assert_int_equal(plugins->violations, 1);
        /* A trusted one has a while to say its last words; another one may be gone. */
        if (rapahub_host_kill(plugins->host, plugins->attacker) < 0)
            assert_true(plugins->down > 0);
        assert_true(until(plugins, &plugins->down, 1));
        assert_int_equal(plugins->violations, 1);
        assert_string_equal(plugins->rule, "sec.call.own");
        return;
    }
    assert_int_equal(plugins->violations, 0);
    assert_int_equal(figure_of(plugins, plugins->attacker, "requests_unknown"), !heard);
    check_done(rapahub_host_kill(plugins->host, plugins->attacker));
    assert_true(until(plugins, &plugins->down, 1));
}

static uint64_t sent(struct plugins *plugins)
{
    return figure_of(plugins, plugins->victim, "messages_sent");
}

/* Nothing goes to the victim but what the test itself sends there. */
static void try(struct plugins *plugins, const struct way *way, const struct own_message *message)
{
    unsigned ended = 0;
    uint64_t before;

    plugins->violations = plugins->down = 0;
    start(plugins, way->chimod, of_attacker, &plugins->attacker);
    before = sent(plugins);
    begin(plugins, way, message, &ended);
    assert_true(until(plugins, &ended, 1));
    check_verdict(plugins, way, message);
    if (sent(plugins) - before != (way->visited ? 2 : 0))
        print_error("%s: %s was delivered\n", way->name, message->name);
    assert_int_equal(sent(plugins) - before, way->visited ? 2 : 0);
    check_victim(plugins);
}

static void try_all(enum rapahub_trust trust)
{
    const struct rapahub_container_options offer = {.id = of_offer, .pool_name = "offer"};
    struct plugins plugins;

    assert_int_equal(OWN_TO_THE_HOST, 1);
    open_plugins(&plugins, trust, (struct rapahub_host_options){0});
    check_done(rapahub_host_offer(plugins.host, &offer, offers, NULL));
    for (size_t i = 0; i < WAYS; i++)
        for (size_t k = 0; k < OWN_MESSAGES; k++)
            try(&plugins, &ways[i], &own_messages[k]);
    close_plugins(&plugins);
}

/* r[verify sec.call.own] r[verify hub.violation] */
static void no_guest_gives_the_orders_of_its_host(void **state)
{
    (void)state;
    try_all(RAPAHUB_TRUST_STANDARD);
}

/* r[verify sec.call.own] */
static void nor_does_one_that_is_trusted(void **state)
{
    (void)state;
    try_all(RAPAHUB_TRUST_TRUSTED);
}

/* Neither whole nor bare is such a name a method's. */
static void by_name(enum rapahub_trust trust)
{
    static const char *const names[] = {"rapahub.fini(u64) -> void",
                                        "rapahub.ping() -> u8",
                                        "rapahub.plug(u64, bool) -> void",
                                        "rapahub.fini",
                                        "rapahub.methods",
                                        "no_such_method"};
    struct plugins plugins;

    open_plugins(&plugins, trust, (struct rapahub_host_options){0});
    start(&plugins, USURPER, of_attacker, &plugins.attacker);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const struct rapahub_string name = rapahub_string_of(names[i]);
        const void *const arguments[] = {&name, NULL};
        const struct rapahub_call call = {
            .target = of_attacker, .method = "name(string) -> i32", .arguments = arguments};
        uint64_t before = sent(&plugins);
        int32_t status = 0;

        check_done(rapahub_host_call(plugins.host, &call, &status));
        assert_true(status < 0);
        assert_int_equal(sent(&plugins), before);
        check_victim(&plugins);
    }
    assert_int_equal(plugins.violations, 0);
    close_plugins(&plugins);
}

static void their_names_are_no_methods(void **state)
{
    (void)state;
    by_name(RAPAHUB_TRUST_STANDARD);
    by_name(RAPAHUB_TRUST_TRUSTED);
}

/* A request for a method that was never announced is refused and counted, and has no other
 * effect. */
static void what_is_not_announced_is_refused_and_counted(void **state)
{
    static const struct way way = {USURPER, "a call of nothing", 0, false, false, false};
    static const struct own_message none = {"none", 4711, 1, {1}};
    struct plugins plugins;

    (void)state;
    open_plugins(&plugins, RAPAHUB_TRUST_STANDARD, (struct rapahub_host_options){0});
    try(&plugins, &way, &none);
    close_plugins(&plugins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_guest_gives_the_orders_of_its_host),
        cmocka_unit_test(nor_does_one_that_is_trusted),
        cmocka_unit_test(their_names_are_no_methods),
        cmocka_unit_test(what_is_not_announced_is_refused_and_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
