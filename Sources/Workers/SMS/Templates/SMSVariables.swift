import JobEngine
import ServiceRuntime

extension TemplateVariables {
  /// Built-in variables of SMS. The worker itself writes the last line with the app's hash.
  static let sms = TemplateVariables(
    [
      (.code, TemplateRules.code), (.appName, SMSVariables.appName), (.domain, SMSVariables.domain),
      (.androidHash, SMSVariables.androidHash),
    ], hidden: [.androidHash])
}

enum SMSVariables {
  /// In Unicode scalars. No template with a longer one fits in one segment.
  static let maxAppNameLength = 64
  /// RFC 1035, 2.3.4, without the root's dot.
  static let maxDomainLength = 253
  /// RFC 1035, 2.3.4.
  static let maxLabelLength = 63

  /// Google, SMS Retriever API, "Construct a verification message".
  static let androidHashLength = 11

  static func appName(_ value: String) -> String? { TemplateRules.line(value, maxLength: maxAppNameLength) }

  static func domain(_ value: String) -> String? {
    isDomain(value) ? nil : "must be a host name such as example.com (an international one in its xn-- form)"
  }

  static func androidHash(_ value: String) -> String? {
    let isHash = value.isMatched(
      by: { $0.isLetterOrDigit || $0 == "+" || $0 == "/" }, length: androidHashLength...androidHashLength)
    return isHash ? nil : "must be the \(androidHashLength) characters of the app's hash for the SMS Retriever"
  }

  /// Whether a value is two or more labels of letters, digits and inner hyphens, the last of them not a number (RFC
  /// 1123, 2.1).
  private static func isDomain(_ value: String) -> Bool {
    guard value.utf8.count <= maxDomainLength else { return false }
    let labels = value.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard labels.count >= 2, let last = labels.last, !last.unicodeScalars.allSatisfy(\.isDigit) else { return false }
    return labels.allSatisfy { label in
      label.isMatched(by: { $0.isLetterOrDigit || $0 == "-" }, length: 1...maxLabelLength)
        && !label.hasPrefix("-") && !label.hasSuffix("-")
    }
  }
}
