/// A code at rest: enough to compare and resend it, not enough to read it.
///
/// A digest alone would do for comparing, but the same code has to be sent again while it is valid, so a random seed is
/// stored next to it: the pepper and the seed together yield the code, the database alone does not.
public struct CodeAtRest: Sendable, Hashable, Codable {
  /// The pepper it was made with; see ``Pepper/id``.
  public var pepperID: [UInt8]
  /// 256 random bits; empty for the fixed code of a fictional number, which the configuration has.
  public var seed: [UInt8]
  /// HMAC-SHA-256 of verification ID and code under the pepper.
  public var digest: [UInt8]

  public init(pepperID: [UInt8], seed: [UInt8], digest: [UInt8]) {
    self.pepperID = pepperID
    self.seed = seed
    self.digest = digest
  }
}

extension CodeAtRest {
  /// Blob for the database: pepper ID, digest, seed.
  var blob: [UInt8] { pepperID + digest + seed }

  /// - Parameter blob: a value of ``blob``. `nil` when its length is wrong.
  init?(blob: [UInt8]) {
    let digestEnd = Pepper.idLength + CodeKeeper.digestLength
    guard blob.count == digestEnd || blob.count == digestEnd + CodeKeeper.seedLength else { return nil }
    pepperID = Array(blob[..<Pepper.idLength])
    digest = Array(blob[Pepper.idLength..<digestEnd])
    seed = Array(blob[digestEnd...])
  }
}
