import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import Mail

/// Checks the DNS records that receivers of mail require of its senders: SPF, DKIM and DMARC.
struct MailCheck {
  let texts: @Sendable (String) async throws(TextRecords.Failure) -> [String]

  /// Of an SPF record (RFC 7208, 4.6.4).
  static let maxSPFLookUps = 10
  /// Bytes of the SubjectPublicKeyInfo of a 2048-bit RSA key. RFC 8301 requires 1024 bits, receivers more.
  private static let goodRSABytes = 290

  func findings(_ configuration: MailWorkerConfiguration) async -> [Finding] {
    var findings: [Finding] = []
    for sender in configuration.senders {
      guard let from = sender.from else { continue }
      findings.append(relay(sender, configuration.relay))
      findings.append(await spf((sender.envelope ?? from).domain))
      if sender.keys.isEmpty {
        findings.append(
          Finding("DKIM of \(from.domain)", .failed, "no key signs", hint: "give the sender keys in mail-worker.json5"))
      }
      for key in sender.keys { findings.append(await dkim(key)) }
      findings.append(await dmarc(from.domain, sender))
    }
    return findings
  }

  private func relay(_ sender: SenderSettings, _ rules: RelayRules) -> Finding {
    let check = "Apple's relay, from \(sender.from?.text ?? "")"
    do {
      if let problem = rules.problem(with: try sender.sender(signer: DKIMSigner())) {
        return Finding(
          check, .failed, problem, hint: "register the source with Apple and name it in relay.registeredSources")
      }
      return Finding(check, .ok, "From and envelope sender are registered sources, and a key signs for From")
    } catch {
      return Finding(check, .failed, "\(error)", hint: "correct the sender's keys in mail-worker.json5")
    }
  }

  private func records(_ name: String, _ check: String) async -> Result<[String], LookUpFailed> {
    do {
      return .success(try await texts(name))
    } catch {
      return .failure(
        LookUpFailed(
          finding: Finding(
            check, .failed, "\(name) cannot be looked up: \(error)", hint: "look at /etc/resolv.conf and its servers")))
    }
  }

  private struct LookUpFailed: Error { let finding: Finding }
}

// MARK: - SPF

extension MailCheck {
  func spf(_ domain: String) async -> Finding {
    let check = "SPF of \(domain)"
    let records: [String]
    switch await self.records(domain, check) {
    case .success(let found): records = found.filter { $0 == "v=spf1" || $0.hasPrefix("v=spf1 ") }
    case .failure(let failure): return failure.finding
    }
    let publish = "publish TXT \(domain): v=spf1 include:<domain that your mail server's operator names> -all"
    guard let record = records.first else { return Finding(check, .failed, "there is no record", hint: publish) }
    guard records.count == 1 else {
      return Finding(check, .failed, "there are \(records.count) records, which counts as an error", hint: "leave one")
    }
    let terms = record.split(separator: " ").dropFirst().map { $0.lowercased() }
    if terms.contains("+all") || terms.contains("all") {
      return Finding(check, .failed, "it lets anyone send: \(record)", hint: "end it with -all")
    }
    if terms.contains("?all") {
      return Finding(
        check, .warning, "it is neutral about all other servers (?all): \(record)", hint: "end it with -all or ~all")
    }
    let lookUps = await spfLookUps(terms, in: [domain])
    if lookUps > Self.maxSPFLookUps {
      return Finding(
        check, .failed, "it makes more than \(Self.maxSPFLookUps) look-ups, including those of the records it includes",
        hint: "include fewer records")
    }
    let ends = terms.contains { $0.hasSuffix("all") || $0.hasPrefix("redirect=") }
    if !ends || terms.count == 1 && terms[0].hasSuffix("all") {
      return Finding(check, .warning, "it names no server, or does not end in -all or ~all: \(record)", hint: publish)
    }
    return Finding(check, .ok, record)
  }

  /// Number of look-ups of a record and of those that it includes or redirects to, counted up to one too many.
  private func spfLookUps(_ terms: [String], in chain: Set<String>) async -> Int {
    var count = 0
    for term in terms where Self.looksUp(term) && count <= Self.maxSPFLookUps {
      count += 1
      guard let name = Self.included(by: term), !chain.contains(name), chain.count <= Self.maxSPFLookUps,
        case .success(let found) = await records(name, "SPF of \(name)"),
        let record = found.first(where: { $0.hasPrefix("v=spf1 ") })
      else { continue }
      let inner = record.split(separator: " ").dropFirst().map { $0.lowercased() }
      count += await spfLookUps(inner, in: chain.union([name]))
    }
    return count
  }

  /// Name whose record a term stands for. `nil` if there is none or it depends on the mail (macros).
  private static func included(by term: String) -> String? {
    let term = term.drop { "+-~?".contains($0) }
    guard let prefix = ["include:", "redirect="].first(where: term.hasPrefix), !term.contains("%") else { return nil }
    return String(term.dropFirst(prefix.count))
  }

  private static func looksUp(_ term: String) -> Bool {
    let name = term.drop { "+-~?".contains($0) }.prefix { $0 != ":" && $0 != "/" && $0 != "=" }
    return ["include", "a", "mx", "ptr", "exists", "redirect"].contains(String(name))
  }
}

// MARK: - DKIM

extension MailCheck {
  private func dkim(_ key: SenderSettings.Key) async -> Finding {
    let name = "\(key.selector)._domainkey.\(key.domain)"
    let check = "DKIM key \(name)"
    let expected: String
    let kind: String
    let isShort: Bool
    do {
      let signing = try DKIMKey(
        domain: key.domain, selector: key.selector, pem: key.pem.reveal(), signer: DKIMSigner())
      let info = try PublicKeyFile.subjectPublicKeyInfo(ofPrivateKey: Array(key.pem.reveal().utf8))
      kind = signing.algorithm == .rsa ? "rsa" : "ed25519"
      expected = Base64.encode(signing.algorithm == .rsa ? info : Array(info.suffix(Self.ed25519Bytes)))
      isShort = signing.algorithm == .rsa && info.count < Self.goodRSABytes
    } catch {
      return Finding(check, .failed, "keyFile: \(error)", hint: "openssl genpkey -algorithm RSA -out KEY.pem")
    }
    switch await records(name, check) {
    case .success(let records): return Self.finding(check, name, records, kind, expected, isShort)
    case .failure(let failure): return failure.finding
    }
  }

  private static let ed25519Bytes = 32

  static func finding(
    _ check: String, _ name: String, _ records: [String], _ kind: String, _ expected: String, _ isShort: Bool
  ) -> Finding {
    let publish = "publish TXT \(name): v=DKIM1; k=\(kind); p=\(expected)"
    guard let record = records.first(where: { parsed($0)["p"] != nil }) else {
      return Finding(check, .failed, "there is no record", hint: publish)
    }
    let tags = parsed(record)
    let published = tags["p"] ?? ""
    if published.isEmpty { return Finding(check, .failed, "the record revokes the key", hint: publish) }
    if tags["k", default: "rsa"] != kind || published != expected {
      return Finding(check, .failed, "the record has another key than keyFile", hint: publish)
    }
    if tags["t", default: ""].split(separator: ":").contains("y") {
      return Finding(check, .warning, "the record says that it is a test (t=y)", hint: "take t=y out of it")
    }
    if isShort { return Finding(check, .warning, "the key is short", hint: "use an RSA key with 2048 bits") }
    return Finding(check, .ok, "the record has the key (\(kind))")
  }

  /// `name=value` pairs (RFC 6376, 3.2), without white space.
  static func parsed(_ record: String) -> [String: String] {
    var tags: [String: String] = [:]
    for pair in record.split(separator: ";") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { continue }
      tags[String(parts[0].filter { !$0.isWhitespace })] = String(parts[1].filter { !$0.isWhitespace })
    }
    return tags
  }
}

// MARK: - DMARC

extension MailCheck {
  /// Checks the record of the domain, else the one of the nearest domain above it: only a list of all public suffixes
  /// could tell the organizational domain.
  private func dmarc(_ domain: String, _ sender: SenderSettings) async -> Finding {
    let check = "DMARC of \(domain)"
    var name = domain[...]
    while name.contains(".") {
      switch await records("_dmarc.\(name)", check) {
      case .failure(let failure): return failure.finding
      case .success(let records):
        if let record = records.first(where: { $0.hasPrefix("v=DMARC1") }) {
          return Self.finding(check, record, domain, sender)
        }
      }
      name = name[(name.firstIndex(of: ".").map { name.index(after: $0) } ?? name.endIndex)...]
    }
    return Finding(
      check, .warning, "there is no record", hint: "publish TXT _dmarc.\(domain): v=DMARC1; p=none; rua=mailto:…")
  }

  private static func finding(_ check: String, _ record: String, _ domain: String, _ sender: SenderSettings) -> Finding
  {
    let tags = parsed(record)
    guard let policy = tags["p"], ["none", "quarantine", "reject"].contains(policy) else {
      return Finding(check, .failed, "it has no policy: \(record)", hint: "give it p=none, quarantine or reject")
    }
    let signers = sender.keys.map(\.domain)
    let isSigned = signers.contains { tags["adkim"] == "s" ? $0 == domain : aligned($0, domain) }
    let envelope = sender.envelope?.domain ?? domain
    let isSent = tags["aspf"] == "s" ? envelope == domain : aligned(envelope, domain)
    if !isSigned && !isSent {
      return Finding(
        check, .failed, "neither a DKIM key nor the envelope sender aligns with \(domain), policy \(policy)",
        hint: "sign for \(domain), or send from it")
    }
    return Finding(check, .ok, "policy \(policy)\(isSigned ? ", DKIM aligns" : "")\(isSent ? ", SPF aligns" : "")")
  }

  /// Whether one is the other or below it, an approximation of "same organizational domain".
  private static func aligned(_ one: String, _ other: String) -> Bool {
    one == other || one.hasSuffix("." + other) || other.hasSuffix("." + one)
  }
}
