/* gateway/proxy/tls.c */
#define _GNU_SOURCE /* strdup */
#include "gateway/proxy/tls.h"

#include <errno.h>
#include <mbedtls/error.h>
#include <mbedtls/psa_util.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_ciphersuites.h>
#include <mbedtls/x509_crt.h>
#include <psa/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/list.h"
#include "base/macros.h"
#include "base/text.h"

enum { SESSIONS_MAX = 256, KEY_MAX = 512, TURN_READS = 64 };

/* A session that may be resumed. */
struct kept {
    struct gw_list link; /* most recently used first */
    char key[KEY_MAX];
    mbedtls_ssl_session session;
};

static struct gw_list sessions;
static unsigned session_count;

struct gw_trust {
    unsigned references;
    char *id;
    bool min_tls13;
    mbedtls_x509_crt chain;
    mbedtls_ssl_config config;
};

struct gw_tls {
    mbedtls_ssl_context ssl;
    struct gw_trust *trust; /* a reference */
    struct gw_watch *watch; /* borrowed */
    struct gw_host host;
    char key[KEY_MAX];
    bool verified; /* a certificate was looked at: not resumed */
    uint32_t verify_flags;
    int error;
    size_t offered; /* length of a write that must be offered again as it was */
    unsigned reads; /* of the socket since it was empty, or since others had their turn */
    bool yields;    /* they get it now */
};

/* AES-GCM first: every x86-64 and ARM server of today has instructions for it. */
static const int suites[] = {
    MBEDTLS_TLS1_3_AES_128_GCM_SHA256,
    MBEDTLS_TLS1_3_AES_256_GCM_SHA384,
    MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    0,
};

static const char *protocols[] = { "http/1.1", NULL };

bool gw_tls_start(struct gw_error *err)
{
    gw_list_init(&sessions);
    psa_status_t status = psa_crypto_init();
    if (status != PSA_SUCCESS)
        gw_error_set(err, GW_ERR_SYSTEM, "cannot start the TLS library (%d)", (int)status);
    return status == PSA_SUCCESS;
}

static void forget_session(struct kept *kept)
{
    gw_list_remove(&kept->link);
    session_count--;
    mbedtls_ssl_session_free(&kept->session);
    free(kept);
}

void gw_tls_stop(void)
{
    while (!gw_list_empty(&sessions))
        forget_session(gw_container_of(sessions.next, struct kept, link));
    mbedtls_psa_crypto_free();
}

struct gw_trust *gw_trust_new(const char *id, struct gw_slice pem, bool min_tls13,
                              struct gw_error *err)
{
    struct gw_trust *trust = calloc(1, sizeof *trust);
    char *copy = malloc(pem.length + 1); /* mbedTLS wants the final NUL counted */
    if (trust == NULL || copy == NULL)
        goto memory;
    trust->references = 1;
    trust->min_tls13 = min_tls13;
    mbedtls_x509_crt_init(&trust->chain);
    mbedtls_ssl_config_init(&trust->config);
    trust->id = strdup(id);
    if (trust->id == NULL)
        goto memory;
    memcpy(copy, pem.data, pem.length);
    copy[pem.length] = '\0';
    int status = mbedtls_x509_crt_parse(&trust->chain, (unsigned char *)copy, pem.length + 1);
    free(copy);
    copy = NULL;
    if (status < 0 || trust->chain.raw.p == NULL) {
        gw_error_set(err, GW_ERR_CONFIG, "no certificate in the CA bundle can be read (-0x%04x)",
                     (unsigned)-status);
        gw_trust_unref(trust);
        return NULL;
    }
    status = mbedtls_ssl_config_defaults(&trust->config, MBEDTLS_SSL_IS_CLIENT,
                                         MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);
    if (status != 0)
        goto memory;
    mbedtls_ssl_config *config = &trust->config;
    mbedtls_ssl_conf_authmode(config, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_ca_chain(config, &trust->chain, NULL);
    mbedtls_ssl_conf_rng(config, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
    mbedtls_ssl_conf_min_tls_version(config, min_tls13 ? MBEDTLS_SSL_VERSION_TLS1_3
                                                       : MBEDTLS_SSL_VERSION_TLS1_2);
    mbedtls_ssl_conf_ciphersuites(config, suites);
    mbedtls_ssl_conf_tls13_enable_signal_new_session_tickets(
        config, MBEDTLS_SSL_TLS1_3_SIGNAL_NEW_SESSION_TICKETS_ENABLED);
    if (mbedtls_ssl_conf_alpn_protocols(config, protocols) != 0)
        goto memory;
    return trust;
memory:
    gw_error_set(err, GW_ERR_MEMORY, "out of memory for a CA bundle");
    free(copy);
    if (trust != NULL && trust->references > 0)
        gw_trust_unref(trust);
    else
        free(trust);
    return NULL;
}

struct gw_trust *gw_trust_ref(struct gw_trust *trust)
{
    trust->references++;
    return trust;
}

void gw_trust_unref(struct gw_trust *trust)
{
    if (trust == NULL || --trust->references > 0)
        return;
    mbedtls_ssl_config_free(&trust->config);
    mbedtls_x509_crt_free(&trust->chain);
    free(trust->id);
    free(trust);
}

const char *gw_trust_id(const struct gw_trust *trust)
{
    return trust->id;
}

bool gw_trust_min_tls13(const struct gw_trust *trust)
{
    return trust->min_tls13;
}

/* mbedTLS's own check of names covers DNS entries; a literal is compared here, byte by byte. */
static bool proves_address(const mbedtls_x509_crt *certificate, const struct gw_host *host)
{
    size_t length = host->class == GW_HOST_V4 ? 4 : 16;
    for (const mbedtls_x509_sequence *at = &certificate->subject_alt_names; at != NULL;
         at = at->next) {
        unsigned tag = (unsigned)at->buf.tag & MBEDTLS_ASN1_TAG_VALUE_MASK;
        if (tag == MBEDTLS_X509_SAN_IP_ADDRESS && at->buf.len == length
            && memcmp(at->buf.p, host->address.bytes, length) == 0)
            return true;
    }
    return false;
}

static int on_verify(void *context, mbedtls_x509_crt *certificate, int depth, uint32_t *flags)
{
    struct gw_tls *tls = context;
    tls->verified = true;
    if (depth == 0 && tls->host.class != GW_HOST_NAME && !proves_address(certificate, &tls->host))
        *flags |= MBEDTLS_X509_BADCERT_CN_MISMATCH;
    tls->verify_flags |= *flags;
    return 0;
}

static int on_send(void *context, const unsigned char *data, size_t length)
{
    struct gw_tls *tls = context;
    ssize_t sent;
    do
        sent = send(tls->watch->fd, data, length, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return (int)sent;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        tls->watch->ready &= (uint8_t)~GW_CAN_WRITE;
        return MBEDTLS_ERR_SSL_WANT_WRITE;
    }
    return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
}

static int on_receive(void *context, unsigned char *out, size_t room)
{
    struct gw_tls *tls = context;
    ssize_t got;
    /* mbedTLS reads on as long as records bring no data (tickets, warnings, ChangeCipherSpec), and
     * a peer can send those without end. A record of any length takes two reads. */
    if (tls->reads++ >= TURN_READS) {
        tls->yields = true;
        return MBEDTLS_ERR_SSL_WANT_READ;
    }
    do
        got = recv(tls->watch->fd, out, room, 0);
    while (got < 0 && errno == EINTR);
    if (got > 0)
        return (int)got;
    if (got == 0)
        return MBEDTLS_ERR_SSL_CONN_EOF;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        tls->reads = 0;
        tls->watch->ready &= (uint8_t)~GW_CAN_READ;
        return MBEDTLS_ERR_SSL_WANT_READ;
    }
    return MBEDTLS_ERR_SSL_CONN_EOF;
}

static struct kept *find_session(const char *key)
{
    gw_list_each (at, after, &sessions) {
        struct kept *kept = gw_container_of(at, struct kept, link);
        if (strcmp(kept->key, key) == 0)
            return kept;
    }
    return NULL;
}

/* The newest session of a peer replaces the one before. */
static void keep_session(struct gw_tls *tls)
{
    struct kept *kept = find_session(tls->key);
    if (kept != NULL)
        forget_session(kept);
    else if (session_count >= SESSIONS_MAX)
        forget_session(gw_container_of(sessions.previous, struct kept, link));
    kept = calloc(1, sizeof *kept);
    if (kept == NULL)
        return;
    mbedtls_ssl_session_init(&kept->session);
    memcpy(kept->key, tls->key, sizeof kept->key);
    if (mbedtls_ssl_get_session(&tls->ssl, &kept->session) != 0) {
        mbedtls_ssl_session_free(&kept->session);
        free(kept);
        return;
    }
    kept->link.next = sessions.next;
    kept->link.previous = &sessions;
    sessions.next->previous = &kept->link;
    sessions.next = &kept->link;
    session_count++;
}

struct gw_tls *gw_tls_new(struct gw_trust *trust, const struct gw_host *host, uint16_t port,
                          struct gw_watch *watch)
{
    struct gw_tls *tls = calloc(1, sizeof *tls);
    if (tls == NULL)
        return NULL;
    tls->trust = gw_trust_ref(trust);
    tls->watch = watch;
    tls->host = *host;
    snprintf(tls->key, sizeof tls->key, "%.100s %d %s %u", trust->id, trust->min_tls13, host->text,
             port);
    mbedtls_ssl_init(&tls->ssl);
    /* A literal sends no SNI (RFC 6066 3); on_verify compares it. */
    const char *name = host->class == GW_HOST_NAME ? host->text : NULL;
    if (mbedtls_ssl_setup(&tls->ssl, &trust->config) != 0
        || mbedtls_ssl_set_hostname(&tls->ssl, name) != 0) {
        gw_tls_free(tls);
        return NULL;
    }
    mbedtls_ssl_set_verify(&tls->ssl, on_verify, tls);
    mbedtls_ssl_set_bio(&tls->ssl, tls, on_send, on_receive, NULL);
    struct kept *kept = find_session(tls->key);
    if (kept != NULL && mbedtls_ssl_set_session(&tls->ssl, &kept->session) != 0)
        forget_session(kept); /* a full handshake will do */
    return tls;
}

void gw_tls_free(struct gw_tls *tls)
{
    if (tls == NULL)
        return;
    mbedtls_ssl_free(&tls->ssl);
    gw_trust_unref(tls->trust);
    free(tls);
}

/* WANT_READ while the socket still has bytes: mbedTLS stopped at a ticket or a key update, and
 * waiting for the next edge would wait for ever. */
static bool stopped_early(const struct gw_tls *tls, int status)
{
    return status == MBEDTLS_ERR_SSL_WANT_READ && (tls->watch->ready & GW_CAN_READ) != 0
           && !tls->yields;
}

/* The rest comes with the next edge, or after the others. */
static enum gw_io again(struct gw_tls *tls)
{
    if (tls->yields) {
        tls->yields = false;
        tls->reads = 0;
        gw_watch_later(tls->watch);
    }
    return GW_IO_AGAIN;
}

enum gw_io gw_tls_handshake(struct gw_tls *tls)
{
    int status;
    do {
        status = mbedtls_ssl_handshake(&tls->ssl);
        if (status == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET)
            keep_session(tls);
    } while (status == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET || stopped_early(tls, status));
    if (status == MBEDTLS_ERR_SSL_WANT_READ || status == MBEDTLS_ERR_SSL_WANT_WRITE)
        return again(tls);
    tls->error = status;
    if (status != 0 || mbedtls_ssl_get_verify_result(&tls->ssl) != 0) {
        struct kept *kept = find_session(tls->key);
        if (kept != NULL)
            forget_session(kept);
        return GW_IO_FAILED;
    }
    if (mbedtls_ssl_get_version_number(&tls->ssl) == MBEDTLS_SSL_VERSION_TLS1_2)
        keep_session(tls); /* 1.3 sends its tickets later */
    return GW_IO_OK;
}

bool gw_tls_resumed(const struct gw_tls *tls)
{
    return !tls->verified;
}

enum gw_io gw_tls_read(struct gw_tls *tls, void *out, size_t room, size_t *length)
{
    int status;
    do {
        status = mbedtls_ssl_read(&tls->ssl, out, room);
        if (status == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET)
            keep_session(tls);
    } while (status == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET || stopped_early(tls, status));
    if (status > 0) {
        *length = (size_t)status;
        return GW_IO_OK;
    }
    if (status == MBEDTLS_ERR_SSL_WANT_READ || status == MBEDTLS_ERR_SSL_WANT_WRITE)
        return again(tls);
    tls->error = status;
    return status == 0 || status == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY ? GW_IO_END : GW_IO_FAILED;
}

enum gw_io gw_tls_write(struct gw_tls *tls, const void *data, size_t length, size_t *written)
{
    if (tls->offered != 0) {
        gw_check(length >= tls->offered);
        length = tls->offered;
    }
    int status;
    do {
        status = mbedtls_ssl_write(&tls->ssl, data, length);
        if (status == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET)
            keep_session(tls);
    } while (status == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET);
    if (status == MBEDTLS_ERR_SSL_WANT_WRITE || status == MBEDTLS_ERR_SSL_WANT_READ) {
        tls->offered = length;
        return GW_IO_AGAIN;
    }
    tls->offered = 0;
    if (status < 0) {
        tls->error = status;
        return GW_IO_FAILED;
    }
    *written = (size_t)status;
    return GW_IO_OK;
}

void gw_tls_notify_close(struct gw_tls *tls)
{
    (void)mbedtls_ssl_close_notify(&tls->ssl);
}

void gw_tls_failure(const struct gw_tls *tls, char *out, size_t room)
{
    struct gw_text text;
    gw_text_init(&text, out, room);
    uint32_t flags = tls->verify_flags;
    if (flags & MBEDTLS_X509_BADCERT_EXPIRED)
        gw_text_add_string(&text, "certificate expired; ");
    if (flags & MBEDTLS_X509_BADCERT_FUTURE)
        gw_text_add_string(&text, "certificate not yet valid; ");
    if (flags & MBEDTLS_X509_BADCERT_CN_MISMATCH)
        gw_text_add_string(&text, "certificate for another name; ");
    if (flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED)
        gw_text_add_string(&text, "issuer not trusted; ");
    if (flags & MBEDTLS_X509_BADCERT_REVOKED)
        gw_text_add_string(&text, "certificate revoked; ");
    const char *high = mbedtls_high_level_strerr(tls->error);
    gw_text_addf(&text, "%s (-0x%04x)", high != NULL ? high : "TLS failed", (unsigned)-tls->error);
}
