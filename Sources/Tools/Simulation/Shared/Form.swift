import CountersignEncoding
import HTTPServer

/// The fields of a form (`application/x-www-form-urlencoded`).
struct Form: Sendable {
  static let mediaType = "application/x-www-form-urlencoded"

  private let fields: [(name: String, value: String)]

  init(_ body: [UInt8]) { fields = FormEncoding.decode(body) }

  /// The value of a field; an empty one counts as missing.
  subscript(_ name: String) -> String? {
    fields.first { $0.name == name && !$0.value.isEmpty }?.value
  }

  /// The first field that is none of those.
  func stranger(to known: Set<String>) -> String? { fields.first { !known.contains($0.name) }?.name }

  /// Whether a field comes more than once.
  var hasRepeatedField: Bool { Set(fields.map(\.name)).count < fields.count }
}

extension HTTPServerRequest {
  /// The media type of the body, in lower case and without parameters.
  var mediaType: String? { headers["Content-Type"]?.split(separator: ";").first?.lowercased() }
}
