/* tests/unit/proxy/dns_server.h - a scripted name server on the test's own loop, UDP and TCP on one
 * loopback port. A script is a list of rules; the first that fits a question, and is not used up,
 * says what happens. A question without a rule is counted and answered with NOTIMP. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum { TYPE_A = 1, TYPE_CNAME = 5, TYPE_AAAA = 28 };
enum { NOERROR = 0, SERVFAIL = 2, NXDOMAIN = 3, NOTIMP = 4, REFUSED = 5 };

struct dns_record {
    const char *owner; /* NULL: the question's name */
    uint16_t type;
    uint32_t ttl_s;
    const char *value; /* an address, or a name for CNAME */
    unsigned copies;   /* 0: one; else so many, the last byte of the address counting up */
};

struct dns_rule {
    const char *name; /* "*": any; NULL ends the script */
    uint16_t type;    /* 0: both */
    struct dns_record records[18];
    uint8_t rcode;
    bool silent;
    bool truncate_udp; /* TC over UDP, with the records all the same; whole over TCP */
    bool truncate_tcp;
    uint64_t delay_ms;
    unsigned times;  /* 0: always; else it is used up after so many questions */
    const char *raw; /* the answer section, byte for byte, as one record */
    size_t raw_length;
    unsigned used; /* how often it was taken */
};

struct dns_server;

struct dns_server *dns_server_start(uv_loop_t *loop, struct dns_rule *script);
void dns_server_stop(struct dns_server *server); /* frees itself once the loop has closed it */
uint16_t dns_server_port(const struct dns_server *server);
unsigned dns_server_asked(const struct dns_server *server, uint16_t type); /* 0: all */
unsigned dns_server_asked_tcp(const struct dns_server *server);
unsigned dns_server_unexpected(const struct dns_server *server);
