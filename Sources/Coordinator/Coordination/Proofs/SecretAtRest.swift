/// What is kept of a secret that only has to be compared: a hash under the pepper, and which pepper that was.
struct SecretAtRest: Sendable, Hashable {
  /// See ``Pepper/id``.
  var pepperID: [UInt8]
  /// HMAC-SHA-256 of the secret and of all that it is bound to.
  var digest: [UInt8]
}

extension SecretAtRest {
  /// As one blob for the database.
  var blob: [UInt8] { pepperID + digest }

  /// - Parameter blob: what ``blob`` gave. `nil` when its length is wrong.
  init?(blob: [UInt8]) {
    guard blob.count == Pepper.idLength + ProofKeeper.digestLength else { return nil }
    self.init(pepperID: Array(blob[..<Pepper.idLength]), digest: Array(blob[Pepper.idLength...]))
  }
}
