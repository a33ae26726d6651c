"""The message contract, Config/asyncapi.json: its document, and validators for the messages that it describes."""

import copy
import json
import re

import jsonschema

import asyncapi_rules
import stack

DOCUMENT = json.loads((stack.ROOT / "Config/asyncapi.json").read_text())
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
FORMATS = jsonschema.FormatChecker(formats=())


@FORMATS.checks("date-time")
def is_utc(value):
    return not isinstance(value, str) or UTC.fullmatch(value) is not None


def _without_others(schema):
    """The schema with every object closed that does not say what else it may hold."""
    if isinstance(schema, list):
        return [_without_others(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _without_others(part) for name, part in schema.items()}
    if isinstance(closed.get("properties"), dict) and closed.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


# The contract tells receivers to ignore fields that they do not know. What Countersign itself sends has none.
CLOSED = _without_others(copy.deepcopy(DOCUMENT["components"]["schemas"]))


def validator(schema):
    return jsonschema.Draft7Validator(
        {"allOf": [_without_others(schema)], "components": {"schemas": CLOSED}}, format_checker=FORMATS)


def problems(value, schema):
    return [f"{'.'.join(map(str, error.absolute_path)) or '$'}: {error.message}"
            for error in validator(schema).iter_errors(value)]


def headers(message):
    parts = [message, *(asyncapi_rules.resolved(DOCUMENT, trait) for trait in message.get("traits", []))]
    return [part["headers"] for part in parts if "headers" in part]


def channel_of(exchange, routing_key):
    """The channel of an exchange and a routing key; the default exchange carries the replies."""
    if exchange == "":
        return DOCUMENT["channels"]["replies"]
    for channel in DOCUMENT["channels"].values():
        binding = channel.get("bindings", {}).get("amqp", {})
        if channel.get("address") == routing_key and binding.get("exchange", {}).get("name") == exchange:
            return channel
    return None


def message_of(exchange, routing_key, message_type):
    """The message of the document that was sent there under this type; `None` for one that it does not describe."""
    for reference in (channel_of(exchange, routing_key) or {}).get("messages", {}).values():
        message = asyncapi_rules.resolved(DOCUMENT, reference)
        if message["name"] == message_type:
            return message
    return None
