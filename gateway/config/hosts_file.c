#include "gateway/config/hosts_file.h"

#include <stdlib.h>

#include "gateway/config/file_text.h"

#define BYTES_MAX (1u << 30)

static struct gw_slice without_comment(struct gw_slice line)
{
    for (size_t i = 0; i < line.length; i++)
        if (line.data[i] == '#' && (i == 0 || line.data[i - 1] == ' ' || line.data[i - 1] == '\t'))
            line.length = i;
    if (line.length > 0 && line.data[line.length - 1] == '\r')
        line.length--;
    return gw_slice_trim(line);
}

bool gw_hosts_file_read(const char *path,
                        void (*on_entry)(void *context, struct gw_slice entry, unsigned line),
                        void *context, struct gw_error *err)
{
    char *text;
    size_t length;
    if (!gw_file_text_read(path, BYTES_MAX, &text, &length, err))
        return false;
    struct gw_slice rest = { text, length }, line;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        rest = (struct gw_slice){ text + 3, length - 3 };
    for (unsigned number = 1; gw_slice_next(&rest, '\n', &line); number++) {
        struct gw_slice entry = without_comment(line);
        if (entry.length > 0)
            on_entry(context, entry, number);
    }
    free(text);
    return true;
}
