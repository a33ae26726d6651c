import JOSE
import Messages
import PhoneNumbers
import Telemetry

/// Reads commands and judges them as far as the configuration goes. No I/O: all that is slow and needs no transaction is
/// done here, before it.
struct CommandPreparer: Sendable {
  private let rules: CoordinatorRules
  private let keeper: CodeKeeper
  private let jobs: SMSJobMaker
  private let keys: KeyRing

  init(_ rules: CoordinatorRules, keeper: CodeKeeper, jobs: SMSJobMaker, keys: KeyRing) {
    self.rules = rules
    self.keeper = keeper
    self.jobs = jobs
    self.keys = keys
  }

  static let types = [
    StartVerification.type, CheckVerification.type, GetVerificationStatus.type, CancelVerification.type,
  ]

  /// - Throws: the error that the caller gets.
  func prepare(_ envelope: Envelope, body: [UInt8], at now: UnixTime) throws(APIError) -> CommandRequest {
    let order: CommandRequest.Order =
      switch envelope.type {
      case StartVerification.type:
        .start(try start(decode(StartVerification.self, body), at: now))
      case CheckVerification.type:
        try check(decode(CheckVerification.self, body), envelope)
      case GetVerificationStatus.type:
        .status(verificationID: try decode(GetVerificationStatus.self, body).verificationID)
      case CancelVerification.type:
        .cancel(verificationID: try decode(CancelVerification.self, body).verificationID)
      default:
        throw APIError(ContractProblem(.unknownType, field: "type", "is not a command"))
      }
    return CommandRequest(envelope: envelope, fingerprint: order.fingerprint, order: order)
  }

  private func decode<Body: MessageBody>(_ type: Body.Type, _ body: [UInt8]) throws(APIError) -> Body {
    do {
      return try Body(json: body)
    } catch {
      guard error.code == .missingField, Body.self == StartVerification.self else { throw APIError(error) }
      switch error.field {
      case "phoneNumber": throw .missingPhoneNumber
      case "app": throw .missingApp
      default: throw APIError(error)
      }
    }
  }

  // MARK: Start

  private func start(_ command: StartVerification, at now: UnixTime) throws(APIError) -> StartOrder {
    guard !command.app.isEmpty else { throw .missingApp }
    guard let app = rules.apps[command.app] else { throw .unknownApp }
    let number = try parse(command)
    let fixedCode = app.fictionalNumbers[number.e164]
    if fixedCode == nil { try judge(number, app) }
    let languageCode = try language(command.languageCode) ?? app.languageCode
    let address = try address(command.client?.ip)
    return StartOrder(
      app: app, number: number, languageCode: languageCode, address: address, fixedCode: fixedCode,
      fresh: try fresh(app, number, languageCode, fixedCode: fixedCode, at: now))
  }

  private func parse(_ command: StartVerification) throws(APIError) -> PhoneNumber {
    guard !command.phoneNumber.isEmpty else { throw .missingPhoneNumber }
    let number: PhoneNumber
    do {
      number = try PhoneNumber.parse(command.phoneNumber, region: command.region.flatMap { $0.isEmpty ? nil : $0 })
    } catch {
      throw APIError(.invalidPhoneNumber, "the phone number cannot be read: \(error)", field: "phoneNumber")
    }
    guard number.isPossible else {
      throw APIError(
        .invalidPhoneNumber, "no phone number of its country is like this one: check its length", field: "phoneNumber")
    }
    return number
  }

  private func judge(_ number: PhoneNumber, _ app: AppProfile) throws(APIError) {
    guard app.verification == .trusted else { throw .appNotVerified }
    guard !rules.regions.refuses(number.type) else { throw .numberTypeRefused }
    guard rules.regions.allows(number.regionKey) else { throw .regionNotAllowed }
  }

  /// The form of a BCP 47 tag; which languages there are is the worker's business.
  private func language(_ code: String?) throws(APIError) -> String? {
    guard let code, !code.isEmpty else { return nil }
    let isTag = code.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "-")
        || byte == UInt8(ascii: "_") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
    guard isTag, code.utf8.count <= Self.maxLanguageLength else {
      throw APIError(.invalidArgument, "languageCode must be a BCP 47 tag such as pt-BR", field: "languageCode")
    }
    return code
  }

  /// RFC 5646, section 4.4.1: room for 35 characters holds all tags but those for private use.
  private static let maxLanguageLength = 35

  private func address(_ text: String?) throws(APIError) -> ClientAddress? {
    guard let text, !text.isEmpty else { return nil }
    guard let address = ClientAddress(text) else {
      throw APIError(.invalidArgument, "client.ip must be an IPv4 or IPv6 address", field: "client.ip")
    }
    return address
  }

  private func fresh(
    _ app: AppProfile, _ number: PhoneNumber, _ languageCode: String?, fixedCode: String?, at now: UnixTime
  ) throws(APIError) -> FreshVerification {
    let random = SecureRandom.bytes(VerificationID.randomBytes + CodeKeeper.seedLength)
    let id = VerificationID.text(random[..<VerificationID.randomBytes])
    func make(_ atRest: CodeAtRest) -> PhoneVerification {
      PhoneVerification(
        id: id, app: app.id, phoneNumber: number.e164, region: number.regionKey, languageCode: languageCode,
        isTestNumber: fixedCode != nil, code: atRest, at: now, under: rules.policy)
    }
    if let fixedCode {
      return FreshVerification(verification: make(keeper.keep(fixedCode: fixedCode, for: id)), firstJob: nil)
    }
    let (code, atRest) = keeper.makeCode(for: id, seed: Array(random[VerificationID.randomBytes...]))
    let verification = make(atRest)
    do {
      return FreshVerification(
        verification: verification, firstJob: try jobs.body(of: verification, message: 1, code: code, app: app))
    } catch {
      throw APIError(.internalError, "the code cannot be sealed: check 'keysFile' of the coordinator")
    }
  }

  // MARK: Check

  private func check(_ command: CheckVerification, _ envelope: Envelope) throws(APIError) -> CommandRequest.Order {
    let context = SealContext(
      messageType: CheckVerification.type, messageID: envelope.messageID, recipient: command.verificationID)
    let text: Secret
    do {
      text = try command.code.open(with: keys, for: context)
    } catch {
      throw APIError(.invalidArgument, "code \(error)", field: "code")
    }
    // What is no code at all is compared as well, and counts: it is as wrong as any other.
    return .check(verificationID: command.verificationID, code: CodeText.digits(text.reveal()) ?? "")
  }
}
