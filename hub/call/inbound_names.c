/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include <rapahub/error.h>

#include "hub/call/inbound_calls.h"
#include "hub/wire/stream_ids.h"

int hub_inbound_names(const struct rapahub_type *const *types, const struct hub_request *request,
                      struct hub_channel_name names[HUB_CHANNELS_OF_CALL])
{
    uint64_t ids[HUB_CHANNELS_OF_CALL];
    struct hub_stream_marks marks;

    if (!types)
        return RAPAHUB_ENOMETHOD;
    for (size_t i = 0; !types[i] || !hub_signature_is_stream(types[i]); i++)
        if (!types[i])
            return 0;
    if (hub_stream_ids_find(types, request->arguments, &marks, ids) < 0)
        return -EINVAL;
    for (uint32_t i = 0; i < marks.count; i++)
        names[i] = (struct hub_channel_name){ids[i], marks.list[i].is_sink};
    return (int)marks.count;
}
