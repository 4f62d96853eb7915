/* policy/image_scoped.c - what a policy says about requests that can be read: rules about methods
 * and paths, and credentials. The rest of the builder is image_builder.c. */
#include <stdlib.h>

#include "base/macros.h"
#include "policy/decision.h"
#include "policy/image_builder.h"
#include "policy/path_rule.h"

bool gw_builder_is_name(const char *text)
{
    size_t length = text == NULL ? 0 : strlen(text);
    if (length == 0 || length > GW_BUILDER_WORD_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    return true;
}

bool gw_builder_is_token(const char *text, char first_letter, char last_letter)
{
    if (!gw_builder_is_name(text))
        return false;
    for (const char *at = text; *at != '\0'; at++)
        if (!(*at >= first_letter && *at <= last_letter) && !(*at >= '0' && *at <= '9')
            && strchr("!#$%&'*+-.^_`|~", *at) == NULL)
            return false;
    return true;
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Appends the words in order, each once, to `at`; returns the end. `at` NULL only measures. */
static size_t pack_words(const char **words, size_t count, char *at)
{
    size_t length = 0;
    if (count > 0)
        qsort(words, count, sizeof *words, compare_words);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(words[i - 1], words[i]) == 0)
            continue;
        if (at != NULL)
            memcpy(at + length, words[i], strlen(words[i]) + 1);
        length += strlen(words[i]) + 1;
    }
    return length;
}

/* ---- rules ------------------------------------------------------------------------------- */

/* A method that no request can have, or that is refused whatever a rule says, would be accepted and
 * not applied. */
static bool check_method(const char *method, struct gw_error *err)
{
    static const char *const never[] = { "TRACE", "TRACK", "CONNECT" };
    if (!gw_builder_is_token(method, 'A', 'Z')) {
        gw_error_set(err, GW_ERR_CONFIG,
                     "\"%.40s\" is not a method; methods are upper-case tokens such as GET",
                     method == NULL ? "" : method);
        return false;
    }
    for (size_t i = 0; i < GW_COUNT(never); i++)
        if (strcmp(method, never[i]) == 0) {
            gw_error_set(err, GW_ERR_CONFIG, "a rule cannot admit %s: it is never relayed", method);
            return false;
        }
    return true;
}

/* A prefix that no path can begin with matches nothing, which is worse than an error. */
static bool check_path(const char *path, bool allow_encoded_slash, struct gw_error *err)
{
    const char *wrong = NULL;
    if (!gw_builder_is_name(path))
        wrong = "a path prefix is printable text that begins with \"/\"";
    else if (path[0] != '/')
        wrong = "a path prefix begins with \"/\"";
    else if (strpbrk(path, "?#") != NULL)
        wrong = "a path prefix has no query and no fragment";
    else if (gw_path_is_ambiguous(gw_slice_of(path), true))
        wrong = "a path that can be read in two ways is always refused, so this matches nothing";
    else if (gw_path_is_ambiguous(gw_slice_of(path), allow_encoded_slash))
        wrong = "this matches nothing unless the rule says \"encoded_slash: allow\"";
    for (const char *at = path; wrong == NULL && *at != '\0'; at++)
        if ((unsigned char)*at < 0x21 || (unsigned char)*at > 0x7e)
            wrong = "a path is ASCII without blanks; other bytes are written as %XX";
    if (wrong != NULL)
        gw_error_set(err, GW_ERR_CONFIG, "\"%.80s\": %s", path == NULL ? "" : path, wrong);
    return wrong == NULL;
}

bool gw_image_builder_rule(struct gw_image_builder *builder, struct gw_slice host,
                           const struct gw_rule_source *rule, struct gw_error *err)
{
    struct gw_host_pattern pattern;
    if (!gw_builder_parse_host(host, &pattern, err))
        return false;
    for (size_t i = 0; i < rule->method_count; i++)
        if (!check_method(rule->methods[i], err))
            return false;
    for (size_t i = 0; i < rule->path_count; i++)
        if (!check_path(rule->paths[i], rule->allow_encoded_slash, err))
            return false;
    size_t words = rule->method_count + rule->path_count;
    const char **sorted = calloc(words + 1, sizeof *sorted), **paths;
    char *packed = NULL;
    bool added = false;
    if (sorted == NULL)
        return gw_builder_out_of_memory(err);
    paths = sorted + rule->method_count;
    for (size_t i = 0; i < words; i++)
        sorted[i] = i < rule->method_count ? rule->methods[i] : rule->paths[i - rule->method_count];
    size_t room = 2 + pack_words(sorted, rule->method_count, NULL)
                  + pack_words(paths, rule->path_count, NULL);
    packed = malloc(room);
    if (packed == NULL) {
        gw_builder_out_of_memory(err);
        goto out;
    }
    size_t length = 0;
    packed[length++] = rule->allow_encoded_slash ? '1' : '0';
    length += pack_words(sorted, rule->method_count, packed + length);
    packed[length++] = '\0';
    length += pack_words(paths, rule->path_count, packed + length);
    added = gw_builder_add_valued(builder, &pattern, GW_IMAGE_RULE, packed, length, err);
out:
    free(packed);
    free(sorted);
    return added;
}

/* ---- credentials ------------------------------------------------------------------------- */

/* Fields that frame or route the message, or that speak to a proxy: a value in one of them would
 * be overwritten, or would break the request. */
static bool is_reserved_header(const char *header)
{
    static const char *const reserved[] = {
        "host",    "content-length", "transfer-encoding", "connection", "te", "trailer",
        "upgrade", "expect",         "keep-alive",        "via"
    };
    for (size_t i = 0; i < GW_COUNT(reserved); i++)
        if (strcmp(header, reserved[i]) == 0)
            return true;
    return strncmp(header, "proxy-", 6) == 0;
}

/* x_api_key and x-api-key are one field to many servers. */
static bool is_same_header(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
            return false;
    return *a == *b;
}

/* Does some entry cover every host of the pattern? Finitely many names never add up to a suffix, so
 * one entry has to do it alone. */
static bool is_covered(const struct gw_image_builder *builder,
                       const struct gw_host_pattern *pattern)
{
    const struct gw_store *store = &builder->store;
    struct gw_slice name = gw_host_slice(&pattern->host);
    if (builder->kind != GW_POLICY_STATIC)
        return builder->kind == GW_POLICY_ALLOW_ALL;
    for (bool whole = true; name.length > 0; whole = false) {
        uint32_t found = gw_store_find(store, name);
        uint32_t at = found == GW_STORE_NONE ? GW_STORE_NONE : store->names[found].first;
        for (; at != GW_STORE_NONE; at = store->entries[at].next) {
            const struct gw_image_record *record = &store->entries[at].record;
            if (record->what == GW_IMAGE_ALLOW
                && (gw_image_record_is_suffix(record) || (whole && !pattern->suffix)))
                return true;
        }
        const char *dot =
            pattern->host.class != GW_HOST_NAME ? NULL : memchr(name.data, '.', name.length);
        size_t cut = dot == NULL ? name.length : (size_t)(dot - name.data) + 1;
        name = (struct gw_slice){ name.data + cut, name.length - cut };
    }
    return false;
}

/* How many credentials would apply to every host of `pattern`, `added` among them? */
static size_t count_covering(const struct gw_image_builder *builder,
                             const struct gw_host_pattern *pattern,
                             const struct gw_host_pattern *added)
{
    size_t count = gw_host_pattern_covers(added, pattern);
    for (size_t i = 0; i < builder->stamp_count; i++)
        count += gw_host_pattern_covers(&builder->stamps[i].host, pattern);
    return count;
}

static bool check_stamps(const struct gw_image_builder *builder,
                         const struct gw_host_pattern *pattern,
                         const struct gw_credential_source *credential, struct gw_error *err)
{
    bool full = count_covering(builder, pattern, pattern) > GW_VERDICT_CREDENTIALS_MAX;
    for (size_t i = 0; i < builder->stamp_count; i++) {
        const struct gw_builder_stamp *stamp = &builder->stamps[i];
        if (is_same_header(stamp->header, credential->header)
            && gw_host_pattern_overlaps(&stamp->host, pattern)) {
            gw_error_set(err, GW_ERR_CONFIG,
                         "credential \"%s\": another one sets the header \"%s\" for \"%s%s\"",
                         credential->name, stamp->header, stamp->host.suffix ? "." : "",
                         stamp->host.host.text);
            return false;
        }
        full |= gw_host_pattern_covers(pattern, &stamp->host)
                && count_covering(builder, &stamp->host, pattern) > GW_VERDICT_CREDENTIALS_MAX;
    }
    if (full)
        gw_error_set(err, GW_ERR_LIMIT,
                     "credential \"%s\": more than %d credentials would apply to one host",
                     credential->name, GW_VERDICT_CREDENTIALS_MAX);
    return !full;
}

static bool check_credential(const struct gw_image_builder *builder,
                             const struct gw_host_pattern *pattern,
                             const struct gw_credential_source *credential, struct gw_error *err)
{
    if (!gw_builder_is_name(credential->name)) {
        gw_error_set(err, GW_ERR_CONFIG, "a credential has a name of printable text");
        return false;
    }
    if (!gw_builder_is_token(credential->header, 'a', 'z')
        || is_reserved_header(credential->header)) {
        gw_error_set(err, GW_ERR_CONFIG,
                     "credential \"%s\": \"%.80s\" is not a header that a credential can set; it "
                     "is a lower-case token and no field of message framing or of the proxy",
                     credential->name, credential->header == NULL ? "" : credential->header);
        return false;
    }
    if (!is_covered(builder, pattern)) {
        gw_error_set(err, GW_ERR_CONFIG,
                     "credential \"%s\": no entry of this policy covers all of \"%s%s\"",
                     credential->name, pattern->suffix ? "." : "", pattern->host.text);
        return false;
    }
    return check_stamps(builder, pattern, credential, err);
}

bool gw_image_builder_credential(struct gw_image_builder *builder, struct gw_slice host,
                                 const struct gw_credential_source *credential,
                                 struct gw_error *err)
{
    struct gw_host_pattern pattern;
    if (!gw_builder_parse_host(host, &pattern, err)
        || !check_credential(builder, &pattern, credential, err))
        return false;
    void *stamps = builder->stamps;
    bool grown = gw_store_grow(&stamps, &builder->stamp_room, builder->stamp_count, 1,
                               sizeof *builder->stamps);
    builder->stamps = stamps;
    size_t name = strlen(credential->name) + 1, header = strlen(credential->header) + 1;
    char *packed = grown ? malloc(1 + name + header) : NULL;
    if (packed == NULL)
        return gw_builder_out_of_memory(err);
    packed[0] = credential->allow_plaintext ? '1' : '0';
    memcpy(packed + 1, credential->name, name);
    memcpy(packed + 1 + name, credential->header, header);
    bool added = gw_builder_add_valued(builder, &pattern, GW_IMAGE_CREDENTIAL, packed,
                                       1 + name + header, err);
    if (added) {
        struct gw_builder_stamp *stamp = &builder->stamps[builder->stamp_count++];
        /* The value that was found or added; it lives as long as the builder. */
        struct gw_store_values *values = &builder->values[GW_IMAGE_CREDENTIAL];
        uint32_t value = gw_values_add(values, packed, 1 + name + header);
        stamp->host = pattern;
        stamp->header = (const char *)values->all[value].bytes + 1 + name;
    }
    free(packed);
    return added;
}
