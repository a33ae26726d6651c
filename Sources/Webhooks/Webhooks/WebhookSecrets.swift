import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry

/// Secrets that sign (Standard Webhooks 1.0.0, "Signature scheme"), sealed under the keys of `webhookKeysFile`.
struct WebhookSecrets: Sendable {
  /// Bytes of a secret: 24 to 64 by the specification.
  static let length = 32
  private static let prefix = "whsec_"

  let ring: KeyRing

  /// `nil` without a key that seals.
  func seal(_ secret: [UInt8], of webhook: String) -> String? {
    guard let key = ring.sealing else { return nil }
    do throws(JOSEError) {
      return try JWE.seal(secret, with: key, header: ["webhook": webhook])
    } catch {
      return nil
    }
  }

  /// `nil` for one that is sealed under a key that is gone, or for another webhook.
  func open(_ text: String, of webhook: String) -> [UInt8]? { unsealed(text, of: webhook)?.plaintext }

  private func unsealed(_ text: String, of webhook: String) -> (header: [String: String], plaintext: [UInt8])? {
    do throws(JOSEError) {
      let opened = try JWE.open(text, with: ring)
      return opened.header["webhook"] == webhook ? opened : nil
    } catch {
      return nil
    }
  }

  /// The same secret under the first key. `nil` where it is, or cannot be opened.
  func sealAnew(_ text: String, of webhook: String) -> String? {
    guard let opened = unsealed(text, of: webhook), opened.header["kid"] != ring.sealing?.id else { return nil }
    return seal(opened.plaintext, of: webhook)
  }

  /// The form that receivers configure.
  static func text(_ secret: [UInt8]) -> Secret { Secret(prefix + Base64.encode(secret)) }
}
