import CommandEngine
import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry

/// Makes a key for RS256 with the ID that it is given.
typealias SigningKeyGenerator = @Sendable (_ id: String) throws(JOSEError) -> SigningKey

let generateSigningKey: SigningKeyGenerator = { id throws(JOSEError) in try SigningKey.generateRSA(id: id) }

/// A key that signs ID tokens or session cookies, as it is stored: sealed with its times under the ring of token keys.
///
/// The row holds nothing but the sealed text. Number, times, public key and certificate come from what was opened, so
/// write access to the database does not suffice to make a trusted key.
struct SigningKeyRecord: Sendable {
  /// Bytes of the ID, which is in hexadecimal.
  private static let idBytes = 20

  let id: RecordID
  /// From 1.
  let number: Int
  let publishedAt: UnixTime
  let signsFrom: UnixTime
  let sealed: String
  let sealedUnder: String
  let key: SigningKey

  var purpose: SigningKeyPurpose { id.kind == SigningKeyPurpose.cookies.kind ? .cookies : .idTokens }

  /// Takes as long as `generate`: a tenth of a second and more.
  static func make(
    _ purpose: SigningKeyPurpose = .idTokens, number: Int, publishedAt: UnixTime, signsFrom: UnixTime,
    sealedUnder ring: KeyRing, by generate: SigningKeyGenerator = generateSigningKey
  ) throws(SigningKeyProblem) -> SigningKeyRecord {
    let name = Hexadecimal.encode(SecureRandom.bytes(idBytes))
    guard let id = RecordID(purpose.kind, name) else {
      throw SigningKeyProblem(message: "the new signing key has no ID")
    }
    let key = try SigningKeyProblem.of { () throws(JOSEError) in try generate(name) }
    return try SigningKeyRecord(id, number, publishedAt, signsFrom, key, ring)
  }

  private init(
    _ id: RecordID, _ number: Int, _ publishedAt: UnixTime, _ signsFrom: UnixTime, _ key: SigningKey, _ ring: KeyRing
  ) throws(SigningKeyProblem) {
    guard let sealing = ring.sealing else { throw SigningKeyProblem(message: "the ring of token keys has no key") }
    self.id = id
    self.number = number
    self.publishedAt = publishedAt
    self.signsFrom = signsFrom
    self.key = key
    sealedUnder = sealing.id
    let header = [
      Header.form: id.kind.form, Header.id: id.text, Header.number: String(number),
      Header.publishedAt: String(publishedAt.milliseconds), Header.signsFrom: String(signsFrom.milliseconds),
    ]
    sealed = try SigningKeyProblem.of { () throws(JOSEError) in
      try JWE.seal(key.pkcs8(), with: sealing, header: header)
    }
  }

  func placed(
    at number: Int, signsFrom: UnixTime, sealedUnder ring: KeyRing
  ) throws(SigningKeyProblem) -> SigningKeyRecord {
    try SigningKeyRecord(id, number, publishedAt, signsFrom, key, ring)
  }

  func sealedAgain(under ring: KeyRing) throws(SigningKeyProblem) -> SigningKeyRecord {
    try SigningKeyRecord(id, number, publishedAt, signsFrom, key, ring)
  }

  // MARK: Storing

  private enum Header {
    static let form = "form"
    static let id = "key"
    static let number = "number"
    static let publishedAt = "publishedAt"
    static let signsFrom = "signsFrom"
  }

  struct Sealed {
    var text: String
  }

  func store(isNew: Bool = false, dueAt: UnixTime?, in set: inout WorkingSet) throws(StoreError) {
    try set.store(
      id, Sealed(text: sealed), isNew: isNew, dueAt: dueAt, discardAt: nil,
      uniqueKeys: [try UniqueKey(purpose.sequence, Array(String(number).utf8))], groupKeys: [try purpose.group])
  }

  init(_ id: RecordID, sealed: String, _ ring: KeyRing) throws(SigningKeyProblem) {
    let opened = try SigningKeyProblem.of { () throws(JOSEError) in try JWE.open(sealed, with: ring) }
    let header = opened.header
    guard header[Header.form] == id.kind.form, header[Header.id] == id.text, let sealedUnder = header["kid"],
      let number = header[Header.number].flatMap({ Int($0) }), number > 0,
      let publishedAt = header[Header.publishedAt].flatMap({ Int64($0) }),
      let signsFrom = header[Header.signsFrom].flatMap({ Int64($0) })
    else { throw SigningKeyProblem(message: "the sealed text is not that of this signing key") }
    self.id = id
    self.number = number
    self.publishedAt = UnixTime(milliseconds: publishedAt)
    self.signsFrom = UnixTime(milliseconds: signsFrom)
    self.sealed = sealed
    self.sealedUnder = sealedUnder
    key = try SigningKeyProblem.of { () throws(JOSEError) in try SigningKey(pkcs8: opened.plaintext, id: id.text) }
    guard key.algorithm == .rs256 else { throw SigningKeyProblem(message: "the signing key is not one for RS256") }
  }

  // MARK: Public part

  /// Some verifiers look at the time of a certificate, and clocks differ.
  private static let certificateSlack: Int64 = 86_400
  private static let certificateSeconds: Int64 = 10 * 365 * 86_400

  /// The same whenever they are made.
  func published() throws(SigningKeyProblem) -> KeysPublished.Key {
    guard let components = key.verifying.rsaComponents else {
      throw SigningKeyProblem(message: "the signing key is not one for RS256")
    }
    let start = publishedAt.seconds - Self.certificateSlack
    let der = try SigningKeyProblem.of { () throws(JOSEError) in
      try Certificate.selfSigned(
        key, commonName: purpose.certificateName, notBefore: start, notAfter: start + Self.certificateSeconds)
    }
    return KeysPublished.Key(id: id.text, n: components.n, e: components.e, certificate: Certificate.pem(der))
  }
}

extension RecordKind {
  fileprivate var form: String { "countersign \(self == SigningKeyPurpose.cookies.kind ? "cookie" : "signing") key" }
}

extension SigningKeyRecord.Sealed: StoredRecord {
  init(_ record: Record, _ fields: inout FieldCoder, _ sealed: Self?) throws(UnreadableFields) {
    text = try fields.required(1, sealed?.text)
  }
}

/// Safe to log.
struct SigningKeyProblem: Error, CustomStringConvertible {
  let message: String

  var description: String { message }

  static func of<Value>(_ body: () throws(JOSEError) -> Value) throws(SigningKeyProblem) -> Value {
    do throws(JOSEError) {
      return try body()
    } catch {
      throw SigningKeyProblem(message: "\(error)")
    }
  }
}
