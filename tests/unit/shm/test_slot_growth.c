/* SPDX-License-Identifier: Apache-2.0 */
/* Classes that grow while a guest runs: the guest maps the segment anew, as its process would. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/shm/doorbell.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/reclaim.h"
#include "hub/shm/segment.h"
#include "hub/shm/slots.h"
#include "tests/support/leak.h"
#include "tests/support/testing.h"
#include "tests/unit/shm/free_slots.h"

#define BIG   1000 /* bytes: of the larger class, of which each extent has 8 slots in all */
#define SLOTS 8

struct rig {
    struct leak *leak;
    struct hub_segment *host, *guest;
    struct hub_segment_view view;
    struct hub_slots allocator, cache;
    int bells[2];
    uint32_t epoch;
};

static void hear(void *user)
{
    struct rig *rig = user;

    const struct hub_doorbell_ear ear = {.inbox = &rig->cache.cache->arrivals.inbox};

    (void)hub_doorbell_drain(rig->bells[1], &ear);
}

/* Classes of 64 bytes (for one guest 8 slots) and 1,024 (8). */
static struct rig *begin(bool shared, uint64_t most)
{
    const struct hub_limits limits = {.payload_max = 1024,
                                      .credit_size = 1024,
                                      .guests_max = 1,
                                      .ring_size = 4,
                                      .slot_size = 64,
                                      .slot_count = 4,
                                      .channels_max = 4,
                                      .var_bytes_max = most};
    struct rig *rig = calloc(1, sizeof *rig);
    uint32_t peer;

    assert_non_null(rig);
    rig->leak = leak_begin();
    assert_int_equal(hub_doorbell_create(&rig->bells[0], &rig->bells[1]), 0);
    assert_int_equal(hub_segment_create(&limits, shared, &rig->host), 0);
    assert_int_equal(hub_slots_init_host(&rig->allocator, rig->host), 0);
    assert_int_equal(hub_peer_table_reserve(rig->host, &peer, &rig->epoch), 0);
    hub_slots_endow(&rig->allocator, 1);
    (void)hub_slots_connect(&rig->allocator, &(struct hub_slots_line){.bell = rig->bells[0]});
    return rig;
}

static void enter(struct rig *rig)
{
    const struct hub_slots_line line = {-1, hear, rig, NULL};
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", rig->host->mapping.fd);
    assert_int_equal(hub_segment_attach(path, 1, &rig->guest, &rig->view), 0);
    assert_int_equal(hub_slots_init_guest(&rig->cache, rig->guest, &rig->view, 1), 0);
    assert_non_null(hub_slots_connect(&rig->cache, &line));
}

static void end(struct rig *rig)
{
    hub_slots_fini(&rig->cache);
    hub_segment_release(&rig->guest);
    hub_slots_fini(&rig->allocator);
    hub_segment_release(&rig->host);
    close(rig->bells[0]);
    close(rig->bells[1]);
    leak_assert_none(rig->leak);
    free(rig);
}

static int send_big(struct hub_slots *from, struct hub_descriptor *out, uint8_t fill)
{
    struct hub_slot_loan slot;
    int r = hub_slots_loan(from, 1, BIG, &slot);

    if (r < 0)
        return r;
    *out = (struct hub_descriptor){
        .payload_slot = slot.slot, .payload_generation = slot.generation, .payload_len = BIG};
    memset(slot.data, fill, BIG);
    hub_slots_sent(from, &slot);
    return 0;
}

static void take_big(struct hub_slots *at, const struct hub_descriptor *descriptor, uint8_t fill)
{
    struct hub_slots_in in;
    uint8_t got[BIG] = {0};

    assert_int_equal(hub_slots_in_init(&in, at, NULL, NULL, 1), 0);
    assert_int_equal(hub_slots_in_take(&in, descriptor, got), 0);
    for (size_t i = 0; i < BIG; i++)
        assert_int_equal(got[i], fill);
    assert_int_equal(hub_slots_in_free(&in, descriptor->payload_slot), 0);
}

static uint32_t extent_of(const struct hub_descriptor *descriptor)
{
    return hub_slot_ref_unpack(descriptor->payload_slot).extent;
}

static void assert_none_here(int r, const char *rule)
{
    assert_int_equal(r, RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, rule);
}

static int try_to_take(struct rig *rig, const struct hub_descriptor *descriptor)
{
    struct hub_slots_in in;

    assert_int_equal(hub_slots_in_init(&in, &rig->cache, NULL, NULL, 1), 0);
    return hub_slots_in_take(&in, descriptor, NULL);
}

/* The host lends all that it has or may get; then the guest takes all of it, and it comes back. */
static void fill_and_empty(struct rig *rig, uint32_t expected)
{
    struct hub_descriptor sent[64];
    uint32_t count = 0, at_begin = free_slots_of(&rig->allocator);

    while (send_big(&rig->allocator, &sent[count], (uint8_t)count) == 0)
        count++;
    assert_int_equal(count, expected);
    if (!rig->guest)
        enter(rig);
    for (uint32_t i = 0; i < count; i++)
        take_big(&rig->cache, &sent[i], (uint8_t)i);
    assert_true(free_slots_of(&rig->allocator) >= at_begin);
}

/* r[verify shm.varslot.extents] */
static void a_class_in_a_file_grows_and_nothing_moves(void **state)
{
    struct rig *rig = begin(true, UINT64_C(1) << 20);
    struct hub_descriptor before;
    uint32_t free_before;

    (void)state;
    enter(rig);
    assert_int_equal(send_big(&rig->allocator, &before, 0x5a), 0);
    fill_and_empty(rig, SLOTS / 2 - 1 + 3 * SLOTS);
    take_big(&rig->cache, &before, 0x5a);
    free_before = free_slots_of(&rig->allocator);
    fill_and_empty(rig, SLOTS / 2 + 3 * SLOTS);
    assert_int_equal(free_slots_of(&rig->allocator), free_before);
    assert_null(rig->allocator.allocator->growth.made.data); /* what was added is the class's */
    end(rig);
}

/* Extents that are there already when a guest comes. */
static void who_comes_later_finds_what_was_added(void **state)
{
    struct rig *rig = begin(true, UINT64_C(1) << 20);

    (void)state;
    fill_and_empty(rig, SLOTS / 2 + 3 * SLOTS);
    end(rig);
}

/* r[verify shm.varslot.extents] r[verify hub.file.seal] */
static void memory_of_its_own_is_sent_before_its_first_slot(void **state)
{
    struct rig *rig = begin(false, UINT64_C(1) << 20);

    (void)state;
    enter(rig);
    fill_and_empty(rig, SLOTS / 2 + 3 * SLOTS);
    fill_and_empty(rig, SLOTS / 2 + 3 * SLOTS);
    end(rig);
}

static void what_cannot_be_sent_is_kept_until_it_was(void **state)
{
    struct rig *rig = begin(false, UINT64_C(1) << 20);
    struct hub_descriptor sent[SLOTS], late;
    char byte = 0;

    (void)state;
    enter(rig);
    for (uint32_t i = 0; i < SLOTS / 2; i++)
        assert_int_equal(send_big(&rig->allocator, &sent[i], 1), 0);
    while (send(rig->bells[0], &byte, 1, MSG_DONTWAIT) == 1)
        ;
    assert_int_equal(send_big(&rig->allocator, &late, 2), -EAGAIN);
    assert_int_equal(send_big(&rig->allocator, &late, 2), -EAGAIN);
    hear(rig);
    hear(rig);
    assert_int_equal(send_big(&rig->allocator, &late, 2), 0);
    assert_int_equal(extent_of(&late), 1);
    take_big(&rig->cache, &late, 2);
    end(rig);
}

/* r[verify hub.limits] */
static void the_limit_in_bytes_holds(void **state)
{
    struct rig *rig = begin(true, UINT64_C(1) << 20);
    uint64_t one = hub_size_classes_extent_size(&rig->host->geometry.classes.of[1]);
    uint64_t all = one + hub_size_classes_extent_size(&rig->host->geometry.classes.of[0]);

    (void)state;
    end(rig);
    rig = begin(true, all + one);
    fill_and_empty(rig, SLOTS / 2 + SLOTS);
    end(rig);
    rig = begin(true, all + one - 1);
    fill_and_empty(rig, SLOTS / 2);
    end(rig);
}

/* r[verify hub.var.single-popper] */
static void a_guest_that_runs_dry_is_granted_slots_of_a_new_extent(void **state)
{
    struct rig *rig = begin(true, UINT64_C(1) << 20);
    struct hub_descriptor lent[SLOTS], own[SLOTS];

    (void)state;
    enter(rig);
    for (uint32_t i = 0; i < SLOTS / 2; i++) {
        assert_int_equal(send_big(&rig->allocator, &lent[i], 1), 0);
        assert_int_equal(send_big(&rig->cache, &own[i], 2), 0);
    }
    assert_int_equal(send_big(&rig->cache, &own[SLOTS / 2], 3), -EAGAIN);
    assert_true(hub_slots_ask(&rig->cache));
    /* It has half of the class. The host's next message makes the class larger. */
    assert_int_equal(hub_slots_attend(&rig->allocator, 1), 0);
    assert_int_equal(send_big(&rig->allocator, &lent[SLOTS / 2], 1), 0);
    assert_int_equal(send_big(&rig->cache, &own[SLOTS / 2], 3), -EAGAIN);
    assert_true(hub_slots_attend(&rig->allocator, 1) > 0);
    assert_int_equal(send_big(&rig->cache, &own[SLOTS / 2], 3), 0);
    assert_int_equal(extent_of(&own[SLOTS / 2]), 1);
    take_big(&rig->allocator, &own[SLOTS / 2], 3);
    end(rig);
}

/* r[verify shm.crash.recovery] */
static void slots_of_all_extents_come_back_after_a_death(void **state)
{
    struct rig *rig = begin(true, UINT64_C(1) << 20);
    struct hub_descriptor d;
    uint32_t total;

    (void)state;
    enter(rig);
    while (send_big(&rig->allocator, &d, 1) == 0)
        ;
    while (send_big(&rig->cache, &d, 1) == 0)
        ;
    hub_reclaim_reset(rig->host, &rig->allocator, 1);
    hub_reclaim_empty(rig->host, 1);
    total = SLOTS + 4 * SLOTS; /* an extent of the small class, all of the large one */
    assert_int_equal(free_slots_of(&rig->allocator), total);
    end(rig);
}

/* r[verify shm.varslot.extents] */
static void a_slot_of_an_extent_that_nobody_sent_is_a_violation(void **state)
{
    struct rig *rig = begin(false, UINT64_C(1) << 20);
    struct hub_descriptor d = {.payload_len = 1};

    (void)state;
    enter(rig);
    for (uint32_t extent = 1; extent < HUB_EXTENTS_MAX; extent++) {
        d.payload_slot = hub_slot_ref_pack((struct hub_slot_ref){1, extent, 0});
        assert_none_here(try_to_take(rig, &d), "shm.varslot.extents");
    }
    d.payload_slot = hub_slot_ref_pack((struct hub_slot_ref){1, 0, SLOTS});
    assert_none_here(try_to_take(rig, &d), "shm.payload.slot");
    d.payload_slot = hub_slot_ref_pack((struct hub_slot_ref){2, 1, 0});
    assert_none_here(try_to_take(rig, &d), "shm.payload.slot");
    end(rig);
}

/* Memory that a host may send and that is no extent. */
enum fraud { UNSEALED, SHORT, OTHER_HEADER, NO_MEMORY, TWO_AT_ONCE, FRAUDS };

static int forge(const struct rig *rig, enum fraud fraud)
{
    const struct hub_size_class *place = &rig->host->geometry.classes.of[1];
    uint64_t size = hub_size_classes_extent_size(place) - (fraud == SHORT ? 4096 : 0);
    int fd = memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    uint8_t *memory = aligned_alloc(64, hub_size_classes_extent_size(place));

    assert_true(fd >= 0 && memory);
    memset(memory, 0, hub_size_classes_extent_size(place));
    hub_size_classes_format_extent(place, (struct hub_extent_name){1, 1}, memory);
    if (fraud == OTHER_HEADER)
        memory[offsetof(struct hub_extent_header, slot_count)] ^= 1;
    assert_int_equal(pwrite(fd, memory, size, 0), (ssize_t)size);
    free(memory);
    if (fraud != UNSEALED)
        assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    if (fraud == NO_MEMORY) {
        close(fd);
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    }
    return fd;
}

static void send_two(int bell, int fd)
{
    char byte = 1, control[CMSG_SPACE(2 * sizeof(int))] = {0};
    struct iovec iov = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int fds[2] = {fd, fd};

    *header = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fds)};
    memcpy(CMSG_DATA(header), fds, sizeof fds);
    assert_int_equal(sendmsg(bell, &message, 0), 1);
}

/* r[verify shm.varslot.extents] r[verify hub.file.seal] */
static void what_was_sent_is_checked_before_it_is_used(void **state)
{
    (void)state;
    for (enum fraud fraud = UNSEALED; fraud < FRAUDS; fraud++) {
        struct rig *rig = begin(false, UINT64_C(1) << 20);
        struct hub_descriptor d = {
            .payload_slot = hub_slot_ref_pack((struct hub_slot_ref){1, 1, 0}), .payload_len = 1};
        int fd = forge(rig, fraud);

        enter(rig);
        hub_publish64(&rig->allocator.allocator->map.of[1].header->extent_offsets[1],
                      HUB_EXTENT_OWN_MEMORY);
        if (fraud == TWO_AT_ONCE)
            send_two(rig->bells[0], fd);
        else
            assert_true(hub_doorbell_send(rig->bells[0], fd));
        close(fd);
        if (fraud == TWO_AT_ONCE) { /* the first is an extent; but the host broke the rule */
            hear(rig);
            d.payload_slot = hub_slot_ref_pack((struct hub_slot_ref){0, 1, 0});
            hub_publish64(&rig->allocator.allocator->map.of[0].header->extent_offsets[1],
                          HUB_EXTENT_OWN_MEMORY);
        }
        assert_none_here(try_to_take(rig, &d), "shm.varslot.extents");
        end(rig);
    }
}

/* r[verify shm.varslot.extents] */
static void a_place_outside_of_the_file_is_a_violation(void **state)
{
    static const uint64_t places[] = {1 << 20, UINT64_C(1) << 63, 4096 + 64, 0};

    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct rig *rig = begin(true, UINT64_C(1) << 20);
        struct hub_descriptor d = {
            .payload_slot = hub_slot_ref_pack((struct hub_slot_ref){1, 1, 0}), .payload_len = 1};

        enter(rig);
        hub_publish64(&rig->allocator.allocator->map.of[1].header->extent_offsets[1], places[i]);
        assert_none_here(try_to_take(rig, &d), "shm.varslot.extents");
        end(rig);
    }
}

static void count_line(void *user, enum rapahub_log_level level, const char *topic,
                       const char *text)
{
    (void)level;
    (void)topic;
    (void)text;
    ++*(unsigned *)user;
}

/* A full file system, by the limit of a file's size. */
static void memory_that_cannot_be_had_is_said_once_and_harms_nobody(void **state)
{
    struct rig *rig = begin(true, UINT64_C(1) << 20);
    struct rlimit old, small;
    struct hub_descriptor d;
    unsigned lines = 0, sent = 0;

    (void)state;
    enter(rig);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = rig->host->mapping.size, .rlim_max = old.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    rapahub_log_to(count_line, &lines, RAPAHUB_LOG_WARN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    while (send_big(&rig->allocator, &d, 1) == 0)
        sent++;
    assert_int_equal(send_big(&rig->allocator, &d, 1), -EAGAIN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    rapahub_log_to(NULL, NULL, RAPAHUB_LOG_WARN);
    assert_int_equal(sent, SLOTS / 2);
    assert_int_equal(lines, 1);
    end(rig);
}

static void an_extent_that_there_cannot_be_now_may_be_tried_again(void **state)
{
    struct rig *rig = begin(true, UINT64_C(1) << 20);
    struct hub_slot_allocator *allocator = rig->allocator.allocator;
    struct rlimit old, small;
    char byte = 0;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = rig->host->mapping.size, .rlim_max = old.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(hub_slot_growth_add(&allocator->growth, &allocator->map, 1), -EAGAIN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_false(hub_slot_growth_wants(&allocator->growth, &allocator->map, 1)); /* not at once */
    end(rig);
    rig = begin(false, UINT64_C(1) << 20);
    allocator = rig->allocator.allocator;
    while (send(rig->bells[0], &byte, 1, MSG_DONTWAIT) == 1)
        ;
    assert_int_equal(hub_slot_growth_add(&allocator->growth, &allocator->map, 1), -EAGAIN);
    assert_true(hub_slot_growth_wants(&allocator->growth, &allocator->map, 1));
    assert_false(hub_slot_growth_wants(&allocator->growth, &allocator->map, 0));
    end(rig);
}

static void assert_noticed(struct rig *rig, uint8_t *extent)
{
    struct hub_extent_header *header = (struct hub_extent_header *)(void *)extent;
    char path[64];

    header->slot_count ^= 1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", rig->host->mapping.fd);
    assert_int_equal(hub_segment_attach(path, 1, &rig->guest, &rig->view), RAPAHUB_EFORMAT);
    assert_string_equal(rapahub_last_error()->rule, "shm.varslot.extent-layout");
    header->slot_count ^= 1;
}

/* Those in memory of their own are checked when they are met. r[verify shm.varslot.extent-layout]
 */
static void who_comes_checks_each_extent_of_the_file(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        struct rig *rig = begin(shared, UINT64_C(1) << 20);
        struct hub_slot_allocator *allocator = rig->allocator.allocator;

        assert_int_equal(hub_slot_growth_add(&allocator->growth, &allocator->map, 1), 0);
        assert_noticed(rig, rig->host->mapping.data + rig->host->geometry.classes.of[1].extents[0]);
        if (shared)
            assert_noticed(rig, allocator->map.of[1].memory[1].data);
        enter(rig);
        end(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_in_a_file_grows_and_nothing_moves),
        cmocka_unit_test(who_comes_later_finds_what_was_added),
        cmocka_unit_test(memory_of_its_own_is_sent_before_its_first_slot),
        cmocka_unit_test(what_cannot_be_sent_is_kept_until_it_was),
        cmocka_unit_test(the_limit_in_bytes_holds),
        cmocka_unit_test(a_guest_that_runs_dry_is_granted_slots_of_a_new_extent),
        cmocka_unit_test(slots_of_all_extents_come_back_after_a_death),
        cmocka_unit_test(a_slot_of_an_extent_that_nobody_sent_is_a_violation),
        cmocka_unit_test(what_was_sent_is_checked_before_it_is_used),
        cmocka_unit_test(a_place_outside_of_the_file_is_a_violation),
        cmocka_unit_test(memory_that_cannot_be_had_is_said_once_and_harms_nobody),
        cmocka_unit_test(an_extent_that_there_cannot_be_now_may_be_tried_again),
        cmocka_unit_test(who_comes_checks_each_extent_of_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
