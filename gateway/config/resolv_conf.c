#include "gateway/config/resolv_conf.h"

#include <stdlib.h>

#include "gateway/config/file_text.h"

#define BYTES_MAX (1u << 20)
#define SERVERS_MAX 16

/* "nameserver", blanks, an address, and then nothing or a blank and whatever. */
static bool read_line(struct gw_slice line, struct gw_ip_address *out)
{
    static const char word[] = "nameserver";
    size_t length = sizeof word - 1;
    if (line.length <= length || memcmp(line.data, word, length) != 0
        || memchr(" \t", line.data[length], 2) == NULL)
        return false;
    line = gw_slice_trim((struct gw_slice){ line.data + length, line.length - length });
    for (size_t i = 0; i < line.length; i++)
        if (memchr(" \t\r#;", line.data[i], 5) != NULL)
            line.length = i;
    return gw_ip_address_parse(line, out);
}

bool gw_resolv_conf_read(const char *path, struct gw_endpoint **servers, size_t *count,
                         struct gw_error *err)
{
    char *text = NULL;
    size_t length, found = 0;
    struct gw_slice line;
    struct gw_endpoint *list = calloc(SERVERS_MAX, sizeof *list);
    if (list == NULL)
        gw_error_set(err, GW_ERR_MEMORY, "out of memory");
    else if (gw_file_text_read(path, BYTES_MAX, &text, &length, err)) {
        struct gw_slice rest = { text, length };
        while (found < SERVERS_MAX && gw_slice_next(&rest, '\n', &line))
            if (read_line(line, &list[found].address)) {
                list[found].address = gw_ip_address_unmap(&list[found].address);
                list[found++].port = 53;
            }
        if (found == 0)
            gw_error_set(err, GW_ERR_CONFIG, "%s has no usable \"nameserver\" line", path);
    }
    free(text);
    if (found == 0) {
        free(list);
        return false;
    }
    *servers = list;
    *count = found;
    return true;
}
