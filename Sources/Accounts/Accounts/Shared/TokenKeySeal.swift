import CountersignCryptography

/// Seal of the token keys on a secret that stays with an account: see ``SealUpkeep``.
struct TokenKeySeal: Sendable {
  struct Sealed {
    let text: String
    /// Name of the key.
    let key: String
  }

  private let ring: KeyRing

  init(_ ring: KeyRing) {
    self.ring = ring
  }

  /// `nil` without a key that seals.
  /// - Parameter header: what the secret is, and whose. It is opened with the same alone.
  func seal(_ bytes: [UInt8], _ header: [String: String]) -> Sealed? {
    guard let key = ring.sealing else { return nil }
    do throws(JOSEError) {
      return Sealed(text: try JWE.seal(bytes, with: key, header: header), key: key.id)
    } catch {
      return nil
    }
  }

  /// `nil` for one that is sealed under a key that is gone, or as something else.
  func open(_ text: String, _ header: [String: String]) -> [UInt8]? {
    do throws(JOSEError) {
      let opened = try JWE.open(text, with: ring)
      guard header.allSatisfy({ opened.header[$0.key] == $0.value }) else { return nil }
      return opened.plaintext
    } catch {
      return nil
    }
  }

  /// Names of the keys that open and no longer seal.
  var formerKeys: [String] { ring.opening.keys.filter { $0 != ring.sealing?.id }.sorted() }
}
