/* SPDX-License-Identifier: Apache-2.0 */
/* What has changed since the last save, out of one guest and into another: the copy is the base and
 * the changes after it. */
#include <unistd.h>

#include "tests/integration/hosting.h"
#include "tests/support/process.h"

#define COUNTER  TEST_PREFIX "/bin/counter.so"
#define COPY_MAX ((size_t)1 << 20)

static const struct rapahub_container_id there = {.pool = {2, 0}};

static int begin(struct hosting *on, const char *module, struct rapahub_container_id id,
                 const char *params, struct rapahub_source *state)
{
    const struct rapahub_guest_options guest = {.chimod = module};
    const struct rapahub_container_options container = {
        .id = id, .pool_name = "test", .params = {params, strlen(params)}};
    struct rapahub_guest_id made;
    int r = rapahub_host_spawn(on->host, &guest, &made);

    return r == 0 ? rapahub_host_begin(on->host, made, &container, RAPAHUB_BEGIN_INIT, state) : r;
}

static void plug(struct hosting *on, struct rapahub_container_id id, bool plugged)
{
    assert_done(rapahub_host_plug(on->host, id, plugged));
}

/* The base goes into a new container. */
static void carry_base(struct hosting *on, const char *module, const char *params)
{
    struct rapahub_sink *sink = NULL;
    struct rapahub_source *source = NULL;
    const void *bytes;
    size_t size;

    assert_done(rapahub_sink_of_memory(COPY_MAX, &sink));
    plug(on, here, true);
    assert_done(rapahub_host_save(on->host, here, sink));
    plug(on, here, false);
    bytes = rapahub_sink_data(sink, &size);
    assert_done(rapahub_source_of_memory(bytes, size, &source));
    assert_done(begin(on, module, there, params, source));
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
}

/* No call is stopped where they come from. Returns how many bytes they are. */
static size_t carry_changes(struct hosting *on)
{
    struct rapahub_sink *sink = NULL;
    struct rapahub_source *source = NULL;
    const void *bytes;
    bool whole = true;
    size_t size;

    assert_done(rapahub_sink_of_memory(COPY_MAX, &sink));
    assert_done(rapahub_host_save_changes(on->host, here, sink, &whole));
    assert_false(whole);
    bytes = rapahub_sink_data(sink, &size);
    assert_done(rapahub_source_of_memory(bytes, size, &source));
    plug(on, there, true);
    assert_done(rapahub_host_load_changes(on->host, there, source));
    plug(on, there, false);
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
    return size;
}

static int64_t count(struct hosting *on, struct rapahub_container_id id, int64_t amount)
{
    const void *const arguments[] = {&amount, NULL};
    const struct rapahub_call call = {
        .target = id, .method = "add(i64) -> i64", .arguments = arguments};
    int64_t total = -1;

    assert_done(rapahub_host_call(on->host, &call, &total));
    return total;
}

/* r[verify hub.changes.order] */
static void a_counter_goes_on_where_its_copy_is(void **state)
{
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(begin(&on, COUNTER, here, "", NULL));
    assert_int_equal(count(&on, here, 5), 5);
    carry_base(&on, COUNTER, "");
    assert_int_equal(count(&on, there, 0), 5);
    for (int i = 1; i <= 10; i++) {
        count(&on, here, 10);
        carry_changes(&on);
        assert_int_equal(count(&on, there, 0), 5 + 10 * i);
    }
    carry_changes(&on); /* nothing has changed */
    assert_int_equal(count(&on, there, 0), 105);
    close_host(&on);
}

static int put(struct hosting *on, struct rapahub_container_id id, const char *key,
               const void *data, size_t size)
{
    const struct rapahub_string name = rapahub_string_of(key);
    const struct rapahub_bytes value = {data, size};
    const void *const arguments[] = {&name, &value, NULL};
    const struct rapahub_call call = {
        .target = id, .method = "put_later(string, bytes)", .arguments = arguments};

    return rapahub_host_call(on->host, &call, NULL);
}

static size_t size_of(struct hosting *on, struct rapahub_container_id id, const char *key)
{
    const struct rapahub_string name = rapahub_string_of(key);
    const void *const arguments[] = {&name, NULL};
    const struct rapahub_call call = {
        .target = id, .method = "get(string) -> bytes", .arguments = arguments};
    struct rapahub_bytes value;

    assert_done(rapahub_host_call(on->host, &call, &value));
    return value.size;
}

static void remove_folder(const char *folder)
{
    char path[80];

    snprintf(path, sizeof path, "%s/log", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/lock", folder);
    unlink(path);
    rmdir(folder);
}

/* Its changes are several messages, and much less than the whole; its folder stays open. */
static void kv_sends_what_was_put_since(void **state)
{
    static uint8_t value[200000];
    char from[] = "/tmp/rapahub-kv-XXXXXX", to[] = "/tmp/rapahub-kv-XXXXXX", words[64];
    struct hosting on;

    (void)state;
    assert_non_null(mkdtemp(from));
    assert_non_null(mkdtemp(to));
    open_host(&on, (struct rapahub_host_options){0});
    snprintf(words, sizeof words, "dir=%s", from);
    assert_done(begin(&on, PROCESS_CHIMOD("kv"), here, words, NULL));
    assert_done(put(&on, here, "large", value, sizeof value));
    snprintf(words, sizeof words, "dir=%s", to);
    carry_base(&on, PROCESS_CHIMOD("kv"), words);
    assert_int_equal(size_of(&on, there, "large"), sizeof value);
    assert_done(put(&on, here, "small", value, 10));
    assert_in_range(carry_changes(&on), 1, 100);
    assert_done(put(&on, here, "more", value, 150000));
    assert_true(carry_changes(&on) > 150000);
    assert_int_equal(size_of(&on, there, "small"), 10);
    assert_int_equal(size_of(&on, there, "more"), 150000);
    close_host(&on);
    remove_folder(from);
    remove_folder(to);
}

/* One without the callbacks: its whole state, plugged, and nothing to load as changes. */
static void a_module_without_changes_gives_its_whole_state(void **state)
{
    struct rapahub_sink *sink = NULL;
    struct rapahub_source *source = NULL;
    struct hosting on;
    const void *bytes;
    bool whole = false;
    size_t size;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(start(&on, MODULE("ledger"), here, NULL));
    assert_done(rapahub_sink_of_memory(COPY_MAX, &sink));
    assert_refused(rapahub_host_save_changes(on.host, here, sink, &whole), RAPAHUB_EAPPLICATION,
                   "plug");
    assert_int_equal(rapahub_last_error()->application, RAPAHUB_ESTATE);
    plug(&on, here, true);
    assert_done(rapahub_host_save_changes(on.host, here, sink, &whole));
    assert_true(whole);
    bytes = rapahub_sink_data(sink, &size);
    assert_done(rapahub_source_of_memory(bytes, size, &source));
    assert_int_equal(rapahub_host_load_changes(on.host, here, source), RAPAHUB_EABI);
    rapahub_source_destroy(source);
    assert_done(rapahub_source_of_memory(bytes, size, &source));
    assert_done(begin(&on, MODULE("ledger"), there, "", source)); /* it is a base */
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
    close_host(&on);
}

static void changes_are_loaded_where_no_call_can_come(void **state)
{
    struct rapahub_source *source = NULL;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(begin(&on, COUNTER, here, "", NULL));
    assert_done(rapahub_source_of_memory("", 0, &source));
    assert_refused(rapahub_host_load_changes(on.host, here, source), RAPAHUB_ESTATE, "not plugged");
    rapahub_source_destroy(source);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_goes_on_where_its_copy_is),
        cmocka_unit_test(kv_sends_what_was_put_since),
        cmocka_unit_test(a_module_without_changes_gives_its_whole_state),
        cmocka_unit_test(changes_are_loaded_where_no_call_can_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
