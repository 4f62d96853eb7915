/* tests/fuzz/replay.c - a fuzz target without a fuzzer: runs every file of the given directories
 * (or files) through it. A crash or a broken promise ends the program, as it would the fuzzer; so
 * does a corpus with nothing in it, which would prove nothing. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Noreturn void give_up(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(EXIT_FAILURE);
}

/* In memory of the exact size, so that a byte read too far is seen by the sanitizer. */
static void replay_file(const char *path, size_t size)
{
    uint8_t *data = malloc(size == 0 ? 1 : size);
    FILE *file = fopen(path, "rb");
    if (data == NULL || file == NULL || fread(data, 1, size, file) != size)
        give_up(path);
    fclose(file);
    printf("%s\n", path); /* the last one told is the one that crashed */
    fflush(stdout);
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
}

static unsigned replay(const char *path);

static unsigned replay_directory(const char *path)
{
    DIR *directory = opendir(path);
    unsigned count = 0;
    if (directory == NULL)
        give_up(path);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        size_t room = strlen(path) + strlen(entry->d_name) + 2;
        char *inner = malloc(room);
        if (inner == NULL)
            give_up(path);
        snprintf(inner, room, "%s/%s", path, entry->d_name);
        count += replay(inner);
        free(inner);
    }
    closedir(directory);
    return count;
}

static unsigned replay(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0)
        give_up(path);
    if (S_ISDIR(about.st_mode))
        return replay_directory(path);
    replay_file(path, (size_t)about.st_size);
    return 1;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    for (int i = 1; i < argc; i++)
        count += replay(argv[i]);
    printf("%u inputs replayed\n", count);
    return count == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
