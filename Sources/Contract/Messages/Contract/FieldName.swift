/// The name of a field that is not known beforehand.
struct FieldName: CodingKey {
  let stringValue: String

  init(_ name: String) {
    stringValue = name
  }

  init(stringValue: String) {
    self.init(stringValue)
  }

  var intValue: Int? { nil }

  init?(intValue: Int) { nil }
}
