"""Hashes of passwords as other systems make them, with the parameters by Firebase's names."""

import base64
import hashlib
import hmac

import nacl.pwhash
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

PASSWORD = "correct horse battery"
KEY, SALT, SEPARATOR = b"signer key of a project", b"salt of 16 bytes", b"\x07"
# Made by crypt(3), whose salt is in it.
BCRYPT = b"$2b$04$abcdefghijklmnopqrstuuqREtd3VJD2QVZbuFskFSLk6eRIrQoOS"
# The public example of github.com/firebase/scrypt: parameters, password, salt and hash.
EXAMPLE = {
    "signerKey": "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==",
    "saltSeparator": "Bw==", "rounds": 8, "memoryCost": 14,
}
EXAMPLE_PASSWORD = "user1password"
EXAMPLE_SALT = "42xEC+ixf3L2lw=="
EXAMPLE_HASH = "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=="


def text(data):
    return base64.b64encode(data).decode()


def firebase_scrypt(password, salt, key, rounds, memory_cost, separator):
    derived = hashlib.scrypt(password, salt=salt + separator, n=1 << memory_cost, r=rounds, p=1, dklen=64, maxmem=128 << 20)
    encryptor = Cipher(algorithms.AES(derived[:32]), modes.CTR(bytes(16))).encryptor()
    return encryptor.update(key) + encryptor.finalize()


def chain(algorithm, message, rounds):
    for _ in range(max(1, rounds)):
        message = hashlib.new(algorithm, message).digest()
    return message


def vectors():
    """For each algorithm the parameters, the hash and the salt, of `PASSWORD`."""
    password = PASSWORD.encode()
    for name in ["md5", "sha1", "sha256", "sha512"]:
        for order, message in [(None, SALT + password), ("SALT_AND_PASSWORD", SALT + password), ("PASSWORD_AND_SALT", password + SALT)]:
            orders = {"passwordHashOrder": order} if order else {}
            yield {"hashAlgorithm": f"HMAC_{name.upper()}", "signerKey": text(KEY), **orders}, hmac.digest(KEY, message, name), SALT
            yield {"hashAlgorithm": name.upper(), "rounds": 3, **orders}, chain(name, message, 3), SALT
    yield {"hashAlgorithm": "MD5", "rounds": 0}, chain("md5", SALT + password, 0), SALT
    for name, digest in [("PBKDF_SHA1", "sha1"), ("PBKDF2_SHA256", "sha256")]:
        yield {"hashAlgorithm": name, "rounds": 1000}, hashlib.pbkdf2_hmac(digest, password, SALT, 1000, 32), SALT
    yield ({"hashAlgorithm": "SCRYPT", "signerKey": text(KEY), "saltSeparator": text(SEPARATOR), "rounds": 8, "memoryCost": 10},
           firebase_scrypt(password, SALT, KEY, 8, 10, SEPARATOR), SALT)
    yield ({"hashAlgorithm": "STANDARD_SCRYPT", "cpuMemCost": 1024, "parallelization": 2, "blockSize": 8, "dkLen": 64},
           hashlib.scrypt(password, salt=SALT, n=1024, r=8, p=2, dklen=64), SALT)
    yield {"hashAlgorithm": "BCRYPT"}, BCRYPT, b""
    for kind, module in [("ARGON2_ID", nacl.pwhash.argon2id), ("ARGON2_I", nacl.pwhash.argon2i)]:
        yield ({"hashAlgorithm": "ARGON2", "argon2Parameters": {
            "hashType": kind, "hashLengthBytes": 32, "parallelism": 1, "iterations": 3, "memoryCostKib": 1024, "version": "VERSION_13"}},
               module.kdf(32, password, SALT, opslimit=3, memlimit=1024 * 1024), SALT)
    yield ({"hashAlgorithm": "SCRYPT", **EXAMPLE}, base64.b64decode(EXAMPLE_HASH), base64.b64decode(EXAMPLE_SALT))


def password_of(parameters):
    return EXAMPLE_PASSWORD if parameters.get("signerKey") == EXAMPLE["signerKey"] else PASSWORD
