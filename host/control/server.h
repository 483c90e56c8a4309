/* SPDX-License-Identifier: Apache-2.0 */
/* server: the state of a control socket (rapahub/control.h). Owner thread, except for the lines. */
#ifndef HOST_CONTROL_SERVER_H
#define HOST_CONTROL_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <rapahub/control.h>

#include "host/control/frame.h"
#include "host/control/lines.h"
#include "host/socket/role.h"
#include "hub/base/list.h"
#include "hub/wire/signature.h"

#define HOST_SERVER_CLIENTS 32
#define HOST_SERVER_SHARED  16 /* clients that are no admins */
#define HOST_SERVER_OF_USER 8  /* clients of one user who is no admin */
#define HOST_SERVER_OFFERS  255
#define HOST_SERVER_NAME    64
#define HOST_SERVER_PATH    108

/* The data of an epoll event: a client's index, or a value below. */
enum { HOST_SERVER_LISTENER = HOST_SERVER_CLIENTS, HOST_SERVER_WAKE };

/* A running call. It exists until its end, even if the client is gone or the socket is closed. */
struct host_server_call {
    struct hub_list link;              /* in the control's calls */
    struct rapahub_control *control;   /* NULL: the socket is closed */
    struct host_server_client *client; /* NULL: the client is gone */
    struct rapahub_request_id request;
    struct hub_signature *signature;
    struct hub_closer *closer; /* this call is a user of it */
    struct rapahub_guest_id guest;
    int32_t pid;
    unsigned streams_count; /* over descriptors of the client */
    struct host_server_stream {
        int fd;
        struct rapahub_source *source;
        struct rapahub_sink *sink;
    } streams[HOST_FRAME_FDS];
};

/* A running operation. It exists until its end, even if the client is gone or the socket is closed.
 */
struct host_server_operation {
    struct hub_list link;              /* in the control's list of operations */
    struct rapahub_control *control;   /* NULL: the socket is closed */
    struct host_server_client *client; /* NULL: the client is gone */
};

struct host_server_client {
    int fd; /* -1: free */
    bool doomed;
    uid_t uid;
    enum rapahub_control_role role;
    bool following;       /* it gets lines */
    uint32_t level;       /* following: least severe level to send */
    uint64_t line;        /* following: number of the last line sent */
    uint64_t last;        /* following: number of the line that ends it; UINT64_MAX: none */
    uint64_t since_ns;    /* following: none that is older; 0: none is too old any more */
    uint64_t last_active; /* monotonic */
    uint32_t interest;    /* the epoll descriptor */
    struct host_frame_buffer in, out;
    struct host_server_call *call;           /* NULL: none */
    struct host_server_operation *operation; /* NULL: none */
};

struct host_server_offer {
    char name[HOST_SERVER_NAME];
    struct rapahub_pool_id pool;
};

struct rapahub_control {
    pid_t process;             /* the owner's process: a forked child has none */
    int epoll, listener, wake; /* wake: an eventfd; lines have come, or a client is doomed */
    struct hub_closer *closer; /* closes clients and the descriptors they have sent */
    struct rapahub_control_host host;
    struct host_role_group group;
    uint64_t refusal_ns; /* a refusal was last logged; monotonic */
    uint32_t refused;    /* since then */
    void (*on_stop)(void *user);
    void *user;
    char path[HOST_SERVER_PATH], name[HOST_SERVER_NAME];
    struct host_lines *lines;
    struct hub_list calls, operations;
    uint32_t offers_count;
    struct host_server_offer offers[HOST_SERVER_OFFERS];
    struct host_server_client clients[HOST_SERVER_CLIENTS];
};

/* 0, or RAPAHUB_ESTATE in a forked child. r[impl hub.host.fork] */
int host_server_check(const struct rapahub_control *control);

/* Closes a client and cancels its call; its operation continues. */
void host_server_drop(struct rapahub_control *control, struct host_server_client *client);

#endif
