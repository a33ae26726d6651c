import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Makes and compares refresh tokens: `<token key>.<session>.<codes>`.
///
/// Two codes are in one: the first shows that we have made the token, also when its session is gone; the second needs
/// the seed of the session. Nothing of a token is stored but the session's ID and seed.
struct RefreshTokens: Sendable {
  static let maxBytes = 512
  private static let originLength = 16

  private let keys: [String: HMACSHA256Key]
  private let current: String

  /// Its session may have ended.
  struct Presented: Sendable {
    let sessionID: String
    let account: RecordID
    fileprivate let keyID: String
    fileprivate let code: [UInt8]
  }

  init?(ring: KeyRing) {
    guard let first = ring.sealing else { return nil }
    current = first.id
    // A key of its own for each purpose: the ring's keys encrypt.
    let label = Array("countersign refresh tokens".utf8)
    keys = ring.opening.mapValues { HMACSHA256Key(HMACSHA256.authenticate(label, key: $0)) }
  }

  /// The same each time under the same key.
  func make(for session: SessionRecord) -> Secret {
    guard let key = keys[current] else { return Secret("") }
    let codes = Self.origin(session.id.text, key) + Self.code(session.id.text, session.seed, key)
    return Secret("\(current).\(session.id.text).\(Base64URL.encode(codes))")
  }

  func read(_ token: Secret) -> Presented? {
    let text = token.reveal()
    guard text.utf8.count <= Self.maxBytes else { return nil }
    // The name of a key may hold dots.
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count >= 3, let key = keys[parts.dropLast(2).joined(separator: ".")] else { return nil }
    let sessionID = String(parts[parts.count - 2])
    guard let account = SessionRecord.account(ofSession: sessionID),
      let codes = Base64URL.decode(String(parts[parts.count - 1])),
      codes.count == Self.originLength + HMACSHA256.length,
      constantTimeEquals(Array(codes[..<Self.originLength]), Self.origin(sessionID, key))
    else { return nil }
    return Presented(
      sessionID: sessionID, account: account, keyID: parts.dropLast(2).joined(separator: "."),
      code: Array(codes[Self.originLength...]))
  }

  func matches(_ token: Presented, _ session: SessionRecord) -> Bool {
    guard let key = keys[token.keyID], token.sessionID == session.id.text else { return false }
    return constantTimeEquals(token.code, Self.code(session.id.text, session.seed, key))
  }

  private static func origin(_ sessionID: String, _ key: HMACSHA256Key) -> [UInt8] {
    Array(key.authenticate(Array("origin\0".utf8) + Array(sessionID.utf8))[..<originLength])
  }

  private static func code(_ sessionID: String, _ seed: [UInt8], _ key: HMACSHA256Key) -> [UInt8] {
    key.authenticate(Array("session\0".utf8) + Array(sessionID.utf8) + [0] + seed)
  }
}
