import JOSE

/// The ID by which APNs knows a push: a UUID that is the same whenever the job is tried, so that the device shows one push for several.
enum PushID {
  /// - Parameter jobID: Itself, when it is a UUID; otherwise one is derived from it (RFC 9562, version 8).
  static func make(jobID: String) -> String {
    let digits = jobID.split(separator: "-", omittingEmptySubsequences: false)
    if digits.map(\.utf8.count) == groups, digits.allSatisfy({ $0.allSatisfy { $0.isASCII && $0.isHexDigit } }) {
      return jobID.lowercased()
    }
    var bytes = Array(SHA256.hash(Array(jobID.utf8)).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    return text(bytes)
  }

  /// Hexadecimal digits between the hyphens.
  private static let groups = [8, 4, 4, 4, 12]

  private static func text(_ bytes: [UInt8]) -> String {
    var text = ""
    for (index, byte) in bytes.enumerated() {
      if [4, 6, 8, 10].contains(index) { text += "-" }
      text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return text
  }
}
