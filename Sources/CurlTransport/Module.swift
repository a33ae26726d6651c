/// HTTP client on libcurl, with an answer to "did any byte of the request leave?".
