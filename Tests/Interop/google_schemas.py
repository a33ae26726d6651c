"""Google's schemas of Identity Toolkit's answers, as google-api-python-client carries them, and a strict reading of them."""

import datetime
import functools
import importlib.util
import json
import pathlib
import re


class SchemaError(AssertionError):
    """An answer that the schema does not allow."""


@functools.cache
def document(version):
    """The description of a version of the API. The package's code is not loaded."""
    package = importlib.util.find_spec("googleapiclient")
    if package is None:
        raise ModuleNotFoundError("google-api-python-client is not installed: see requirements.txt")
    root = pathlib.Path(package.submodule_search_locations[0]) / "discovery_cache" / "documents"
    return json.loads((root / f"identitytoolkit.{version}.json").read_text())


def _methods(resource, path=""):
    for method in resource.get("methods", {}).values():
        yield (method["httpMethod"], method.get("flatPath", method["path"])), method
    for below in resource.get("resources", {}).values():
        yield from _methods(below, path)


@functools.cache
def responses(version):
    return {call: method.get("response", {}).get("$ref") for call, method in _methods(document(version))}


def require(version, method, call, answer):
    name = responses(version).get((method, f"{version}/{call}"))
    if name is None:
        raise SchemaError(f"{method} {version}/{call} is none of Google's calls")
    require_type(version, {"$ref": name}, answer, name)


def require_type(version, schema, value, path):
    """Holds a value to a schema: no unknown field, no other type, nothing that is null."""
    if "$ref" in schema:
        schema = document(version)["schemas"][schema["$ref"]]
    kind = schema["type"]
    if not READERS[kind](value):
        raise SchemaError(f"{path} is {type(value).__name__}, not {kind}")
    if kind == "object":
        _require_object(version, schema, value, path)
    elif kind == "array":
        for index, item in enumerate(value):
            require_type(version, schema["items"], item, f"{path}[{index}]")
    elif kind == "string":
        _require_text(schema, value, path)


def _require_object(version, schema, value, path):
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    for name, content in value.items():
        within = properties.get(name, others)
        if within is None:
            raise SchemaError(f"{path} has no field {name}")
        require_type(version, within, content, f"{path}.{name}")


def _require_text(schema, value, path):
    if "enum" in schema and value not in schema["enum"]:
        raise SchemaError(f"{path} is none of its words")
    pattern = FORMATS.get(schema.get("format"))
    if pattern and not re.fullmatch(pattern, value):
        raise SchemaError(f"{path} is no {schema['format']}")
    if schema.get("format") == "google-datetime":
        datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))


FORMATS = {
    "int64": r"-?[0-9]{1,19}", "uint64": r"[0-9]{1,20}", "byte": r"[A-Za-z0-9+/_-]*={0,2}",
    "google-datetime": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z",
}
READERS = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "any": lambda value: value is not None,
}
