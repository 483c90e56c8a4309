/* SPDX-License-Identifier: Apache-2.0 */
/* A guest that attacks its host as it is told. Where the module is not kv it becomes the real guest
 * program instead: one host starts one program for all its guests, and the neighbour is honest. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/attack/hostile.h"
#include "tests/raw/raw_call.h"
#include "tests/raw/raw_channel.h"
#include "tests/raw/raw_guest.h"
#include "tests/raw/raw_module.h"
#include "tests/support/pause.h"

#define CALL_MS 10000
#define GONE    '-' /* before a name: it does it, and is gone at once */

static hostile_attack *find(const struct hostile *list, const uint8_t *name, size_t size)
{
    for (; list->name; list++)
        if (strlen(list->name) == size && memcmp(list->name, name, size) == 0)
            return list->run;
    return NULL;
}

static int attack(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    const struct raw_message kept = *request; /* but its payload */
    hostile_attack *run;
    const uint8_t *name;
    size_t size;
    bool gone;

    (void)user;
    name = raw_postcard_take_bytes(&arguments, &size);
    if (arguments.wrong)
        return raw_call_fail(link, kept.id, RAW_INVALID_PAYLOAD, CALL_MS);
    gone = size > 0 && name[0] == GONE;
    name += gone;
    size -= gone;
    run = find(hostile_words, name, size);
    if (!run)
        run = find(hostile_messages, name, size);
    if (!run && link->classes)
        run = find(hostile_slots, name, size);
    if (!run)
        return raw_call_fail(link, kept.id, RAW_INVALID_PAYLOAD, CALL_MS);
    run(link, &kept);
    if (gone)
        _exit(3);
    return raw_call_answer(link, kept.id, NULL, CALL_MS);
}

static int attack_streams(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    const struct hostile_on_streams *at = hostile_channels;
    struct hostile_streams streams;
    uint32_t id = request->id;
    const uint8_t *name;
    size_t size;

    (void)user;
    name = raw_postcard_take_bytes(&arguments, &size);
    streams.source = (uint32_t)raw_postcard_take_u64(&arguments);
    streams.sink = (uint32_t)raw_postcard_take_u64(&arguments);
    while (!arguments.wrong && at->name &&
           (strlen(at->name) != size || memcmp(at->name, name, size)))
        at++;
    if (arguments.wrong || !at->name)
        return raw_call_fail(link, id, RAW_INVALID_PAYLOAD, CALL_MS);
    at->run(link, &streams);
    raw_channel_tell(link, RAW_RESET, streams.source);
    raw_channel_set(link, streams.sink, RAW_CHANNEL_CLOSED);
    return raw_call_answer(link, id, NULL, CALL_MS);
}

static int poke(struct raw_link *link, const struct raw_message *request, void *user)
{
    (void)user;
    return raw_call_answer(link, request->id, NULL, CALL_MS);
}

static bool is_neighbour(int argc, char *const argv[])
{
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--module-name=", 14) == 0 && !strstr(argv[i], "/kv.so"))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    struct raw_method methods[4 + HOSTILE_REQUESTS + 1] = {
        {"attack(string) -> void", attack},
        {"attack_streams(string, source, sink) -> void", attack_streams},
        {"poke(bytes) -> void", poke},
    };
    const struct raw_module module = {
        .name = "hostile", .methods = methods, .orders = hostile_orders};
    struct raw_ticket ticket;
    struct raw_link link;

    memcpy(methods + 3, hostile_requests, sizeof(hostile_requests));
    methods[3 + HOSTILE_REQUESTS] = hostile_lie;
    if (is_neighbour(argc, argv)) {
        execv(HONEST_GUEST, argv);
        return 127;
    }
    if (raw_guest_ticket(argc, argv, &ticket) < 0)
        return 64;
    if (raw_guest_attach(&ticket, NULL, &link) < 0)
        return 70;
    /* The host must notice that a slot was taken from it: it ends this guest. */
    if (raw_module_announce(&link, &module, CALL_MS) == 0)
        while (raw_module_serve(&link, &module) == -EPROTO)
            pause_ms(10);
    return 1; /* without a goodbye */
}
