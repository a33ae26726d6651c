/// A secret at rest, for comparison only: a hash under the pepper, and the ID of that pepper.
struct SecretAtRest: Sendable, Hashable {
  /// See ``Pepper/id``.
  var pepperID: [UInt8]
  /// HMAC-SHA-256 of the secret and of everything it is bound to.
  var digest: [UInt8]
}

extension SecretAtRest {
  /// Blob for the database.
  var blob: [UInt8] { pepperID + digest }

  /// - Parameter blob: a value of ``blob``. `nil` when its length is wrong.
  init?(blob: [UInt8]) {
    guard blob.count == Pepper.idLength + ProofKeeper.digestLength else { return nil }
    self.init(pepperID: Array(blob[..<Pepper.idLength]), digest: Array(blob[Pepper.idLength...]))
  }
}
