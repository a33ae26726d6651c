import CountersignCryptography
import CountersignMessages
import CountersignTelemetry

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

extension CheckOrder {
  /// Reads a check. Malformed input still counts as a wrong attempt.
  init(_ command: CheckVerification, _ envelope: Envelope, _ keys: KeyRing) throws(APIError) {
    let context = SealContext(
      messageType: CheckVerification.type, messageID: envelope.messageID, recipient: command.verificationID)
    let text: Secret
    do {
      text = try command.code.open(with: keys, for: context)
    } catch {
      throw APIError(.invalidArgument, "code \(error)", field: "code")
    }
    self.init(
      verificationID: command.verificationID, code: CodeText.digits(text.reveal()) ?? "",
      app: CommandFields.unlessEmpty(command.app), purpose: command.purpose,
      subject: CommandFields.unlessEmpty(command.subject), address: try ClientAddress(of: command.client))
  }
}

/// Text that people type as a code.
enum CodeText {
  /// The longest text that is considered.
  static let maxLength = 64

  /// The digits of a code: spaces and hyphens are left out, and digits of any script become ASCII ones, since a phone
  /// set to Arabic or Bengali may offer those.
  ///
  /// - Returns: `nil` when the text contains anything else, or is empty.
  static func digits(_ text: String) -> String? {
    guard !text.isEmpty, text.utf8.count <= maxLength else { return nil }
    var result = ""
    for scalar in text.unicodeScalars {
      if let digit = digit(scalar) {
        result.append(digit)
      } else if !isFiller(scalar) {
        return nil
      }
    }
    return result.isEmpty ? nil : result
  }

  private static func digit(_ scalar: Unicode.Scalar) -> String? {
    guard scalar.properties.numericType == .decimal, let value = scalar.properties.numericValue else { return nil }
    return String(Int(value))
  }

  private static func isFiller(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isWhitespace || scalar == "-" || scalar == "\u{2010}" || scalar == "\u{2011}"
      // Marks of writing direction come along when a code is pasted from a right-to-left message.
      || scalar == "\u{200E}" || scalar == "\u{200F}"
  }
}
