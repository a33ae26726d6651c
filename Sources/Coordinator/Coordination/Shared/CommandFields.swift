import CountersignMessages

/// Bounds of the command fields that name requester, subject and purpose.
enum CommandFields {
  /// The claim of a start.
  /// - Parameter address: the client's address, if any.
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

  /// The subject of a start, which has to fit its purpose.
  static func subject(of command: StartVerification) throws(APIError) -> String? {
    let purpose = command.purpose ?? .signIn
    let subject = try text(command.subject, "subject", max: StartVerification.maxSubjectBytes)
    guard (subject != nil) == purpose.hasSubject else {
      let what = purpose.hasSubject ? "is required with" : "must be absent with"
      throw APIError(.invalidArgument, "subject \(what) the purpose \(purpose.rawValue)", field: "subject")
    }
    return subject
  }

  /// The action that a reCAPTCHA token is for.
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

  /// `nil` for an empty field, in a check as in a start: services whose types cannot express absence send empty text.
  static func unlessEmpty(_ text: String?) -> String? {
    text.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// - Returns: `nil` for a field that is absent or empty.
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

/// The syntax of a BCP 47 tag; the workers know the available languages.
enum LanguageTag {
  /// - Returns: `nil` for a tag that is absent or empty.
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
