/* gateway/supervisor/credential_source.c */
#define _GNU_SOURCE /* O_CLOEXEC and friends under -std=c11 */
#include "gateway/supervisor/credential_source.h"

#include <errno.h>
#include <fcntl.h>
#include <mbedtls/base64.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

struct variable {
    struct variable *next;
    char *name;
    struct gw_secret value;
};

struct gw_environment_values {
    struct variable *first;
};

struct gw_environment_values *gw_environment_values_new(void)
{
    return calloc(1, sizeof(struct gw_environment_values));
}

void gw_environment_values_free(struct gw_environment_values *values)
{
    struct variable *next;
    if (values == NULL)
        return;
    for (struct variable *at = values->first; at != NULL; at = next) {
        next = at->next;
        gw_secret_fini(&at->value);
        free(at->name);
        free(at);
    }
    free(values);
}

/* Every occurrence: a program may be started with a variable twice. */
static void wipe_variable(const char *name)
{
    size_t length = strlen(name);
    for (char **at = environ; *at != NULL; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            gw_secret_wipe(*at + length + 1, strlen(*at + length + 1));
    unsetenv(name);
}

static const struct variable *find_variable(const struct gw_environment_values *values,
                                            const char *name)
{
    for (const struct variable *at = values->first; at != NULL; at = at->next)
        if (strcmp(at->name, name) == 0)
            return at;
    return NULL;
}

static const struct variable *read_variable(struct gw_environment_values *values, const char *name,
                                            struct gw_error *err)
{
    const struct variable *known = find_variable(values, name);
    const char *value = known == NULL ? getenv(name) : NULL;
    if (known != NULL)
        return known;
    if (value == NULL) {
        gw_error_set(err, GW_ERR_CONFIG, "the variable %s is not set", name);
        return NULL;
    }
    struct variable *variable = calloc(1, sizeof *variable);
    if (variable == NULL || (variable->name = strdup(name)) == NULL
        || !gw_secret_init(&variable->value, gw_slice_of(value))) {
        gw_error_set(err, GW_ERR_MEMORY, "no memory for its value");
        if (variable != NULL)
            free(variable->name);
        free(variable);
        return NULL;
    }
    wipe_variable(name);
    variable->next = values->first;
    values->first = variable;
    return variable;
}

/* Into `data`, `room` bytes; the length, or -1. A pipe or a device could block or never end. */
static ssize_t read_file(const char *path, char *data, size_t room, struct gw_error *err)
{
    struct stat status;
    size_t length = 0;
    ssize_t got = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0)
        gw_error_set(err, GW_ERR_CONFIG, "cannot read %s: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        gw_error_set(err, GW_ERR_CONFIG, "%s is not a regular file", path);
    else
        while ((got = read(fd, data + length, room - length)) > 0 || (got < 0 && errno == EINTR))
            length += got > 0 ? (size_t)got : 0;
    if (got < 0)
        gw_error_set(err, GW_ERR_CONFIG, "cannot read %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return got < 0 ? -1 : (ssize_t)length;
}

static struct gw_slice without_line_end(struct gw_slice value)
{
    if (value.length > 0 && value.data[value.length - 1] == '\n')
        value.length--;
    if (value.length > 0 && value.data[value.length - 1] == '\r')
        value.length--;
    return value;
}

/* A line end would begin another header field (C05). */
static bool is_usable(struct gw_slice value, struct gw_error *err)
{
    if (value.length == 0) {
        gw_error_set(err, GW_ERR_CONFIG, "its value is empty");
        return false;
    }
    if (value.length > GW_CREDENTIAL_VALUE_MAX) {
        gw_error_set(err, GW_ERR_LIMIT, "its value is longer than %d bytes",
                     GW_CREDENTIAL_VALUE_MAX);
        return false;
    }
    for (size_t i = 0; i < value.length; i++)
        if ((unsigned char)value.data[i] < 0x20 || value.data[i] == 0x7f) {
            gw_error_set(err, GW_ERR_CONFIG,
                         "its value has a control byte (a line end, perhaps) as byte %zu of %zu",
                         i + 1, value.length);
            return false;
        }
    return true;
}

static size_t print_basic(const char *user, struct gw_slice value, char *out, size_t room)
{
    char pair[GW_CREDENTIAL_USER_MAX + 1 + GW_CREDENTIAL_VALUE_MAX];
    static const char word[] = "Basic ";
    size_t user_length = strlen(user), length = user_length + 1 + value.length, encoded;
    memcpy(out, word, sizeof word - 1);
    memcpy(pair, user, user_length);
    pair[user_length] = ':';
    memcpy(pair + user_length + 1, value.data, value.length);
    int failed =
        mbedtls_base64_encode((unsigned char *)out + sizeof word - 1, room - (sizeof word - 1),
                              &encoded, (const unsigned char *)pair, length);
    gw_secret_wipe(pair, length);
    gw_check(failed == 0); /* the room is that of the longest user and value */
    return sizeof word - 1 + encoded;
}

static size_t print_field(const struct gw_settings_credential *credential, struct gw_slice value,
                          char *out, size_t room)
{
    static const char word[] = "Bearer ";
    size_t before = 0;
    if (credential->scheme == GW_SCHEME_BASIC)
        return print_basic(credential->user, value, out, room);
    if (credential->scheme == GW_SCHEME_BEARER) {
        before = sizeof word - 1;
        memcpy(out, word, before);
    }
    memcpy(out + before, value.data, value.length);
    return before + value.length;
}

static bool make_value(const struct gw_settings_credential *credential, struct gw_slice value,
                       struct gw_credential_value *out, struct gw_error *err)
{
    char field[(GW_CREDENTIAL_USER_MAX + GW_CREDENTIAL_VALUE_MAX) * 4 / 3 + 32];
    if (!is_usable(value, err))
        return false;
    if (credential->scheme == GW_SCHEME_BASIC
        && (credential->user == NULL || strchr(credential->user, ':') != NULL
            || strlen(credential->user) > GW_CREDENTIAL_USER_MAX)) {
        gw_error_set(err, GW_ERR_CONFIG, "its user must have 1 to %d bytes and no colon (RFC 7617)",
                     GW_CREDENTIAL_USER_MAX);
        return false;
    }
    size_t length = print_field(credential, value, field, sizeof field);
    bool made = gw_secret_init(&out->field, (struct gw_slice){ field, length })
                && gw_secret_init(&out->secret, value);
    gw_secret_wipe(field, length);
    if (!made) {
        gw_error_set(err, GW_ERR_MEMORY, "no memory for its value");
        gw_credential_value_fini(out);
    }
    return made;
}

static bool read_from_file(const struct gw_settings_credential *credential,
                           struct gw_credential_value *out, struct gw_error *err)
{
    char data[GW_CREDENTIAL_VALUE_MAX + 3]; /* a line end, and one more to notice */
    ssize_t length = read_file(credential->source_name, data, sizeof data, err);
    if (length < 0) {
        gw_secret_wipe(data, sizeof data);
        return false;
    }
    bool made = make_value(credential, without_line_end((struct gw_slice){ data, (size_t)length }),
                           out, err);
    gw_secret_wipe(data, sizeof data);
    return made;
}

static bool read_from_environment(struct gw_environment_values *values,
                                  const struct gw_settings_credential *credential,
                                  struct gw_credential_value *out, struct gw_error *err)
{
    const struct variable *variable = read_variable(values, credential->source_name, err);
    return variable != NULL && make_value(credential, gw_secret_reveal(&variable->value), out, err);
}

bool gw_credential_read(struct gw_environment_values *values,
                        const struct gw_settings_credential *credential,
                        struct gw_credential_value *out, struct gw_error *err)
{
    *out = (struct gw_credential_value){ 0 };
    bool read = credential->source == GW_SOURCE_FILE
                    ? read_from_file(credential, out, err)
                    : read_from_environment(values, credential, out, err);
    if (!read)
        gw_error_prefix(err, "credential %s", credential->name);
    return read;
}

void gw_credential_value_fini(struct gw_credential_value *value)
{
    gw_secret_fini(&value->field);
    gw_secret_fini(&value->secret);
}

bool gw_credential_value_equal(const struct gw_credential_value *a,
                               const struct gw_credential_value *b)
{
    return gw_secret_equal(gw_secret_reveal(&a->field), gw_secret_reveal(&b->field))
           && gw_secret_equal(gw_secret_reveal(&a->secret), gw_secret_reveal(&b->secret));
}

bool gw_credential_is_there(const struct gw_settings_credential *credential, struct gw_error *err)
{
    struct gw_credential_value value = { 0 };
    const char *variable =
        credential->source == GW_SOURCE_ENV ? getenv(credential->source_name) : NULL;
    bool there;
    if (credential->source == GW_SOURCE_FILE)
        there = read_from_file(credential, &value, err);
    else if (variable == NULL) {
        gw_error_set(err, GW_ERR_CONFIG, "the variable %s is not set here",
                     credential->source_name);
        there = false;
    } else
        there = make_value(credential, gw_slice_of(variable), &value, err);
    gw_credential_value_fini(&value);
    if (!there)
        gw_error_prefix(err, "credential %s", credential->name);
    return there;
}

bool gw_credential_file_is_open(const struct gw_settings_credential *credential)
{
    struct stat status;
    return credential->source == GW_SOURCE_FILE && stat(credential->source_name, &status) == 0
           && (status.st_mode & S_IROTH) != 0;
}
