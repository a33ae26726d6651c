import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import FoundationEssentials
import ServiceRuntime

/// The JSON file of a key (https://cloud.google.com/iam/docs/keys-create-delete).
struct ServiceAccount: Sendable {
  let email: String
  let key: SigningKey
  /// Also the audience of an assertion.
  let tokenURI: String

  /// RFC 5321, 4.5.3.1: 64 and 255 octets.
  private static let maxEmailLength = 320
  /// Google's IDs of keys are 40 hexadecimal digits.
  private static let maxKeyIDLength = 128
  /// As opposed to `authorized_user` or `external_account`.
  private static let type = "service_account"

  private struct File: Decodable {
    let type: String?
    let clientEmail: String?
    let privateKey: String?
    let privateKeyID: String?
    let tokenURI: String?

    enum CodingKeys: String, CodingKey {
      case type
      case clientEmail = "client_email"
      case privateKey = "private_key"
      case privateKeyID = "private_key_id"
      case tokenURI = "token_uri"
    }
  }

  init(file: Secret) throws(ServiceAccountProblem) {
    let content = try Self.read(file)
    email = try Self.value(content.clientEmail, "client_email", content)
    tokenURI = try Self.value(content.tokenURI, "token_uri", content)
    let keyID = try Self.value(content.privateKeyID, "private_key_id", content)
    let text = try Self.value(content.privateKey, "private_key", content)
    // These three go into JSON that is written by hand, so they must not need escaping.
    guard email.isMatched(by: Self.isEmailCharacter, length: 3...Self.maxEmailLength), email.contains("@") else {
      throw ServiceAccountProblem("has a client_email that is not an address")
    }
    guard keyID.isMatched(by: \.isLetterOrDigit, length: 1...Self.maxKeyIDLength) else {
      throw ServiceAccountProblem("has a private_key_id that is not letters and digits")
    }
    guard URLParts(tokenURI) != nil else {
      throw ServiceAccountProblem("has a token_uri that is not an http:// or https:// URL")
    }
    do { key = try SigningKey(file: Array(text.utf8), id: keyID) } catch {
      throw ServiceAccountProblem("has a private_key that cannot be used: \(error.message)")
    }
    guard key.algorithm == .rs256 else { throw ServiceAccountProblem("has a private_key that is not of type RSA") }
  }

  /// Google's has about 2,400 bytes.
  private static let maxFileBytes = 64 << 10

  private static func read(_ file: Secret) throws(ServiceAccountProblem) -> File {
    do { return try JSONReader(maxBytes: maxFileBytes).decode(File.self, from: file.reveal()) } catch {
      throw ServiceAccountProblem("is not the JSON of a service account's key; \(source)")
    }
  }

  private static func value(_ value: String?, _ name: String, _ file: File) throws(ServiceAccountProblem) -> String {
    guard file.type == type else {
      throw ServiceAccountProblem("is of another type than service_account; \(source)")
    }
    guard let value, !value.isEmpty else { throw ServiceAccountProblem("has no \(name); \(source)") }
    return value
  }

  private static let source =
    "make a key of the account in Google Cloud (IAM, Service accounts, Keys, Add key, JSON) and name its file"

  private static func isEmailCharacter(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isLetterOrDigit || "@.-_+".unicodeScalars.contains(scalar)
  }
}

/// Safe to show.
struct ServiceAccountProblem: Error, Sendable, Hashable, CustomStringConvertible {
  /// Text that follows the name of the file.
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
