import CommandEngine
import CountersignCryptography
import ServiceRuntime

/// Makes codes, recreates them, and compares them.
///
/// The code is expanded from a random seed: `HMAC-SHA-256(pepper, "code" ‖ verification ID ‖ seed ‖ counter)` gives
/// four 64-bit numbers; those beyond the largest multiple of 10^length are skipped, so that every code is equally
/// likely, and the first remaining one gives the digits.
struct VerificationCodes: Sendable {
  static let seedLength = 32
  static let digestLength = 32

  let current: Pepper
  let previous: Pepper?
  private let length: Int
  private let decoy: CodeAtRest
  private static let decoyID = "AAAAAAAAAAAAAAAAAAAAAA"

  init(current: Pepper, previous: Pepper? = nil, length: Int = 6) {
    self.current = current
    self.previous = previous
    self.length = length
    let none = [UInt8](repeating: 0, count: Self.digestLength)
    decoy = CodeAtRest(pepperID: current.id, seed: none, digest: none)
  }

  func makeCode(
    for id: String, seed: [UInt8]
  ) -> (code: String, atRest: CodeAtRest) {
    let code = Self.expand(current, id: id, seed: seed, length: length)
    return (code, CodeAtRest(pepperID: current.id, seed: seed, digest: Self.digest(current, id: id, code: code)))
  }

  func keep(fixedCode code: String, for id: String) -> CodeAtRest {
    CodeAtRest(pepperID: current.id, seed: [], digest: Self.digest(current, id: id, code: code))
  }

  func code(of atRest: CodeAtRest, for id: String) -> String? {
    guard let pepper = pepper(atRest.pepperID), !atRest.seed.isEmpty else { return nil }
    let code = Self.expand(pepper, id: id, seed: atRest.seed, length: length)
    return constantTimeEquals(Self.digest(pepper, id: id, code: code), atRest.digest) ? code : nil
  }

  func knowsPepper(of atRest: CodeAtRest) -> Bool {
    pepper(atRest.pepperID) != nil
  }

  /// Takes the same time for a right and a wrong code.
  func matches(_ candidate: String, _ atRest: CodeAtRest, for id: String) -> Bool {
    // With an unknown pepper the digest cannot match; the work is the same.
    let pepper = pepper(atRest.pepperID) ?? current
    return constantTimeEquals(Self.digest(pepper, id: id, code: candidate), atRest.digest)
  }

  /// Does the work of ``matches(_:_:for:)`` when there is nothing to compare with, so that timing does not reveal which
  /// verification IDs exist.
  func matchNothing(_ candidate: String) {
    _ = matches(candidate, decoy, for: Self.decoyID)
  }

  private func pepper(_ id: [UInt8]) -> Pepper? {
    if id == current.id { return current }
    if let previous, id == previous.id { return previous }
    return nil
  }

  private static func digest(_ pepper: Pepper, id: String, code: String) -> [UInt8] {
    pepper.key.authenticate(framed("countersign check", texts: [id, code]))
  }

  private static func expand(_ pepper: Pepper, id: String, seed: [UInt8], length: Int) -> String {
    let range = (0..<length).reduce(UInt64(1)) { product, _ in product * 10 }
    let limit = UInt64.max - (UInt64.max % range + 1) % range
    var counter: UInt8 = 0
    while true {
      let block = pepper.key.authenticate(framed("countersign code", texts: [id], [seed, [counter]]))
      for start in stride(from: 0, to: block.count, by: 8) {
        let number = block[start..<start + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard number <= limit else { continue }
        let digits = String(number % range)
        return String(repeating: "0", count: length - digits.count) + digits
      }
      counter &+= 1
    }
  }

  /// Concatenates the parts, each after its length, so that no two lists of parts give the same bytes.
  static func framed(_ label: StaticString, texts: [String] = [], _ parts: [[UInt8]] = []) -> [UInt8] {
    var bytes: [UInt8] = []
    let size = texts.reduce(label.utf8CodeUnitCount) { $0 + 2 + $1.utf8.count }
    bytes.reserveCapacity(parts.reduce(size) { $0 + 2 + $1.count })
    label.withUTF8Buffer { bytes.append(contentsOf: $0) }
    for text in texts {
      append(length: text.utf8.count, to: &bytes)
      bytes.append(contentsOf: text.utf8)
    }
    for part in parts {
      append(length: part.count, to: &bytes)
      bytes.append(contentsOf: part)
    }
    return bytes
  }

  private static func append(length: Int, to bytes: inout [UInt8]) {
    bytes.append(UInt8(truncatingIfNeeded: length >> 8))
    bytes.append(UInt8(truncatingIfNeeded: length))
  }
}

/// A code at rest: enough to compare and resend it, not enough to read it.
///
/// A digest alone would do for comparing, but the same code has to be sent again while it is valid, so a random seed is
/// stored next to it: the pepper and the seed together yield the code, the database alone does not.
struct CodeAtRest: Sendable, Hashable, Codable {
  var pepperID: [UInt8]
  /// 256 random bits. Empty for the fixed code of a fictional number, which the configuration has.
  var seed: [UInt8]
  /// HMAC-SHA-256 of verification ID and code under the pepper.
  var digest: [UInt8]
}

extension CodeAtRest {
  var blob: [UInt8] { pepperID + digest + seed }

  init?(blob: [UInt8]) {
    let digestEnd = Pepper.idLength + VerificationCodes.digestLength
    guard blob.count == digestEnd || blob.count == digestEnd + VerificationCodes.seedLength else { return nil }
    pepperID = Array(blob[..<Pepper.idLength])
    digest = Array(blob[Pepper.idLength..<digestEnd])
    seed = Array(blob[digestEnd...])
  }
}

/// The secret for making and comparing codes. It is not in the database.
public struct Pepper: Sendable, CustomStringConvertible, CustomReflectable {
  static let minimumLength = 16
  static let idLength = 4

  /// Distinguishes peppers without revealing anything else.
  let id: [UInt8]
  let key: HMACSHA256Key

  init(_ bytes: [UInt8]) throws(CoordinationError) {
    guard bytes.count >= Self.minimumLength else {
      throw CoordinationError(
        message:
          "the pepper has \(bytes.count) bytes and needs \(Self.minimumLength) or more: make one with 'openssl rand -base64 32'"
      )
    }
    key = HMACSHA256Key(bytes)
    id = Array(SHA256.hash(Array("countersign pepper id\0".utf8) + bytes)[..<Self.idLength])
  }

  func checkValue(isUsed: Bool) -> CheckValue {
    CheckValue(file: "pepperFile", code: key.authenticate(CheckValue.label), isUsed: isUsed)
  }

  public var description: String { "Pepper(<redacted>)" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
