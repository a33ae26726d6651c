import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

enum VerifyCommand {
  static let group = CommandEntry(
    "verify", "Verifies a phone number through the coordinator.",
    [start, check, Find.entry, status, cancel])

  private static let purposes = VerificationPurpose.allCases.map(\.rawValue).joined(separator: ", ")

  struct VerificationOptions: CommandOptions {
    let id: String

    init(_ reader: OptionReader) {
      id = reader.operand("ID", "Verification ID.")
      if Self.isNumber(id) {
        reader.fail("ID is a phone number: countersign verify find NUMBER lists its verifications, with their IDs")
      }
    }

    /// An ID has neither a plus sign nor so many digits alone.
    private static func isNumber(_ text: String) -> Bool {
      text.hasPrefix("+")
        || (minDigits...maxDigits).contains(text.count { $0.isASCII && $0.isNumber })
          && text.allSatisfy { $0.isASCII && $0.isNumber || " -()./".contains($0) }
    }

    private static let minDigits = 5
    /// ITU-T E.164, 6.2.1.
    private static let maxDigits = 15
  }
}

// MARK: - Start

extension VerifyCommand {
  struct StartOptions: CommandOptions {
    let app, language, region, ip: String?
    let purpose: VerificationPurpose?
    let subject, requester: String?
    let receipt, secret, recaptchaToken: String?
    let number: String
    let variables: [String: String]

    init(_ reader: OptionReader) {
      app = reader.text("app", "APP", "App: com.example.app unless given.")
      language = reader.text("language", "CODE", "Language of the SMS, BCP 47: pt-BR.")
      region = reader.text("region", "CODE", "Region of a number in national form: US.")
      ip = reader.text("ip", "ADDRESS", "Address of the client, for its limits.")
      purpose = reader.word("purpose", "WORD", "Purpose of the code: \(purposes); signIn unless given.")
      subject = reader.text("subject", "ID", "Account, or account and enrollment, that the second factor is for.")
      requester = reader.text("requester", "ID", "Opaque name of the client, for its limits.")
      receipt = reader.text(
        "receipt", "RECEIPT", "Receipt of app verify; with --secret, or in addition to --recaptcha-token.")
      secret = reader.text("secret", "SECRET", "Secret that was pushed to the device.")
      recaptchaToken = reader.text(
        "recaptcha-token", "TOKEN", "Token that reCAPTCHA gave the app, instead of receipt and secret.")
      variables = CustomVariableOption.read(reader)
      number = reader.operand("NUMBER", "Phone number, E.164, or national with --region.")
    }

    fileprivate func proof() throws(UsageError) -> StartVerification.Proof? {
      switch (receipt, secret, recaptchaToken) {
      case (nil, nil, nil): return nil
      case (_, nil, let token?):
        var proof = StartVerification.Proof(recaptchaToken: SecretField(Secret(token)))
        proof.receipt = receipt
        return proof
      case (let receipt?, let secret?, nil):
        return StartVerification.Proof(receipt: receipt, secret: SecretField(Secret(secret)))
      default: throw UsageError("give --receipt with --secret, or --recaptcha-token")
      }
    }
  }

  static let start = CommandEntry(
    "start", "Starts a verification: an SMS with a code is sent.", options: StartOptions.self
  ) { options, context in
    var command = StartVerification(
      phoneNumber: options.number, app: options.app ?? "com.example.app", languageCode: options.language,
      proof: try options.proof(), client: options.ip.map { StartVerification.Client(ip: $0) })
    command.region = options.region
    command.purpose = options.purpose
    command.subject = options.subject
    command.requester = options.requester
    command.variables = options.variables.isEmpty ? nil : options.variables
    let isAssessed = options.recaptchaToken != nil && context.global.timeout == nil
    let reply = try await context.backend().send(
      command, timeout: isAssessed ? assessmentTimeout : context.timeout)
    return CommandOutput(text: text(reply), reply: reply)
  }

  /// Longer than for other commands: a reCAPTCHA token is assessed before the answer.
  private static let assessmentTimeout = Duration.seconds(20)

  private static func text(_ reply: VerificationStarted) -> String {
    var lines = [
      "verification ID  \(reply.verificationID)",
      "phone number     \(reply.phoneNumber)",
      "code             \(reply.codeLength) digits, until \(reply.expiresAt.rfc3339)",
      "next SMS         in \(reply.resendAfter) s at the earliest",
    ]
    if reply.testNumber { lines.append("a fictional number: no SMS is sent, its code is in the configuration") }
    if reply.resent { lines.append("the verification was in progress already: its code is sent again") }
    return lines.joined(separator: "\n")
  }
}

// MARK: - Check, status, cancel

extension VerifyCommand {
  struct CheckOptions: CommandOptions {
    let app, subject: String?
    let purpose: VerificationPurpose?
    let id, code: String

    init(_ reader: OptionReader) {
      app = reader.text("app", "APP", "App that the verification has to be of.")
      purpose = reader.word("purpose", "WORD", "Purpose that it has to have: \(VerifyCommand.purposes).")
      subject = reader.text("subject", "ID", "Account, or account and enrollment, that it has to be for.")
      id = reader.operand("ID", "Verification ID.")
      code = reader.operand("CODE", "Code.")
    }
  }

  static let check = CommandEntry("check", "Checks the code that was sent.", options: CheckOptions.self) {
    options, context in
    let reply = try await context.send(
      CheckVerification(
        verificationID: options.id, code: SecretField(Secret(options.code)), app: options.app,
        purpose: options.purpose, subject: options.subject))
    return CommandOutput(
      text: "approved: \(reply.phoneNumber) for \(reply.app) at \(reply.approvedAt.rfc3339)", reply: reply)
  }

  static let status = CommandEntry(
    "status", "Shows the life of a verification across all processes.", options: VerificationOptions.self
  ) { options, context in
    let reply = try await context.send(GetVerificationStatus(verificationID: options.id))
    return CommandOutput(text: text(reply), reply: reply)
  }

  private static func text(_ status: VerificationStatus) -> String {
    var table = TextTable("TIME", "PROCESS", "EVENT", "SMS", "LANE", "DETAIL")
    table.rows = status.timeline.map(row)
    var head =
      "\(status.state.rawValue): \(status.phoneNumber) for \(status.app), code until \(status.expiresAt.rfc3339)"
    if let failure = status.failure {
      head += "\nfailed: \(failure.code)" + (failure.detail.map { " (\($0))" } ?? "")
    }
    return table.rows.isEmpty ? head : "\(head)\n\n\(table.text)"
  }

  private static func row(_ entry: VerificationStatus.Entry) -> [String] {
    [
      entry.at.rfc3339WithMilliseconds, entry.worker ?? "coordinator", entry.event,
      entry.job.map { "\($0)" } ?? "", entry.lane ?? "", OperationText.detail(entry),
    ]
  }

  static let cancel = CommandEntry("cancel", "Ends a verification.", options: VerificationOptions.self) {
    options, context in
    let reply = try await context.send(CancelVerification(verificationID: options.id))
    return CommandOutput(text: "canceled", reply: reply)
  }
}
