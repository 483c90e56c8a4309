/* SPDX-License-Identifier: Apache-2.0 */
/* client: calls to the pools of a node, from a program that is no node.
 *
 * A client is connected to a node, one of this machine by its socket and any other one by TLS, and
 * lasts longer than the node does: when the node dies, the client waits for its next life and sends
 * each open call again, as the same call. The node tells a repeated call from a new one. So each
 * call ends exactly once, by an answer or by a named failure.
 *
 * Where the node gives it a segment of shared memory, a thread that waits for a call sends it there
 * by itself, and nothing passes through the socket.
 */
#ifndef RAPAHUB_CLIENT_H
#define RAPAHUB_CLIENT_H

#include <stdint.h>

#include <rapahub/call.h>
#include <rapahub/error.h>
#include <rapahub/export.h>
#include <rapahub/id.h>
#include <rapahub/supervise.h>

RAPAHUB_BEGIN_DECLS

struct rapahub_client;

/* How calls get to the node. */
enum rapahub_client_transport {
    RAPAHUB_CLIENT_AUTOMATIC,    /* shared memory where the node gives it, else the socket */
    RAPAHUB_CLIENT_SOCKET,       /* the socket alone */
    RAPAHUB_CLIENT_SHARED_MEMORY /* shared memory, or rapahub_client_open fails */
};

/* Zeros are the defaults. All that it names is copied. */
struct rapahub_client_options {
    /* Of each node "unix:PATH" of its socket, or "HOST:PORT", with port 9413 if it is left out; at
     * most 8, ended by NULL; they are tried in this order. NULL: the node with the name "node" of
     * this machine, of this user or of the system. */
    const char *const *nodes;
    uint64_t wait_ns;         /* how long rapahub_client_open waits for a node; 30 s */
    uint64_t retry_ns;        /* how long calls wait for a node that is away; 60 s, at most 600 s */
    uint64_t call_timeout_ns; /* of calls that have none; 30 s */
    enum rapahub_client_transport transport;
    /* For "HOST:PORT": the folder with ca.pem, whom the client trusts, and client.pem and
     * client.key, who it is; they are read for each connection. NULL: $XDG_CONFIG_HOME/rapahub/tls,
     * else ~/.config/rapahub/tls. */
    const char *tls;
    uint64_t reserved[6];
};

/* Sets wait_ns and retry_ns, where they are 0, from the variables RAPAHUB_WAIT_SERVER and
 * RAPAHUB_CLIENT_RETRY_TIMEOUT, which are seconds, such as 0.5; else from CHI_WAIT_SERVER and
 * CHI_CLIENT_RETRY_TIMEOUT; and `transport`, where it is automatic, from RAPAHUB_CLIENT_TRANSPORT:
 * automatic, socket or shared-memory; and `tls`, where it is NULL, from RAPAHUB_CLIENT_TLS, whose
 * text it then is. RAPAHUB_ECONFIG: a variable has another value; its name and
 * its value are in the text. Not while another thread changes the environment. */
RAPAHUB_API_CHECKED int rapahub_client_environment(struct rapahub_client_options *options);

/* Connects to a node and waits until it answers, `wait_ns` at most. RAPAHUB_ENETTIMEOUT: no node
 * has; the text says the reason of the last one. -EACCES: this user has no role at the node, or the
 * socket is another user's; or one side refuses the certificate of the other one.
 * RAPAHUB_EPROTOCOL: what listens there is no node. -ENOENT: a file of certificates is not there.
 * RAPAHUB_ENOTSUP: shared memory alone is wanted, and the node gives none. -EINVAL, -ENOMEM. Starts
 * a thread, and one more with shared memory. Any thread. */
RAPAHUB_API_CHECKED int rapahub_client_open(const struct rapahub_client_options *options,
                                            struct rapahub_client **out);

/* Ends the open calls with -ECANCELED, then the client. The node forgets its calls; those that run
 * there go on, unheard. No other thread is in a function of the client, and this is not called by
 * its callbacks. NULL is allowed. */
RAPAHUB_API void rapahub_client_close(struct rapahub_client *client);

/* Returns how calls are sent now: by shared memory, or by the socket, which is also meant where the
 * node is away. With shared memory these go by the socket all the same: asynchronous calls, those
 * to several containers, in an order or with streams, and large ones. Any thread. */
RAPAHUB_API enum rapahub_client_transport rapahub_client_current_transport(
    const struct rapahub_client *client);

/* Finds the pool with a name; waits as a call does. RAPAHUB_ENOPOOL; the errors of a call. Any
 * thread. */
RAPAHUB_API_CHECKED int rapahub_client_pool(struct rapahub_client *client, const char *name,
                                            struct rapahub_pool_id *out);

/* Calls a method and waits. Any thread, but no callback of this client: RAPAHUB_ESTATE. Each call
 * ends once: 0 and *result; RAPAHUB_EAPPLICATION, the method's own error, in the diagnosis; or a
 * failure. Besides those of rapahub_host_call there are RAPAHUB_ENOPOOL, RAPAHUB_ENOTLOCAL;
 * -ETIMEDOUT: the time of the call is over; RAPAHUB_ENETTIMEOUT: the node was away for `retry_ns`
 * (of both, whether it ran is not known); RAPAHUB_EMAYBE: it may have run, and its state may be
 * lost since; -EACCES: the role of this user does not allow it; -EBUSY: too many calls are open,
 * here 65,536, or arguments of 64 MiB. Bytes and strings in *result hold until this thread's next
 * call of this client. `result` may be NULL.
 *
 * `call->query` may choose the containers. Its callback `each` runs on the thread of the client, in
 * the order in which they end, once for each container at most. Calls with the same `order`, not 0,
 * and the same query reach their container in the order in which they were made. A loan is refused
 * with RAPAHUB_ENOTLOCAL; `view` changes nothing.
 *
 * A stream is moved by threads of the client until the call has ended; at most 1,024 are open, or
 * -EBUSY. Such a call goes by the socket, to one container, -EINVAL, which is on the node that the
 * client is connected to, RAPAHUB_ENOTLOCAL. Its time begins anew with each byte that moves. A
 * failure of the caller's own stream is that of the call. If the node goes away when the method has
 * begun to read or write, the call ends with RAPAHUB_EMAYBE; before that the streams are not
 * touched, and the call waits like any other. */
RAPAHUB_API_CHECKED int rapahub_client_call(struct rapahub_client *client,
                                            const struct rapahub_call *call, void *result);

/* Starts a call and returns. on_done runs once, on the thread of the client, unless this function
 * fails; it must not wait, and may start and cancel calls. `result` is NULL unless status is 0, and
 * where the result is void; it and the diagnosis are valid until on_done returns. `out` may be
 * NULL. Any thread. */
RAPAHUB_API_CHECKED int rapahub_client_call_async(struct rapahub_client *client,
                                                  const struct rapahub_call *call,
                                                  rapahub_on_done *on_done, void *user,
                                                  struct rapahub_request_id *out);

/* Ends a call with -ECANCELED, unless it has ended; the node is told. If it runs it goes on,
 * unheard. Any thread. */
RAPAHUB_API void rapahub_client_cancel(struct rapahub_client *client,
                                       struct rapahub_request_id request);

RAPAHUB_END_DECLS

#endif
