import CountersignCryptography
import CountersignMessages

/// The `Message-ID` of a job's mail: the same on every try, so that a second copy can be recognised.
///
/// It is a hash of sender and ID: two senders may give the same ID to two jobs, and servers drop the second mail under one `Message-ID`.
enum MailMessageID {
  /// Without the angle brackets.
  static func text(_ job: MessageIdentity, domain: String) -> String { "\(hash(job))@\(domain)" }

  /// A boundary that no part can contain: encoded bodies have no `=_`, and what could look like one is encoded.
  static func boundary(_ job: MessageIdentity) -> String { "=_\(hash(job))" }

  private static func hash(_ job: MessageIdentity) -> String {
    SHA256.hash(Array(job.key.utf8)).prefix(16).map { byte in
      let text = String(byte, radix: 16)
      return text.count == 1 ? "0" + text : text
    }.joined()
  }
}
