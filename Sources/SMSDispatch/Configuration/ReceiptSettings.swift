import ServiceRuntime
import Telemetry

/// The section `receipts`: whether providers are asked to report what became of a message.
struct ReceiptSettings: Sendable {
  /// Made from the section; nil when reports are not asked for.
  let addresses: CallbackAddresses?

  /// The shortest secret, in characters.
  private static let minSecretLength = 16

  init(_ section: ConfigurationSection) {
    let url = section.optionalString(
      "publicURL",
      "What providers reach the path /receipts/ of this worker's HTTP port by, such as https://sms.example.com; absent: no reports."
    )
    let secret = section.secretFile(
      "secretFile", "A secret of at least 16 characters, the same for all workers: signs the addresses of the reports.")
    let maxAge = section.integer(
      "maxAgeHours", default: 96, in: 1...720, "How long after a message was sent reports on it are believed.")
    guard let url else {
      addresses = nil
      return
    }
    section.check("publicURL", URLParts(url) != nil, "must be an http:// or https:// URL without query and fragment")
    guard let secret else {
      section.problem("secretFile", "is required beside publicURL: name a file with a secret of 16 characters or more")
      addresses = nil
      return
    }
    section.check(
      "secretFile", secret.reveal().utf8.count >= Self.minSecretLength,
      "holds less than \(Self.minSecretLength) characters")
    addresses = CallbackAddresses(publicURL: url, secret: secret, maxAge: .seconds(3600 * maxAge))
  }
}
