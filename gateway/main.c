/* gateway/main.c - the command line, and the way to the role that this process has. */
#define _GNU_SOURCE /* getopt_long, O_CLOEXEC */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "gateway/common/role.h"
#include "gateway/config/config.h"
#include "gateway/supervisor/supervisor.h"

#ifndef GW_VERSION
#define GW_VERSION "unknown"
#endif

static const char help[] =
    "namzu-gw - an egress gateway for sandboxes that run untrusted code\n"
    "\n"
    "  namzu-gw --config FILE                                    run\n"
    "  namzu-gw --config FILE --check                            validate FILE\n"
    "  namzu-gw --config FILE --explain POLICY [METHOD] TARGET   decide, without any traffic\n"
    "\n"
    "  -c, --config FILE     the configuration (YAML)\n"
    "      --check           report every mistake of FILE, or say that it is ok, what is in it "
    "and\n"
    "                        what to be aware of; nothing is started\n"
    "      --explain         print each step of the decision for TARGET under POLICY, and the\n"
    "                        verdict. TARGET is a URL (a request; METHOD is GET unless given) or\n"
    "                        HOST:PORT (a CONNECT). Names are not resolved, but for those of\n"
    "                        gateway.dns.hosts\n"
    "      --print-schema    the JSON Schema of the configuration, for editors\n"
    "      --print-reference the reference of all keys, in Markdown\n"
    "  -V, --version\n"
    "  -h, --help\n"
    "\n"
    "Signals, to the process that was started (its children are its own business):\n"
    "  SIGHUP           load FILE anew: configuration, host lists, credential files, CA bundles, "
    "log\n"
    "                   files. A mistake is reported and leaves everything as it is. The "
    "variables\n"
    "                   that credentials came from were read, and wiped, at the start.\n"
    "  SIGTERM, SIGINT  accept nothing more, let what is in flight finish for\n"
    "                   gateway.limits.drain_s, stop. A second one stops at once; the exit status\n"
    "                   is 0 all the same.\n"
    "\n"
    "Exit status:\n"
    "   0  stopped as asked; --check: ok; --explain: allowed\n"
    "   1  --explain: refused\n"
    "  64  the command line is wrong\n"
    "  65  the configuration is wrong, or something that it names cannot be had: a file, a\n"
    "      variable, a user, an address to listen on\n"
    "  70  the gateway's own processes do not start\n"
    "  71  the operating system refused something that every start needs\n";

enum {
    OPTION_CHECK = 256,
    OPTION_EXPLAIN,
    OPTION_SCHEMA,
    OPTION_REFERENCE,
    OPTION_ROLE,
    OPTION_USER
};

static const struct option options[] = {
    { "config", required_argument, NULL, 'c' },
    { "check", no_argument, NULL, OPTION_CHECK },
    { "explain", no_argument, NULL, OPTION_EXPLAIN },
    { "print-schema", no_argument, NULL, OPTION_SCHEMA },
    { "print-reference", no_argument, NULL, OPTION_REFERENCE },
    { "version", no_argument, NULL, 'V' },
    { "help", no_argument, NULL, 'h' },
    { "role", required_argument, NULL, OPTION_ROLE }, /* internal: see common/role.h */
    { "user", required_argument, NULL, OPTION_USER }, /* internal */
    { 0 },
};

struct command {
    int action; /* one of the options above; 0: run */
    const char *config, *role;
    char **words; /* what is not an option */
    int word_count;
};

static int usage(const char *what, const char *which)
{
    fprintf(stderr, "namzu-gw: %s%s; see namzu-gw --help\n", what, which);
    return GW_EXIT_USAGE;
}

/* Whatever we open must not land on 0, 1 or 2, where others would write to it. */
static bool have_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

static int run_role(struct gw_slice text)
{
    static char process[32];
    struct gw_slice role_text;
    enum gw_role role;
    if (!gw_slice_next(&text, ':', &role_text) || !gw_role_parse(role_text, &role)
        || text.length == 0 || text.length >= sizeof process)
        return usage("--role is for the gateway's own use", "");
    memcpy(process, text.data, text.length);
    (void)prctl(PR_SET_NAME, process, 0, 0, 0); /* exec made it "exe" */
    switch (role) {
    case GW_ROLE_LAUNCHER:
        return gw_launcher_main(process);
    case GW_ROLE_LOG_WRITER:
        return gw_log_writer_main(process);
    case GW_ROLE_PROXY:
        return gw_proxy_main(process);
    case GW_ROLES:
        break;
    }
    return GW_EXIT_USAGE;
}

static int explain(const struct command *command)
{
    if (command->word_count != 2 && command->word_count != 3)
        return usage("--explain needs POLICY [METHOD] TARGET", "");
    bool has_method = command->word_count == 3;
    const char *target = command->words[has_method ? 2 : 1];
    if (has_method && strstr(target, "://") == NULL)
        return usage("a METHOD goes with a URL; HOST:PORT is always a CONNECT: ", target);
    return gw_supervisor_explain(command->config, command->words[0],
                                 has_method ? command->words[1] : NULL, target);
}

static int run(const struct command *command)
{
    if (command->role != NULL)
        return run_role(gw_slice_of(command->role));
    switch (command->action) {
    case 'h':
        fputs(help, stdout);
        return GW_EXIT_OK;
    case 'V':
        puts("namzu-gw " GW_VERSION);
        return GW_EXIT_OK;
    case OPTION_SCHEMA:
        gw_config_print_schema(stdout);
        return GW_EXIT_OK;
    case OPTION_REFERENCE:
        gw_config_print_reference(stdout);
        return GW_EXIT_OK;
    default:
        break;
    }
    if (command->config == NULL)
        return usage("--config FILE is missing", "");
    if (command->action == OPTION_EXPLAIN)
        return explain(command);
    if (command->word_count > 0)
        return usage("unexpected argument ", command->words[0]);
    if (command->action == OPTION_CHECK)
        return gw_supervisor_check(command->config);
    return gw_supervisor_main(command->config);
}

/* 0, or the exit status. */
static int read_command(int argc, char **argv, struct command *out)
{
    int option;
    while ((option = getopt_long(argc, argv, ":c:Vh", options, NULL)) != -1) {
        if (option == 'c' && out->config != NULL)
            return usage("--config is given twice", "");
        if (option == 'c')
            out->config = optarg;
        else if (option == OPTION_ROLE)
            out->role = optarg;
        else if (option == OPTION_USER && !gw_role_set_user(gw_slice_of(optarg)))
            return usage("--user is for the gateway's own use", "");
        else if (option == ':')
            return usage("an argument is missing after ", argv[optind - 1]);
        else if (option == '?')
            return usage("unknown option ", argv[optind - 1]);
        else if (option != OPTION_USER && out->action != 0 && out->action != option)
            return usage("these options do not go together: ", argv[optind - 1]);
        else if (option != OPTION_USER)
            out->action = option;
    }
    out->words = argv + optind;
    out->word_count = argc - optind;
    return 0;
}

int main(int argc, char **argv)
{
    struct command command = { 0 };
    if (!have_standard_descriptors())
        return GW_EXIT_SYSTEM;
    int status = read_command(argc, argv, &command);
    if (status == 0)
        status = run(&command);
    if (command.role == NULL && fflush(stdout) != 0) {
        fprintf(stderr, "namzu-gw: cannot write: %s\n", strerror(errno));
        return GW_EXIT_SYSTEM;
    }
    return status;
}
