/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/inquiries.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/own.h"
#include "hub/wire/stream_ids.h"

void host_inquiries_release(struct host_inquiries **pointer)
{
    struct host_inquiries *inquiries = *pointer;

    *pointer = NULL;
    if (!inquiries)
        return;
    host_methods_release(&inquiries->methods);
    free(inquiries);
}

void host_inquiries_end(struct host_inquiries **pointer)
{
    if (*pointer && (*pointer)->released)
        (*pointer)->released((*pointer)->router.user);
    host_inquiries_release(pointer);
}

static int check(const struct rapahub_inquiries *inquiries)
{
    uint64_t all = 0;

    for (size_t i = 0; i < sizeof inquiries->reserved / sizeof *inquiries->reserved; i++)
        all |= inquiries->reserved[i];
    if (all != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "`reserved` of inquiries is set");
    if (!inquiries->methods || !inquiries->methods[0] || !inquiries->begin)
        return rapahub_fail(RAPAHUB_EINVAL, "", "inquiries need methods and `begin`");
    return 0;
}

static int add(struct host_methods *methods, const char *text)
{
    struct hub_signature *signature;
    int r = hub_signature_parse(text, &signature);

    if (r < 0)
        return r;
    if (host_methods_of_id(methods, signature->id))
        r = rapahub_fail(RAPAHUB_EINVAL, "", "%s is offered twice", signature->text);
    else if (host_methods_takes_streams(signature->types + 1))
        r = rapahub_fail(RAPAHUB_ENOTSUP, "", "%s has a stream, and no inquiry takes one",
                         signature->text);
    if (r == 0)
        return host_methods_add(methods, signature);
    hub_signature_release(&signature);
    return r;
}

int host_inquiries_create(const struct rapahub_inquiries *inquiries, struct host_inquiries **out)
{
    OWN(host_inquiries) struct host_inquiries *made = NULL;
    int r = check(inquiries);

    if (r < 0)
        return r;
    made = calloc(1, sizeof *made);
    if (made)
        made->methods = host_methods_create();
    if (!made || !made->methods)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for inquiries");
    made->router = (struct rapahub_router){
        .begin = inquiries->begin, .cancel = inquiries->cancel, .user = inquiries->user};
    made->released = inquiries->released;
    for (const char *const *text = inquiries->methods; *text && r == 0; text++)
        r = add(made->methods, *text);
    if (r == 0)
        *out = TAKE(made);
    return r;
}

/* No method has a stream, so nothing is marked. r[impl hub.inquiry.checked] */
int host_inquiries_check(const struct host_inquiries *inquiries, const char *name,
                         uint64_t method_id, struct rapahub_bytes arguments)
{
    const struct hub_signature *signature = host_methods_of_id(inquiries->methods, method_id);
    struct hub_stream_marks marks;
    uint64_t ids[HUB_SIGNATURE_ARGUMENTS_MAX];
    int r;

    if (!signature)
        return rapahub_fail(RAPAHUB_ENOMETHOD, "", "%s: the host offers no such method", name);
    r = hub_stream_ids_find(signature->types + 1, arguments, &marks, ids);
    if (r < 0 && r != RAPAHUB_ENOMEM)
        r = rapahub_fail(RAPAHUB_EARGUMENTS, "", "%s: these are no arguments of %s", name,
                         signature->text);
    return r;
}
