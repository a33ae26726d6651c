import CountersignCryptography

/// Name under which something is counted.
struct LimitSubject: Sendable, Hashable {
  /// Key that its count is stored under.
  let key: String
  /// Key that it was stored under before the pepper was changed.
  let earlierKey: String?
}

/// Makes the names under which numbers, prefixes, addresses and devices are counted. Counts are only looked up, never listed, so what is
/// counted is not stored: its keyed hash is, and whoever has the database alone cannot tell who asked.
struct SubjectKeeper: Sendable {
  enum Kind: String, Sendable, CaseIterable {
    case number = "n"
    case prefix = "p"
    case address = "a"
    /// A fictional number of an app.
    case fictionalNumber = "f"
    /// The address of a mail.
    case mailAddress = "m"
    /// An asker; see ``source(of:)``.
    case source = "s"
  }

  /// Half of an HMAC-SHA-256: no two subjects meet in 128 bits.
  private static let bytes = 16

  private let current: Pepper
  private let previous: Pepper?

  /// - Parameters:
  ///   - current: what is counted is counted under it.
  ///   - previous: what was counted before the pepper was changed is found under it.
  init(current: Pepper, previous: Pepper? = nil) {
    self.current = current
    self.previous = previous
  }

  func subject(_ kind: Kind, _ value: String) -> LimitSubject {
    LimitSubject(key: Self.key(current, kind, value), earlierKey: previous.map { Self.key($0, kind, value) })
  }

  /// A fictional number of an app. No app's ID has a zero byte, and no number.
  func fictional(_ number: String, of app: String) -> LimitSubject {
    subject(.fictionalNumber, "\(app)\u{0}\(number)")
  }

  /// An asker, as the conversion tells askers apart: by the network, else by the device that has proven itself, else as the service names
  /// them; empty for nobody in particular. Never by `client.instance`, in which a client says of itself what it likes.
  func source(of order: StartOrder) -> [UInt8] {
    if let address = order.address { return source("network", address.network) }
    if let device = order.device { return source("device", Base64URL.encode(device.current)) }
    if let named = order.claim.named { return source("named", Base64URL.encode(named.hash)) }
    return []
  }

  private func source(_ what: String, _ value: String) -> [UInt8] {
    Self.hash(current, .source, "\(what) \(value)")
  }

  /// A device by the hashes of its token, under the pepper and under the one before it.
  func device(_ token: TokenHash) -> LimitSubject {
    LimitSubject(key: Self.key(ofDevice: token.current), earlierKey: token.earlier.map(Self.key(ofDevice:)))
  }

  private static func key(_ pepper: Pepper, _ kind: Kind, _ value: String) -> String {
    kind.rawValue + Base64URL.encode(hash(pepper, kind, value))
  }

  private static func hash(_ pepper: Pepper, _ kind: Kind, _ value: String) -> [UInt8] {
    let parts = [Array(kind.rawValue.utf8), Array(value.utf8)]
    return Array(pepper.key.authenticate(CodeKeeper.framed("countersign subject", parts))[..<bytes])
  }

  private static func key(ofDevice hash: [UInt8]) -> String {
    "t" + Base64URL.encode(Array(hash.prefix(bytes)))
  }
}

extension LimitSubject {
  /// Everybody.
  static let everybody = LimitSubject("*")

  /// A region, or the calling code of numbers that have none.
  static func region(_ region: String) -> LimitSubject { LimitSubject("r\(region)") }

  /// An app of the configuration.
  static func app(_ id: String) -> LimitSubject { LimitSubject("b\(id)") }

  /// A subject that tells of no person is stored as it is.
  private init(_ key: String) {
    self.init(key: key, earlierKey: nil)
  }
}

/// Stands for a token that must not be stored.
struct TokenHash: Sendable, Hashable {
  /// Under the pepper in force.
  let current: [UInt8]
  /// Under the one before it, where the configuration still has that: what was stored then is found by it.
  let earlier: [UInt8]?

  init(_ current: [UInt8], earlier: [UInt8]? = nil) {
    self.current = current
    self.earlier = earlier
  }

  /// Both, the one in force first.
  var all: [[UInt8]] { [current] + (earlier.map { [$0] } ?? []) }
}
