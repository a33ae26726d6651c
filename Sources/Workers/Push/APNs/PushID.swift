import CountersignCryptography
import CountersignMessages

/// The ID by which APNs knows a push: a UUID that is the same whenever the job is tried, so that the device shows one push for several.
enum PushID {
  /// A UUID that is derived (RFC 9562, version 8) from sender and ID: two senders may give the same ID to two jobs.
  static func make(for job: MessageIdentity) -> String {
    var bytes = Array(SHA256.hash(Array(job.key.utf8)).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    return text(bytes)
  }

  private static func text(_ bytes: [UInt8]) -> String {
    var text = ""
    for (index, byte) in bytes.enumerated() {
      if [4, 6, 8, 10].contains(index) { text += "-" }
      text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return text
  }
}
