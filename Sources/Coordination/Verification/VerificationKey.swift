import Messages

/// Of what there is one verification that lives.
struct VerificationKey: Sendable, Hashable {
  /// E.164.
  var phoneNumber: String
  var app: String
  var purpose: VerificationPurpose
  /// For whom, where the purpose has it.
  var subject: String?
}

extension PhoneVerification {
  var key: VerificationKey {
    VerificationKey(phoneNumber: phoneNumber, app: app, purpose: purpose, subject: subject)
  }
}
