/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/caller.h"

#include <stdlib.h>

#include <rapahub/error.h>

_Thread_local struct host_caller_last host_caller_last_of_thread = {HOST_CALLER_NEVER, NULL};

static void set_life(struct host_caller *caller, struct host_life *life)
{
    caller->life = life;
    host_caller_note_rest(caller);
}

/* The view is released first: it belongs to the life's link. */
static void hide(struct host_caller *caller)
{
    hub_view_release(&caller->shown.view);
    if (caller->life)
        host_life_drop(caller->life);
    set_life(caller, NULL);
}

static __attribute__((noinline)) void free_one(struct host_caller *caller)
{
    hub_list_remove(&caller->link);
    hide(caller);
    if (caller->piece)
        host_free_list_give(caller->free_list, caller->piece);
    hub_responses_fini(&caller->shown);
    hub_responses_fini(&caller->spare);
    hub_responses_fini(&caller->quick);
    hub_responses_fini(&caller->few);
    free(caller->buffer.data);
    free(caller);
}

static void on_thread_end(struct hub_thread_end *end)
{
    struct host_caller *caller = HUB_LIST_ITEM(end, struct host_caller, end);
    struct host_callers *owner = caller->owner;

    host_caller_last_of_thread = (struct host_caller_last){HOST_CALLER_NEVER, NULL};
    (void)pthread_setspecific(owner->key, NULL); /* other destructors may come after this one */
    hub_mutex_lock(&owner->lock);
    free_one(caller);
    hub_mutex_unlock(&owner->lock);
}

int host_caller_open(struct host_callers *callers)
{
    static struct hub_a64 numbers;
    int r = pthread_key_create(&callers->key, NULL);

    if (r != 0)
        return rapahub_fail(-r, "", "no key for the memory of threads");
    hub_mutex_init(&callers->lock, HUB_MUTEX_CALLERS);
    hub_list_init(&callers->all);
    callers->number = hub_add64(&numbers, 1) + 1;
    return 0;
}

void host_caller_close(struct host_callers *callers)
{
    if (callers->number == 0)
        return;
    pthread_key_delete(callers->key);
    hub_thread_ends_lock(); /* a thread may be ending */
    HUB_LIST_EACH (&callers->all, link)
        hub_thread_ends_remove(&HUB_LIST_ITEM(link, struct host_caller, link)->end);
    hub_thread_ends_unlock();
    HUB_LIST_EACH (&callers->all, link)
        free_one(HUB_LIST_ITEM(link, struct host_caller, link));
    hub_mutex_fini(&callers->lock);
    callers->number = 0; /* no thread has asked for this number */
}

static struct host_caller *remember(const struct host_callers *callers, struct host_caller *caller)
{
    host_caller_last_of_thread = (struct host_caller_last){callers->number, caller};
    return caller;
}

__attribute__((noinline)) struct host_caller *host_caller_find(struct host_callers *callers)
{
    struct host_caller *caller;

    if (callers->number == 0) { /* closed by a fork */
        rapahub_fail(RAPAHUB_ESTATE, "hub.host.fork", "a forked child has no host");
        return NULL;
    }
    caller = pthread_getspecific(callers->key);
    if (caller)
        return remember(callers, caller);
    caller = hub_line_zeroed(sizeof *caller);
    if (!caller || pthread_setspecific(callers->key, caller) != 0 ||
        hub_thread_ends_add(&caller->end, on_thread_end) < 0) {
        (void)pthread_setspecific(callers->key, NULL);
        free(caller);
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a thread's calls");
        return NULL;
    }
    caller->owner = callers;
    caller->few.data = host_caller_small(caller);
    caller->thread = pthread_self();
    hub_mutex_lock(&callers->lock);
    hub_list_append(&callers->all, &caller->link);
    hub_mutex_unlock(&callers->lock);
    return remember(callers, caller);
}

bool host_caller_take(struct host_caller *caller, size_t size, struct host_buffer *out)
{
    struct host_buffer *own = &caller->buffer;

    if (own->capacity < size) {
        uint8_t *data = malloc(size);

        if (!data) {
            rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for arguments of %zu bytes", size);
            return false;
        }
        free(own->data);
        *own = (struct host_buffer){NULL, data, size};
    }
    *out = (struct host_buffer){caller, own->data, own->capacity};
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

struct hub_answer host_caller_answer(struct host_caller *caller)
{
    struct hub_answer answer = caller->spare;

    caller->spare = (struct hub_answer){0};
    return answer;
}

void host_caller_show(struct host_caller *caller, struct hub_answer *answer)
{
    hide(caller);
    if (!caller->spare.memory)
        caller->spare = caller->shown;
    else
        hub_responses_fini(&caller->shown);
    caller->shown = *answer;
    *answer = (struct hub_answer){0};
}

void host_caller_show_of(struct host_caller *caller, struct hub_answer *answer,
                         struct host_life *life)
{
    bool shown = answer->view.link != NULL;

    if (shown)
        host_life_hold(life);
    host_caller_show(caller, answer);
    if (shown)
        set_life(caller, life);
}

void host_caller_show_view(struct host_caller *caller, struct hub_view *view,
                           struct host_life *life)
{
    if (host_caller_shows(caller)) /* a call was made meanwhile */
        hide(caller);
    caller->shown.view = *view;
    caller->shown.size = view->size;
    view->link = NULL;
    caller->life = life;
    caller->version_at_rest = 0; /* a result is shown */
}

void host_caller_hide(struct host_caller *caller)
{
    hide(caller);
}

void host_caller_hide_all(struct host_callers *callers)
{
    hub_mutex_lock(&callers->lock);
    HUB_LIST_EACH (&callers->all, link)
        hide(HUB_LIST_ITEM(link, struct host_caller, link));
    hub_mutex_unlock(&callers->lock);
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

bool host_caller_lends(const struct host_caller *caller, const void *data)
{
    return lies_in(&caller->shown, data) || lies_in(&caller->quick, data) ||
           lies_in(&caller->spare, data);
}

/* ---- the target of its last call ---- */

bool host_caller_is_to(const struct host_caller *caller, struct rapahub_container_id target)
{
    return caller->target.pool.major == target.pool.major &&
           caller->target.pool.minor == target.pool.minor &&
           caller->target.container == target.container;
}

void host_caller_set_place(struct host_caller *caller, struct host_life *life,
                           struct host_container *container, uint32_t version)
{
    hub_store_relaxed64(&caller->place_life, (uintptr_t)life);
    hub_store_relaxed64(&caller->place_container, (uintptr_t)container);
    caller->version = version;
    host_caller_note_rest(caller);
}

static uint32_t count_inside(struct host_callers *callers, uintptr_t life, uintptr_t container)
{
    uint32_t count = 0;

    hub_mutex_lock(&callers->lock);
    HUB_LIST_EACH (&callers->all, link) {
        const struct host_caller *caller = HUB_LIST_ITEM(link, struct host_caller, link);

        count += hub_observe(&caller->inside) != 0 &&
                 (hub_load_relaxed64(&caller->place_life) == life ||
                  hub_load_relaxed64(&caller->place_container) == container);
    }
    hub_mutex_unlock(&callers->lock);
    return count;
}

uint32_t host_caller_inside_life(struct host_callers *callers, const struct host_life *life)
{
    return count_inside(callers, (uintptr_t)life, 0);
}

uint32_t host_caller_inside_container(struct host_callers *callers,
                                      const struct host_container *container)
{
    return count_inside(callers, 0, (uintptr_t)container);
}
