import CountersignMessages

/// The syntax of a BCP 47 tag; the workers know the available languages.
enum LanguageTag {
  /// - Returns: `nil` for a tag that is absent or empty.
  static func check(_ code: String?, field: String) throws(APIError) -> String? {
    guard let code, !code.isEmpty else { return nil }
    let isTag = code.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "-")
        || byte == UInt8(ascii: "_") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
    guard isTag, code.utf8.count <= maxLength else {
      throw APIError(.invalidArgument, "\(field) must be a BCP 47 tag such as pt-BR", field: field)
    }
    return code
  }

  /// RFC 5646, section 4.4.1: 35 characters hold all tags but those for private use.
  private static let maxLength = 35
}
