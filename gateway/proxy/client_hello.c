#include "gateway/proxy/client_hello.h"

#include <string.h>

#include "base/check.h"

enum {
    RECORD_HEADER = 5,
    RECORD_MAX = 16384, /* of a plaintext record, RFC 8446 5.1 */
    HANDSHAKE_RECORD = 22,
    MESSAGE_HEADER = 4,
    CLIENT_HELLO = 1,
    SESSION_ID_MAX = 32,
    SERVER_NAME = 0,                /* extension, RFC 6066 */
    HOST_NAME = 0,                  /* the one type of name in it */
    ENCRYPTED_CLIENT_HELLO = 0xfe0d /* extension, draft-ietf-tls-esni; grease looks the same */
};

/* Fatal, unrecognized_name. The oldest version: whoever reads it has not agreed on one yet. */
const unsigned char gw_tls_unrecognized_name_alert[7] = { 21, 3, 1, 0, 2, 2, 112 };

/* --- the records --- */

struct fragment {
    const unsigned char *data;
    size_t length;  /* that has come */
    size_t missing; /* that has not */
};

/* Takes the next record off `bytes`. What is wrong is said by the first byte that is wrong, however
 * few have come: another protocol's banner need not be awaited. */
static enum gw_client_hello next_fragment(struct gw_slice *bytes, struct fragment *out)
{
    const unsigned char *head = (const unsigned char *)bytes->data;
    if (bytes->length >= 1 && head[0] != HANDSHAKE_RECORD)
        return GW_HELLO_NOT_TLS;
    if (bytes->length >= 2 && head[1] != 3)
        return GW_HELLO_NOT_TLS;
    if (bytes->length < RECORD_HEADER)
        return GW_HELLO_NEED_MORE;
    size_t length = (size_t)head[3] << 8 | head[4];
    if (length == 0 || length > RECORD_MAX)
        return GW_HELLO_NOT_TLS;
    size_t there = bytes->length - RECORD_HEADER;
    out->data = head + RECORD_HEADER;
    out->length = there < length ? there : length;
    out->missing = length - out->length;
    bytes->data += RECORD_HEADER + out->length;
    bytes->length -= RECORD_HEADER + out->length;
    return GW_HELLO_NAMED;
}

/* What is known of the message while its records are walked. */
struct message {
    unsigned char head[MESSAGE_HEADER];
    size_t gathered; /* bytes of it that have come */
    size_t length;   /* header included; 0 until the header is whole */
};

static enum gw_client_hello gather(struct message *message, const struct fragment *fragment,
                                   size_t limit)
{
    for (size_t i = 0; i < fragment->length && message->gathered + i < MESSAGE_HEADER; i++)
        message->head[message->gathered + i] = fragment->data[i];
    message->gathered += fragment->length;
    if (message->gathered >= 1 && message->head[0] != CLIENT_HELLO)
        return GW_HELLO_NOT_TLS;
    if (message->gathered < MESSAGE_HEADER)
        return GW_HELLO_NEED_MORE;
    message->length = MESSAGE_HEADER
                      + ((size_t)message->head[1] << 16 | (size_t)message->head[2] << 8
                         | (size_t)message->head[3]);
    if (message->length > limit)
        return GW_HELLO_TOO_LARGE;
    /* A second message in the same record is one that we would relay unread. */
    if (message->gathered + fragment->missing > message->length)
        return GW_HELLO_NOT_TLS;
    return message->gathered < message->length ? GW_HELLO_NEED_MORE : GW_HELLO_NAMED;
}

/* A record that gw_client_hello_read() has been through before. */
static void take_fragment(struct gw_slice *bytes, struct fragment *fragment)
{
    *fragment = (struct fragment){ 0 };
    (void)next_fragment(bytes, fragment);
    gw_check(fragment->data != NULL);
}

/* The message as one piece: where it stands if one record holds it, else copied to `scratch`. */
static struct gw_slice assemble(struct gw_slice bytes, size_t length, unsigned char *scratch)
{
    struct fragment fragment;
    take_fragment(&bytes, &fragment);
    if (fragment.length == length)
        return (struct gw_slice){ (const char *)fragment.data, length };
    for (size_t at = 0;; take_fragment(&bytes, &fragment)) {
        memcpy(scratch + at, fragment.data, fragment.length);
        at += fragment.length;
        if (at == length)
            return (struct gw_slice){ (const char *)scratch, length };
    }
}

/* --- the message --- */

/* Reads a number of `width` bytes; false if they are not there. */
static bool take_number(struct gw_slice *from, unsigned width, size_t *out)
{
    if (from->length < width)
        return false;
    *out = 0;
    for (unsigned i = 0; i < width; i++)
        *out = *out << 8 | (unsigned char)from->data[i];
    from->data += width;
    from->length -= width;
    return true;
}

static bool take_bytes(struct gw_slice *from, size_t length, struct gw_slice *out)
{
    if (from->length < length)
        return false;
    *out = (struct gw_slice){ from->data, length };
    from->data += length;
    from->length -= length;
    return true;
}

/* A vector: its length in `width` bytes, then as many bytes. */
static bool take_vector(struct gw_slice *from, unsigned width, struct gw_slice *out)
{
    size_t length;
    return take_number(from, width, &length) && take_bytes(from, length, out);
}

/* RFC 6066, section 3. One host_name and nothing else: servers differ in which of several names
 * they take, so more than one cannot be judged. */
static bool read_server_name(struct gw_slice data, struct gw_slice *name)
{
    struct gw_slice list;
    size_t type;
    return take_vector(&data, 2, &list) && data.length == 0 && take_number(&list, 1, &type)
           && type == HOST_NAME && take_vector(&list, 2, name) && list.length == 0
           && name->length > 0;
}

static enum gw_client_hello read_extensions(struct gw_slice list, struct gw_client_hello_facts *out)
{
    bool named = false;
    while (list.length > 0) {
        struct gw_slice data;
        size_t type;
        if (!take_number(&list, 2, &type) || !take_vector(&list, 2, &data))
            return GW_HELLO_NOT_TLS;
        if (type == ENCRYPTED_CLIENT_HELLO)
            out->encrypted_hello = true;
        if (type == SERVER_NAME) {
            if (named || !read_server_name(data, &out->name))
                return GW_HELLO_NOT_TLS;
            named = true;
        }
    }
    return named ? GW_HELLO_NAMED : GW_HELLO_UNNAMED;
}

/* RFC 8446, 4.1.2; the same since TLS 1.0, but for extensions that may be missing there. */
static enum gw_client_hello read_message(struct gw_slice message, struct gw_client_hello_facts *out)
{
    struct gw_slice skipped, session_id, suites, compressions, extensions;
    size_t major;
    if (!take_bytes(&message, MESSAGE_HEADER, &skipped) || !take_number(&message, 1, &major)
        || major != 3 || !take_bytes(&message, 1 + 32, &skipped) /* minor version, random */
        || !take_vector(&message, 1, &session_id) || session_id.length > SESSION_ID_MAX
        || !take_vector(&message, 2, &suites) || suites.length == 0 || suites.length % 2 != 0
        || !take_vector(&message, 1, &compressions) || compressions.length == 0)
        return GW_HELLO_NOT_TLS;
    if (message.length == 0)
        return GW_HELLO_UNNAMED;
    if (!take_vector(&message, 2, &extensions) || message.length != 0)
        return GW_HELLO_NOT_TLS;
    return read_extensions(extensions, out);
}

enum gw_client_hello gw_client_hello_read(struct gw_slice bytes, size_t limit,
                                          unsigned char *scratch, struct gw_client_hello_facts *out)
{
    struct message message = { .gathered = 0 };
    struct gw_slice rest = bytes;
    enum gw_client_hello result;
    *out = (struct gw_client_hello_facts){ .encrypted_hello = false };
    do {
        struct fragment fragment;
        result = next_fragment(&rest, &fragment);
        if (result != GW_HELLO_NAMED)
            return result;
        result = gather(&message, &fragment, limit);
    } while (result == GW_HELLO_NEED_MORE && rest.length > 0);
    if (result != GW_HELLO_NAMED)
        return result;
    result = read_message(assemble(bytes, message.length, scratch), out);
    if (result != GW_HELLO_NAMED)
        out->name = (struct gw_slice){ NULL, 0 };
    return result;
}

bool gw_client_hello_matches(const struct gw_client_hello_facts *facts,
                             const struct gw_host *target)
{
    struct gw_host named;
    if (target->class != GW_HOST_NAME)
        return true; /* RFC 6066: literals are not permitted as a name, so none can be asked for */
    return gw_host_parse(facts->name, &named) == GW_REASON_NONE && gw_host_equal(&named, target);
}
