/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/peer_links.h"

#include <string.h>

#include <rapahub/error.h>

#include "tests/simulation/cluster/peer_rules.h"

#define world peer_rules_world
#define draw  peer_rules_draw

struct frame {
    uint64_t at_ns, count;
    uint32_t from, to, link;
    size_t size;
    uint8_t header[CLUSTER_FRAME_SIZE], body[1024];
};

static const struct peer_links_hooks *hooks;
static struct frame frames[FRAMES];
static uint32_t frames_count;
static uint64_t counted;
static uint32_t links;                         /* count up: each time that one comes up */
static uint32_t seen[NODES + 1][NODES + 1];    /* the link that a node has to another; 0: none */
static uint32_t whole[NODES + 1][NODES + 1];   /* the link that carries frames; 0: it was cut */
static uint64_t last_ns[NODES + 1][NODES + 1]; /* when the last frame comes */

void peer_links_reset(const struct peer_links_hooks *tell)
{
    hooks = tell;
    frames_count = links = 0;
    counted = 0;
    memset(seen, 0, sizeof seen);
    memset(whole, 0, sizeof whole);
    memset(last_ns, 0, sizeof last_ns);
}

/* ---- frames ---- */

static bool write_frame(uint32_t from, const struct cluster_effect *effect, struct frame *out)
{
    struct cluster_frame header;
    struct hub_writer writer;

    hub_writer_init(&writer, out->body, sizeof out->body);
    if (cluster_peer_frame_put(effect->frame, effect->body, peer_rules_clock(from), &header,
                               &writer) < 0)
        return false;
    cluster_frame_write(&header, out->header);
    out->size = writer.size;
    return true;
}

static void add(const struct frame *frame, uint64_t at_ns)
{
    if (frames_count == FRAMES)
        return;
    frames[frames_count] = *frame;
    frames[frames_count].at_ns = at_ns;
    frames[frames_count++].count = counted++;
}

static void add_in_order(const struct frame *frame)
{
    uint64_t *last = &last_ns[frame->from][frame->to];
    uint64_t at = world.now + draw(world.calm ? 1 : 40) * MS;

    *last = at > *last ? at : *last;
    add(frame, *last);
}

void peer_links_send(uint32_t from, const struct cluster_effect *effect)
{
    struct frame frame = {.from = from, .to = effect->frame->node};

    peer_rules_figures.frames++;
    if (frame.to == 0 || frame.to > world.nodes || frame.to == from || seen[from][frame.to] == 0) {
        peer_rules_broke("link: a frame of node %u to node %u, whose link is not up", from,
                         frame.to);
        return;
    }
    if (!write_frame(from, effect, &frame)) {
        peer_rules_broke("link: a frame of node %u cannot be written", from);
        return;
    }
    frame.link = seen[from][frame.to];
    if (frame.link != whole[from][frame.to])
        return;
    if (!world.calm && draw(150) == 0) {
        peer_rules_figures.lost++;
        return;
    }
    add_in_order(&frame);
    if (!world.calm && draw(25) == 0) {
        peer_rules_figures.repeated++;
        add(&frame, world.now + (40 + draw(1000)) * MS);
    }
}

static void read_frame(const struct frame *frame)
{
    struct cluster_frame header;
    struct cluster_peer_frame_came came = {frame->from, &header, {NULL, 0}};
    struct cluster_peer_frame read;
    struct rapahub_bytes body;

    came.body = (struct rapahub_bytes){frame->body, frame->size};
    if (cluster_frame_read(frame->header, &header) != 0 ||
        cluster_peer_frame_read(&came, peer_rules_clock(frame->to), &read, &body) < 0) {
        peer_rules_broke("link: a frame of node %u cannot be read: %s", frame->from,
                         rapahub_last_error()->text);
        return;
    }
    if (hooks->frame(frame->to, &read, body) < 0) {
        peer_rules_figures.refused++;
        peer_links_cut(frame->from, frame->to);
    }
}

/* A frame waits for the end that has not learnt yet that the link is up. */
static bool is_due(const struct frame *frame)
{
    return frame->at_ns <= world.now && (seen[frame->to][frame->from] == frame->link ||
                                         whole[frame->from][frame->to] != frame->link);
}

static uint32_t first_due(void)
{
    uint32_t found = FRAMES;

    for (uint32_t i = 0; i < frames_count; i++)
        if (is_due(&frames[i]) &&
            (found == FRAMES || frames[i].at_ns < frames[found].at_ns ||
             (frames[i].at_ns == frames[found].at_ns && frames[i].count < frames[found].count)))
            found = i;
    return found;
}

uint64_t peer_links_next(void)
{
    uint64_t next = UINT64_MAX;

    for (uint32_t i = 0; i < frames_count; i++)
        if (frames[i].at_ns < next && (frames[i].at_ns > world.now || is_due(&frames[i])))
            next = frames[i].at_ns;
    return next;
}

void peer_links_deliver(void)
{
    static struct frame frame;
    uint32_t at;

    while (!world.broken && (at = first_due()) != FRAMES) {
        frame = frames[at];
        frames[at] = frames[--frames_count];
        if (whole[frame.from][frame.to] == frame.link)
            read_frame(&frame);
    }
}

/* ---- links ---- */

void peer_links_cut(uint32_t one, uint32_t other)
{
    if (whole[one][other] != 0)
        peer_rules_figures.cuts++;
    whole[one][other] = whole[other][one] = 0;
}

static void bring_up(uint32_t one, uint32_t other)
{
    whole[one][other] = whole[other][one] = ++links;
    last_ns[one][other] = last_ns[other][one] = 0;
}

static void learn(uint32_t node, uint32_t other)
{
    uint32_t now = whole[node][other];

    if (now == seen[node][other])
        return;
    if (seen[node][other] != 0) {
        seen[node][other] = 0;
        hooks->link(node, other, false);
        return;
    }
    seen[node][other] = now;
    hooks->link(node, other, true);
}

void peer_links_step(void)
{
    for (uint32_t one = 1; one <= world.nodes; one++)
        for (uint32_t other = 1; other < one; other++) {
            if (world.calm || draw(3) == 0)
                learn(one, other);
            if (world.calm || draw(3) == 0)
                learn(other, one);
            if (whole[one][other] == 0 && seen[one][other] == 0 && seen[other][one] == 0 &&
                (world.calm || draw(4) == 0))
                bring_up(one, other);
        }
}

void peer_links_kill(uint32_t node)
{
    for (uint32_t other = 1; other <= world.nodes; other++) {
        whole[node][other] = whole[other][node] = 0;
        seen[node][other] = 0;
    }
}
