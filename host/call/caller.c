/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/caller.h"

#include <stdlib.h>

#include <rapahub/error.h>

_Thread_local struct host_caller_last host_caller_last_of_thread = {HOST_CALLER_NEVER, NULL};

static void set_life(struct host_caller *scratch, struct host_life *life)
{
    scratch->life = life;
    host_caller_note_rest(scratch);
}

/* The view is released first: it belongs to the life's link. */
static void hide(struct host_caller *scratch)
{
    hub_view_release(&scratch->shown.view);
    if (scratch->life)
        host_life_drop(scratch->life);
    set_life(scratch, NULL);
}

static __attribute__((noinline)) void free_one(struct host_caller *scratch)
{
    hub_list_remove(&scratch->link);
    hide(scratch);
    if (scratch->piece)
        host_free_list_give(scratch->shelf, scratch->piece);
    hub_responses_fini(&scratch->shown);
    hub_responses_fini(&scratch->spare);
    hub_responses_fini(&scratch->quick);
    hub_responses_fini(&scratch->few);
    free(scratch->buffer.data);
    free(scratch);
}

static void on_thread_end(void *value)
{
    struct host_caller *scratch = value;
    struct host_callers *owner = scratch->owner;

    host_caller_last_of_thread = (struct host_caller_last){HOST_CALLER_NEVER, NULL};
    hub_mutex_lock(&owner->lock);
    free_one(scratch);
    hub_mutex_unlock(&owner->lock);
}

int host_caller_open(struct host_callers *scratches)
{
    static struct hub_a64 numbers;
    int r = pthread_key_create(&scratches->key, on_thread_end);

    if (r != 0)
        return rapahub_fail(-r, "", "no key for the memory of threads");
    hub_mutex_init(&scratches->lock, HUB_MUTEX_CALLERS);
    hub_list_init(&scratches->all);
    scratches->number = hub_add64(&numbers, 1) + 1;
    return 0;
}

void host_caller_close(struct host_callers *scratches)
{
    if (scratches->number == 0)
        return;
    pthread_key_delete(scratches->key);
    HUB_LIST_EACH (&scratches->all, link)
        free_one(HUB_LIST_ITEM(link, struct host_caller, link));
    hub_mutex_fini(&scratches->lock);
    scratches->number = 0; /* no thread has asked for this number */
}

static struct host_caller *remember(const struct host_callers *scratches,
                                    struct host_caller *scratch)
{
    host_caller_last_of_thread = (struct host_caller_last){scratches->number, scratch};
    return scratch;
}

__attribute__((noinline)) struct host_caller *host_caller_find(struct host_callers *scratches)
{
    struct host_caller *scratch;

    if (scratches->number == 0) { /* closed by a fork */
        rapahub_fail(RAPAHUB_ESTATE, "hub.host.fork", "a forked child has no host");
        return NULL;
    }
    scratch = pthread_getspecific(scratches->key);
    if (scratch)
        return remember(scratches, scratch);
    scratch = hub_line_zeroed(sizeof *scratch);
    if (!scratch || pthread_setspecific(scratches->key, scratch) != 0) {
        free(scratch);
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a thread's calls");
        return NULL;
    }
    scratch->owner = scratches;
    scratch->few.data = host_caller_small(scratch);
    scratch->thread = pthread_self();
    hub_mutex_lock(&scratches->lock);
    hub_list_append(&scratches->all, &scratch->link);
    hub_mutex_unlock(&scratches->lock);
    return remember(scratches, scratch);
}

bool host_caller_take(struct host_caller *scratch, size_t size, struct host_buffer *out)
{
    struct host_buffer *own = &scratch->buffer;

    if (own->capacity < size) {
        uint8_t *data = malloc(size);

        if (!data) {
            rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for arguments of %zu bytes", size);
            return false;
        }
        free(own->data);
        *own = (struct host_buffer){NULL, data, size};
    }
    *out = (struct host_buffer){scratch, own->data, own->capacity};
    *own = (struct host_buffer){0};
    return true;
}

/* Keeps the larger of the two buffers. */
void host_caller_give(struct host_buffer *buffer)
{
    struct host_buffer given = *buffer;
    struct host_buffer *own;

    *buffer = (struct host_buffer){0};
    if (!given.from)
        return;
    own = &given.from->buffer;
    if (own->capacity < given.capacity) {
        free(own->data);
        *own = (struct host_buffer){NULL, given.data, given.capacity};
    } else {
        free(given.data);
    }
}

struct hub_answer host_caller_answer(struct host_caller *scratch)
{
    struct hub_answer answer = scratch->spare;

    scratch->spare = (struct hub_answer){0};
    return answer;
}

void host_caller_show(struct host_caller *scratch, struct hub_answer *answer)
{
    hide(scratch);
    if (!scratch->spare.memory)
        scratch->spare = scratch->shown;
    else
        hub_responses_fini(&scratch->shown);
    scratch->shown = *answer;
    *answer = (struct hub_answer){0};
}

void host_caller_show_of(struct host_caller *scratch, struct hub_answer *answer,
                         struct host_life *life)
{
    bool shown = answer->view.link != NULL;

    if (shown)
        host_life_hold(life);
    host_caller_show(scratch, answer);
    if (shown)
        set_life(scratch, life);
}

void host_caller_show_held(struct host_caller *scratch, struct hub_answer *answer,
                           struct host_life *life)
{
    bool shown = answer->view.link != NULL;

    host_caller_show(scratch, answer);
    if (shown)
        set_life(scratch, life);
    else
        host_life_drop(life);
}

void host_caller_hide(struct host_caller *scratch)
{
    hide(scratch);
}

void host_caller_hide_all(struct host_callers *scratches)
{
    hub_mutex_lock(&scratches->lock);
    HUB_LIST_EACH (&scratches->all, link)
        hide(HUB_LIST_ITEM(link, struct host_caller, link));
    hub_mutex_unlock(&scratches->lock);
}

static bool is_inside(const void *data, const void *begin, size_t size)
{
    return (uintptr_t)data - (uintptr_t)begin < size;
}

static bool lies_in(const struct hub_answer *answer, const void *data)
{
    return (answer->memory && is_inside(data, answer->memory, answer->capacity + HUB_LINE)) ||
           is_inside(data, answer->aligned.data, answer->aligned.capacity) ||
           (answer->view.link && is_inside(data, answer->view.data, answer->view.size));
}

bool host_caller_lends(const struct host_caller *scratch, const void *data)
{
    return lies_in(&scratch->shown, data) || lies_in(&scratch->quick, data) ||
           lies_in(&scratch->spare, data);
}

/* ---- the target of its last call ---- */

bool host_caller_is_to(const struct host_caller *scratch, struct rapahub_container_id target)
{
    return scratch->target.pool.major == target.pool.major &&
           scratch->target.pool.minor == target.pool.minor &&
           scratch->target.container == target.container;
}

void host_caller_set_place(struct host_caller *scratch, struct host_life *life,
                           struct host_container *container, uint32_t version)
{
    hub_store_relaxed64(&scratch->place_life, (uintptr_t)life);
    hub_store_relaxed64(&scratch->place_container, (uintptr_t)container);
    scratch->version = version;
    host_caller_note_rest(scratch);
}

static uint32_t count_inside(struct host_callers *scratches, uintptr_t life, uintptr_t container)
{
    uint32_t count = 0;

    hub_mutex_lock(&scratches->lock);
    HUB_LIST_EACH (&scratches->all, link) {
        const struct host_caller *scratch = HUB_LIST_ITEM(link, struct host_caller, link);

        count += hub_observe(&scratch->inside) != 0 &&
                 (hub_load_relaxed64(&scratch->place_life) == life ||
                  hub_load_relaxed64(&scratch->place_container) == container);
    }
    hub_mutex_unlock(&scratches->lock);
    return count;
}

uint32_t host_caller_inside_life(struct host_callers *scratches, const struct host_life *life)
{
    return count_inside(scratches, (uintptr_t)life, 0);
}

uint32_t host_caller_inside_container(struct host_callers *scratches,
                                      const struct host_container *container)
{
    return count_inside(scratches, 0, (uintptr_t)container);
}
