import CountersignMessages
import CountersignTelemetry
import PhoneNumbers
import Projects
import ServiceRuntime

/// Configuration of an app.
public struct AppProfile: Sendable, Hashable {
  var id: String
  var name: String
  /// The domain to which phones bind the code for autofill.
  var domain: String?
  /// The hash of an Android app, by which the phone hands the code to it (SMS Retriever).
  var androidHash: String?
  /// The language of the SMS when the command names none, BCP 47.
  var languageCode: String?
  var template = "verification"
  /// Values of the template's own variables.
  var variables: [String: String] = [:]
  /// Own variables whose values `verification.start` may give; it has to give those without a value here.
  var startVariables: [String] = []
  var verification: AppVerification
  /// Fictional numbers in E.164 with their fixed codes.
  var fictionalNumbers: [String: String] = [:]
  var recaptchaAction = defaultRecaptchaAction
  /// Gaps before its codes are sent a second, third, … time, if they differ from the policy's.
  var resendGaps: [Duration]?
  var receiptsValidFrom: UnixTime?

  /// Action that the SDKs of this field pass to reCAPTCHA when they request a code.
  static let defaultRecaptchaAction = "sendVerificationCode"
  static let maxFictionalNumbers = 10
  static let fictionalCodeLength = 6
}

enum AppVerification: String, Sendable, CaseIterable {
  /// None, for testing: only fictional numbers complete.
  case off
  /// None: the requesting service vouches for its client. A proof that is sent all the same is checked.
  case trusted
  /// The receipt and the secret of a push, or reCAPTCHA when the push does not arrive.
  case push
  case recaptcha
  /// A proof is checked and recorded, and the request is admitted whatever the outcome.
  case audit
}

extension AppProfile {
  static func read(_ section: ConfigurationSection) -> [String: AppProfile] {
    let sections = section.namedSections("apps", "The apps whose users are verified, by their bundle ID.")
    return Dictionary(uniqueKeysWithValues: sections.map { ($0.name, AppProfile($0.name, $0.section)) })
  }

  init(_ id: String, _ section: ConfigurationSection) {
    let domain = section.optionalString(
      "domain", "The domain that phones bind the code to when they fill it in by themselves.")
    self.init(
      id: id, name: section.string("name", "The app's name, as it stands in the message."), domain: domain,
      verification: .off)
    androidHash = Self.androidHash(section, besides: domain)
    languageCode = section.optionalString(
      "languageCode", "The language of the message where the command names none, BCP 47.")
    section.check(
      "languageCode", languageCode.map(Self.isLanguage) ?? true,
      "must be a language tag (BCP 47): two or three letters such as de, perhaps with a region, de-CH")
    template = section.string("template", default: template, "The template of the SMS worker.")
    variables = section.customVariables("variables", "Values of the template's own variables, by name.")
    startVariables = Self.startVariables(section, besides: variables)
    verification = Self.verification(section)
    fictionalNumbers = Self.fictionalNumbers(section)
    recaptchaAction = section.string(
      "recaptchaAction", default: recaptchaAction, "What the app tells reCAPTCHA that its user is about to do.")
    receiptsValidFrom = Self.time(
      section, "receiptsValidFrom", "Receipts of app.verify that were issued before this time are not accepted.")
    resendGaps = Self.resendGaps(section)
  }

  /// Whether a text has the form of a tag whose language is one of ISO 639: longer words are registered to none.
  private static func isLanguage(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    return parts.dropFirst().allSatisfy { String($0).isMatched(by: \.isLetterOrDigit, length: 1...8) }
      && String(parts[0]).isMatched(by: { $0.isLetterOrDigit && !$0.isDigit }, length: 2...3)
  }

  private static func startVariables(
    _ section: ConfigurationSection, besides variables: [String: String]
  ) -> [String] {
    let key = "startVariables"
    let names = section.strings(
      key,
      "The template's own variables whose values verification.start gives: those without a value in variables always.")
    section.check(key, names.allSatisfy(CustomVariables.isName), "must hold names: a letter, then letters and digits")
    // More constants than that are a problem of their own.
    let most = max(CustomVariables.maxCount, variables.count)
    section.check(
      key, Set(names).union(variables.keys).count <= most,
      "has more than \(CustomVariables.maxCount) names, with those of variables: a message has no more")
    return names
  }

  private static func resendGaps(_ section: ConfigurationSection) -> [Duration]? {
    let gaps = section.integers(
      "resendGapsSeconds", default: [], in: VerificationPolicy.resendGapSeconds,
      "verification.resendGapsSeconds for this app, where it differs.")
    return gaps.isEmpty ? nil : gaps.map { .seconds($0) }
  }

  private static func verification(_ section: ConfigurationSection) -> AppVerification {
    let help =
      "How the app is proven: trusted by the service that asks, push, recaptcha, audit (recorded only), off (fictional numbers only)."
    let word = section.string("verification", help)
    if let verification = AppVerification(rawValue: word) { return verification }
    guard !word.isEmpty else { return .off }
    let words = AppVerification.allCases.map(\.rawValue).joined(separator: " or ")
    section.problem("verification", "must be \(words)")
    return .off
  }

  private static func androidHash(_ section: ConfigurationSection, besides domain: String?) -> String? {
    let key = "androidHash"
    guard
      let hash = section.optionalString(key, "The hash of an Android app for the SMS Retriever, in place of domain.")
    else { return nil }
    let isBase64 = { (scalar: Unicode.Scalar) in scalar.isLetterOrDigit || scalar == "+" || scalar == "/" }
    section.check(key, hash.isMatched(by: isBase64, length: 11...11), "must be 11 letters, digits, + and /")
    section.check(
      key, domain == nil,
      "stands beside domain: a message has one last line; keep one of them, or give the Android app an ID of its own")
    return hash
  }

  private static func time(_ section: ConfigurationSection, _ key: String, _ help: String) -> UnixTime? {
    guard let text = section.optionalString(key, help), !text.isEmpty else { return nil }
    if let time = UnixTime(rfc3339: text) { return time }
    section.problem(key, "must be a time such as 2026-07-01T12:00:00Z")
    return nil
  }

  private static func fictionalNumbers(_ section: ConfigurationSection) -> [String: String] {
    let key = "fictionalNumbers"
    let numbers = section.stringMap(
      key, "Numbers that get no message, with their fixed codes of six digits: at most ten.")
    if numbers.count > maxFictionalNumbers {
      section.problem(key, "has \(numbers.count) numbers: at most \(maxFictionalNumbers) are allowed")
    }
    for (number, code) in numbers.sorted(by: { $0.key < $1.key }) {
      check(number, code, key, section)
    }
    return numbers
  }

  private static func check(_ number: String, _ code: String, _ key: String, _ section: ConfigurationSection) {
    let place = "\(key).\(number)"
    let isCode =
      code.utf8.count == fictionalCodeLength
      && code.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    if !isCode {
      section.problem(place, "needs a code of \(fictionalCodeLength) digits")
    } else if FictionalCode.isGuessable(code) {
      section.warning(
        place, "has a code that is easily guessed, and its account is open to everybody: take a random one")
    }
    do {
      let parsed = try PhoneNumber.parse(number)
      if !parsed.isPossible || parsed.e164 != number {
        section.problem(place, "is not a phone number in E.164, such as +16505550123")
      } else if !parsed.isReservedForFiction {
        section.warning(
          place, "is not in a range that its numbering plan reserves for fiction: it may belong to a person")
      }
    } catch {
      section.problem(place, "is not a phone number in E.164: \(error)")
    }
  }
}
