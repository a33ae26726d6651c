"""Files of users for `countersign account import`, as long as a test wants them."""

import json

import hash_vectors
from gateway_client import PASSWORD

# Of the hashes in the files.
HASH_OPTIONS = ["--hash-algo", "SHA256", "--rounds", "1"]


def write(path, mark, count):
    """Writes users with the IDs `mark-0`, `mark-1` and so on, addresses, claims and hashes of the password; the path as a text."""
    made = hash_vectors.text(hash_vectors.chain("sha256", hash_vectors.SALT + PASSWORD.encode(), 1))
    with open(path, "w") as file:
        for index in range(count):
            user = {"localId": f"{mark}-{index}", "email": f"{mark}-{index}@example.org", "passwordHash": made,
                    "salt": hash_vectors.text(hash_vectors.SALT), "customAttributes": json.dumps({"number": index})}
            file.write((",\n" if index else '{"users": [\n') + json.dumps(user))
        file.write("]}\n")
    return str(path)
