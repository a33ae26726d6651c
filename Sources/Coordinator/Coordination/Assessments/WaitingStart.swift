import CountersignMessages

/// A start that waits for its proof, with everything needed to resume it as if it had just arrived.
struct WaitingStart: Sendable, Hashable, Codable {
  var app: String
  /// E.164.
  var phoneNumber: String
  var languageCode: String?
  /// See ``ClientAddress/network``.
  var network: String?
  /// See ``CommandRequest/Order-swift.enum/fingerprint``.
  var fingerprint: [UInt8]
  /// The receipt of a push that did not arrive, if the app reported it.
  var receipt: String?
  /// See ``PhoneVerification/askedLate``; absent in rows of earlier versions.
  var askedLate: Bool?
  /// Absent in rows of earlier versions.
  var purpose: VerificationPurpose?
  var subject: String?
  /// See ``Requester/hash``; absent in rows of earlier versions, and for an unnamed requester.
  var requester: [UInt8]?
  /// The broker's user that sent it; absent in rows before version 10, whose command is identified by its ID alone.
  var sender: String?
  var replyTo: String?
  var correlationID: String?
  var traceparent: String?
}
