/* SPDX-License-Identifier: Apache-2.0 */
/* inbound_calls: the calls that one side serves: received, queued, run by the room above, answered
 * once.
 *
 * Requests come under the receive token, so one at a time. A request is in the table from its
 * receipt until just before its answer is sent. Until it runs it is in exactly one of three states:
 * handed, in the queue, or in the list of those that were cancelled there and are still to be
 * answered. The thread that removes it from that state, under the lock or by exchange, and no
 * other, answers it: a serving thread, or the one that settles, or none if the link has closed. A
 * request that direct_serve.h hands out is in none of these states: its mark says that it runs. */
#ifndef HUB_CALL_INBOUND_CALLS_H
#define HUB_CALL_INBOUND_CALLS_H

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
    struct hub_a64 mark; /* hub_request_mark of its id, plus 1 if its caller has given up */
    struct hub_channel_list channels; /* the channels in its arguments, in order */
    void *method;                     /* for the room above: the method that it found at receipt */
    bool plain;            /* the same: that method takes no streams, whatever its arguments are */
    void *payload;         /* private memory, or the memory of `view` */
    uint32_t payload_size; /* undefined in a request that is served directly */
    struct hub_view view;
    bool small;  /* of the size that is kept for the next one; set also if it shows a payload */
    bool queued; /* received, not yet run, and not handed: under the table's lock */
    struct hub_list queue;
};

/* Never 0. */
static inline uint64_t hub_request_mark(uint32_t id)
{
    return ((uint64_t)id + 1) << 1;
}

/* Says whether its caller has given up. Any thread. */
static inline bool hub_request_is_cancelled(const struct hub_request *request)
{
    return (hub_observe64(&request->mark) & 1) != 0;
}

struct hub_inbound_calls;

/* Makes a table. At most `limit` requests are open at once; more are refused, Cancelled with
 * rapahub-fault 1. At most `bytes_max` bytes are stored for the peer: its requests, except those
 * smaller than 512 bytes, and answers that found no space. Beyond that a request is refused with
 * rapahub-fault 4, and the answer to one that has run becomes rapahub-fault 5.
 * r[impl sec.call.budget] */
int hub_inbound_calls_create(uint32_t limit, size_t bytes_max, struct hub_inbound_calls **out);

/* Returns the budget, in which bytes that are stored for the peer elsewhere are reserved too. It
 * lives as long as the table; a longer user needs a reference. */
struct hub_budget *hub_inbound_calls_budget(struct hub_inbound_calls *served);

/* Says whether too much is stored for the peer to run one more request, which is then answered with
 * rapahub-fault 4. */
bool hub_inbound_calls_over_budget(const struct hub_inbound_calls *served,
                                   const struct hub_request *request);
void hub_inbound_calls_bind(struct hub_inbound_calls *served, struct hub_link *link,
                            struct hub_channels *channels);

/* Called for each Request: returns the number of channels in its arguments, which only the room
 * above can decode, or a failure if that is not possible: messages for unknown ids are ignored from
 * then on. Under the token, at once, because the next message may be for these channels. It may
 * store in the request which method it found. NULL: no method has streams. */
typedef int hub_inbound_calls_streams(void *user, struct hub_request *request,
                                      struct hub_channel_name names[HUB_CHANNELS_OF_CALL]);
void hub_inbound_calls_find_streams(struct hub_inbound_calls *served,
                                    hub_inbound_calls_streams *streams, void *user);

/* Does this for a method with these arguments (types without the result). */
int hub_inbound_names(const struct rapahub_type *const *types, const struct hub_request *request,
                      struct hub_channel_name names[HUB_CHANNELS_OF_CALL]);

void hub_inbound_calls_release(struct hub_inbound_calls **served);

/* From now on an answer that finds no space is stored and sent later, by settle: no thread waits
 * for a peer that does not read. A peer that receives none of them for a minute loses the link. For
 * a side that serves more than this peer. r[impl hub.ring.no-drop] */
void hub_inbound_calls_keep_answers(struct hub_inbound_calls *served);

/* Sets the function called under the receive token when a request was queued, and when the first
 * answer is stored. */
void hub_inbound_calls_on_request(struct hub_inbound_calls *served, void (*on_request)(void *user),
                                  void *user);

/* Returns the next queued request that `may` run now (NULL: any), in order of receipt; NULL if
 * there is none. The caller then runs it and must answer it. Any thread. */
struct hub_request *hub_inbound_calls_next(struct hub_inbound_calls *served,
                                           bool (*may)(void *user,
                                                       const struct hub_request *request),
                                           void *user);

/* Says whether there is one. Any thread. */
bool hub_inbound_calls_waits(const struct hub_inbound_calls *served);

/* Sends the Response and forgets the request: exactly once for each. `body` follows the head of
 * an OK. -EMSGSIZE and -ENOSPC are answered in place (rapahub-fault 2) and are no failure.
 * Failures: those of hub_link_send; the request is gone all the same.
 * r[impl call.lifecycle.single-response] */
int hub_inbound_calls_answer(struct hub_inbound_calls *served, struct hub_request *request,
                             const struct hub_response *response, struct rapahub_bytes body);

/* The same for a body in two parts, `head` of at most 16 bytes, `tail` perhaps in a loan, which
 * stays if it was not sent. With `more` the Response may be held back: hub_link_push. */
int hub_inbound_calls_answer_parts(struct hub_inbound_calls *served, struct hub_request *request,
                                   const struct hub_response *response,
                                   const struct hub_parts *body);

/* Says whether `id` is a request that was cancelled, and is not yet answered. Any thread. */
bool hub_inbound_calls_is_cancelled(struct hub_inbound_calls *served, uint32_t id);

/* The link closed: drops queued requests, and flags running ones. */
void hub_inbound_calls_end_all(struct hub_inbound_calls *served);

/* Returns the number of requests that have come and are not answered, including one served
 * directly. */
uint32_t hub_inbound_calls_open(struct hub_inbound_calls *served);

/* From now on large payloads may be read in place: for a trusted peer. */
void hub_inbound_calls_let_view(struct hub_inbound_calls *served);

/* The callbacks for the link. */
void *hub_inbound_calls_place(struct hub_inbound_calls *served, const struct hub_message *message,
                              uint32_t size, uint32_t phase);
int hub_inbound_calls_accept(struct hub_inbound_calls *served, const struct hub_message *message,
                             void *payload);
bool hub_inbound_calls_wants_view(struct hub_inbound_calls *served);
int hub_inbound_calls_view(struct hub_inbound_calls *served, const struct hub_message *message,
                           struct hub_view *view);
void hub_inbound_calls_drop(struct hub_inbound_calls *served, void *payload);
void hub_inbound_calls_cancel(struct hub_inbound_calls *served, uint32_t id);
bool hub_inbound_calls_full(struct hub_inbound_calls *served);

#endif
