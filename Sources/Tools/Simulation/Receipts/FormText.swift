/// Writes forms and queries (`application/x-www-form-urlencoded`).
enum FormText {
  static func encode(_ fields: [(String, String)]) -> String {
    fields.map { "\(escaped($0))=\(escaped($1))" }.joined(separator: "&")
  }

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for byte in text.utf8 {
      let scalar = Unicode.Scalar(byte)
      let isPlain = ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
      escaped += isPlain ? String(scalar) : "%" + JSONText.hexadecimal(byte)
    }
    return escaped
  }
}
