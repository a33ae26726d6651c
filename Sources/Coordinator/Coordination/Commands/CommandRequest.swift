import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import PhoneNumbers

/// A parsed command, checked against the configuration and ready for its transaction.
struct CommandRequest: Sendable {
  var envelope: Envelope
  /// Identifies the order; see ``CodeKeeper/fingerprint(of:)``.
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

    /// Distinguishes orders under the same `message_id`.
    ///
    /// The body's bytes are not part of it, since a sender that tries again may write the same JSON in another order
    /// and seal the same code anew; nor is the code of a check, which ``CodeKeeper/fingerprint(of:)`` adds under its
    /// key.
    /// - Parameter isFormer: whether keyed hashes in it are those under the previous pepper.
    func fingerprint(isFormer: Bool = false) -> [UInt8] {
      let (name, parts) =
        switch self {
        case .start(let order): (StartVerification.type.text, order.fingerprintParts(isFormer: isFormer))
        case .check(let order):
          (
            CheckVerification.type.text,
            [order.verificationID, order.app ?? "", order.purpose?.rawValue ?? "", order.subject ?? ""]
          )
        case .status(let id): (GetVerificationStatus.type.text, [id])
        case .cancel(let id): (CancelVerification.type.text, [id])
        case .verifyApp(let order):
          (
            VerifyApp.type.text,
            [order.proof.app, order.proof.environment.rawValue, Self.text(order.proof.token, isFormer: isFormer)]
          )
        case .revoke(let order):
          (StartRevocation.type.text, [order.app.id, Self.text(order.token, isFormer: isFormer)])
        case .operationStatus(let id): (GetOperationStatus.type.text, [id])
        case .conversions: (ListConversions.type.text, [])
        case .liftBlock(let key): (LiftConversionBlock.type.text, [key])
        // Neither the command nor its answer is recorded.
        case .forget: (ForgetNumber.type.text, [])
        }
      return Self.hash(name, parts)
    }

    /// The fingerprint before version 10, which covered less of a start and a check, and no code; `nil` when it is
    /// unchanged.
    var earlierFingerprint: [UInt8]? {
      switch self {
      case .start(let order): Self.hash(StartVerification.type.text, [order.app.id, order.number.e164])
      case .check(let order): Self.hash(CheckVerification.type.text, [order.verificationID])
      case .status, .cancel, .verifyApp, .revoke, .operationStatus, .conversions, .liftBlock, .forget: nil
      }
    }

    private static func text(_ hash: TokenHash, isFormer: Bool) -> String {
      Base64URL.encode(isFormer ? hash.earlier ?? hash.current : hash.current)
    }

    private static func hash(_ name: String, _ parts: [String]) -> [UInt8] {
      SHA256.hash(Array(([name] + parts).joined(separator: "\u{0}").utf8))
    }
  }
}

/// A start that the configuration permits.
struct StartOrder: Sendable {
  var app: AppProfile
  var number: PhoneNumber
  var languageCode: String?
  var address: ClientAddress?
  var claim = RequesterClaim()
  /// The fixed code of a fictional number.
  var fixedCode: String?
  /// Proof of its app; absent when there is nothing to judge.
  var proof: ProofOrder?
  /// The device that proved the app, once its proof has been judged.
  var device: TokenHash?
  /// A new verification, prepared outside the transaction in case the start needs one.
  var fresh: FreshVerification
}

extension StartOrder {
  /// Requester, as far as it is known by now.
  var requester: Requester { claim.requester(device: device) }

  /// Key of the verification that the start requests.
  var key: VerificationKey {
    var key = fresh.verification.key
    if key.isTestNumber { key.requester = requester.hash }
    return key
  }

  fileprivate func fingerprintParts(isFormer: Bool) -> [String] {
    var action = ""
    if case .captcha(let captcha)? = proof?.evidence { action = captcha.action ?? "" }
    return [
      app.id, number.e164, key.purpose.rawValue, key.subject ?? "", Base64URL.encode(claim.text(isFormer: isFormer)),
      action,
    ]
  }

  /// The requested SMS, as the limits see it.
  var limitedSend: LimitedSend {
    LimitedSend(
      number: number.e164, region: number.regionKey, isUnknownType: number.type == .unknown, address: address,
      device: device)
  }
}

/// A code to check.
struct CheckOrder: Sendable {
  /// The ID of a handle.
  var verificationID: String
  var code: String
  /// App, purpose and subject of the verification, as far as the command states them.
  var app: String?
  var purpose: VerificationPurpose?
  var subject: String?
  /// Address of the client, if the service states it.
  var address: ClientAddress?

  /// The first field in which a verification differs from the command.
  func difference(from verification: PhoneVerification) -> String? {
    if let app, app != verification.app { return "app" }
    if let purpose, purpose != verification.purpose { return "purpose" }
    if let subject, subject != verification.subject { return "subject" }
    return nil
  }
}

/// A verification that has not begun, with its first SMS ready to go.
struct FreshVerification: Sendable {
  var verification: PhoneVerification
  /// The body of the first job, sealed for it; absent for a fictional number.
  var firstJob: [UInt8]?
}
