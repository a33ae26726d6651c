/// The head of a request by the rules that decide where the request ends and whom it asks (RFC 9112, sections 2.2, 3.2,
/// 5 and 6).
///
/// libmicrohttpd enforces few of them. Two servers in a row that disagree about them are a way to smuggle a request past
/// the first.
struct RequestHead: Sendable, Hashable {
  /// Problem of the head, without input. `nil` for one that is well-formed.
  let problem: String?
  let isChunked: Bool

  init(version: String, _ fields: [(name: String, value: String)], isIntact: Bool) {
    func values(_ name: String) -> [String] {
      fields.filter { $0.name.lowercased() == name }.map(\.value)
    }
    let encodings = values("transfer-encoding")
    isChunked = !encodings.isEmpty
    problem =
      if !isIntact {
        "a line does not end with CR and LF, is folded, or holds a NUL"
      } else if !fields.allSatisfy({ Self.isName($0.name) }) {
        "a field has a space before its colon, or a name that is none"
      } else if fields.contains(where: { $0.value.utf8.contains(UInt8(ascii: "\r")) }) {
        "a field holds a CR without an LF"
      } else if encodings.count + values("content-length").count > 1 {
        "its length is given twice"
      } else if isChunked, encodings.contains(where: { $0.lowercased() != "chunked" }) {
        "its Transfer-Encoding is not chunked"
      } else if isChunked, version == Self.oldVersion {
        "HTTP/1.0 has no Transfer-Encoding"
      } else if values("host").count > 1 {
        "it names two hosts"
      } else if values("host").isEmpty, version != Self.oldVersion {
        "it names no host"
      } else {
        nil
      }
  }

  private static let oldVersion = "HTTP/1.0"

  /// RFC 9110, section 5.6.2.
  private static func isName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && !separators.contains($0) }
  }

  private static let separators = Set("\"(),/:;<=>?@[\\]{}".utf8)
}
