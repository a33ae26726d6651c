"""Reads and changes records of the stores of coordinator and accounts, as no user can."""

import sqlite3

import stack

VERSION = 1


def fields(body):
    if body[0] != VERSION:
        raise ValueError("a body of another version")
    found, index = [], 1
    while index < len(body):
        tag, length, shift = body[index], 0, 0
        index += 1
        while True:
            byte = body[index]
            index += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        found.append((tag, body[index : index + length]))
        index += length
    return found


def body(found):
    text = bytearray([VERSION])
    for tag, value in found:
        text.append(tag)
        rest = len(value)
        while rest >= 0x80:
            text.append(rest & 0x7F | 0x80)
            rest >>= 7
        text.append(rest)
        text += value
    return bytes(text)


def set_time(kind, identifier, tag, milliseconds, of="coordinator"):
    value = milliseconds.to_bytes((milliseconds.bit_length() // 8) + 1, "big")
    change(kind, identifier, lambda found: [(each, value if each == tag else old) for each, old in found], of)


def set_flag(kind, identifier, tag, of="coordinator"):
    """Sets a flag in a record that does not have it."""
    change(kind, identifier, lambda found: [*found, (tag, b"\x01")], of)


def identifiers(kind, of="coordinator"):
    """The IDs of all records of a kind."""
    query = f"SELECT id FROM {{}}store_record WHERE kind = '{kind}'"
    if stack.IS_POSTGRESQL:
        return set(stack.sql(query.format("countersign."), stack.DATABASES[of]).splitlines())
    with sqlite3.connect(f"file:{stack.DIRECTORY / 'data' / of}.sqlite?mode=ro", uri=True, timeout=30) as database:
        return {row[0] for row in database.execute(query.format(""))}


def change(kind, identifier, edit, of):
    if stack.IS_POSTGRESQL:
        condition = f"kind = '{kind}' AND id = '{identifier}'"
        found = stack.sql(f"SELECT encode(body, 'hex') FROM countersign.store_record WHERE {condition}", stack.DATABASES[of])
        if not found:
            raise RuntimeError(f"there is no such {kind}")
        changed = body(edit(fields(bytes.fromhex(found))))
        stack.sql(
            f"UPDATE countersign.store_record SET body = decode('{changed.hex()}', 'hex') WHERE {condition}", stack.DATABASES[of])
        return
    with sqlite3.connect(stack.DIRECTORY / "data" / f"{of}.sqlite", timeout=30) as database:
        row = database.execute(
            "SELECT number, body FROM store_record WHERE kind = ? AND id = ?", [kind, identifier]).fetchone()
        if row is None:
            raise RuntimeError(f"there is no such {kind}")
        database.execute("UPDATE store_record SET body = ? WHERE number = ?", [body(edit(fields(row[1]))), row[0]])
