/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/base/ids.h"
#include "cluster/wire/format.h"
#include "cluster/wire/record.h"
#include "tests/unit/cluster-wire/written.h"

#define THE_POOL UINT64_C(0x0000010000000002)
#define TEXT(text)               \
    {                            \
        (text), sizeof(text) - 1 \
    }
#define UUID   TEXT("0123456789abcdef")
#define DIGEST TEXT("0123456789abcdef0123456789abcdef")

static const struct rapahub_string addresses[] = {TEXT("unix:/run/x"), TEXT("10.0.0.1:9413")};
static const uint32_t nodes[] = {1, 3};
static const uint16_t slots[4096] = {[4095] = 2};
static const struct cluster_record_method methods[] = {{5, TEXT("add(i64) -> i64")},
                                                       {6, TEXT("get() -> i64")}};

static const struct cluster_record meta = {.meta = {.uuid = UUID,
                                                    .format = 1,
                                                    .generation = 2047,
                                                    .feature_level = 3,
                                                    .fencing = CLUSTER_FENCING_TIME}},
                                   counter = {.counter = {256}},
                                   node = {.node = {.state = CLUSTER_NODE_ACTIVE,
                                                    .capacity = 8,
                                                    .abi = 1,
                                                    .uuid = UUID,
                                                    .name = TEXT("n1"),
                                                    .serial = TEXT("1f"),
                                                    .zone = TEXT("z"),
                                                    .addresses = {.of = addresses, .count = 2}}},
                                   session = {.session = {.boot = 4,
                                                          .seq = 5,
                                                          .ttl_ns = 6,
                                                          .machine_id = UUID,
                                                          .boot_id = UUID,
                                                          .folder_device = 7,
                                                          .folder_inode = 8}},
                                   lead = {.lead = {3, 11}},
                                   pool = {.pool = {.state = CLUSTER_POOL_ACTIVE,
                                                    .containers = 3,
                                                    .slots_count = 4098,
                                                    .digest = DIGEST,
                                                    .spec = TEXT("spec"),
                                                    .manifest = TEXT("manifest")}},
                                   scaled = {.pool = {.state = CLUSTER_POOL_ACTIVE,
                                                      .containers = 3,
                                                      .slots_count = 4096,
                                                      .digest = DIGEST,
                                                      .spec = TEXT("spec"),
                                                      .slots = {.of = slots, .count = 4096}}},
                                   name = {.name = {THE_POOL}},
                                   entry = {.entry = {.state = CLUSTER_ENTRY_MIGRATING,
                                                      .owner = 3,
                                                      .session = 11,
                                                      .epoch = 5,
                                                      .lineage = 0x10000,
                                                      .destination = 4,
                                                      .op = 77,
                                                      .module = 1}},
                                   holders = {.holders = {7, {.of = nodes, .count = 2}}},
                                   operation = {.operation = {.kind = 1,
                                                              .step = 2,
                                                              .budget_ms = 3,
                                                              .result = -110,
                                                              .arguments = TEXT("arguments"),
                                                              .text = TEXT("no answer")}},
                                   module = {.module = {.name = TEXT("kv"),
                                                        .version = TEXT("1.2+git"),
                                                        .machine = TEXT("x86_64"),
                                                        .abi = 1,
                                                        .state_version = 2,
                                                        .size = 3,
                                                        .digest = DIGEST,
                                                        .methods = {.of = methods, .count = 2}}},
                                   import = {.import = {THE_POOL, TEXT("kv.yaml")}},
                                   join_token = {.join_token = {.uses = 1024,
                                                                .tries = 5,
                                                                .until_s = 1800000000,
                                                                .digest = DIGEST}},
                                   revoked = {.revoked = {1800000000, 1800000001}};

static const struct {
    enum cluster_keys_kind kind;
    const struct cluster_record *record;
} records[] = {
    {CLUSTER_KEY_META, &meta},          {CLUSTER_KEY_NEXT_NODE, &counter},
    {CLUSTER_KEY_NEXT_POOL, &counter},  {CLUSTER_KEY_NODE, &node},
    {CLUSTER_KEY_SESSION, &session},    {CLUSTER_KEY_LEAD, &lead},
    {CLUSTER_KEY_POOL, &pool},          {CLUSTER_KEY_POOL, &scaled},
    {CLUSTER_KEY_NAME, &name},          {CLUSTER_KEY_ENTRY, &entry},
    {CLUSTER_KEY_HOLD, &holders},       {CLUSTER_KEY_OPERATION, &operation},
    {CLUSTER_KEY_RECOVERY, &operation}, {CLUSTER_KEY_MODULE, &module},
    {CLUSTER_KEY_IMPORT, &import},      {CLUSTER_KEY_TOKEN, &join_token},
    {CLUSTER_KEY_REVOKED, &revoked},
};
#define RECORDS (sizeof records / sizeof *records)

static struct written write_record(enum cluster_keys_kind kind, const struct cluster_record *record)
{
    static uint8_t to[WRITTEN_MAX];
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    assert_int_equal(cluster_record_put(&writer, kind, record), 0);
    return written_by(&writer);
}

/* r[verify cluster.record.kind] */
static void a_record_of_each_kind_is_read_and_written_again_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < RECORDS; i++) {
        struct written first = write_record(records[i].kind, records[i].record), second;
        struct cluster_record out;

        assert_int_equal(cluster_record_read(records[i].kind, written_bytes(&first), &out), 0);
        second = write_record(records[i].kind, &out);
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.data, second.data, first.size);
        written_release(&first);
        written_release(&second);
    }
}

/* r[verify cluster.wire.strict] */
static void a_record_that_is_cut_or_longer_is_refused(void **state)
{
    struct cluster_record out;

    (void)state;
    for (size_t i = 0; i < RECORDS; i++) {
        struct written all = write_record(records[i].kind, records[i].record);

        for (size_t size = 0; size<all.size; size += all.size> 500 ? 97 : 1) {
            struct written cut = written_cut(&all, size);

            assert_int_equal(cluster_record_read(records[i].kind, written_bytes(&cut), &out),
                             RAPAHUB_EFORMAT);
            written_release(&cut);
        }
        all.data = realloc(all.data, all.size + 1);
        assert_non_null(all.data);
        all.data[all.size++] = 0;
        assert_int_equal(cluster_record_read(records[i].kind, written_bytes(&all), &out),
                         RAPAHUB_EFORMAT);
        written_release(&all);
    }
}

/* r[verify cluster.record.kind] */
static void other_kinds_of_keys_have_no_records(void **state)
{
    const enum cluster_keys_kind none[] = {CLUSTER_KEY_LOG, CLUSTER_KEY_MARKER,
                                           CLUSTER_KEY_MODULE_HAVE, CLUSTER_KEY_KINDS};
    struct hub_writer writer;
    struct cluster_record out;

    (void)state;
    hub_writer_count(&writer);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(cluster_record_put(&writer, none[i], &counter), RAPAHUB_EINVAL);
        assert_int_equal(cluster_record_read(none[i], (struct rapahub_bytes){"\1\1", 2}, &out),
                         RAPAHUB_EINVAL);
    }
}

/* r[verify cluster.record.kind] */
static void an_entry_keeps_all_its_members(void **state)
{
    struct written written = write_record(CLUSTER_KEY_ENTRY, &entry);
    struct cluster_record out;

    (void)state;
    assert_int_equal(cluster_record_read(CLUSTER_KEY_ENTRY, written_bytes(&written), &out), 0);
    assert_memory_equal(&out.entry, &entry.entry, WRITTEN_ENTRY);
    written_release(&written);
}

/* r[verify cluster.record.kind] */
static void the_lists_of_records_are_walked(void **state)
{
    struct written written[4] = {
        write_record(CLUSTER_KEY_NODE, &node), write_record(CLUSTER_KEY_HOLD, &holders),
        write_record(CLUSTER_KEY_POOL, &scaled), write_record(CLUSTER_KEY_MODULE, &module)};
    struct cluster_record out;
    struct rapahub_string text;
    struct cluster_record_method method;
    uint32_t number;
    uint16_t slot, last = 0;

    (void)state;
    assert_int_equal(cluster_record_read(CLUSTER_KEY_NODE, written_bytes(&written[0]), &out), 0);
    assert_true(cluster_format_next(&out.node.addresses, &rapahub_type_string, &text));
    assert_true(cluster_format_next(&out.node.addresses, &rapahub_type_string, &text));
    assert_memory_equal(text.data, "10.0.0.1:9413", text.size);
    assert_false(cluster_format_next(&out.node.addresses, &rapahub_type_string, &text));
    assert_int_equal(cluster_record_read(CLUSTER_KEY_HOLD, written_bytes(&written[1]), &out), 0);
    assert_true(cluster_record_next_node(&out.holders.nodes, &number));
    assert_int_equal(number, 1);
    assert_int_equal(cluster_record_read(CLUSTER_KEY_POOL, written_bytes(&written[2]), &out), 0);
    while (cluster_record_next_slot(&out.pool.slots, &slot))
        last = slot;
    assert_int_equal(last, 2);
    assert_int_equal(cluster_record_read(CLUSTER_KEY_MODULE, written_bytes(&written[3]), &out), 0);
    assert_true(cluster_record_next_method(&out.module.methods, &method));
    assert_true(cluster_record_next_method(&out.module.methods, &method));
    assert_int_equal(method.id, 6);
    assert_memory_equal(method.signature.data, "get() -> i64", 12);
    for (int i = 0; i < 4; i++)
        written_release(&written[i]);
}

static int put(enum cluster_keys_kind kind, const struct cluster_record *record)
{
    struct hub_writer writer;

    hub_writer_count(&writer);
    return cluster_record_put(&writer, kind, record);
}

/* The record with members changed, as in `node.state = 1, changed.node.abi = 2`. */
#define RESULT(code, kind, what, ...)                              \
    do {                                                           \
        struct cluster_record changed = what;                      \
        changed.__VA_ARGS__;                                       \
        assert_int_equal(put(CLUSTER_KEY_##kind, &changed), code); \
    } while (0)
#define REFUSES(...) RESULT(RAPAHUB_EINVAL, __VA_ARGS__)
#define TAKES(...)   RESULT(0, __VA_ARGS__)

/* r[verify cluster.record.kind] */
static void a_node_and_its_session_that_cannot_be_are_refused(void **state)
{
    static const char big[CLUSTER_RECORD_TEXT_MAX + 1];
    const struct rapahub_string empty = {"", 0}, long_address = {big, sizeof big};

    (void)state;
    REFUSES(META, meta, meta.uuid.size = 15);
    REFUSES(META, meta, meta.generation = 2048);
    REFUSES(META, meta, meta.fencing = CLUSTER_FENCINGS);
    REFUSES(NEXT_NODE, counter, counter.next = 0);
    REFUSES(NODE, node, node.state = 0);
    REFUSES(NODE, node, node.state = CLUSTER_NODE_STATES);
    REFUSES(NODE, node, node.uuid.size = 17);
    REFUSES(NODE, node, node.name.size = 0);
    TAKES(NODE, node, node.zone.size = 0);
    REFUSES(NODE, node, node.zone = (struct rapahub_string)TEXT("a/b"));
    REFUSES(NODE, node, node.serial = (struct rapahub_string){big, 41});
    TAKES(NODE, node, node.serial = (struct rapahub_string){big, 40});
    REFUSES(NODE, node, node.addresses.of = &empty, changed.node.addresses.count = 1);
    REFUSES(NODE, node, node.addresses.of = &long_address, changed.node.addresses.count = 1);
    REFUSES(NODE, node, node.addresses.count = CLUSTER_RECORD_ADDRESSES_MAX + 1);
    REFUSES(SESSION, session, session.boot = 0);
    REFUSES(SESSION, session, session.seq = 0);
    REFUSES(SESSION, session, session.machine_id.size = 15);
    REFUSES(SESSION, session, session.boot_id.size = 0);
    TAKES(SESSION, session, session.ttl_ns = 0);
    REFUSES(LEAD, lead, lead.node = 0);
    REFUSES(LEAD, lead, lead.session = 0);
}

/* r[verify cluster.record.kind] */
static void a_pool_and_its_containers_that_cannot_be_are_refused(void **state)
{
    const uint32_t none = 0, falling[] = {3, 1};

    (void)state;
    REFUSES(POOL, pool, pool.state = CLUSTER_POOL_STATES);
    REFUSES(POOL, pool, pool.digest.size = 31);
    REFUSES(POOL, pool, pool.spec.size = 0);
    REFUSES(POOL, pool, pool.slots_count = 4099);
    REFUSES(POOL, pool, pool.containers = 0);
    REFUSES(POOL, scaled, pool.slots_count = 4097);
    REFUSES(POOL, scaled, pool.containers = 0);
    REFUSES(POOL, scaled, pool.containers = 2);
    REFUSES(POOL, scaled, pool.containers = 4097);
    TAKES(POOL, scaled, pool.containers = 4096);
    REFUSES(NAME, name, name.pool = 5);
    REFUSES(ENTRY, entry, entry.owner = 0);
    REFUSES(HOLD, holders, holders.nodes.of = &none, changed.holders.nodes.count = 1);
    REFUSES(HOLD, holders, holders.nodes.count = CLUSTER_RECORD_HOLDERS_MAX + 1);
    REFUSES(HOLD, holders, holders.nodes.count = 0);
    REFUSES(HOLD, holders, holders.nodes.of = falling);
    REFUSES(HOLD, holders, holders.joining = nodes[1]);
    TAKES(HOLD, holders, holders.joining = 0);
}

/* r[verify cluster.record.kind] */
static void slots_that_were_read_lead_to_containers_of_the_pool(void **state)
{
    struct written written = write_record(CLUSTER_KEY_POOL, &scaled);
    struct cluster_record out;

    (void)state;
    written.data[written.size - 1] = 3;
    assert_int_equal(cluster_record_read(CLUSTER_KEY_POOL, written_bytes(&written), &out),
                     RAPAHUB_EFORMAT);
    written.data[written.size - 1] = 1;
    assert_int_equal(cluster_record_read(CLUSTER_KEY_POOL, written_bytes(&written), &out), 0);
    written_release(&written);
}

/* r[verify cluster.record.kind] */
static void an_operation_and_a_module_that_cannot_be_are_refused(void **state)
{
    static const char big[CLUSTER_RECORD_TEXT_MAX + 1];
    const struct cluster_record_method bad[] = {{5, {"", 0}}, {5, {big, sizeof big}}};

    (void)state;
    REFUSES(OPERATION, operation, operation.kind = 0);
    REFUSES(RECOVERY, operation, operation.text = (struct rapahub_string){big, sizeof big});
    TAKES(RECOVERY, operation, operation.text = (struct rapahub_string){big, sizeof big - 1});
    REFUSES(MODULE, module, module.name.size = 0);
    REFUSES(MODULE, module, module.version.size = 0);
    REFUSES(MODULE, module, module.machine.size = 0);
    REFUSES(MODULE, module, module.digest.size = 31);
    REFUSES(MODULE, module, module.size = 0);
    REFUSES(MODULE, module, module.signature = (struct rapahub_bytes){big, sizeof big});
    REFUSES(MODULE, module, module.methods.of = &bad[0], changed.module.methods.count = 1);
    REFUSES(MODULE, module, module.methods.of = &bad[1], changed.module.methods.count = 1);
    REFUSES(MODULE, module, module.methods.count = CLUSTER_RECORD_METHODS_MAX + 1);
    REFUSES(IMPORT, import, import.pool = 5);
    REFUSES(IMPORT, import, import.file = (struct rapahub_string){big, sizeof big});
}

/* r[verify cluster.record.kind] */
static void a_token_and_a_revocation_that_cannot_be_are_refused(void **state)
{
    (void)state;
    REFUSES(TOKEN, join_token, join_token.digest.size = 31);
    REFUSES(TOKEN, join_token, join_token.uses = 1025);
    TAKES(TOKEN, join_token, join_token.uses = 0);
    REFUSES(TOKEN, join_token, join_token.tries = 6);
    TAKES(TOKEN, join_token, join_token.tries = 0);
    REFUSES(REVOKED, revoked, revoked.until_s = 1800000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_of_each_kind_is_read_and_written_again_the_same),
        cmocka_unit_test(a_record_that_is_cut_or_longer_is_refused),
        cmocka_unit_test(other_kinds_of_keys_have_no_records),
        cmocka_unit_test(an_entry_keeps_all_its_members),
        cmocka_unit_test(the_lists_of_records_are_walked),
        cmocka_unit_test(a_node_and_its_session_that_cannot_be_are_refused),
        cmocka_unit_test(a_pool_and_its_containers_that_cannot_be_are_refused),
        cmocka_unit_test(slots_that_were_read_lead_to_containers_of_the_pool),
        cmocka_unit_test(an_operation_and_a_module_that_cannot_be_are_refused),
        cmocka_unit_test(a_token_and_a_revocation_that_cannot_be_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
