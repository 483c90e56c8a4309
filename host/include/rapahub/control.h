/* SPDX-License-Identifier: Apache-2.0 */
/* control: a socket at which a host serves `rapahub ps`, `stats`, `call`, `stop`, `restart`,
 * `kill`, `upgrade`, `logs` and `inspect`, for programs of the same user, of root, and of the
 * members of one group if the options name it.
 *
 * The host's owner serves it: poll rapahub_control_fd for input beside rapahub_host_fd, then
 * dispatch. Nothing waits: while a method runs, a guest stops, starts again or is upgraded, others
 * are answered. A client that breaks the protocol or does not read is dropped. At most 32 clients.
 */
#ifndef RAPAHUB_CONTROL_H
#define RAPAHUB_CONTROL_H

#include <rapahub/host.h>
#include <rapahub/upgrade.h>

RAPAHUB_BEGIN_DECLS

struct rapahub_control;

/* The functions that the socket calls on its host; RAPAHUB_CONTROL_HOST(host) fills them for a host
 * of this library. */
struct rapahub_control_host {
    struct rapahub_host *host;
    int (*guests)(struct rapahub_host *host,
                  void (*visit)(void *user, const struct rapahub_guest_status *status), void *user);
    int (*methods)(struct rapahub_host *host, struct rapahub_container_id target,
                   void (*visit)(void *user, const char *signature), void *user);
    int (*call)(struct rapahub_host *host, const struct rapahub_call *call,
                rapahub_on_done *on_done, void *user, struct rapahub_request_id *out);
    void (*cancel)(struct rapahub_host *host, struct rapahub_request_id request);
    int (*stop)(struct rapahub_host *host, struct rapahub_guest_id guest, rapahub_on_done *on_done,
                void *user);
    int (*kill)(struct rapahub_host *host, struct rapahub_guest_id guest);
    int (*figures)(struct rapahub_host *host, struct rapahub_guest_id guest,
                   void (*visit)(void *user, const struct rapahub_figure *figure), void *user);
    int (*children)(struct rapahub_host *host,
                    void (*visit)(void *user, const struct rapahub_child_status *status),
                    void *user);
    int (*restart)(struct rapahub_host *host, struct rapahub_child_id child, uint64_t timeout_ns,
                   rapahub_on_done *on_done, void *user);
    /* Used instead of `stop` for a guest that `restart` may start again; may be NULL. */
    int (*rest)(struct rapahub_host *host, struct rapahub_child_id child, uint64_t timeout_ns,
                rapahub_on_done *on_done, void *user);
    int (*upgrade)(struct rapahub_host *host, struct rapahub_guest_id guest,
                   const struct rapahub_upgrade_options *options, rapahub_on_upgraded *on_done,
                   void *user); /* NULL: refused */
};

#define RAPAHUB_CONTROL_HOST(of)                                                               \
    ((struct rapahub_control_host){                                                            \
        (of), rapahub_host_guests, rapahub_host_methods, rapahub_host_call_async,              \
        rapahub_host_cancel, rapahub_host_stop_async, rapahub_host_kill, rapahub_host_figures, \
        rapahub_host_children, rapahub_child_renew_async, NULL, rapahub_host_upgrade_async})

/* What a program may ask of a host. Each role may also do what those before it may. */
enum rapahub_control_role {
    RAPAHUB_CONTROL_VIEWER,   /* lists and trees of guests, figures, logs, methods */
    RAPAHUB_CONTROL_OPERATOR, /* calls; a guest's or a supervisor's stop, restart and kill */
    RAPAHUB_CONTROL_ADMIN     /* upgrades, and the stop of the host */
};

struct rapahub_control_options {
    const char *path;                 /* the socket's; at most 107 bytes; required */
    const char *name;                 /* the host's, as `rapahub ps` shows it; required */
    struct rapahub_control_host host; /* required */
    void (*on_stop)(void *user);      /* a client asks the whole host to end; NULL: refused */
    void *user;
    /* The name or the number of a group whose members may connect, as `group_role`; NULL: only the
     * user of the host and root, who are admins in any case. This user must be in the group.
     * Whether a program is a member is what the kernel knew of it when it connected. Programs of
     * the group have at most 16 of the 32 clients, one user of them at most 8. */
    const char *group;
    enum rapahub_control_role group_role;
    uint64_t reserved[6];
};

/* Makes the socket, mode 0600, or 0660 for a group, in a folder that exists. A socket without a
 * listener is replaced; -EEXIST: a host answers at it. Hosts that open sockets in one folder at the
 * same moment take turns; -EAGAIN: another one has had the folder locked for 2 s. -ENOENT: there is
 * no such group, or folder; -EPERM: this user is not in the group. */
RAPAHUB_API_CHECKED int rapahub_control_open(const struct rapahub_control_options *options,
                                             struct rapahub_control **out);

/* Drops the clients, whose calls are cancelled, and removes the socket. NULL is allowed. Must be
 * called before the host is destroyed. */
RAPAHUB_API void rapahub_control_close(struct rapahub_control *control);

/* Gives a pool the name under which calls reach its containers. -EEXIST, RAPAHUB_EFULL at 255. */
RAPAHUB_API_CHECKED int rapahub_control_offer(struct rapahub_control *control, const char *name,
                                              struct rapahub_pool_id pool);

/* Takes a name back; calls that were begun go on. Harmless where the name is not offered. */
RAPAHUB_API void rapahub_control_withdraw(struct rapahub_control *control, const char *name);

RAPAHUB_API int rapahub_control_fd(const struct rapahub_control *control);

/* Serves the clients, and never waits. Returns how many events it handled, or a failure of the
 * socket itself. */
RAPAHUB_API_CHECKED int rapahub_control_dispatch(struct rapahub_control *control);

/* Keeps a line for `rapahub logs`, the last 1,024, and sends it to clients that follow. Any
 * thread; the only function of the library that a log sink may call. */
RAPAHUB_API void rapahub_control_log(struct rapahub_control *control, enum rapahub_log_level level,
                                     const char *topic, const char *text);

RAPAHUB_END_DECLS

#endif
