#include "tests/support/table.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#define COLUMNS_MAX 16
#define ROWS_MAX 2048

struct gw_table {
    const char *name;
    char *text; /* owned: the whole file; fields are unescaped in place */
    char *next; /* the line after this one */
    unsigned line;
    size_t column_count;
    const char *columns[COLUMNS_MAX];
    struct gw_slice fields[COLUMNS_MAX];
    char *copies[COLUMNS_MAX]; /* owned: what gw_table_bytes() gave out for this case */
    size_t row_count, wrong_count;
    const char *ids[ROWS_MAX];
};

static void read_file(struct gw_table *table)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", GW_TEST_DATA, table->name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    size_t length = 0, room = 0;
    for (;;) {
        if (room - length < 4096) {
            room += 65536;
            table->text = realloc(table->text, room);
            assert_non_null(table->text);
        }
        size_t got = fread(table->text + length, 1, room - length - 1, file);
        if (got == 0)
            break;
        length += got;
    }
    if (ferror(file) || fclose(file) != 0)
        fail_msg("cannot read %s", path);
    if (memchr(table->text, '\0', length) != NULL)
        fail_msg("%s holds a NUL byte; write \\x00", path);
    table->text[length] = '\0';
    table->next = table->text;
}

/* The next line that is no comment, without its newline; NULL at the end. */
static char *next_line(struct gw_table *table)
{
    while (*table->next != '\0') {
        char *line = table->next;
        size_t length = strcspn(line, "\n");
        table->next = line + length + (line[length] == '\n');
        line[length] = '\0';
        table->line++;
        if (length > 0 && line[0] != '#')
            return line;
    }
    return NULL;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c == '\0' ? NULL : strchr(digits, gw_lower(c));
    return at == NULL ? -1 : (int)(at - digits);
}

/* Unescapes in place: what comes out is never longer than what went in. */
static struct gw_slice unescape(const struct gw_table *table, char *field)
{
    char *to = field;
    for (const char *from = field; *from != '\0'; from++) {
        if (*from != '\\') {
            *to++ = *from;
            continue;
        }
        from++;
        int high, low;
        switch (*from) {
        case 'r':
            *to++ = '\r';
            break;
        case 'n':
            *to++ = '\n';
            break;
        case 't':
            *to++ = '\t';
            break;
        case '\\':
            *to++ = '\\';
            break;
        case 'x':
            high = hex_digit(from[1]);
            low = high < 0 ? -1 : hex_digit(from[2]);
            if (low < 0)
                fail_msg("%s:%u: \\x needs two hex digits", table->name, table->line);
            *to++ = (char)(high * 16 + low);
            from += 2;
            break;
        default:
            fail_msg("%s:%u: unknown escape", table->name, table->line);
        }
    }
    *to = '\0';
    return (struct gw_slice){ field, (size_t)(to - field) };
}

static size_t split_line(const struct gw_table *table, char *line, char *fields[COLUMNS_MAX])
{
    size_t count = 0;
    for (char *field = line; field != NULL;) {
        if (count == COLUMNS_MAX)
            fail_msg("%s:%u: more than %d columns", table->name, table->line, COLUMNS_MAX);
        char *tab = strchr(field, '\t');
        if (tab != NULL)
            *tab = '\0';
        fields[count++] = field;
        field = tab == NULL ? NULL : tab + 1;
    }
    return count;
}

static size_t find_column(const struct gw_table *table, const char *column)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i], column) == 0)
            return i;
    fail_msg("%s has no column \"%s\"", table->name, column);
    return 0;
}

struct gw_table *gw_table_open(const char *name)
{
    struct gw_table *table = calloc(1, sizeof *table);
    assert_non_null(table);
    table->name = name;
    read_file(table);
    char *line = next_line(table), *names[COLUMNS_MAX];
    if (line == NULL)
        fail_msg("%s is empty", name);
    table->column_count = split_line(table, line, names);
    for (size_t i = 0; i < table->column_count; i++)
        table->columns[i] = names[i];
    (void)find_column(table, "id");
    (void)find_column(table, "why");
    return table;
}

static void free_copies(struct gw_table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        free(table->copies[i]);
        table->copies[i] = NULL;
    }
}

bool gw_table_next(struct gw_table *table)
{
    free_copies(table);
    char *line = next_line(table), *fields[COLUMNS_MAX];
    if (line == NULL)
        return false;
    size_t count = split_line(table, line, fields);
    if (count != table->column_count)
        fail_msg("%s:%u: %zu fields, %zu expected", table->name, table->line, count,
                 table->column_count);
    for (size_t i = 0; i < count; i++)
        table->fields[i] = unescape(table, fields[i]);

    const char *id = gw_table_text(table, "id");
    if (id[0] == '\0' || gw_table_text(table, "why")[0] == '\0')
        fail_msg("%s:%u: a case has an id and says why it is there", table->name, table->line);
    for (size_t i = 0; i < table->row_count; i++)
        if (strcmp(table->ids[i], id) == 0)
            fail_msg("%s:%u: the id %s is taken", table->name, table->line, id);
    if (table->row_count == ROWS_MAX)
        fail_msg("%s: more than %d rows", table->name, ROWS_MAX);
    table->ids[table->row_count++] = id;
    return true;
}

struct gw_slice gw_table_get(const struct gw_table *table, const char *column)
{
    return table->fields[find_column(table, column)];
}

struct gw_slice gw_table_bytes(struct gw_table *table, const char *column)
{
    size_t i = find_column(table, column), length = table->fields[i].length;
    if (table->copies[i] == NULL) {
        table->copies[i] = malloc(length);
        assert_true(table->copies[i] != NULL || length == 0);
        if (length > 0)
            memcpy(table->copies[i], table->fields[i].data, length);
    }
    return (struct gw_slice){ table->copies[i], length };
}

const char *gw_table_text(const struct gw_table *table, const char *column)
{
    struct gw_slice field = gw_table_get(table, column);
    if (strlen(field.data) != field.length)
        fail_msg("%s:%u: a NUL in column \"%s\"", table->name, table->line, column);
    return field.data;
}

void gw_table_wrong(struct gw_table *table, const char *format, ...)
{
    char what[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    print_error("%s:%u: %s: %s (%s)\n", table->name, table->line, gw_table_text(table, "id"), what,
                gw_table_text(table, "why"));
    table->wrong_count++;
}

static bool has_id(const struct gw_table *table, const char *wanted)
{
    size_t length = strlen(wanted);
    for (size_t i = 0; i < table->row_count; i++) {
        const char *id = table->ids[i];
        if (strncmp(id, wanted, length) != 0)
            continue;
        if (id[length] == '\0' || (id[length] >= 'a' && id[length] <= 'z' && !id[length + 1]))
            return true;
    }
    return false;
}

void gw_table_expect_series(struct gw_table *table, const char *prefix, int digits, unsigned first,
                            unsigned last)
{
    for (unsigned number = first; number <= last; number++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "%s%0*u", prefix, digits, number);
        if (has_id(table, wanted))
            continue;
        print_error("%s: the case %s is lost\n", table->name, wanted);
        table->wrong_count++;
    }
}

void gw_table_close(struct gw_table *table, size_t least)
{
    const char *name = table->name;
    size_t rows = table->row_count, wrong = table->wrong_count;
    free_copies(table);
    free(table->text);
    free(table);
    if (rows < least)
        fail_msg("%s has %zu cases, at least %zu expected", name, rows, least);
    if (wrong > 0)
        fail_msg("%s: %zu complaints in %zu cases", name, wrong, rows);
    print_message("%s: %zu cases\n", name, rows);
}

bool gw_table_split(struct gw_slice *rest, char separator, struct gw_slice *part)
{
    if (rest->data == NULL)
        return false;
    const char *at = rest->length == 0 ? NULL : memchr(rest->data, separator, rest->length);
    if (at == NULL) {
        *part = *rest;
        *rest = (struct gw_slice){ NULL, 0 };
        return true;
    }
    *part = (struct gw_slice){ rest->data, (size_t)(at - rest->data) };
    *rest = (struct gw_slice){ at + 1, rest->length - part->length - 1 };
    return true;
}
