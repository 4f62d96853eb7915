/* policy/reason_table.h - every reason for which a request is refused or fails, in one place.
 * GW_REASON(name, code, status, proxy_status, text)
 *   code          what X-Namzu-Reason, the audit log and the metrics say; never changes meaning
 *   status        the HTTP status of the answer; 0: only ever seen in the audit log
 *   proxy_status  RFC 9209 error type, or NULL where none fits
 *   text          for the body: what the requester learns. It never holds an address.
 * Reasons marked with a kind (literal, resolved) print as "literal:loopback".
 * No include guard: the file is read once for each list that is made from it. */
/* clang-format off */
/* 400: what was sent is not a request that can be judged */
GW_REASON(BAD_REQUEST,       "bad-request",        400, "http_request_error", "the request is malformed")
GW_REASON(BAD_HOST,          "bad-host",           400, "http_request_error", "the host is not a valid name or address")
GW_REASON(BAD_PORT,          "bad-port",           400, "http_request_error", "the port is not a number from 1 to 65535")
GW_REASON(NUMERIC_HOST,      "numeric-host",       400, "http_request_error", "the host looks like an address but is not a dotted quad")
GW_REASON(ZONE_ID,           "zone-id",            400, "http_request_error", "an address with a zone id names an interface, not a destination")
GW_REASON(USERINFO,          "userinfo",           400, "http_request_error", "user information in a target is not accepted")
GW_REASON(NOT_HTTP,          "not-http",           400, "http_request_error", "this tunnel is read as HTTP, and these bytes are not")
GW_REASON(TLS_TO_PLAIN,      "tls-to-plain",       400, "http_request_error", "TLS was sent to a plain proxy port; the proxy URL should start with http://")
/* 403: the policy says no */
GW_REASON(NOT_ALLOWED,       "not-allowed",        403, "http_request_denied", "the host is not on the allowlist")
GW_REASON(PORT_NOT_ALLOWED,  "port-not-allowed",   403, "http_request_denied", "the host is on the allowlist, but not with this port")
GW_REASON(LITERAL,           "literal",            403, "destination_ip_prohibited", "the address is not reachable from here")
GW_REASON(RESOLVED,          "resolved",           403, "destination_ip_prohibited", "the host is on the allowlist, but its address is not reachable from here")
GW_REASON(METHOD_NOT_ALLOWED,"method-not-allowed", 403, "http_request_denied", "no rule for this host admits the method")
GW_REASON(PATH_NOT_ALLOWED,  "path-not-allowed",   403, "http_request_denied", "no rule for this host admits the path")
GW_REASON(PATH_AMBIGUOUS,    "path-ambiguous",     403, "http_request_denied", "this host has path rules, and the path can be read in two ways")
GW_REASON(RULE_NEEDS_PLAIN,  "rule-needs-plain",   403, "http_request_denied", "this host has method or path rules, which a tunnel would hide; send the request in plain HTTP through the proxy")
GW_REASON(POLICY_UNAVAILABLE,"policy-unavailable", 403, "http_request_denied", "no policy could be read for this requester")
GW_REASON(POLICY_INVALID,    "policy-invalid",     403, "http_request_denied", "the policy for this requester is not valid")
GW_REASON(POLICY_NARROWED,   "policy-narrowed",    403, "http_request_denied", "the policy changed while the request was under way")
GW_REASON(TOO_MANY_ADDRESSES,"too-many-addresses", 403, "destination_ip_prohibited", "the name resolves to more addresses than are accepted")
GW_REASON(PLAINTEXT_CREDENTIAL,"plaintext-credential",403,"http_request_denied", "the credential of this host may not leave over plain HTTP")
GW_REASON(IDENTITY_CONFLICT, "identity-conflict",  403, "http_request_denied", "the proofs of identity contradict each other")
/* other answers of our own */
GW_REASON(METHOD,            "method",             405, "http_request_denied", "this method is not relayed")
GW_REASON(UNAUTHENTICATED,   "unauthenticated",    407, "http_request_denied", "the proxy does not know who is asking")
GW_REASON(SLOW_CLIENT,       "slow-client",        408, "http_request_error",  "the request did not arrive in time")
GW_REASON(TOO_LARGE,         "too-large",          413, "http_request_error",  "the request body is larger than accepted")
GW_REASON(URI_TOO_LONG,      "uri-too-long",       414, "http_request_error",  "the request line is longer than accepted")
GW_REASON(EXPECTATION,       "expectation",        417, "http_request_error",  "the expectation is not known")
GW_REASON(LOOP,              "loop",               421, "proxy_loop_detected", "this names the gateway itself; set it as a proxy (http_proxy=http://HOST:PORT), not as the server")
GW_REASON(TOO_MANY,          "too-many",           429, "connection_limit_reached", "a limit of this requester is reached")
GW_REASON(HEADERS_TOO_LARGE, "headers-too-large",  431, "http_request_error",  "the header section is larger than accepted")
GW_REASON(INTERNAL,          "internal",           500, "proxy_internal_error", "the gateway could not handle this request")
GW_REASON(DNS_FAILED,        "dns-failed",         502, "dns_error",           "the name could not be resolved")
GW_REASON(DNS_NXDOMAIN,      "dns-nxdomain",       502, "dns_error",           "the name does not exist")
GW_REASON(DNS_SERVFAIL,      "dns-servfail",       502, "dns_error",           "the name server failed")
GW_REASON(DNS_EMPTY,         "dns-empty",          502, "dns_error",           "the name has no address")
GW_REASON(CONNECT_FAILED,    "connect-failed",     502, "destination_unavailable", "the upstream did not accept the connection")
GW_REASON(PEER_MISMATCH,     "peer-mismatch",      502, "proxy_internal_error", "the connection did not lead to the address that was checked")
GW_REASON(TLS_FAILED,        "tls-failed",         502, "tls_protocol_error",  "the upstream's TLS or its certificate was not acceptable")
GW_REASON(UPSTREAM_PROTOCOL, "upstream-protocol",  502, "http_protocol_error", "the upstream's answer is malformed")
GW_REASON(UPSTREAM_TRUNCATED,"upstream-truncated", 502, "http_response_incomplete", "the upstream closed the connection too early")
GW_REASON(OVERLOADED,        "overloaded",         503, "connection_limit_reached", "the gateway is at its limits")
GW_REASON(CLOSING,           "closing",            503, "proxy_internal_error", "the gateway is shutting down")
GW_REASON(DNS_TIMEOUT,       "dns-timeout",        504, "dns_timeout",         "the name server did not answer in time")
GW_REASON(CONNECT_TIMEOUT,   "connect-timeout",    504, "connection_timeout",  "the upstream did not accept the connection in time")
GW_REASON(UPSTREAM_TIMEOUT,  "upstream-timeout",   504, "http_response_timeout", "the upstream did not answer in time")
GW_REASON(VERSION,           "version",            505, "http_request_error",  "only HTTP/1.0 and HTTP/1.1 are spoken here")
/* only in the audit log: the answer, if any, has already been given */
GW_REASON(NOT_TLS,           "not-tls",              0, NULL, "the tunnel did not begin with a TLS ClientHello")
GW_REASON(SNI_MISSING,       "sni-missing",          0, NULL, "the ClientHello names no server")
GW_REASON(SNI_MISMATCH,      "sni-mismatch",         0, NULL, "the ClientHello names another server than the tunnel's target")
GW_REASON(CLIENT_GONE,       "client-gone",          0, NULL, "the requester went away")
/* clang-format on */
