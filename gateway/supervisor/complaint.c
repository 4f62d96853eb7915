/* gateway/supervisor/complaint.c */
#include "gateway/supervisor/complaint.h"

#include <stdio.h>

#include "base/text.h"
#include "gateway/common/log.h"

void gw_complaints_add(struct gw_complaints *complaints, const char *format, ...)
{
    char data[1024];
    struct gw_text text;
    va_list list;
    gw_text_init(&text, data, sizeof data);
    va_start(list, format);
    gw_text_addv(&text, format, list);
    va_end(list);
    complaints->count++;
    if (complaints->reload)
        gw_log(GW_LOG_ERROR, "reload: %s", data);
    else
        fprintf(stderr, "namzu-gw: %s\n", data);
}
