#include "gateway/config/near_miss.h"

#include "base/text.h"

#define WORD_MAX 64

void gw_near_miss_init(struct gw_near_miss *miss, struct gw_slice word)
{
    *miss = (struct gw_near_miss){ .word = word };
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void gw_near_miss_offer(struct gw_near_miss *miss, const char *candidate)
{
    size_t n = miss->word.length, m = strlen(candidate);
    size_t before[WORD_MAX + 1], last[WORD_MAX + 1], row[WORD_MAX + 1];
    if (n == 0 || n > WORD_MAX || m > WORD_MAX)
        return;
    for (size_t j = 0; j <= m; j++)
        last[j] = before[j] = j;
    for (size_t i = 1; i <= n; i++) {
        char a = gw_lower(miss->word.data[i - 1]);
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            char b = gw_lower(candidate[j - 1]);
            row[j] = least(last[j - 1] + (a != b), least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a == gw_lower(candidate[j - 2])
                && gw_lower(miss->word.data[i - 2]) == b)
                row[j] = least(row[j], before[j - 2] + 1);
        }
        memcpy(before, last, sizeof before);
        memcpy(last, row, sizeof last);
    }
    size_t limit = n < 5 ? 1 : n * 2 / 5, distance = last[m];
    if (distance > limit && n >= 3) /* the last row holds the distance to every beginning */
        for (size_t j = 2; j < m; j++)
            if (last[j] <= 1)
                distance = least(distance, limit);
    bool nearer = miss->best == NULL || distance < miss->distance
                  || (distance == miss->distance && m < strlen(miss->best));
    if (distance <= limit && nearer) {
        miss->best = candidate;
        miss->distance = distance;
    }
}

const char *gw_near_miss_print(const struct gw_near_miss *miss, char out[GW_NEAR_MISS_TEXT])
{
    struct gw_text text;
    gw_text_init(&text, out, GW_NEAR_MISS_TEXT);
    if (miss->best != NULL) {
        gw_text_add_string(&text, "; did you mean \"");
        gw_text_add_json(&text, gw_slice_of(miss->best), WORD_MAX);
        gw_text_add_string(&text, "\"?");
    }
    return out;
}
