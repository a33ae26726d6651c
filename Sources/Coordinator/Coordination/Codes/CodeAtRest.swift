/// What is kept of a code: enough to compare it and to send it again, not enough to read it.
///
/// A digest alone would do for comparing, but the same code has to be sent again while it is valid, so a random seed is
/// kept beside it: whoever has the pepper can make the code from it, and whoever has only the database can do neither.
public struct CodeAtRest: Sendable, Hashable, Codable {
  /// Which pepper it was made with; see ``Pepper/id``.
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
  /// As one blob for the database: pepper ID, digest, seed.
  var blob: [UInt8] { pepperID + digest + seed }

  /// - Parameter blob: what ``blob`` gave. `nil` when its length is wrong.
  init?(blob: [UInt8]) {
    let digestEnd = Pepper.idLength + CodeKeeper.digestLength
    guard blob.count == digestEnd || blob.count == digestEnd + CodeKeeper.seedLength else { return nil }
    pepperID = Array(blob[..<Pepper.idLength])
    digest = Array(blob[Pepper.idLength..<digestEnd])
    seed = Array(blob[digestEnd...])
  }
}
