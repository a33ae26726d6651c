import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

enum CommandFields {
  static func claim(
    of command: StartVerification, at address: ClientAddress?, _ hashes: KeyedHashes
  ) throws(APIError) -> RequesterClaim {
    let name = try text(command.requester, "requester", max: StartVerification.maxRequesterBytes)
    let instance = try text(
      command.client?.instance, "client.instance", max: StartVerification.Client.maxInstanceBytes)
    return RequesterClaim(
      named: name.map { hashes.requester(named: $0, app: command.app) },
      client: address.map { hashes.requester(at: $0, instance: instance, app: command.app) })
  }

  static func subject(of command: StartVerification) throws(APIError) -> String? {
    let purpose = command.purpose ?? .signIn
    let subject = try text(command.subject, "subject", max: StartVerification.maxSubjectBytes)
    guard (subject != nil) == purpose.hasSubject else {
      let what = purpose.hasSubject ? "is required with" : "must be absent with"
      throw APIError(.invalidArgument, "subject \(what) the purpose \(purpose.rawValue)", field: "subject")
    }
    return subject
  }

  static func recaptchaAction(of proof: StartVerification.Proof) throws(APIError) -> String? {
    let field = "proof.recaptchaAction"
    guard let action = try text(proof.recaptchaAction, field, max: StartVerification.Proof.maxActionBytes) else {
      return nil
    }
    // Characters that reCAPTCHA accepts in the name of an action.
    let isAction = action.unicodeScalars.allSatisfy { scalar in
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "/", "_": true
      default: false
      }
    }
    guard isAction else {
      throw APIError(.invalidArgument, "\(field) must consist of letters, digits, / and _", field: field)
    }
    return action
  }

  /// Values of the template's own variables, as far as the app's configuration leaves them to the requesting service.
  /// The worker judges the values more closely.
  static func variables(of command: StartVerification, _ app: AppProfile) throws(APIError) -> [String: String] {
    let given = command.variables ?? [:]
    for (name, value) in given.sorted(by: { $0.key < $1.key }) {
      guard app.startVariables.contains(name) else { throw unknownVariable(name, app) }
      guard CustomVariables.isValue(value) else {
        let problem = "must be 1 to \(CustomVariables.maxValueLength) characters without line breaks"
        throw APIError(.invalidArgument, "variables.\(name) \(problem)", field: "variables.\(name)")
      }
    }
    if let name = app.startVariables.first(where: { given[$0] == nil && app.variables[$0] == nil }) {
      throw APIError(
        .invalidArgument, "variables.\(name) is missing: the app's SMS needs it", field: "variables.\(name)",
        reason: "MISSING_VARIABLE")
    }
    return given
  }

  /// It repeats the name only if it could be one: it came from outside.
  private static func unknownVariable(_ name: String, _ app: AppProfile) -> APIError {
    let field = CustomVariables.isName(name) ? "variables.\(name)" : "variables"
    let hint = NearestName.of(name, among: app.startVariables).map { " (did you mean \($0)?)" } ?? ""
    return APIError(
      .invalidArgument, "\(field) names a variable that is not among startVariables of the app's configuration\(hint)",
      field: field)
  }

  /// `nil` for an empty field, in a check as in a start: services whose types cannot express absence send empty text.
  static func unlessEmpty(_ text: String?) -> String? {
    text.flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func text(_ text: String?, _ field: String, max: Int) throws(APIError) -> String? {
    guard let text = unlessEmpty(text) else { return nil }
    guard text.utf8.count <= max else {
      throw APIError(.invalidArgument, "\(field) is longer than \(max) bytes", field: field)
    }
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw APIError(.invalidArgument, "\(field) has control characters", field: field)
    }
    return text
  }
}

extension CoordinatorRules {
  func app(_ id: String) throws(APIError) -> AppProfile {
    guard !id.isEmpty else { throw .missingApp }
    guard let app = profile(id) else { throw .unknownApp }
    return app
  }
}

extension SecretField {
  func read(with keys: KeyRing, _ context: SealContext, field: String) throws(APIError) -> Secret {
    do {
      return try open(with: keys, for: context)
    } catch {
      throw APIError(.invalidArgument, "\(field) \(error)", field: field)
    }
  }
}

/// The syntax of a BCP 47 tag. The workers know the available languages.
enum LanguageTag {
  static func check(_ code: String?, field: String) throws(APIError) -> String? {
    guard let code, !code.isEmpty else { return nil }
    let isTag = code.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "-")
        || byte == UInt8(ascii: "_") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
    guard isTag, code.utf8.count <= maxLength else {
      throw APIError(.invalidArgument, "\(field) must be a BCP 47 tag such as pt-BR", field: field)
    }
    return code
  }

  /// RFC 5646, section 4.4.1: 35 characters hold all tags but those for private use.
  private static let maxLength = 35
}

/// Identifies a requester by keyed hashes under the pepper, never by their input.
struct Requester: Sendable, Hashable {
  /// Hash under the current pepper. The stored one. Empty for an unnamed requester.
  var hash: [UInt8]
  /// Hash under the previous pepper. It recognizes requesters from before the change.
  var formerHash: [UInt8]?

  /// All requesters without any identification: one requester for each app.
  static let nobody = Requester(hash: [])

  var stored: [UInt8]? { hash.isEmpty ? nil : hash }

  func isSame(as stored: [UInt8]) -> Bool {
    stored == hash || formerHash.map { $0 == stored } ?? false
  }
}

struct RequesterClaim: Sendable, Hashable {
  var named: Requester?
  var client: Requester?

  func requester(device: TokenHash?) -> Requester {
    named ?? device.map { Requester(hash: $0.current, formerHash: $0.earlier) } ?? client ?? .nobody
  }

  func text(isFormer: Bool) -> [UInt8] {
    let requester = named ?? client ?? .nobody
    return isFormer ? requester.formerHash ?? requester.hash : requester.hash
  }
}

extension KeyedHashes {
  func requester(named name: String, app: String) -> Requester {
    requester("countersign requester", [Array(app.utf8), Array(name.utf8)])
  }

  func requester(at address: ClientAddress, instance: String?, app: String) -> Requester {
    requester("countersign client", [Array(app.utf8), Array(address.network.utf8), Array((instance ?? "").utf8)])
  }

  private func requester(_ label: StaticString, _ parts: [[UInt8]]) -> Requester {
    let bytes = VerificationCodes.framed(label, parts)
    return Requester(
      hash: current.key.authenticate(bytes), formerHash: previous.map { $0.key.authenticate(bytes) })
  }
}

/// Makes fingerprints of commands: they distinguish orders under the same sender and `message_id`.
///
/// The body's bytes are not part of one, since a sender that tries again may write the same JSON in another order and
/// seal the same secret anew.
enum CommandFingerprint {
  /// Parts that a quick search could guess have to be keyed.
  static func hash(_ name: String, _ parts: [String]) -> [UInt8] {
    var bytes = Array(name.utf8)
    for part in parts {
      bytes.append(0)
      bytes.append(contentsOf: part.utf8)
    }
    return SHA256.hash(bytes)
  }

  static func text(_ hash: TokenHash, isFormer: Bool) -> String {
    Base64URL.encode(isFormer ? hash.earlier ?? hash.current : hash.current)
  }
}

// Errors that belong to no single flow.
extension APIError {
  static let missingPhoneNumber = APIError(
    .missingPhoneNumber, "the phone number is missing: send one in E.164, such as +14155550123", field: "phoneNumber")
  static let missingApp = APIError(
    .missingClientIdentifier, "the app is missing: send the ID under which the configuration has it", field: "app")
  static let unknownApp = APIError(
    .invalidArgument,
    "the configuration has no such app: add it under 'apps' or, with 'codes', to its project, or correct the name",
    field: "app")
  static let appNotVerified = APIError(
    .appNotVerified,
    "app verification is off for this app, so only its fictional numbers complete: set it to 'trusted' if the caller vouches for its client",
    field: "app")
  static let numberTypeRefused = APIError(
    .invalidPhoneNumber, "numbers of this type get no message: give the number of a mobile phone", field: "phoneNumber")
  static let regionNotAllowed = APIError(
    .operationNotAllowed,
    "messages to this region are not allowed: add it to 'regions.allowed' in the configuration of the coordinator",
    field: "phoneNumber")
}
