import HTTPServer

/// Writes JSON by hand: the answers are small and fixed, and there are thousands a second.
enum JSONText {
  /// A string literal (RFC 8259, section 7).
  static func quote(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      case _ where scalar.value < 0x20: quoted += "\\u00" + hexadecimal(UInt8(scalar.value))
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  static func quote(_ text: String?) -> String { text.map { quote($0) } ?? "null" }

  static func hexadecimal(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }
}

extension HTTPServerResponse {
  static func json(status: Int, _ text: String) -> HTTPServerResponse {
    HTTPServerResponse(status: status, contentType: "application/json", text: text)
  }
}
