/// Purpose that a JSON Web Key is read for, and the words by which a key may say that it has another (RFC 7517, sections
/// 4.2 and 4.3).
enum KeyPurpose {
  case signatures
  /// A symmetric key that seals and opens.
  case encryption
  /// One half of a key pair that others seal to.
  case agreement(PKey.Part)

  func problem(use: String?, operations: [String]?) -> String? {
    guard use == nil || use == self.use else { return "is not for \(name): its use is not \"\(self.use)\"" }
    guard let operations else { return nil }
    // The public half of an agreement has an empty list, as WebCrypto exports it.
    if case .agreement(.public) = self, operations.isEmpty { return nil }
    guard operations.contains(where: self.operations.contains) else {
      return "is not for \(name): its key_ops have none of \(self.operations.joined(separator: ", "))"
    }
    return nil
  }

  private var name: String {
    if case .signatures = self { "signatures" } else { "encryption" }
  }

  private var use: String {
    if case .signatures = self { "sig" } else { "enc" }
  }

  private var operations: [String] {
    switch self {
    case .signatures: ["sign", "verify"]
    case .encryption: ["encrypt", "decrypt"]
    case .agreement: ["deriveKey", "deriveBits"]
    }
  }
}
