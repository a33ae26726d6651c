import CountersignCryptography
import CountersignTelemetry

/// A token that an app got from reCAPTCHA, and what it is remembered by.
struct RecaptchaToken: Sendable {
  /// reCAPTCHA's tokens have some 1,500 to 7,000 characters.
  static let maxLength = 16 * 1024

  let text: Secret
  /// SHA-256 of app and token: enough to know it again, useless to anybody who reads it.
  let hash: [UInt8]

  /// - Returns: nil when it cannot be one.
  init?(_ text: Secret, app: String) {
    let bytes = Array(text.reveal().utf8)
    guard (1...Self.maxLength).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      return nil
    }
    self.text = text
    hash = SHA256.hash(Array(app.utf8) + [0] + bytes)
  }
}
