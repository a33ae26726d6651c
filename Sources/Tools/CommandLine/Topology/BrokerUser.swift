import CountersignEncoding

struct BrokerUser: Sendable {
  let name: String
  var tags: [String] = []
  var limits: [String: Int] = [:]
  /// Without one, it cannot log in by one.
  var hasPassword = true
}

extension BrokerUser {
  init(_ row: [String: JSONValue]) {
    // A list since 3.9; before, and in definitions of that time, words with commas.
    let words = row["tags"]?.text.map { $0.split(separator: ",").map(String.init) }
    let list: [JSONValue] = if case .array(let tags)? = row["tags"] { tags } else { [] }
    self.init(
      name: row["name"]?.text ?? "", tags: words ?? list.compactMap(\.text), limits: Self.limits(row["limits"]),
      hasPassword: row["password_hash"]?.text != "")
  }

  /// None are an empty array: Erlang does not distinguish it from an empty object.
  static func limits(_ value: JSONValue?) -> [String: Int] { (value?.members ?? [:]).compactMapValues(\.wholeNumber) }
}
