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

  static let types = [
    StartVerification.type, CheckVerification.type, GetVerificationStatus.type, CancelVerification.type,
    VerifyApp.type, StartRevocation.type, GetOperationStatus.type, ListConversions.type, LiftConversionBlock.type,
    ForgetNumber.type,
  ]

  /// - Throws: the error for the requester.
  func prepare(_ envelope: Envelope, body: [UInt8], at now: UnixTime) throws(APIError) -> CommandRequest {
    let order: CommandRequest.Order =
      switch envelope.type {
      case StartVerification.type:
        .start(try starts.order(decode(StartVerification.self, body), envelope, at: now))
      case CheckVerification.type:
        .check(try CheckOrder(decode(CheckVerification.self, body), envelope, keys))
      case GetVerificationStatus.type:
        .status(verificationID: try decode(GetVerificationStatus.self, body).verificationID)
      case CancelVerification.type:
        .cancel(verificationID: try decode(CancelVerification.self, body).verificationID)
      case VerifyApp.type:
        .verifyApp(try apps.order(decode(VerifyApp.self, body), envelope, at: now))
      case StartRevocation.type:
        .revoke(try revocations.order(decode(StartRevocation.self, body), envelope, at: now))
      case GetOperationStatus.type:
        .operationStatus(operationID: try decode(GetOperationStatus.self, body).operationID)
      case ListConversions.type:
        .conversions(
          conversions.worst(limit: try limit(decode(operatorsOnly(ListConversions.self, envelope), body)), at: now))
      case LiftConversionBlock.type:
        .liftBlock(key: try decode(operatorsOnly(LiftConversionBlock.self, envelope), body).key)
      case ForgetNumber.type:
        .forget(number: try number(decode(operatorsOnly(ForgetNumber.self, envelope), body)))
      default:
        throw APIError(ContractProblem(.unknownType, field: "type", "is not a command"))
      }
    return CommandRequest(envelope: envelope, fingerprint: codes.fingerprint(of: order), order: order)
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
  /// Identifies the order; see ``VerificationCodes/fingerprint(of:)``.
  var fingerprint: [UInt8]
  var order: Order

  enum Order: Sendable {
    case start(StartOrder)
    case check(CheckOrder)
    case status(verificationID: String)
    case cancel(verificationID: String)
    case verifyApp(AppOrder)
    case revoke(RevocationOrder)
    case operationStatus(operationID: String)
    case conversions(ConversionFigures)
    case liftBlock(key: String)
    /// - Parameter number: E.164.
    case forget(number: String)

    /// Whether it changes nothing.
    var isLook: Bool {
      switch self {
      case .status, .operationStatus, .conversions: true
      case .start, .check, .cancel, .verifyApp, .revoke, .liftBlock, .forget: false
      }
    }
  }
}
