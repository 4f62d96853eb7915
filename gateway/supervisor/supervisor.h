/* gateway/supervisor/supervisor.h - the control plane: what `namzu-gw --config FILE` is.
 * It reads the configuration and the credentials, makes every socket and image, starts and watches
 * all other processes, and swaps configurations. It never parses a byte that a sandbox sent. */
#pragma once

/* Exit statuses of namzu-gw, after sysexits.h. */
#define GW_EXIT_OK 0
#define GW_EXIT_REFUSED 1 /* --explain: the policy refuses */
#define GW_EXIT_USAGE 64
#define GW_EXIT_CONFIG 65
#define GW_EXIT_INTERNAL 70 /* processes of ours that do not start or stay */
#define GW_EXIT_SYSTEM 71   /* the kernel said no */

/* Runs until it is told to stop; returns the exit status. Starts the launcher first of all, while
 * neither the configuration nor a credential has been read. */
int gw_supervisor_main(const char *config_path);

/* `--check`: every mistake, or "FILE: ok", what would be in force, and what to be aware of. */
int gw_supervisor_check(const char *config_path);

/* `--explain POLICY [METHOD] TARGET`: each step of the decision and the verdict. A URL is asked as
 * a request, HOST:PORT as a CONNECT. `method` NULL: GET. */
int gw_supervisor_explain(const char *config_path, const char *policy, const char *method,
                          const char *target);
