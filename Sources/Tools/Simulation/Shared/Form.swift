import CountersignEncoding
import HTTPServer

/// `application/x-www-form-urlencoded`.
struct Form: Sendable {
  static let mediaType = "application/x-www-form-urlencoded"

  private let fields: [(name: String, value: String)]

  init(_ body: [UInt8]) { fields = FormEncoding.decode(body) }

  /// An empty one counts as missing.
  subscript(_ name: String) -> String? {
    fields.first { $0.name == name && !$0.value.isEmpty }?.value
  }

  func stranger(to known: Set<String>) -> String? { fields.first { !known.contains($0.name) }?.name }

  var hasRepeatedField: Bool { Set(fields.map(\.name)).count < fields.count }
}

extension FormEncoding {
  static func append(_ fields: [(name: String, value: String)], to url: String) -> String {
    url + (url.contains("?") ? "&" : "?") + String(decoding: encode(fields), as: UTF8.self)
  }
}

extension HTTPServerRequest {
  /// In lower case and without parameters.
  var mediaType: String? { headers["Content-Type"]?.split(separator: ";").first?.lowercased() }
}

extension HTTPServerResponse {
  static func json(status: Int, _ text: String) -> HTTPServerResponse {
    HTTPServerResponse(status: status, contentType: "application/json", text: text)
  }
}

extension JSONReader {
  static let requests = JSONReader(maxBytes: Simulator.maxBodyBytes)
}
