import CountersignMessages

/// Key with at most one live verification.
struct VerificationKey: Sendable, Hashable {
  /// E.164.
  var phoneNumber: String
  var app: String
  var purpose: VerificationPurpose
  /// Subject, if the purpose has one.
  var subject: String?
  /// Whether the number is a fictional one. Each requester has a verification of its own there: without an SMS there is
  /// no shared code, and concurrent tests must not end each other's.
  var isTestNumber = false
  /// Requester, where it distinguishes verifications; empty for a real number.
  var requester: [UInt8] = []
}

extension PhoneVerification {
  var key: VerificationKey {
    VerificationKey(
      phoneNumber: phoneNumber, app: app, purpose: purpose, subject: subject, isTestNumber: isTestNumber,
      requester: isTestNumber ? requester : [])
  }
}
