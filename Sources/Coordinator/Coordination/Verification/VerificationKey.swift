import CountersignMessages

/// Of what there is one verification that lives.
struct VerificationKey: Sendable, Hashable {
  /// E.164.
  var phoneNumber: String
  var app: String
  var purpose: VerificationPurpose
  /// For whom, where the purpose has it.
  var subject: String?
  /// Whether the number is a fictional one. Each requester has a verification of its own there: no message makes several share a code, and tests
  /// that run at the same time must not end each other's.
  var isTestNumber = false
  /// Requester, where that tells verifications apart; empty for a real number.
  var requester: [UInt8] = []
}

extension PhoneVerification {
  var key: VerificationKey {
    VerificationKey(
      phoneNumber: phoneNumber, app: app, purpose: purpose, subject: subject, isTestNumber: isTestNumber,
      requester: isTestNumber ? requester : [])
  }
}
