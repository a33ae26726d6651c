import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import ServiceRuntime

/// Keyed hashes of what must not be stored, and random IDs. The database alone reveals nothing that was hashed.
struct AccountHashes: Sendable {
  static let minimumLength = 16

  private let key: HMACSHA256Key
  /// Hashes under the pepper before the last change: one while the configuration names it, else none. What was hashed
  /// under it is found; nothing new is.
  let former: [AccountHashes]

  init?(pepper: [UInt8], former: AccountHashes? = nil) {
    guard pepper.count >= Self.minimumLength else { return nil }
    key = HMACSHA256Key(Array("countersign accounts".utf8) + [0] + pepper)
    self.former = former.map { [$0] } ?? []
  }

  var checkValues: [CheckValue] {
    ([self] + former).enumerated().map { index, hashes in
      CheckValue(file: "pepperFile", code: hashes.key.authenticate(CheckValue.label), isUsed: index == 0)
    }
  }

  func fingerprints(_ label: StaticString, _ parts: [String]) -> Fingerprints {
    Fingerprints(current: hash(label, parts), former: former.map { $0.hash(label, parts) })
  }

  /// No two lists of texts have the same hash.
  func hash(_ label: StaticString, _ parts: [String]) -> [UInt8] {
    key.authenticate(Self.framed(label, parts))
  }

  func id(_ label: StaticString, _ parts: [String]) -> String { Hexadecimal.encode(hash(label, parts)) }

  /// Hash without a key, the same under every pepper: of texts that cannot be guessed, or need not be hidden.
  static func digest(_ label: StaticString, _ parts: [String]) -> [UInt8] { SHA256.hash(framed(label, parts)) }

  private static func framed(_ label: StaticString, _ parts: [String]) -> [UInt8] {
    var bytes = label.withUTF8Buffer { Array($0) } + [0]
    for part in parts {
      let length = UInt32(truncatingIfNeeded: part.utf8.count)
      for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: length >> shift)) }
      bytes.append(contentsOf: part.utf8)
    }
    return bytes
  }
}

/// Random values of a command, drawn before its transaction: each run of it makes the same records.
struct RandomValues: Sendable {
  let localID = RandomID.make(length: AccountRecord.randomLength)
  let sessionID = RandomID.make(length: SessionRecord.randomLength)
  let sessionSeed = SecureRandom.bytes(SessionRecord.seedLength)
  let enrollmentID = RandomID.make(length: SecondFactor.idLength)
  let ticketSeed = SecureRandom.bytes(TicketText.seedLength)
  let eventID = MessageID.make()
}

enum RandomID {
  private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

  /// Bytes below are as many for each character. Those from here on would make some characters likelier than others.
  private static let fairBytes = 256 / alphabet.count * alphabet.count

  static func make(length: Int) -> String {
    var text: [UInt8] = []
    while text.count < length {
      for byte in SecureRandom.bytes(length - text.count) where byte < fairBytes {
        text.append(alphabet[Int(byte) % alphabet.count])
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  static func isID(_ text: some StringProtocol, length: Int) -> Bool {
    text.utf8.count == length && text.utf8.allSatisfy { alphabet.contains($0) }
  }
}

/// Fingerprints of a command under the pepper, and the ones before.
struct Fingerprints: Sendable {
  let current: [UInt8]
  let former: [[UInt8]]
}

/// An order whose fingerprint is keyed.
protocol KeyedOrder: CommandOrder {
  var fingerprints: Fingerprints { get }
}

extension KeyedOrder {
  var fingerprint: [UInt8] { fingerprints.current }
  func formerFingerprints() -> [[UInt8]] { fingerprints.former }
}
