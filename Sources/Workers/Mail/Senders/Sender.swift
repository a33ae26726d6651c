import CountersignCryptography
public import CountersignTelemetry
public import JobEngine
import ServiceRuntime

/// One entry of `senders`.
public struct SenderSettings: Sendable {
  /// `nil` for an invalid address, which was reported.
  public let from: MailAddress?
  public let name: String?
  public let envelope: MailAddress?
  let replyTo: MailAddress?
  public let keys: [Key]

  /// A private key and the name of its DNS record.
  public struct Key: Sendable {
    public let selector: String
    public let domain: String
    /// PEM.
    public let pem: Secret
  }

  /// In Unicode scalars.
  static let maxNameLength = 64

  init(_ section: ConfigurationSection) {
    let from = Self.address(section.string("from", "The address in From."), "from", section)
    self.from = from
    name = section.optionalString("name", "The display name.")
    section.check(
      "name", name.map { MailPlainText.isLine($0) && $0.unicodeScalars.count <= Self.maxNameLength } ?? true,
      "must be one line of at most \(Self.maxNameLength) printable characters")
    envelope = section.optionalString(
      "envelopeFrom", "The envelope sender, to which reports of failed delivery go; from, if absent."
    ).flatMap { Self.address($0, "envelopeFrom", section) }
    replyTo = section.optionalString("replyTo", "The address in Reply-To.")
      .flatMap { Self.address($0, "replyTo", section) }
    let entries = section.sections("keys", "The DKIM keys; each signs.")
    section.check("keys", entries.count <= Self.maxKeys, "has more than \(Self.maxKeys) entries")
    keys = entries.map { Self.key($0, from?.domain ?? "") }
  }

  /// RSA and Ed25519, old and new.
  static let maxKeys = 4

  private static func key(_ section: ConfigurationSection, _ domain: String) -> Key {
    let selector = section.string("selector", "The public key is at <selector>._domainkey.<domain> in DNS.")
    section.check(
      "selector",
      selector.isEmpty
        || selector.isMatched(by: { $0.isLetterOrDigit || "-_.".unicodeScalars.contains($0) }, length: 1...63),
      "must be letters, digits, hyphens and dots")
    let pem = section.requiredSecretFile("keyFile", "The private key, RSA or Ed25519, PEM (openssl genpkey).")
    check(pem, section)
    return Key(
      selector: selector,
      domain: section.string("domain", default: domain, "The signing domain; that of from, if absent.").lowercased(),
      pem: pem)
  }

  /// Sizes of RSA keys (RFC 8301, section 3.2): verifiers take none below the first, and signers should use the second.
  private static let rsaBits = (least: 1024, good: 2048)

  /// An invalid key is found by its trial signature.
  private static func check(_ pem: Secret, _ section: ConfigurationSection) {
    guard !pem.isEmpty, let bits = try? PublicKeyFile.rsaBits(ofPrivateKey: Array(pem.reveal().utf8)) else { return }
    let remedy = "make one with: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:\(rsaBits.good)"
    if bits < rsaBits.least {
      section.problem("keyFile", "is an RSA key of \(bits) bits, which receivers do not accept (RFC 8301); \(remedy)")
    } else if bits < rsaBits.good {
      section.warning("keyFile", "is an RSA key of \(bits) bits; \(rsaBits.good) are recommended (RFC 8301); \(remedy)")
    }
  }

  private static func address(_ text: String, _ key: String, _ section: ConfigurationSection) -> MailAddress? {
    guard !text.isEmpty else { return nil }
    let address = MailAddress(text)
    section.check(key, address != nil, "must be an address such as hello@example.com")
    return address
  }

  /// Reports at the start what each refused job would report otherwise.
  func warn(of relay: RelayRules, _ section: ConfigurationSection, _ path: String) {
    // A sender whose keys cannot sign is reported where it is made for use.
    guard let sender = try? sender(), let problem = relay.problem(with: sender) else { return }
    section.warning(path, "mail from it to Apple's relay is refused: \(problem)")
  }

  /// The sender with its keys.
  ///
  /// - Throws: the key that cannot sign.
  public func sender(signer: DKIMSigner) throws(WorkerError) -> Sender {
    var keys: [DKIMKey] = []
    for key in self.keys {
      do {
        // libopendkim reads the key for every signature, which takes longer than signing.
        let pem = try RSAKeyFile.traditionalPEM(Array(key.pem.reveal().utf8)) ?? key.pem.reveal()
        keys.append(try DKIMKey(domain: key.domain, selector: key.selector, pem: pem, signer: signer))
      } catch {
        throw WorkerError(
          .invalidConfiguration, "senders: keyFile of \(key.selector)._domainkey.\(key.domain): \(error)")
      }
    }
    guard let from else { throw WorkerError(.invalidConfiguration, "senders: from is not an address") }
    return Sender(from: from, name: name, envelope: envelope, replyTo: replyTo, keys: keys)
  }

  private func sender() throws -> Sender { try sender(signer: DKIMSigner()) }
}

/// A sender of mail: header, envelope and signatures belong together.
public struct Sender: Sendable {
  /// The header field `From`.
  public let from: MailAddress
  /// Display name.
  public let name: String?
  /// Envelope sender, which receives reports of failed delivery. Its domain has the SPF record.
  public let envelope: MailAddress
  public let replyTo: MailAddress?
  /// DKIM keys. Each signs.
  public let keys: [DKIMKey]

  /// - Parameters:
  ///   - from: header field `From`.
  ///   - name: display name.
  ///   - envelope: envelope sender; `from` if `nil`.
  ///   - replyTo: header field `Reply-To`.
  ///   - keys: DKIM keys; each signs.
  public init(
    from: MailAddress, name: String? = nil, envelope: MailAddress? = nil, replyTo: MailAddress? = nil,
    keys: [DKIMKey] = []
  ) {
    self.from = from
    self.name = name
    self.envelope = envelope ?? from
    self.replyTo = replyTo
    self.keys = keys
  }
}
