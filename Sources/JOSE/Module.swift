/// JSON Object Signing and Encryption, and the cryptography below it, on OpenSSL 3.
