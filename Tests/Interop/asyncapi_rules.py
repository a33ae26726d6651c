"""Rules of the AsyncAPI specification, version 3.0.0, for the objects that Config/asyncapi.json is made of."""

import re

EXTENSION = re.compile(r"x-[\w.-]+")
COMPONENT = re.compile(r"[a-zA-Z0-9._-]+")
EXPRESSION = re.compile(r"\$message\.(header|payload)#(/([^/~]|~[01])*)*")
EXCHANGES = {"topic", "direct", "fanout", "default", "headers"}

# Fields of each object: those that it must have, and those that it may have besides, as far as the document uses them.
FIELDS = {
    "document": ({"asyncapi", "info"}, {"id", "servers", "defaultContentType", "channels", "operations", "components"}),
    "info": ({"title", "version"}, {"description", "termsOfService", "contact", "license", "tags", "externalDocs"}),
    "license": ({"name"}, {"url"}),
    "server": ({"host", "protocol"}, {"protocolVersion", "pathname", "description", "title", "summary", "variables",
                                      "security", "tags", "externalDocs", "bindings"}),
    "channel": (set(), {"address", "messages", "title", "summary", "description", "servers", "parameters", "tags",
                        "externalDocs", "bindings"}),
    "operation": ({"action", "channel"}, {"title", "summary", "description", "security", "tags", "externalDocs",
                                          "bindings", "traits", "messages", "reply"}),
    "reply": (set(), {"address", "channel", "messages"}),
    "reply address": ({"location"}, {"description"}),
    "message": (set(), {"headers", "payload", "correlationId", "contentType", "name", "title", "summary",
                        "description", "tags", "externalDocs", "bindings", "examples", "traits"}),
    "message trait": (set(), {"headers", "correlationId", "contentType", "name", "title", "summary", "description",
                              "tags", "externalDocs", "bindings", "examples"}),
    "message example": (set(), {"headers", "payload", "name", "summary"}),
    "AMQP channel binding": (set(), {"is", "exchange", "queue", "bindingVersion"}),
    "AMQP exchange": (set(), {"name", "type", "durable", "autoDelete", "vhost"}),
    "AMQP message binding": (set(), {"contentEncoding", "messageType", "bindingVersion"}),
    "components": (set(), {"schemas", "servers", "channels", "operations", "messages", "securitySchemes",
                           "serverVariables", "parameters", "correlationIds", "replies", "replyAddresses",
                           "externalDocs", "tags", "operationTraits", "messageTraits", "serverBindings",
                           "channelBindings", "operationBindings", "messageBindings"}),
}


def resolve(document, reference):
    """The object that a reference within the document leads to; raises KeyError where it leads nowhere."""
    if not reference.startswith("#/"):
        raise KeyError(reference)
    found = document
    for part in reference[2:].split("/"):
        found = found[part.replace("~1", "/").replace("~0", "~")]
    return found


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def resolved(document, value):
    return resolve(document, value["$ref"]) if "$ref" in value else value


class Rules:
    def __init__(self, document):
        self.document = document
        self.problems = []

    def expect(self, is_right, place, rule):
        """Notes a problem unless the condition holds."""
        if not is_right:
            self.problems.append(f"{place}: {rule}")

    def fields(self, kind, value, place):
        required, optional = FIELDS[kind]
        for name in sorted(required - set(value)):
            self.problems.append(f"{place}: no {name}")
        for name in sorted(set(value) - required - optional):
            self.expect(EXTENSION.fullmatch(name), place, f"{name} is no field of a {kind}")

    def check(self):
        document = self.document
        self.references()
        if self.problems:
            return self.problems
        self.fields("document", document, "#")
        self.expect(document.get("asyncapi") == "3.0.0", "#", "another version")
        self.fields("info", document.get("info", {}), "info")
        self.fields("license", document.get("info", {}).get("license", {"name": ""}), "info.license")
        for name, server in document.get("servers", {}).items():
            self.fields("server", server, f"servers.{name}")
        for name, channel in document.get("channels", {}).items():
            self.channel(channel, f"channels.{name}")
        for name, operation in document.get("operations", {}).items():
            self.operation(operation, f"operations.{name}")
        self.components(document.get("components", {}))
        return self.problems

    def references(self):
        """Each leads somewhere, and stands alone: what stands beside it is ignored by draft-07 and by AsyncAPI."""
        for value in references(self.document):
            try:
                resolve(self.document, value["$ref"])
            except (KeyError, TypeError):
                self.problems.append(f"{value['$ref']}: leads nowhere")
            self.expect(len(value) == 1, value["$ref"], "has fields beside $ref")

    def channel(self, channel, place):
        self.fields("channel", channel, place)
        self.expect(isinstance(channel.get("address"), (str, type(None))), place, "address is neither text nor null")
        for name, message in channel.get("messages", {}).items():
            self.message(resolved(self.document, message), f"{place}.messages.{name}")
        binding = channel.get("bindings", {}).get("amqp")
        if binding is None:
            return
        self.fields("AMQP channel binding", binding, f"{place}.bindings.amqp")
        self.expect(binding.get("is") in ("routingKey", "queue"), place, "its binding is neither routingKey nor queue")
        if binding.get("is") == "routingKey":
            exchange = binding.get("exchange", {})
            self.fields("AMQP exchange", exchange, f"{place}.bindings.amqp.exchange")
            self.expect(exchange.get("type") in EXCHANGES, place, "its exchange has no type")
            self.expect(len(exchange.get("name", "")) in range(1, 256), place, "its exchange has no name")

    def operation(self, operation, place):
        self.fields("operation", operation, place)
        self.expect(operation.get("action") in ("send", "receive"), place, "action is neither send nor receive")
        self.at_channel(operation, place)
        reply = operation.get("reply")
        if reply is None:
            return
        self.fields("reply", reply, f"{place}.reply")
        self.at_channel(reply, f"{place}.reply")
        if "address" in reply:
            self.fields("reply address", reply["address"], f"{place}.reply.address")
            location = reply["address"].get("location", "")
            self.expect(EXPRESSION.fullmatch(location), place, "the location of its reply is no runtime expression")
            channel = resolved(self.document, reply.get("channel", {}))
            self.expect(channel.get("address") is None, place, "its reply has an address, and so has the reply's channel")

    def at_channel(self, value, place):
        """The channel is one of the document's own, and the messages are the channel's."""
        reference = value.get("channel", {}).get("$ref", "")
        self.expect(re.fullmatch(r"#/channels/[^/]+", reference), place, "its channel is no reference to a channel")
        for message in value.get("messages", []):
            self.expect(
                message.get("$ref", "").startswith(reference + "/messages/"), place,
                "a message of it is no reference to one of its channel")

    def message(self, message, place, kind="message"):
        self.fields(kind, message, place)
        for index, trait in enumerate(message.get("traits", [])):
            self.message(resolved(self.document, trait), f"{place}.traits.{index}", "message trait")
        for index, example in enumerate(message.get("examples", [])):
            self.fields("message example", example, f"{place}.examples.{index}")
            self.expect({"headers", "payload"} & set(example), place, "an example of it is empty")
        binding = message.get("bindings", {}).get("amqp", {})
        self.fields("AMQP message binding", binding, f"{place}.bindings.amqp")

    def components(self, components):
        self.fields("components", components, "components")
        for kind, named in components.items():
            for name in named:
                self.expect(COMPONENT.fullmatch(name), f"components.{kind}.{name}", "has another sign in its name")
        for name, message in components.get("messages", {}).items():
            self.message(message, f"components.messages.{name}")
