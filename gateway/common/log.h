/* gateway/common/log.h - the running log, and the way of all log records to the log writer.
 *
 * A process owns one log socket (SOCK_SEQPACKET, non-blocking). A record is a whole line; a
 * datagram is one byte that names the stream and then whole lines. Nothing here ever blocks: what
 * cannot be sent is counted, and the count is told with the next line that gets through.
 *
 * Running-log lines are `TIME LEVEL PROCESS: message`, one line each, control bytes and text from
 * peers escaped by the caller with gw_text_add_visible(). No secret type can be passed here. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/slice.h"

enum gw_log_level { GW_LOG_ERROR, GW_LOG_WARNING, GW_LOG_INFO, GW_LOG_DEBUG, GW_LOG_LEVELS };
enum gw_log_stream { GW_STREAM_ACCESS = 'A', GW_STREAM_RUNNING = 'R' };

#define GW_LOG_DATAGRAM_MAX 61440 /* with the stream byte; whole lines only */

/* `process` is kept by pointer. `socket` -1: lines go to standard error. Takes the descriptor. */
void gw_log_start(const char *process, int socket, enum gw_log_level level);
void gw_log_set_socket(int socket); /* closes the old one */
void gw_log_set_level(enum gw_log_level level);

void gw_log(enum gw_log_level level, const char *format, ...) GW_PRINTF(2, 3);

/* Sends lines (each ended by '\n', GW_LOG_DATAGRAM_MAX - 1 bytes at most) on a stream. False when
 * the socket would block or is gone: the caller keeps or drops them, and counts. */
bool gw_log_send(enum gw_log_stream stream, struct gw_slice lines);

/* RFC 3339, UTC, milliseconds: 2026-01-02T03:04:05.678Z. `out` has room for 25 bytes. */
void gw_log_time(uint64_t unix_ms, char out[25]);
