/* gateway/proxy/client.h - one client connection: request after request, one at a time.
 *
 * It reads heads, hands each to an exchange, and ends in order: an answer that closes the
 * connection is followed by FIN and a short linger, so that a reset does not take the answer with
 * it. Pipelined requests wait their turn in the buffer. */
#pragma once
#include "gateway/proxy/proxy.h"
#include "gateway/proxy/reply.h"
#include "gateway/proxy/request.h"

enum gw_client_state {
    GW_CLIENT_IDLE = 1,   /* between requests */
    GW_CLIENT_READING,    /* a head has begun */
    GW_CLIENT_ANSWERING,  /* an exchange is under way */
    GW_CLIENT_DISCARDING, /* refused; the rest of its body is thrown away */
    GW_CLIENT_LINGERING,  /* last answer given; waiting for the client's end */
    GW_CLIENT_GONE,
    GW_CLIENT_STATES
};

struct gw_client {
    struct gw_list link;
    struct gw_grave grave;
    struct gw_proxy *proxy;
    struct gw_watch *watch; /* owned; NULL once handed over */
    uint32_t slot;          /* the network that its listener belongs to */
    struct gw_ip_address address;
    enum gw_client_state state;
    struct gw_buffer in, out;
    struct gw_config *config;  /* a reference, from the first byte of a head to the end */
    struct gw_http_head *head; /* owned; while a head is read */
    struct gw_exchange *exchange;
    struct gw_timer timer;
    struct gw_authority *fixed; /* owned; inside a CONNECT to a plain port: whom it is for */
    uint64_t discard;           /* DISCARDING: bytes still to come */
    bool shut;                  /* LINGERING: our FIN is sent */
    bool turned_away;           /* over its network's limit: holds no place, is answered and goes */
};

/* Takes the socket. What cannot be served is shed and counted. */
void gw_client_accept(struct gw_proxy *proxy, int fd, uint32_t slot,
                      const struct gw_ip_address *address);

/* For the exchange: what becomes of the connection after it. Each is called once, as its last act.
 */
void gw_client_go_on(struct gw_client *client);           /* the next request may come */
void gw_client_close_gently(struct gw_client *client);    /* after what is in `out` */
void gw_client_cut(struct gw_client *client, bool reset); /* at once */
void gw_client_hand_over(struct gw_client *client);       /* a relay has the watch */

/* Answers with a refusal. `unread`: how much of the request's body has not been read; UINT64_MAX:
 * unknown, the connection cannot go on. */
void gw_client_refuse(struct gw_client *client, struct gw_reply *reply, bool keep_alive,
                      uint64_t unread);

/* Has the client gone? True when it has reset, or has sent its FIN and nothing before it is unread.
 */
bool gw_client_has_left(struct gw_client *client);

/* Closes plain tunnels (CONNECT h:80) that wait for a request and whose CONNECT the configuration
 * now in force would refuse; returns how many. */
unsigned gw_clients_sweep(struct gw_proxy *proxy);

/* Those that wait for a request are closed; those that are answering get `Connection: close`. */
void gw_clients_drain(struct gw_proxy *proxy);
/* All of them. Returns how many were answering. */
unsigned gw_clients_close(struct gw_proxy *proxy);
