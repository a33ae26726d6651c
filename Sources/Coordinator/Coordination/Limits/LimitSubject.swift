import CountersignCryptography
import CountersignEncoding
import CountersignMessages

struct LimitSubject: Sendable, Hashable {
  let key: String
  let earlierKey: String?
}

/// Makes the names under which numbers, prefixes, addresses and devices are counted. Counts are only looked up, never
/// listed, so only a keyed hash of the subject is stored, and the database alone does not reveal who asked.
struct LimitSubjects: Sendable {
  enum Kind: String, Sendable, CaseIterable {
    case number = "n"
    case prefix = "p"
    case address = "a"
    case network = "w"
    case fictionalNumber = "f"
    /// A network that tries a fictional number of an app.
    case fictionalNetwork = "g"
    case mailAddress = "m"
    /// An asker. See ``source(of:)``.
    case source = "s"
  }

  /// Half of an HMAC-SHA-256: 128 bits do not collide in practice.
  private static let bytes = 16

  let current: Pepper
  var previous: Pepper?

  func subject(_ kind: Kind, _ value: String) -> LimitSubject {
    LimitSubject(key: Self.key(current, kind, value), earlierKey: previous.map { Self.key($0, kind, value) })
  }

  /// Neither an app's ID nor a number contains a zero byte.
  func fictional(_ number: String, of app: String) -> LimitSubject {
    subject(.fictionalNumber, "\(app)\u{0}\(number)")
  }

  func fictional(_ number: String, of app: String, from address: ClientAddress) -> LimitSubject {
    subject(.fictionalNetwork, "\(app)\u{0}\(number)\u{0}\(address.wideNetwork)")
  }

  /// An asker, as the conversion distinguishes askers: by the network, else by the proven device, else as the service
  /// names them. Empty for an unnamed one. Never by `client.instance`, which the client chooses freely.
  func source(of order: StartOrder) -> [UInt8] {
    if let address = order.address { return source("network", address.network) }
    if let device = order.device { return source("device", Base64URL.encode(device.current)) }
    if let named = order.claim.named { return source("named", Base64URL.encode(named.hash)) }
    return []
  }

  private func source(_ what: String, _ value: String) -> [UInt8] {
    Self.hash(current, .source, "\(what) \(value)")
  }

  func device(_ token: TokenHash) -> LimitSubject {
    LimitSubject(key: Self.key(ofDevice: token.current), earlierKey: token.earlier.map(Self.key(ofDevice:)))
  }

  private static func key(_ pepper: Pepper, _ kind: Kind, _ value: String) -> String {
    kind.rawValue + Base64URL.encode(hash(pepper, kind, value))
  }

  private static func hash(_ pepper: Pepper, _ kind: Kind, _ value: String) -> [UInt8] {
    let text = VerificationCodes.framed("countersign subject", texts: [kind.rawValue, value])
    return Array(pepper.key.authenticate(text)[..<bytes])
  }

  private static func key(ofDevice hash: [UInt8]) -> String {
    "t" + Base64URL.encode(Array(hash.prefix(bytes)))
  }
}

extension LimitSubject {
  static let everybody = LimitSubject("*")

  static func region(_ region: String) -> LimitSubject { LimitSubject("r\(region)") }

  static func app(_ id: String) -> LimitSubject { LimitSubject("b\(id)") }

  /// A subject that does not identify a person is stored as it is.
  private init(_ key: String) {
    self.init(key: key, earlierKey: nil)
  }
}

/// Stands for a token that must not be stored.
struct TokenHash: Sendable, Hashable {
  let current: [UInt8]
  /// Hash under the previous pepper, if it is configured. It finds counts stored before the change.
  var earlier: [UInt8]?

  /// The current one first.
  var all: [[UInt8]] { [current] + (earlier.map { [$0] } ?? []) }
}
