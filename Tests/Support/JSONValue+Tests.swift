package import CountersignEncoding

extension JSONValue {
  package init(parsing json: some Sequence<UInt8>) throws {
    self = try JSONReader(maxBytes: 1 << 20).value(of: Array(json))
  }

  package init(parsing json: String) throws { try self.init(parsing: json.utf8) }

  package subscript(name: String) -> JSONValue? { object[name] }

  package subscript(index: Int) -> JSONValue? { array.indices.contains(index) ? array[index] : nil }

  package var object: [String: JSONValue] { members ?? [:] }

  package var array: [JSONValue] {
    if case .array(let elements) = self { elements } else { [] }
  }

  package var names: Set<String> { Set(object.keys) }
}
