import JOSE

/// The `Message-ID` of a job's mail: the same on every try, so that a second copy can be recognised.
enum MailMessageID {
  /// Without the angle brackets.
  ///
  /// An ID of letters, digits, hyphens and dots stands as it is; any other by its hash.
  static func text(jobID: String, domain: String) -> String {
    let isPlain =
      (1...64).contains(jobID.utf8.count)
      && jobID.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { part in
        !part.isEmpty && part.utf8.allSatisfy(isPlainByte)
      }
    return "\(isPlain ? jobID : "h." + hash(jobID))@\(domain)"
  }

  /// A boundary that no part can contain: encoded bodies have no `=_`, and what could look like one is encoded.
  static func boundary(jobID: String) -> String { "=_\(hash(jobID))" }

  private static func hash(_ text: String) -> String {
    SHA256.hash(Array(text.utf8)).prefix(16).map { byte in
      let text = String(byte, radix: 16)
      return text.count == 1 ? "0" + text : text
    }.joined()
  }

  private static func isPlainByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
