/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle: the messages of host and guest that are not calls of programs: the container's
 * callbacks, the module's methods, the state. They are ordinary methods whose names begin with
 * "rapahub.", which no chimod may use.
 *
 * A guest knows each container by a handle, a number from 1 on that the host chooses. One bit of it
 * says that the container takes calls only while its host has a lease (hub/shm/lease.h).
 */
#ifndef HUB_WIRE_LIFECYCLE_H
#define HUB_WIRE_LIFECYCLE_H

#include <stdint.h>

#include <rapahub/call.h>
#include <rapahub/id.h>
#include <rapahub/value.h>

/* Limit in bytes of the piece of a saved state that one message carries. */
#define HUB_LIFECYCLE_PIECE 61440

/* The bit of a handle that puts its container under the lease. Low enough for a handle of three
 * bytes on the wire. */
#define HUB_LIFECYCLE_LEASED (UINT64_C(1) << 20)

enum hub_lifecycle_method {
    /* guest to host */
    HUB_LIFECYCLE_READY, /* (hub_ready) -> void: the module is loaded */
    /* host to guest */
    HUB_LIFECYCLE_METHODS, /* (u32 from) -> string: signatures from that index on, a line each */
    HUB_LIFECYCLE_BEGIN,   /* (hub_begin) -> void: init, restart or recover */
    HUB_LIFECYCLE_WRITE,   /* (u64 handle, bytes) -> void: the next piece of a state to load */
    HUB_LIFECYCLE_LOAD,    /* (u64 handle, u32 version) -> void: all pieces were sent; load */
    HUB_LIFECYCLE_SAVE,    /* (u64 handle) -> hub_saved: makes the state ready to be read */
    HUB_LIFECYCLE_READ,    /* (u64 handle, u64 offset) -> bytes: a piece of the state */
    HUB_LIFECYCLE_PLUG,    /* (u64 handle, bool plugged) -> void */
    HUB_LIFECYCLE_WORK,    /* (u64 handle) -> u64: work_remaining */
    HUB_LIFECYCLE_MIGRATE, /* (u64 handle, u64 node) -> void */
    HUB_LIFECYCLE_EXPAND,  /* (u64 handle, u64 node) -> void */
    HUB_LIFECYCLE_RECOVER, /* (u64 handle, hub_container) -> u64 node: schedule_recover */
    HUB_LIFECYCLE_HEALTH,  /* (u64 handle) -> u8: enum rapahub_health */
    HUB_LIFECYCLE_FINI,    /* (u64 handle) -> void */
    HUB_LIFECYCLE_PING,    /* () -> u8: enum rapahub_health, the worst of its containers */
    HUB_LIFECYCLE_DOWN,    /* (u64 handle, hub_down) -> void: child_down */
    /* (u64 handle, bool plugged) -> hub_changes: like SAVE, of what has changed since then */
    HUB_LIFECYCLE_SAVE_CHANGES,
    /* (u64 handle, u32 version) -> void: all pieces were sent; load these changes */
    HUB_LIFECYCLE_LOAD_CHANGES,
    HUB_LIFECYCLE_BEGIN_TOKEN, /* (hub_begin, u64 token) -> void: BEGIN with a token, not 0 */
    HUB_LIFECYCLE_ROUTE,       /* (u64 handle, hub_asked) -> hub_routed: route */
    /* (u64 handle, hub_granted) -> void: a role of the container that begins next under the handle;
     * the description of its region came by the doorbell before */
    HUB_LIFECYCLE_ROLE,
    HUB_LIFECYCLE_ROLES, /* (u64 handle, u8 what) -> void: enum hub_roles, for all its roles */
    HUB_LIFECYCLE_COUNT
};

/* Name, types and id of a lifecycle method. */
struct hub_lifecycle_entry {
    const char *name;
    const struct rapahub_type *const *types; /* result, arguments, NULL */
    uint64_t id;                             /* FNV-1a 64 of the canonical text */
};
extern const struct hub_lifecycle_entry hub_lifecycle_table[HUB_LIFECYCLE_COUNT];

/* Returns hub_lifecycle_table[method].id. */
uint64_t hub_lifecycle_id(enum hub_lifecycle_method method);

/* Returns the method with this id, or HUB_LIFECYCLE_COUNT if there is none. */
enum hub_lifecycle_method hub_lifecycle_of_id(uint64_t id);

struct hub_container {
    uint32_t major, minor, container;
};

struct hub_ready {
    uint32_t abi;
    struct rapahub_string name, version;
    uint64_t state_size;
    uint32_t state_version;
    uint32_t callbacks; /* bit n: the module has the n-th callback of rapahub_container_ops */
    uint32_t methods;   /* number of methods */
};

enum hub_begin_how { HUB_BEGIN_INIT, HUB_BEGIN_RESTART, HUB_BEGIN_RECOVER };

struct hub_begin {
    uint64_t handle;
    struct hub_container id;
    struct rapahub_string pool_name;
    struct rapahub_bytes params;
    uint8_t how; /* enum hub_begin_how */
    bool load_follows;
};

struct hub_saved {
    uint64_t size;
    uint32_t version;
    uint32_t checksum; /* CRC32C of the bytes */
};

struct hub_changes {
    uint64_t size;
    uint32_t version;
    uint32_t checksum; /* CRC32C of the bytes */
    bool whole;        /* the module knows no changes: it is all of the state, as of SAVE */
};

struct hub_down {
    struct rapahub_string name;
    uint32_t child;
    uint64_t incarnation;
    uint8_t class; /* enum rapahub_exit_class */
    uint32_t count;
};

struct hub_asked { /* see struct rapahub_route */
    uint64_t method, number, node;
    uint32_t containers;
};

/* A role of a container; see hub/bus/grant and struct rapahub_role. */
struct hub_granted {
    struct rapahub_string name;
    uint64_t region; /* its id */
    uint8_t role;    /* enum rapahub_region_role */
    uint32_t index, lease;
    uint8_t on_full; /* producer: enum rapahub_on_full */
    bool deliver;    /* consumer: its messages go to the callback `message` */
};

enum hub_roles {
    HUB_ROLES_LET_GO, /* another process takes them over: their holder gives them back */
    HUB_ROLES_OPEN    /* its guest is READY: messages and values are given */
};

struct hub_routed { /* see struct rapahub_query */
    uint8_t mode;
    uint64_t number;
    uint32_t offset, count;
};

RAPAHUB_RECORD(hub_container, RAPAHUB_MEMBER(hub_container, major, u32),
               RAPAHUB_MEMBER(hub_container, minor, u32),
               RAPAHUB_MEMBER(hub_container, container, u32));
RAPAHUB_RECORD(hub_ready, RAPAHUB_MEMBER(hub_ready, abi, u32),
               RAPAHUB_MEMBER(hub_ready, name, string), RAPAHUB_MEMBER(hub_ready, version, string),
               RAPAHUB_MEMBER(hub_ready, state_size, u64),
               RAPAHUB_MEMBER(hub_ready, state_version, u32),
               RAPAHUB_MEMBER(hub_ready, callbacks, u32), RAPAHUB_MEMBER(hub_ready, methods, u32));
RAPAHUB_RECORD(hub_begin, RAPAHUB_MEMBER(hub_begin, handle, u64),
               RAPAHUB_MEMBER(hub_begin, id, hub_container),
               RAPAHUB_MEMBER(hub_begin, pool_name, string),
               RAPAHUB_MEMBER(hub_begin, params, bytes), RAPAHUB_MEMBER(hub_begin, how, u8),
               RAPAHUB_MEMBER(hub_begin, load_follows, bool));
RAPAHUB_RECORD(hub_saved, RAPAHUB_MEMBER(hub_saved, size, u64),
               RAPAHUB_MEMBER(hub_saved, version, u32), RAPAHUB_MEMBER(hub_saved, checksum, u32));
RAPAHUB_RECORD(hub_changes, RAPAHUB_MEMBER(hub_changes, size, u64),
               RAPAHUB_MEMBER(hub_changes, version, u32),
               RAPAHUB_MEMBER(hub_changes, checksum, u32),
               RAPAHUB_MEMBER(hub_changes, whole, bool));
RAPAHUB_RECORD(hub_down, RAPAHUB_MEMBER(hub_down, name, string),
               RAPAHUB_MEMBER(hub_down, child, u32), RAPAHUB_MEMBER(hub_down, incarnation, u64),
               RAPAHUB_MEMBER(hub_down, class, u8), RAPAHUB_MEMBER(hub_down, count, u32));

RAPAHUB_RECORD(hub_asked, RAPAHUB_MEMBER(hub_asked, method, u64),
               RAPAHUB_MEMBER(hub_asked, number, u64), RAPAHUB_MEMBER(hub_asked, node, u64),
               RAPAHUB_MEMBER(hub_asked, containers, u32));
RAPAHUB_RECORD(hub_routed, RAPAHUB_MEMBER(hub_routed, mode, u8),
               RAPAHUB_MEMBER(hub_routed, number, u64), RAPAHUB_MEMBER(hub_routed, offset, u32),
               RAPAHUB_MEMBER(hub_routed, count, u32));

RAPAHUB_RECORD(hub_granted, RAPAHUB_MEMBER(hub_granted, name, string),
               RAPAHUB_MEMBER(hub_granted, region, u64), RAPAHUB_MEMBER(hub_granted, role, u8),
               RAPAHUB_MEMBER(hub_granted, index, u32), RAPAHUB_MEMBER(hub_granted, lease, u32),
               RAPAHUB_MEMBER(hub_granted, on_full, u8),
               RAPAHUB_MEMBER(hub_granted, deliver, bool));

/* Encode a container's id as the part of HUB_KEY_TARGET that follows the chain, and decode it. The
 * first returns the size, the second 0 or RAPAHUB_EFORMAT. */
#define HUB_LIFECYCLE_TARGET_MAX 16
size_t hub_lifecycle_put_target(struct rapahub_container_id id, uint8_t *to);
int hub_lifecycle_decode_target(struct rapahub_bytes bytes, struct rapahub_container_id *out);

/* The same for a call with a query, which follows the id. Its `each` is not sent. A mode that no
 * query has is RAPAHUB_EFORMAT; which members a mode has is for the router to judge. */
#define HUB_LIFECYCLE_QUERY_MAX (HUB_LIFECYCLE_TARGET_MAX + 32)
size_t hub_lifecycle_put_query(struct rapahub_container_id id, const struct rapahub_query *query,
                               uint8_t *to);
int hub_lifecycle_decode_query(struct rapahub_bytes bytes, struct rapahub_container_id *out,
                               struct rapahub_query *query);

#endif
