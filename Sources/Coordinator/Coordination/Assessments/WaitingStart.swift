import CountersignMessages

/// A start that waits for its proof: what is needed to go on with it as if it had just come.
struct WaitingStart: Sendable, Hashable, Codable {
  var app: String
  /// E.164.
  var phoneNumber: String
  var languageCode: String?
  /// See ``ClientAddress/network``.
  var network: String?
  /// See ``CommandRequest/Order-swift.enum/fingerprint``.
  var fingerprint: [UInt8]
  /// The receipt of a push that did not come, if the app told it.
  var receipt: String?
  /// See ``PhoneVerification/askedLate``; absent in rows of before.
  var askedLate: Bool?
  /// Absent in rows of before.
  var purpose: VerificationPurpose?
  var subject: String?
  /// See ``Requester/hash``; absent in rows of before, and for nobody in particular.
  var requester: [UInt8]?
  /// The user of the broker that sent it; absent in rows of before version 10, whose command is known by its ID alone.
  var sender: String?
  var replyTo: String?
  var correlationID: String?
  var traceparent: String?
}
