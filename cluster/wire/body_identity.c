/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/body_identity.h"

#include "cluster/base/ids.h"
#include "cluster/base/keys.h"
#include "cluster/wire/body.h"

RAPAHUB_RECORD(cluster_body_join, RAPAHUB_MEMBER(cluster_body_join, uuid, bytes),
               RAPAHUB_MEMBER(cluster_body_join, token, string),
               RAPAHUB_MEMBER(cluster_body_join, name, string),
               RAPAHUB_MEMBER(cluster_body_join, request, string));
RAPAHUB_RECORD(cluster_body_join_ok, RAPAHUB_MEMBER(cluster_body_join_ok, node, u32),
               RAPAHUB_MEMBER(cluster_body_join_ok, revision, u64),
               RAPAHUB_MEMBER(cluster_body_join_ok, cluster, bytes),
               RAPAHUB_MEMBER(cluster_body_join_ok, certificate, string),
               RAPAHUB_MEMBER(cluster_body_join_ok, anchors, string),
               RAPAHUB_MEMBER(cluster_body_join_ok, place, string));
RAPAHUB_RECORD(cluster_body_renew, RAPAHUB_MEMBER(cluster_body_renew, request, string));
RAPAHUB_RECORD(cluster_body_renewed, RAPAHUB_MEMBER(cluster_body_renewed, status, i32),
               RAPAHUB_MEMBER(cluster_body_renewed, text, string),
               RAPAHUB_MEMBER(cluster_body_renewed, certificate, string));

static const char *why_not_request(struct rapahub_string request)
{
    return request.size == 0 || request.size > CLUSTER_BODY_PEM_MAX
               ? "a request for a certificate has 1 to 4096 bytes"
               : NULL;
}

/* r[impl cluster.renewal.body] */
static const char *why_not_renew(const void *value)
{
    return why_not_request(((const struct cluster_body_renew *)value)->request);
}

/* r[impl cluster.renewal.body] */
static const char *why_not_renewed(const void *value)
{
    const struct cluster_body_renewed *renewed = value;

    if (renewed->status > 0 ||
        renewed->text.size > (renewed->status < 0 ? CLUSTER_BODY_RENEW_TEXT : 0))
        return "its status is none, or its text is too long, or says why nothing failed";
    return (renewed->certificate.size > 0) != (renewed->status == 0) ||
                   renewed->certificate.size > CLUSTER_BODY_PEM_MAX
               ? "it has a certificate, or none, against its status"
               : NULL;
}

/* r[impl cluster.join.body] */
static const char *why_not_join(const void *value)
{
    const struct cluster_body_join *join = value;

    if (join->uuid.size != CLUSTER_BODY_UUID)
        return "a uuid has 16 bytes";
    if (join->name.size > 0 && !cluster_keys_is_name(join->name))
        return "its name is none";
    if (join->token.size > CLUSTER_BODY_TOKEN_MAX)
        return "its token is too long";
    return why_not_request(join->request);
}

/* r[impl cluster.join.body] */
static const char *why_not_join_ok(const void *value)
{
    const struct cluster_body_join_ok *ok = value;

    if (ok->node == 0 || !cluster_ids_is_revision(ok->revision))
        return "no node has the number 0, and no change the revision";
    if (ok->cluster.size != CLUSTER_BODY_UUID)
        return "a uuid has 16 bytes";
    if (ok->certificate.size == 0 || ok->certificate.size > CLUSTER_BODY_PEM_MAX ||
        ok->anchors.size == 0 || ok->anchors.size > CLUSTER_BODY_ANCHORS_MAX)
        return "its certificates are too long, or none";
    return ok->place.size <= CLUSTER_BODY_PLACE_MAX ? NULL : "its address is too long";
}

const struct cluster_format
    cluster_body_join_format = {"a JOIN", &rapahub_type_cluster_body_join, {{0}}, why_not_join},
    cluster_body_join_ok_format = {"a JOIN_OK",
                                   &rapahub_type_cluster_body_join_ok,
                                   {{0}},
                                   why_not_join_ok},
    cluster_body_renew_format = {"a RENEW", &rapahub_type_cluster_body_renew, {{0}}, why_not_renew},
    cluster_body_renewed_format = {
        "a RENEWED", &rapahub_type_cluster_body_renewed, {{0}}, why_not_renewed};
