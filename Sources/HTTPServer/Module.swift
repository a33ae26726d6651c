/// HTTP server on libmicrohttpd.
