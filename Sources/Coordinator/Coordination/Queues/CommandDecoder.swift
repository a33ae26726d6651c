import CountersignCryptography
import CountersignMessages
import CountersignTelemetry
import PhoneNumbers

/// Reads commands and checks them against the configuration. Does no I/O: all slow work that needs no transaction
/// happens here.
struct CommandDecoder: Sendable {
  private let rules: CoordinatorRules
  private let codes: VerificationCodes
  private let keys: KeyRing
  private let starts: StartDecoder
  private let apps: AppOrderDecoder
  private let revocations: RevocationDecoder
  private let conversions: ConversionMonitor

  init(
    _ rules: CoordinatorRules, codes: VerificationCodes, keys: KeyRing, starts: StartDecoder, apps: AppOrderDecoder,
    revocations: RevocationDecoder, conversions: ConversionMonitor
  ) {
    self.rules = rules
    self.codes = codes
    self.keys = keys
    self.starts = starts
    self.apps = apps
    self.revocations = revocations
    self.conversions = conversions
  }

  /// Types of the commands that are decoded.
  ///
  /// To add one: its body in Contract/Messages/Commands; a line here and a case in ``CommandRequest`` (below); its
  /// effect in ``CommandHandler``; its fingerprint in CommandFingerprint; its senders in Topology; its message in
  /// `Config/asyncapi.json`, with an example in the tests' samples.
  static let types = [
    StartVerification.type, CheckVerification.type, GetVerificationStatus.type, CancelVerification.type,
    VerifyApp.type, StartRevocation.type, GetOperationStatus.type, ListConversions.type, LiftConversionBlock.type,
    ForgetNumber.type,
  ]

  /// - Throws: the error for the requester.
  func prepare(_ envelope: Envelope, body: [UInt8], at now: UnixTime) throws(APIError) -> CommandRequest {
    let change: CommandRequest.Change
    switch envelope.type {
    case StartVerification.type:
      change = .start(try starts.order(decode(StartVerification.self, body), envelope, at: now))
    case CheckVerification.type:
      change = .check(try CheckOrder(decode(CheckVerification.self, body), envelope, keys))
    case CancelVerification.type:
      change = .cancel(verificationID: try decode(CancelVerification.self, body).verificationID)
    case VerifyApp.type:
      change = .verifyApp(try apps.order(decode(VerifyApp.self, body), envelope, at: now))
    case StartRevocation.type:
      change = .revoke(try revocations.order(decode(StartRevocation.self, body), envelope, at: now))
    case LiftConversionBlock.type:
      change = .liftBlock(key: try decode(operatorsOnly(LiftConversionBlock.self, envelope), body).key)
    case ForgetNumber.type:
      change = .forget(number: try number(decode(operatorsOnly(ForgetNumber.self, envelope), body)))
    default:
      return CommandRequest(envelope: envelope, fingerprint: [], order: .look(try look(envelope, body, at: now)))
    }
    return CommandRequest(envelope: envelope, fingerprint: codes.fingerprint(of: change), order: .change(change))
  }

  private func look(
    _ envelope: Envelope, _ body: [UInt8], at now: UnixTime
  ) throws(APIError) -> CommandRequest.Look {
    switch envelope.type {
    case GetVerificationStatus.type:
      return .status(verificationID: try decode(GetVerificationStatus.self, body).verificationID)
    case GetOperationStatus.type:
      return .operationStatus(operationID: try decode(GetOperationStatus.self, body).operationID)
    case ListConversions.type:
      let limit = try limit(decode(operatorsOnly(ListConversions.self, envelope), body))
      return .conversions(conversions.worst(limit: limit, at: now))
    default:
      throw APIError(ContractProblem(.unknownType, field: "type", "is not a command"))
    }
  }

  /// The broker has verified the sender.
  private func operatorsOnly<C: Command>(_ type: C.Type, _ envelope: Envelope) throws(APIError) -> C.Type {
    guard let user = envelope.userID, rules.operators.contains(user) else { throw .notAnOperator }
    return type
  }

  private func number(_ command: ForgetNumber) throws(APIError) -> String {
    try starts.parse(StartVerification(phoneNumber: command.phoneNumber, app: "")).e164
  }

  private func limit(_ command: ListConversions) throws(APIError) -> Int {
    let limit = command.limit ?? ListConversions.defaultLimit
    guard (1...ListConversions.maxLimit).contains(limit) else {
      throw APIError(.invalidArgument, "must be from 1 to \(ListConversions.maxLimit)", field: "limit")
    }
    return limit
  }

  private func decode<Body: MessageBody>(_ type: Body.Type, _ body: [UInt8]) throws(APIError) -> Body {
    do {
      return try Body(json: body)
    } catch {
      guard error.code == .missingField else { throw APIError(error) }
      switch error.field {
      case "phoneNumber": throw .missingPhoneNumber
      case "app": throw .missingApp
      case "deviceToken": throw .missingDeviceToken
      default: throw APIError(error)
      }
    }
  }
}

/// A parsed command, checked against the configuration and ready for its transaction.
struct CommandRequest: Sendable {
  var envelope: Envelope
  /// Identifies the order; see ``VerificationCodes/fingerprint(of:)``. Empty for a look, which is not recorded.
  var fingerprint: [UInt8]
  var order: Order

  enum Order: Sendable {
    case look(Look)
    case change(Change)
  }

  /// A command that changes nothing.
  enum Look: Sendable {
    case status(verificationID: String)
    case operationStatus(operationID: String)
    case conversions(ConversionFigures)
  }

  /// A command that is carried out once.
  enum Change: Sendable {
    case start(StartOrder)
    case check(CheckOrder)
    case cancel(verificationID: String)
    case verifyApp(AppOrder)
    case revoke(RevocationOrder)
    case liftBlock(key: String)
    /// - Parameter number: E.164.
    case forget(number: String)
  }
}
