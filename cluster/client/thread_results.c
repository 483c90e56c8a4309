/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/thread_results.h"

#include <stdlib.h>

#include <rapahub/error.h>

static void free_one(struct cluster_thread_result *result)
{
    hub_list_remove(&result->link);
    free(result->memory);
    hub_responses_fini(&result->answer);
    hub_align_fini(&result->moved);
    free(result);
}

static void on_thread_end(struct hub_thread_end *end)
{
    struct cluster_thread_result *result = HUB_LIST_ITEM(end, struct cluster_thread_result, end);
    struct cluster_thread_results *owner = result->owner;

    (void)pthread_setspecific(owner->key, NULL); /* other destructors may come after this one */
    hub_mutex_lock(&owner->lock);
    free_one(result);
    hub_mutex_unlock(&owner->lock);
}

int cluster_thread_results_init(struct cluster_thread_results *results)
{
    int r = pthread_key_create(&results->key, NULL);

    if (r != 0)
        return rapahub_fail(-r, "", "no key for the memory of threads");
    hub_mutex_init(&results->lock, HUB_MUTEX_CLIENT_THREADS);
    hub_list_init(&results->all);
    return 0;
}

void cluster_thread_results_fini(struct cluster_thread_results *results)
{
    pthread_key_delete(results->key);
    hub_thread_ends_lock(); /* a thread may be ending */
    HUB_LIST_EACH (&results->all, link)
        hub_thread_ends_remove(&HUB_LIST_ITEM(link, struct cluster_thread_result, link)->end);
    hub_thread_ends_unlock();
    HUB_LIST_EACH (&results->all, link)
        free_one(HUB_LIST_ITEM(link, struct cluster_thread_result, link));
    hub_mutex_fini(&results->lock);
}

static struct cluster_thread_result *make(struct cluster_thread_results *results)
{
    struct cluster_thread_result *result = calloc(1, sizeof *result);

    if (!result || pthread_setspecific(results->key, result) != 0 ||
        hub_thread_ends_add(&result->end, on_thread_end) < 0) {
        (void)pthread_setspecific(results->key, NULL);
        free(result);
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a thread's calls");
        return NULL;
    }
    result->owner = results;
    hub_mutex_lock(&results->lock);
    hub_list_append(&results->all, &result->link);
    hub_mutex_unlock(&results->lock);
    return result;
}

struct cluster_thread_result *cluster_thread_results_get(struct cluster_thread_results *results)
{
    struct cluster_thread_result *result = pthread_getspecific(results->key);

    if (!result)
        return make(results);
    free(result->memory);
    result->memory = NULL;
    return result;
}
