/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/death_notice.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/daemon/process.h"
#include "cluster/link/ask/ask.h"
#include "cluster/link/tls_context.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/base/proof.h"

#define TOPIC    "warden"
#define HOLD_NS  (HUB_SECOND / 2)
#define TELL_NS  (10 * HUB_SECOND)
#define EACH_NS  (3 * HUB_SECOND) /* an attempt */
#define PAUSE_NS (100 * HUB_MILLISECOND)
#define END_MS   5000

void daemon_death_notice_init(struct daemon_death_notice *notice)
{
    *notice = (struct daemon_death_notice){.pidfd = -1};
}

/* ---- the process that tells ---- */

static int take(void *user, const struct cluster_peer_name *from, const struct cluster_frame *frame,
                const struct cluster_body *body)
{
    (void)user;
    (void)from;
    if (frame->type != CLUSTER_FRAME_CLOSE)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "cluster.death.sent",
                            "an answer to a DEATH is no %s", cluster_frame_name(frame->type));
    return body->close.code < 0 ? rapahub_fail(body->close.code, "", "%.*s",
                                               (int)body->close.text.size, body->close.text.data)
                                : 1;
}

static const struct cluster_ask_hooks hooks = {take};

static int tell_once(const struct daemon_report_life *life, const char *folder, bool final,
                     uint64_t deadline_ns)
{
    OWN(cluster_tls_context) struct cluster_tls_context *context = NULL;
    struct cluster_ask ask = {.deadline_ns = deadline_ns,
                              .type = CLUSTER_FRAME_DEATH,
                              .body = {.death = {.node = life->node,
                                                 .boot = life->boot,
                                                 .session = life->session,
                                                 .final = final}},
                              .hooks = &hooks};
    int r = cluster_host_port_parse(life->leader, &ask.to);

    if (r == 0)
        r = cluster_tls_open(folder, "node", &context);
    ask.context = context;
    return r < 0 ? r : cluster_ask_run(&ask);
}

/* A node that has another session by now, or that is none, is told nothing more. */
static bool is_over(int code)
{
    return code == 0 || code == RAPAHUB_ESTALE || code == RAPAHUB_EACCES || code == RAPAHUB_ENOENT;
}

/* r[impl cluster.death.sent] */
static int tell(const struct daemon_report_life *life, const char *folder, bool final)
{
    uint64_t until_ns = hub_clock_after(TELL_NS);
    int r;

    for (;;) {
        uint64_t each_ns = hub_clock_after(EACH_NS);

        r = tell_once(life, folder, final, each_ns < until_ns ? each_ns : until_ns);
        if (is_over(r) || hub_clock_left(until_ns) <= PAUSE_NS)
            break;
        hub_clock_pause(PAUSE_NS);
    }
    if (r < 0 && r != RAPAHUB_ESTALE)
        rapahub_log(RAPAHUB_LOG_WARN, TOPIC,
                    "the node that leads does not know that rapahubd died: %s",
                    rapahub_last_error()->text);
    return r;
}

struct telling {
    const struct daemon_report_life *life;
    const char *data;
    bool final;
};

/* It keeps nothing of the warden's, above all not the lock. */
static int run_child(void *user)
{
    const struct telling *telling = user;
    char folder[PATH_MAX];

    daemon_process_name("rapahub-notice");
    daemon_process_clean();
    if (snprintf(folder, sizeof folder, "%s/tls", telling->data) >= (int)sizeof folder)
        return RAPAHUB_EINVAL;
    return tell(telling->life, folder, telling->final);
}

/* ---- the warden ---- */

void daemon_death_notice_begin(struct daemon_death_notice *notice, const char *data, bool final)
{
    const struct daemon_report_life life = notice->life;
    struct telling telling = {&life, data, final};
    pid_t pid;

    daemon_death_notice_end(notice);
    notice->life = (struct daemon_report_life){.node = 0};
    if (life.node == 0 || life.leader[0] == '\0')
        return;
    notice->until_ns = hub_clock_after(HOLD_NS);
    if (daemon_process_copy(run_child, &telling, &pid, &notice->pidfd) == 0)
        return;
    rapahub_log(RAPAHUB_LOG_ERROR, TOPIC, "the node that leads is not told that rapahubd died: %s",
                rapahub_last_error()->text);
    notice->pidfd = -1;
}

bool daemon_death_notice_holds(const struct daemon_death_notice *notice, uint64_t now_ns)
{
    return notice->pidfd >= 0 && now_ns < notice->until_ns;
}

static void forget(struct daemon_death_notice *notice)
{
    struct hub_exit how;

    (void)hub_proof_reap(notice->pidfd, &how); /* unless it was reaped with the others */
    hub_fd_release(&notice->pidfd);
    notice->pidfd = -1;
}

void daemon_death_notice_look(struct daemon_death_notice *notice)
{
    if (notice->pidfd >= 0 && hub_proof_of_death(notice->pidfd))
        forget(notice);
}

void daemon_death_notice_end(struct daemon_death_notice *notice)
{
    struct pollfd death = {.fd = notice->pidfd, .events = POLLIN};

    if (notice->pidfd < 0)
        return;
    (void)pidfd_send_signal(notice->pidfd, SIGKILL, NULL, 0);
    (void)poll(&death, 1, END_MS);
    forget(notice);
}
