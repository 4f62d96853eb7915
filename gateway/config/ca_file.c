#define _GNU_SOURCE /* strdup */
#include "gateway/config/ca_file.h"

#include <stdlib.h>

#include "gateway/config/file_text.h"

#define BYTES_MAX (16u << 20)

/* The next line, without its end; false when there is none. */
static bool next_line(struct gw_slice *rest, struct gw_slice *line)
{
    if (rest->length == 0)
        return false;
    const char *end = memchr(rest->data, '\n', rest->length);
    size_t length = end == NULL ? rest->length : (size_t)(end - rest->data);
    *line = (struct gw_slice){ rest->data, length };
    rest->data += length + (end != NULL);
    rest->length -= length + (end != NULL);
    while (line->length > 0 && memchr("\r \t", line->data[line->length - 1], 3) != NULL)
        line->length--;
    return true;
}

static bool is_base64(struct gw_slice line)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    for (size_t i = 0; i < line.length; i++)
        if (memchr(letters, line.data[i], sizeof letters - 1) == NULL)
            return false;
    return line.length > 0;
}

/* From behind the BEGIN line to the END line. A certificate is a DER SEQUENCE with a length of two
 * bytes, which in base64 begins with "MI". */
static bool read_block(struct gw_slice *rest, unsigned *number)
{
    struct gw_slice line;
    size_t digits = 0;
    while (next_line(rest, &line)) {
        ++*number;
        if (gw_slice_equal(line, GW_SLICE("-----END CERTIFICATE-----")))
            return digits >= 128 && digits % 4 == 0;
        if (!is_base64(line)
            || (digits == 0 && (line.length < 2 || memcmp(line.data, "MI", 2) != 0)))
            return false;
        digits += line.length;
    }
    return false;
}

static bool is_private_key(struct gw_slice line)
{
    static const char end[] = "PRIVATE KEY-----";
    size_t length = sizeof end - 1;
    return line.length > length && memcmp(line.data, "-----BEGIN ", 11) == 0
           && memcmp(line.data + line.length - length, end, length) == 0;
}

size_t gw_ca_file_check(struct gw_slice pem, struct gw_error *err)
{
    struct gw_slice rest = pem, line;
    size_t count = 0;
    for (unsigned number = 1; next_line(&rest, &line); number++) {
        unsigned begin = number;
        if (is_private_key(line)) {
            gw_error_set(err, GW_ERR_CONFIG,
                         "line %u begins a private key, which does not belong among CA "
                         "certificates",
                         begin);
            return 0;
        }
        if (!gw_slice_equal(line, GW_SLICE("-----BEGIN CERTIFICATE-----")))
            continue;
        if (!read_block(&rest, &number)) {
            gw_error_set(err, GW_ERR_SYNTAX, "the certificate that begins on line %u is damaged",
                         begin);
            return 0;
        }
        count++;
    }
    if (count == 0)
        gw_error_set(err, GW_ERR_SYNTAX, "it holds no certificate (-----BEGIN CERTIFICATE-----)");
    return count;
}

bool gw_ca_file_add(struct gw_settings *settings, const char *path, size_t *index,
                    struct gw_error *err)
{
    struct gw_settings_ca ca = { .path = strdup(path) }, *grown;
    struct gw_digest digest;
    bool fine = false;
    if (!gw_file_text_read(path, BYTES_MAX, &ca.pem, &ca.length, err))
        goto out;
    if (gw_ca_file_check((struct gw_slice){ ca.pem, ca.length }, err) == 0) {
        gw_error_prefix(err, "%s", path);
        goto out;
    }
    gw_digest_of((struct gw_slice){ ca.pem, ca.length }, &digest);
    gw_digest_print(&digest, ca.id);
    fine = true;
    for (*index = 0; *index < settings->ca_count; ++*index)
        if (strcmp(settings->cas[*index].id, ca.id) == 0)
            goto out; /* the same certificates: one bundle is enough for both */
    grown = realloc(settings->cas, (settings->ca_count + 1) * sizeof *grown);
    fine = grown != NULL && ca.path != NULL;
    if (grown != NULL)
        settings->cas = grown;
    if (!fine) {
        gw_error_set(err, GW_ERR_MEMORY, "out of memory");
        goto out;
    }
    settings->cas[settings->ca_count++] = ca;
    return true;
out:
    free(ca.path);
    free(ca.pem);
    return fine;
}
