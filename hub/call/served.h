/* SPDX-License-Identifier: Apache-2.0 */
/* served: the calls one side serves: received, queued, run by the room above, answered once.
 *
 * Who may do what. Requests come under the receive token, so one at a time. A request is in the
 * table from its receipt to just before its answer is sent, and until it runs in exactly one of
 * three places: handed, the queue, or what is owed an answer because it was cancelled there. Who
 * takes it out of that place, under the lock or by exchange, and nobody else, answers it: any
 * thread that serves, the one that settles, or nobody where the link has closed. One that
 * direct_serve.h hands out is in none of these: its mark says that it runs. */
#ifndef HUB_CALL_SERVED_H
#define HUB_CALL_SERVED_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/budget.h"
#include "hub/base/list.h"
#include "hub/channel/channels.h"
#include "hub/link/link.h"
#include "hub/wire/metadata.h"
#include "hub/wire/response.h"

/* A Request, from its receipt to its Response. Belongs to the table. */
struct hub_request {
    uint32_t id;
    uint64_t method_id;
    struct hub_metadata metadata;   /* views into payload */
    struct rapahub_bytes arguments; /* views into payload */
    struct hub_a64 mark; /* hub_request_mark of its id, and 1 where nobody waits any more */
    struct hub_channel_list channels; /* its arguments name, in order */
    void *method;                     /* for the room above: what it found at receipt */
    bool plain;    /* the same: that method takes no streams, whatever its arguments are */
    void *payload; /* private memory, or what `view` shows */
    uint32_t payload_size;
    struct hub_view view;
    bool small;  /* of the size that is kept for the next one; also where it shows a payload */
    bool queued; /* received, not yet run, and not handed: under the table's lock */
    struct hub_list queue;
};

/* Never 0. */
static inline uint64_t hub_request_mark(uint32_t id)
{
    return ((uint64_t)id + 1) << 1;
}

/* Does nobody wait for it any more? Any thread. */
static inline bool hub_request_is_cancelled(const struct hub_request *request)
{
    return (hub_observe64(&request->mark) & 1) != 0;
}

struct hub_served;

/* At most `limit` at once, more are refused, Cancelled with rapahub-fault 1; and `bytes_max` of
 * what is kept for the peer: its requests, but for those smaller than 512 bytes, and answers that
 * found no space. Beyond that a request is refused with rapahub-fault 4, and the answer to one that
 * has run becomes rapahub-fault 5. r[impl sec.call.budget] */
int hub_served_create(uint32_t limit, size_t bytes_max, struct hub_served **out);

/* What is kept for the peer elsewhere is taken from it too. As long as the table; hold it for
 * longer. */
struct hub_budget *hub_served_budget(struct hub_served *served);

/* Too much is kept for the peer already to run one more, which is then answered with rapahub-fault
 * 4. */
bool hub_served_over_budget(const struct hub_served *served, const struct hub_request *request);
void hub_served_bind(struct hub_served *served, struct hub_link *link,
                     struct hub_channels *channels);

/* Asked for each Request: the channels its arguments name, which only the room above can read: how
 * many, or a failure where that cannot be told: what comes for ids nobody knows is ignored from
 * then on. Under the token, at once: what comes next may be for these channels. It may leave in the
 * request which method it found. NULL: no method has streams. */
typedef int hub_served_streams(void *user, struct hub_request *request,
                               struct hub_channel_name names[HUB_CHANNELS_OF_CALL]);
void hub_served_find_streams(struct hub_served *served, hub_served_streams *streams, void *user);

/* What it answers for a method with these arguments (types without the result). */
int hub_served_names(const struct rapahub_type *const *types, const struct hub_request *request,
                     struct hub_channel_name names[HUB_CHANNELS_OF_CALL]);

void hub_served_release(struct hub_served **served);

/* From now on an answer that finds no space is kept and sent later, by settle: no thread waits for
 * a peer that does not read. A peer that takes none of them for a minute loses the link. For a
 * side that has more than this peer to serve. r[impl hub.ring.no-drop] */
void hub_served_keep_answers(struct hub_served *served);

/* Called under the receive token when a request was queued, and when the first answer is kept. */
void hub_served_on_request(struct hub_served *served, void (*on_request)(void *user), void *user);

/* The next queued request that `may` run now (NULL: any), in order of receipt; NULL if none. The
 * caller then runs it and must answer it. Any thread. */
struct hub_request *hub_served_next(struct hub_served *served,
                                    bool (*may)(void *user, const struct hub_request *request),
                                    void *user);

/* Is there one? Any thread. */
bool hub_served_waits(const struct hub_served *served);

/* Sends the Response and forgets the request: exactly once for each. `body` is what stands behind
 * the head of an OK. -EMSGSIZE and -ENOSPC are answered in place (rapahub-fault 2) and are no
 * failure. Failures: those of hub_link_send; the request is gone all the same. r[impl
 * call.lifecycle.single-response]
 */
int hub_served_answer(struct hub_served *served, struct hub_request *request,
                      const struct hub_response *response, struct rapahub_bytes body);

/* The same for a body in two parts, `head` of at most 16 bytes, `tail` perhaps in a loan: one that
 * was not sent stays. With `more` the Response may be held back: hub_link_push. */
int hub_served_answer_parts(struct hub_served *served, struct hub_request *request,
                            const struct hub_response *response, const struct hub_parts *body);

/* Is `id` a request that was cancelled, and not yet answered? Any thread. */
bool hub_served_is_cancelled(struct hub_served *served, uint32_t id);

/* The link closed: queued requests are dropped, running ones get their flag. */
void hub_served_end_all(struct hub_served *served);

/* Requests that have come and are not answered, also one that is taken directly. */
uint32_t hub_served_open(struct hub_served *served);

/* Large payloads may be read where they lie, from now on: of a peer that is trusted. */
void hub_served_let_view(struct hub_served *served);

/* What the link hands up. */
void *hub_served_place(struct hub_served *served, const struct hub_message *message, uint32_t size,
                       uint32_t phase);
int hub_served_accept(struct hub_served *served, const struct hub_message *message, void *payload);
bool hub_served_wants_view(struct hub_served *served);
int hub_served_view(struct hub_served *served, const struct hub_message *message,
                    struct hub_view *view);
void hub_served_drop(struct hub_served *served, void *payload);
void hub_served_cancel(struct hub_served *served, uint32_t id);
bool hub_served_full(struct hub_served *served);

#endif
