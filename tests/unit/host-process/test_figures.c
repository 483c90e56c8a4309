/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/figures.h"
#include "tests/unit/link/pair.h"

#define SEEN_MAX (HUB_FIGURES_COUNT + HOST_FIGURES_RULES)

struct seen {
    struct rapahub_figure figures[SEEN_MAX];
    int count;
};

static void see(void *user, const struct rapahub_figure *figure)
{
    struct seen *seen = user;

    assert_true(seen->count < SEEN_MAX);
    seen->figures[seen->count++] = *figure;
}

static struct seen visit(const struct host_figures *figures,
                         const struct hub_connection *connection)
{
    struct seen seen = {.count = 0};

    host_figures_visit(figures, connection, see, &seen);
    return seen;
}

static void assert_violation(const struct rapahub_figure *figure, const char *rule, uint64_t count)
{
    assert_string_equal(figure->name, "violations");
    assert_string_equal(figure->rule, rule);
    assert_false(figure->gauge);
    assert_true(figure->value == count);
}

/* A request from the host to the guest. */
static void send(struct pair *pair, uint32_t number)
{
    static const uint8_t byte;
    const struct hub_message message = {HUB_REQUEST, number, 99};
    const struct hub_parts parts = {.head = {&byte, 1}};

    assert_int_equal(hub_link_send(pair->host.connection.link, &message, &parts, 0), 0);
}

static void a_guest_without_a_process_has_all_figures_at_zero(void **state)
{
    const struct host_figures figures = {0};
    struct seen seen = visit(&figures, NULL);

    (void)state;
    assert_int_equal(seen.count, HUB_FIGURES_COUNT);
    for (int i = 0; i < seen.count; i++) {
        assert_string_equal(seen.figures[i].name, hub_figures_kinds[i].name);
        assert_string_equal(seen.figures[i].rule, "");
        assert_int_equal(seen.figures[i].gauge, hub_figures_kinds[i].gauge);
        assert_true(seen.figures[i].value == 0);
    }
}

static void counts_are_kept_over_all_lives_and_present_amounts_are_not(void **state)
{
    struct host_figures figures = {0};
    struct hub_limits limits = pair_limits();
    struct seen seen;
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    send(&pair, 1);
    send(&pair, 2);
    seen = visit(&figures, &pair.host.connection);
    assert_true(seen.figures[HUB_FIGURE_SENT].value == 2);
    assert_true(seen.figures[HUB_FIGURE_RING_OUT].value == 2);
    assert_true(seen.figures[HUB_FIGURE_SLOTS_TOTAL].value > 0);
    host_figures_add(&figures, &pair.host.connection);
    seen = visit(&figures, NULL);
    assert_true(seen.figures[HUB_FIGURE_SENT].value == 2);
    assert_true(seen.figures[HUB_FIGURE_RING_OUT].value == 0);
    assert_true(seen.figures[HUB_FIGURE_SLOTS_TOTAL].value == 0);
    host_figures_add(&figures, &pair.host.connection);
    seen = visit(&figures, &pair.host.connection); /* the third life */
    assert_true(seen.figures[HUB_FIGURE_SENT].value == 6);
    assert_true(seen.figures[HUB_FIGURE_RING_OUT].value == 2);
    pair_close(&pair);
}

static void each_broken_rule_is_counted_for_itself(void **state)
{
    const char again[] = "shm.ring";
    struct host_figures figures = {0};
    struct seen seen;

    (void)state;
    host_figures_blame(&figures, "shm.ring");
    host_figures_blame(&figures, "");
    host_figures_blame(&figures, again);
    host_figures_blame(&figures, "shm.slot");
    seen = visit(&figures, NULL);
    assert_int_equal(seen.count, HUB_FIGURES_COUNT + 3);
    assert_violation(&seen.figures[HUB_FIGURES_COUNT], "shm.ring", 2);
    assert_violation(&seen.figures[HUB_FIGURES_COUNT + 1], "", 1);
    assert_violation(&seen.figures[HUB_FIGURES_COUNT + 2], "shm.slot", 1);
}

static void rules_that_find_no_place_are_counted_together(void **state)
{
    struct host_figures figures = {0};
    char rules[HOST_FIGURES_RULES + 1][16];
    struct seen seen;

    (void)state;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i <= HOST_FIGURES_RULES; i++) {
            snprintf(rules[i], sizeof rules[i], "r.%d", i);
            host_figures_blame(&figures, rules[i]);
        }
    seen = visit(&figures, NULL);
    assert_int_equal(seen.count, SEEN_MAX);
    for (int i = 0; i < HOST_FIGURES_RULES - 1; i++)
        assert_violation(&seen.figures[HUB_FIGURES_COUNT + i], rules[i], 2);
    assert_violation(&seen.figures[SEEN_MAX - 1], "other", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_without_a_process_has_all_figures_at_zero),
        cmocka_unit_test(counts_are_kept_over_all_lives_and_present_amounts_are_not),
        cmocka_unit_test(each_broken_rule_is_counted_for_itself),
        cmocka_unit_test(rules_that_find_no_place_are_counted_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
