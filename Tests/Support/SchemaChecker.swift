package import CountersignEncoding

/// Checks JSON against the JSON Schemas of the AsyncAPI and OpenAPI documents: the keywords that these use, and no
/// others.
package struct SchemaChecker: Sendable {
  package let schemas: [String: JSONValue]

  package init(schemas: [String: JSONValue]) {
    self.schemas = schemas
  }

  private static let knownKeywords: Set<String> = [
    "$ref", "type", "format", "enum", "required", "properties", "additionalProperties", "items", "oneOf", "minimum",
    "minLength",
    "maxLength",
    "description", "examples",
  ]

  package func problems(_ value: JSONValue, _ schema: JSONValue, at path: String = "$") -> [String] {
    let schema = resolved(schema)
    var found = Set(schema.object.keys).subtracting(Self.knownKeywords).map { "\(path): unknown keyword \($0)" }
    if !hasType(value, schema) { found.append("\(path): wrong type") }
    if let words = schema["enum"]?.strings, !words.contains(value.text ?? "") { found.append("\(path): not in enum") }
    if schema["format"]?.text == "date-time", value.text?.hasSuffix("Z") != true {
      found.append("\(path): not a time in UTC")
    }
    if let least = schema["minimum"]?.double, let number = value.double, number < least {
      found.append("\(path): below minimum")
    }
    if let count = value.text?.unicodeScalars.count,
      count < schema["minLength"]?.wholeNumber ?? 0
        || count > schema["maxLength"]?.wholeNumber ?? .max
    {
      found.append("\(path): wrong length")
    }
    for (index, element) in value.array.enumerated() {
      found += problems(element, schema["items"] ?? .null, at: "\(path)[\(index)]")
    }
    if case .object(let fields) = value { found += problems(fields, schema, at: path) }
    return found
  }

  private func problems(_ fields: [String: JSONValue], _ schema: JSONValue, at path: String) -> [String] {
    var found = (schema["required"]?.strings ?? []).filter { fields[$0] == nil }.map { "\(path).\($0): missing" }
    for (name, value) in fields {
      if let property = schema["properties"]?[name] ?? schema["additionalProperties"] {
        found += problems(value, property, at: "\(path).\(name)")
      } else {
        found.append("\(path).\(name): not described")
      }
    }
    if let choices = schema["oneOf"]?.array {
      let fitting = choices.filter { $0["required"]?.strings.allSatisfy { fields[$0] != nil } == true }
      if fitting.count != 1 { found.append("\(path): fits \(fitting.count) of oneOf") }
    }
    return found
  }

  package func resolved(_ schema: JSONValue) -> JSONValue {
    guard let reference = schema["$ref"]?.text, let name = reference.split(separator: "/").last else { return schema }
    return schemas[String(name)] ?? .null
  }

  package func properties(_ schema: JSONValue, at path: String = "$") -> Set<String> {
    let schema = resolved(schema)
    var found: Set<String> = []
    for (name, property) in schema["properties"]?.object ?? [:] {
      found.insert("\(path).\(name)")
      found.formUnion(properties(property, at: "\(path).\(name)"))
    }
    if let items = schema["items"] { found.formUnion(properties(items, at: "\(path)[]")) }
    return found
  }

  private func hasType(_ value: JSONValue, _ schema: JSONValue) -> Bool {
    let types = schema["type"].map { $0.text.map { [$0] } ?? $0.strings } ?? []
    return types.contains { type in
      switch (type, value) {
      case ("string", .text), ("boolean", .bool), ("object", .object), ("array", .array): true
      case ("number", _): value.double != nil
      case ("integer", _): value.wholeNumber != nil
      default: false
      }
    }
  }
}

extension JSONValue {
  package var strings: [String] { array.compactMap(\.text) }

  package func properties(at path: String = "$") -> Set<String> {
    var found: Set<String> = []
    for (name, value) in object {
      found.insert("\(path).\(name)")
      found.formUnion(value.properties(at: "\(path).\(name)"))
    }
    for element in array { found.formUnion(element.properties(at: "\(path)[]")) }
    return found
  }
}
