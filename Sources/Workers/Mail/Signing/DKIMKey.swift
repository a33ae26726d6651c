/// A private key that signs for a domain, under the name of its DNS record.
public struct DKIMKey: Sendable {
  /// Signature algorithm.
  public enum Algorithm: String, Sendable, Hashable, CaseIterable {
    /// RFC 6376. Every receiver knows it.
    case rsa = "rsa-sha256"
    /// RFC 8463. Short, and not yet known to every receiver: use it next to an RSA signature.
    case ed25519 = "ed25519-sha256"
  }

  /// The signing domain (`d=`).
  public let domain: String
  /// The selector (`s=`): the public key is at `<selector>._domainkey.<domain>`.
  public let selector: String
  public let algorithm: Algorithm
  /// PEM with the final zero of a C string.
  let pem: [UInt8]

  /// Reads a key and tries it.
  ///
  /// - Parameters:
  ///   - domain: the signing domain.
  ///   - selector: the selector.
  ///   - pem: a private key, RSA or Ed25519, as OpenSSL writes it.
  ///   - signer: makes the trial signature.
  /// - Throws: `.badKey` when it is neither.
  public init(domain: String, selector: String, pem: String, signer: DKIMSigner) throws(DKIMError) {
    let text = Array(pem.utf8) + [0]
    for algorithm in Algorithm.allCases {
      let key = DKIMKey(domain: domain, selector: selector, algorithm: algorithm, pem: text)
      if signer.canSign(with: key) {
        self = key
        return
      }
    }
    throw DKIMError(.badKey, "is not an RSA or Ed25519 private key in PEM format")
  }

  private init(domain: String, selector: String, algorithm: Algorithm, pem: [UInt8]) {
    self.domain = domain
    self.selector = selector
    self.algorithm = algorithm
    self.pem = pem
  }
}

extension DKIMKey: CustomStringConvertible, CustomReflectable {
  public var description: String { "DKIMKey(\(selector)._domainkey.\(domain), \(algorithm.rawValue), <redacted>)" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
