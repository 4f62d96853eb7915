"""A tiny HTTPS server for the demonstration. It writes one JSON line for each request that it sees.

    origin.py CERTIFICATE KEY SEEN_FILE      prints its port on the first line, then serves
"""
import http.server
import json
import ssl
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with open(sys.argv[3], "a", encoding="utf-8") as seen:
            json.dump({"line": self.requestline, "tls": self.connection.version(), "headers": list(self.headers.items())},
                      seen)
            seen.write("\n")
        body = f"hello from the origin: you asked for {self.path}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    def finish_request(self, request, client_address):
        # The handshake belongs to the connection's own thread, not to the one that accepts.
        try:
            request = context.wrap_socket(request, server_side=True)
        except (OSError, ssl.SSLError):
            return
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
