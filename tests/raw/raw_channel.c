/* SPDX-License-Identifier: Apache-2.0 */
/* raw channel: an entry has 16 bytes: state at 0 (0 Free, 1 Active, 2 Closed), granted_total at 4.
 * Channel N has entry N. The table's offset stands at 48 of the peer entry, the first credit at 28
 * of the header, the number of entries at 64. */
#include "tests/raw/raw_channel.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/raw/raw_postcard.h"
#include "tests/raw/raw_wait.h"
#include "tests/raw/raw_words.h"

#define SEND_MS 10000

static uint64_t entry_of(const struct raw_link *link, uint32_t id)
{
    return raw_load64(link->base, link->entry + 48) + 16 * (uint64_t)id;
}

static uint32_t first_credit(const struct raw_link *link)
{
    return raw_load32(link->base, 28);
}

int raw_channel_open(struct raw_link *link, uint32_t id, struct raw_channel *out)
{
    if (id == 0 || id >= raw_load32(link->base, 64))
        return -EINVAL;
    if (raw_channel_look(link, id) != RAW_CHANNEL_FREE)
        return -EBUSY;
    *out = (struct raw_channel){.link = link, .id = id, .granted = first_credit(link)};
    raw_store32(link->base, entry_of(link, id) + 4, first_credit(link));
    raw_store32(link->base, entry_of(link, id), RAW_CHANNEL_ACTIVE);
    return 0;
}

int raw_channel_adopt(struct raw_link *link, uint32_t id, struct raw_channel *out)
{
    if (id == 0 || id >= raw_load32(link->base, 64) ||
        raw_channel_look(link, id) != RAW_CHANNEL_ACTIVE ||
        raw_channel_granted(link, id) != first_credit(link))
        return -EPROTO;
    *out = (struct raw_channel){.link = link, .id = id, .granted = first_credit(link)};
    return 0;
}

uint32_t raw_channel_look(const struct raw_link *link, uint32_t id)
{
    return raw_load32(link->base, entry_of(link, id));
}

uint32_t raw_channel_granted(const struct raw_link *link, uint32_t id)
{
    return raw_load32(link->base, entry_of(link, id) + 4);
}

void raw_channel_set(const struct raw_link *link, uint32_t id, uint32_t state)
{
    raw_store32(link->base, entry_of(link, id), state);
}

void raw_channel_set_granted(struct raw_link *link, uint32_t id, uint32_t granted)
{
    raw_store32(link->base, entry_of(link, id) + 4, granted);
    raw_wait_wake(link, 0x18, entry_of(link, id) + 4);
}

int32_t raw_channel_credit(const struct raw_channel *channel)
{
    return (int32_t)(raw_channel_granted(channel->link, channel->id) - channel->sent);
}

static bool has_credit(struct raw_link *link)
{
    return (int32_t)(raw_load32(link->base, link->credit_at) - link->credit_wanted) >= 0;
}

static int send_data(struct raw_link *link, uint32_t id, const struct raw_postcard *element)
{
    const struct raw_message data = {
        .type = RAW_DATA, .id = id, .payload = element->bytes, .length = (uint32_t)element->size};

    return raw_link_send(link, &data, SEND_MS);
}

static struct raw_postcard *make_element(const void *bytes, size_t size)
{
    struct raw_postcard *element = calloc(1, sizeof(*element));

    if (element)
        raw_postcard_bytes(element, bytes, size);
    return element;
}

int raw_channel_send(struct raw_channel *channel, const void *bytes, size_t size, int timeout_ms)
{
    struct raw_link *link = channel->link;
    const struct raw_wait wait = {entry_of(link, channel->id) + 4, 0x08, 0x10, has_credit};
    struct raw_postcard *element = make_element(bytes, size);
    int r;

    if (!element)
        return -ENOMEM;
    link->credit_at = wait.word;
    link->credit_wanted = channel->sent + (uint32_t)element->size;
    r = raw_wait_for(link, &wait, timeout_ms);
    if (r == 0)
        r = send_data(link, channel->id, element);
    if (r == 0)
        channel->sent += (uint32_t)element->size;
    free(element);
    return r;
}

int raw_channel_force(struct raw_link *link, uint32_t id, const void *bytes, size_t size)
{
    struct raw_postcard *element = make_element(bytes, size);
    int r = element ? send_data(link, id, element) : -ENOMEM;

    free(element);
    return r;
}

int raw_channel_tell(struct raw_link *link, enum raw_type type, uint32_t id)
{
    const struct raw_message message = {.type = (uint8_t)type, .id = id};

    return raw_link_send(link, &message, SEND_MS);
}

int raw_channel_close(struct raw_channel *channel)
{
    raw_channel_set(channel->link, channel->id, RAW_CHANNEL_CLOSED);
    return raw_channel_tell(channel->link, RAW_CLOSE, channel->id);
}

int raw_channel_abort(struct raw_channel *channel)
{
    raw_channel_set(channel->link, channel->id, RAW_CHANNEL_CLOSED);
    return raw_channel_tell(channel->link, RAW_RESET, channel->id);
}

int raw_channel_take(struct raw_channel *channel, const struct raw_message *data,
                     const uint8_t **at, size_t *size)
{
    struct raw_postcard_rest rest = {.at = data->payload, .left = data->length};

    channel->received += data->length;
    *at = raw_postcard_take_bytes(&rest, size);
    if ((int32_t)(channel->granted - channel->received) < 0 || rest.wrong || rest.left > 0)
        return -EPROTO;
    return 0;
}

void raw_channel_grant(struct raw_channel *channel, uint32_t bytes)
{
    channel->granted += bytes;
    raw_channel_set_granted(channel->link, channel->id, channel->granted);
}

void raw_channel_free(struct raw_link *link, uint32_t id)
{
    raw_channel_set(link, id, RAW_CHANNEL_FREE);
    raw_wait_wake(link, 0x18, entry_of(link, id));
}
